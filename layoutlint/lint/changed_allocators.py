"""Where the structs of a comparison come from: rule files, and calls in the new sources, state it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from layoutlint.comparison.allocations import Allocators
from layoutlint.comparison.comparison import Comparison
from layoutlint.comparison.layouts import Presence
from layoutlint.errors import ReadError
from layoutlint.judgement.rule import Pack
from layoutlint.lint.allocation_notes import sources_of
from layoutlint.lint.allocator_listing import stated_storages
from layoutlint.lint.options import Options
from layoutlint.lint.sides import SideInput
from layoutlint.model.reading import Reading
from layoutlint.model.record import replace
from layoutlint.sources.allocations.proposals import read_storages


def find_allocators(
    comparison: Comparison,
    new: SideInput,
    packs: tuple[Pack, ...],
    kernel_packs: tuple[Pack, ...],
    options: Options,
) -> Allocators:
    """Return where the structs come from that have another size. The placement in a rule file decides."""
    readings = comparison.new.report.readings
    is_kernel = any(reading.is_kernel for reading in readings)
    changed = {
        change.name: change.struct
        for change in comparison.layouts.changes
        if change.presence is Presence.BOTH
        and change.old is not None
        and change.new is not None
        and change.old.bit_size != change.new.bit_size
    }
    active = (*packs, *(kernel_packs if is_kernel else ()))
    storages = stated_storages(changed.values(), active, readings)
    left = frozenset(changed.keys() - storages.keys())
    declared = tuple(allocator for pack in active for allocator in pack.allocators)
    if left and not is_kernel:
        with suppress(ReadError):  # a source that is gone: the run has read, or reported, it already
            storages |= read_storages(_sources(readings, new), left, declared)
    return Allocators(storages, is_kernel, options.min_align)


def _sources(readings: Iterable[Reading], side: SideInput) -> tuple[str, ...]:
    """Return the C sources of the new input."""
    folder = side.folder or ""
    sources = (
        source
        for reading in readings
        for source in sources_of(replace(reading, path=os.path.join(folder, reading.path)))
    )
    return tuple(dict.fromkeys(sources))
