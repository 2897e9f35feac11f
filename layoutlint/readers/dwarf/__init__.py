"""DWARF 2 to 5 of ELF files: the wanted structs, without building objects for the entries on the way."""

from __future__ import annotations

from contextlib import closing, suppress

from layoutlint.model.reading import Omission, Reading, ReadOptions, Unread
from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Struct, Unstated
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dwarf.collect import Collector
from layoutlint.readers.dwarf.format.forms import DAMAGE
from layoutlint.readers.dwarf.format.units import SPLIT, Index
from layoutlint.readers.dwarf.holders import CrossUnitReference
from layoutlint.readers.dwarf.selection import OtherCompiler, are_many
from layoutlint.readers.elf.elf_file import Image

_MOST_UNREAD = 50

__all__ = ["foreign_omissions", "other_languages", "read_elf"]


def read_elf(image: Image, wanted: Wanted, options: ReadOptions) -> Reading:
    """Return the wanted structs of a file with DWARF, and of the files that it refers to.

    Units in other languages than C are skipped and counted in the notes. A damaged unit, or one whose file is
    missing, becomes an Unread, and the rest is read. Raises ReadError if nothing can be read.
    """
    with closing(_collect(image, wanted, options)) as collector:
        structs = collector.selection.structs()
        return Reading(
            image.path,
            "dwarf",
            image.target,
            _without_bit_fields(structs) if image.has_wide_bytes else structs,
            image.build_id,
            _unread_places(image.path, collector.unread),
            (*image.notes, *collector.notes(), *collector.selection.notes()),
            is_kernel=image.is_kernel,
            shuffled=collector.shuffled,
            names=collector.selection.names(),
            omissions=collector.omissions(),
            folders=collector.folders,
        )


def other_languages(image: Image, options: ReadOptions) -> tuple[str, ...]:
    """Return the languages of the units of a file that are not in C; damaged units state none."""
    languages = set[str]()
    index = Index(image, options, "" if image.section(".debug_info") else SPLIT)
    with closing(index):
        for unit in index.units:
            with suppress(*DAMAGE):
                languages.add(unit.language or "")
            unit.forget()
    return tuple(sorted(languages - {""}))


def foreign_omissions(image: Image, wanted: Wanted, options: ReadOptions) -> tuple[Omission, ...]:
    """Return the wanted structs of units in other languages that no unit in C has with the same layout.

    Raises ReadError if nothing can be read.
    """
    with closing(_collect(image, wanted, options)) as collector:
        return collector.foreign_omissions()


def _without_bit_fields(structs: tuple[Struct, ...]) -> tuple[Struct, ...]:
    """Return structs with a problem for those with bit-fields, where bytes do not have eight bits."""
    problem = "it has bit-fields, and bytes of 16 bits"
    return tuple(
        replace(struct, problem=problem) if _has_bits(struct.fields) else struct for struct in structs
    )


def _has_bits(fields: tuple[Field, ...]) -> bool:
    return any(field.is_bitfield or _has_bits(field.members) for field in fields)


def _collect(image: Image, wanted: Wanted, options: ReadOptions) -> Collector:
    """Return a collector that has read the wanted structs.

    Some units can refer by its tag to a struct that others call by a typedef, so its names are collected
    first.
    """
    if are_many(wanted):
        wanted = wanted.with_everything()
    unstated: Unstated | None = None
    while True:
        collector = Collector(image, wanted, options, unstated)
        try:
            collector.read()
        except OtherCompiler as error:
            unstated = error.unstated
            continue
        except CrossUnitReference:
            wanted = wanted.with_everything()
            continue
        held_names = collector.selection.held_names()
        if held_names <= collector.wanted.with_containers:
            return collector
        wanted = replace(wanted, with_containers=wanted.with_containers | held_names)


def _unread_places(path: str, reasons: list[str]) -> tuple[Unread, ...]:
    """Return each reason once, the first few in full."""
    unique_reasons = list(dict.fromkeys(reasons))
    places = [Unread(path, why) for why in unique_reasons[:_MOST_UNREAD]]
    if len(unique_reasons) > _MOST_UNREAD:
        places.append(Unread(path, f"and {len(unique_reasons) - _MOST_UNREAD} more places"))
    return tuple(places)
