"""DWARF 2 to 5 of ELF files: the wanted structs, without building objects for the entries on the way."""

from __future__ import annotations

from dataclasses import replace

from layoutlint.model import Reading, ReadOptions, Unread, Wanted
from layoutlint.readers.dwarf.gather import Gathering
from layoutlint.readers.dwarf.holders import Crossing
from layoutlint.readers.dwarf.select import are_many
from layoutlint.readers.elf import Image

_MOST_UNREAD = 50

__all__ = ["read_elf"]


def read_elf(image: Image, wanted: Wanted, options: ReadOptions) -> Reading:
    """The wanted structs of a file with DWARF, and of the files that hold the rest of it.

    Units in other languages than C are skipped and counted in the notes; a damaged unit, or one whose file
    is not found, is an Unread and the rest is read. Raises ReadError when there is nothing that can be read.
    """
    gathering = _gathered(image, wanted, options)
    return Reading(
        image.path,
        "dwarf",
        image.target,
        gathering.selection.structs(),
        image.build_id,
        _unread(image.path, gathering.unread),
        (*image.notes, *gathering.notes(), *gathering.selection.notes()),
        is_kernel=image.is_kernel,
        shuffled=gathering.shuffled,
        names=gathering.selection.names(),
    )


def _gathered(image: Image, wanted: Wanted, options: ReadOptions) -> Gathering:
    """What is wanted of the units. A struct that some call by a typedef goes by its tag in others."""
    if are_many(wanted):
        wanted = wanted.widened()
    while True:
        gathering = Gathering(image, wanted, options)
        try:
            gathering.read()
        except Crossing:
            wanted = wanted.widened()
            continue
        meant = gathering.selection.meant()
        if meant <= gathering.wanted.held:
            return gathering
        wanted = replace(wanted, held=wanted.held | meant)


def _unread(path: str, reasons: list[str]) -> tuple[Unread, ...]:
    """Each reason once, the first few in full."""
    distinct = list(dict.fromkeys(reasons))
    shown = [Unread(path, why) for why in distinct[:_MOST_UNREAD]]
    if len(distinct) > _MOST_UNREAD:
        shown.append(Unread(path, f"and {len(distinct) - _MOST_UNREAD} more places"))
    return tuple(shown)
