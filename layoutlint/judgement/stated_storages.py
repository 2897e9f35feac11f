"""The placements of structs that rule files state for some inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from layoutlint.judgement.rule import Pack
from layoutlint.model.reading import Reading
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Struct


def stated_storages(
    structs: Iterable[Struct], packs: Sequence[Pack], readings: Iterable[Reading]
) -> dict[str, tuple[Storage, ...]]:
    """Return the placements of structs by name, as far as all inputs have the same.

    Of alternatives the first that applies to an input counts.

    Raises RuleFileError if two statements contradict each other.
    """
    kinds = {
        (each.is_kernel, each.kernel, each.config, each.target, tuple(each.options)): each
        for each in readings
    }
    active = [[pack.select_for(reading) for pack in packs] for reading in kinds.values()]
    storages: dict[str, tuple[Storage, ...]] = {}
    for struct in structs:
        stated = {_stated(struct, some) for some in active}
        if len(stated) == 1 and (storage := stated.pop()) is not None:
            storages[struct.name] = (storage,)
    return storages


def _stated(struct: Struct, packs: Iterable[Pack]) -> Storage | None:
    found = (storage for pack in packs if (storage := pack.storage(struct)) is not None)
    return next(found, None)
