"""The accesses that rule files and annotations declare for the fields of listed structs."""

from __future__ import annotations

from collections.abc import Sequence

from layoutlint.intent.annotations.suppression import merge_annotations
from layoutlint.judgement.context import Access
from layoutlint.judgement.rule import Pack
from layoutlint.model.reading import Reading
from layoutlint.model.record import replace
from layoutlint.model.structs import Struct


def declared_accesses(
    structs: Sequence[Struct], inputs: Sequence[Reading], packs: tuple[Pack, ...]
) -> dict[str, tuple[Access, ...]]:
    """Return the declared accesses by the names of structs. Raises RuleFileError for contradictions.

    `inputs` are what was read, without structs: `when` decides by them which declarations apply.
    """
    accesses: dict[str, dict[Access, None]] = {}
    for reading in inputs:
        merged, _ = merge_annotations(replace(reading, structs=tuple(structs)), packs)
        active = tuple(pack.select_for(reading) for pack in merged)
        for struct in structs:
            declared = [access for pack in active for access in pack.accesses(struct)]
            accesses.setdefault(struct.name, {}).update(dict.fromkeys(declared))
    return {name: tuple(own) for name, own in accesses.items() if own}
