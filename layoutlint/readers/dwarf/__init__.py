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
from layoutlint.readers.dwarf.struct_names import StructNames
from layoutlint.readers.elf.elf_file import Image

_MOST_UNREAD = 50

__all__ = ["foreign_omissions", "other_languages", "read_elf"]


def read_elf(image: Image, wanted: Wanted, options: ReadOptions) -> Reading:
    """Return the wanted structs of a file with DWARF, and of the files that it refers to.

    Units in other languages than C are skipped and counted in the notes. A damaged unit, or one whose file is
    missing, becomes an Unread, and the rest is read. Raises ReadError if nothing can be read.
    """
    to_collect = _request_with_uses(image, wanted, options)
    gives_uses = to_collect.with_uses
    with closing(_collect(image, to_collect, options)) as collector:
        structs = collector.selection.structs()
        structs = _without_bit_fields(structs) if image.has_wide_bytes else structs
        own = structs
        if gives_uses:
            own = tuple(_without_other_names(each, wanted) for each in structs if _is_own(each, wanted))
        return Reading(
            image.path,
            "dwarf",
            image.target,
            own,
            image.build_id,
            _unread_places(image.path, collector.unread),
            (*image.notes, *collector.notes(), *collector.selection.notes()),
            is_kernel=image.is_kernel,
            shuffled=collector.shuffled,
            uses=tuple(each for each in structs if not _is_own(each, wanted)) if gives_uses else None,
            names=collector.selection.names(),
            omissions=collector.omissions(),
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


def _request_with_uses(image: Image, wanted: Wanted, options: ReadOptions) -> Wanted:
    """Return a request for the wanted structs by their names, together with what embeds them.

    Names that match patterns are found first, which takes a third of the time of reading their structs. The
    request is for no uses if none were wanted, if it has all structs anyway, or if damage hides names.
    """
    is_whole = wanted.everything or bool(wanted.with_containers)
    matches = _names_that_match(image, wanted, options) if wanted.with_uses and not is_whole else None
    if matches is None:
        return replace(wanted, with_uses=False)
    named = replace(wanted, names=wanted.names | matches, patterns=())
    return replace(named, everything=True) if are_many(named) else replace(named, with_containers=named.names)


def _names_that_match(image: Image, wanted: Wanted, options: ReadOptions) -> frozenset[str] | None:
    """Return the names of structs that match a pattern; None if damage hides names."""
    if not wanted.patterns:
        return frozenset()
    request = Wanted(names_only=True, counts_declared=True)
    with closing(_collect(image, request, replace(options, finds_omissions=False))) as collector:
        selection = collector.selection
        if collector.unread or (isinstance(selection, StructNames) and selection.is_damaged):
            return None
        return frozenset(filter(Wanted(patterns=wanted.patterns).matches, selection.names()))


def _is_own(struct: Struct, wanted: Wanted) -> bool:
    """Return whether a struct is wanted itself: patterns are not compared with the names of typedefs."""
    return wanted.includes(struct) and (not struct.realigned_from or struct.name in wanted.names)


def _without_other_names(struct: Struct, wanted: Wanted) -> Struct:
    """Return a struct without the typedefs that were only looked up because they match a pattern."""
    aliases = tuple(name for name in struct.aliases if name in wanted.names)
    return struct if len(aliases) == len(struct.aliases) else replace(struct, aliases=aliases)


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
