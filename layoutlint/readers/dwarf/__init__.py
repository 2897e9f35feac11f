"""DWARF 2 to 5 of ELF files: the wanted structs, without building objects for the entries on the way."""

from __future__ import annotations

from dataclasses import replace

from layoutlint.model.reading import Reading, ReadOptions, Unread
from layoutlint.model.structs import Field, Struct, Unstated
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dwarf.collect import Gathering
from layoutlint.readers.dwarf.holders import Crossing
from layoutlint.readers.dwarf.selection import OtherCompiler, are_many
from layoutlint.readers.elf.elf_file import Image

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
        _whole(gathering.selection.structs()) if image.has_wide_bytes else gathering.selection.structs(),
        image.build_id,
        _unread(image.path, gathering.unread),
        (*image.notes, *gathering.notes(), *gathering.selection.notes()),
        is_kernel=image.is_kernel,
        shuffled=gathering.shuffled,
        names=gathering.selection.names(),
        omissions=gathering.omissions(),
    )


def _whole(structs: tuple[Struct, ...]) -> tuple[Struct, ...]:
    """Refuse what depends on the bits of a byte, where they are not eight."""
    problem = "it has bit-fields, and bytes of 16 bits"
    return tuple(replace(each, problem=problem) if _has_bits(each.fields) else each for each in structs)


def _has_bits(fields: tuple[Field, ...]) -> bool:
    return any(field.is_bitfield or _has_bits(field.members) for field in fields)


def _gathered(image: Image, wanted: Wanted, options: ReadOptions) -> Gathering:
    """What is wanted of the units. A struct that some call by a typedef goes by its tag in others."""
    if are_many(wanted):
        wanted = wanted.widened()
    unstated: Unstated | None = None
    while True:
        gathering = Gathering(image, wanted, options, unstated)
        try:
            gathering.read()
        except OtherCompiler as other:
            unstated = other.unstated
            continue
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
