"""The accesses that rule files and annotations declare for the fields of structs."""

from __future__ import annotations

import os
from collections.abc import Sequence

from layoutlint.intent.annotations.comments import Sources, with_comments
from layoutlint.intent.annotations.suppression import merge_annotations
from layoutlint.judgement.context import Access
from layoutlint.judgement.rule import Pack
from layoutlint.model.reading import Reading, ReadOptions
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


def with_annotations(
    structs: tuple[Struct, ...], sources: tuple[str, ...], packs: tuple[Pack, ...], options: ReadOptions
) -> tuple[Pack, ...]:
    """Return packs with the accesses that comments and macros at structs of C sources declare.

    `sources` are the inputs, beside which files are looked for. Raises RuleFileError for mistakes, and for
    annotations that contradict a pack.
    """
    if not structs:
        return packs
    folders = (".", *sources, *(os.path.dirname(path) or "." for path in sources))
    reading = Reading(sources[0], "clang", structs[0].target, structs)
    texts = Sources(tuple(dict.fromkeys(folders)), options.texts, options.replaced)
    return merge_annotations(with_comments(reading, texts, False), packs)[0]
