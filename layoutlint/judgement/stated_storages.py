"""The placements of structs that rule files state for some inputs."""

from __future__ import annotations

from collections.abc import Iterable

from layoutlint.judgement.condition import exclusion_reason
from layoutlint.judgement.rule import Pack
from layoutlint.model.reading import Reading
from layoutlint.model.record import replace
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Struct


def stated_storages(
    structs: Iterable[Struct], packs: Iterable[Pack], readings: Iterable[Reading]
) -> dict[str, tuple[Storage, ...]]:
    """Return the placements of structs by name; statements whose `when` excludes all inputs do not count.

    Raises RuleFileError if two statements contradict each other.
    """
    inputs = tuple(readings)
    active = [_applicable(pack, inputs) for pack in packs]
    storages: dict[str, tuple[Storage, ...]] = {}
    for struct in structs:
        stated = (storage for pack in active if (storage := pack.storage(struct)) is not None)
        if (first := next(stated, None)) is not None:
            storages[struct.name] = (first,)
    return storages


def _applicable(pack: Pack, inputs: tuple[Reading, ...]) -> Pack:
    structs = tuple(
        intent
        for intent in pack.structs
        if any(exclusion_reason(intent.when, reading) is None for reading in inputs)
    )
    return replace(pack, structs=structs)
