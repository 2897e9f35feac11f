"""Detection of object files whose relocation tables are missing: then all offsets are 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from layoutlint.readers.dwarf.format import forms
from layoutlint.readers.dwarf.format.constants import attribute, tag
from layoutlint.readers.dwarf.format.forms import DAMAGE
from layoutlint.readers.elf.elf_file import Image

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layoutlint.readers.dwarf.format.unit import Unit

_STMT_LIST: Final = attribute("stmt_list")
_STR_OFFSETS_BASE: Final = attribute("str_offsets_base")
_COMPILE_UNIT: Final = tag("compile_unit")
_STRINGS: Final = (forms.STRP, forms.LINE_STRP)
_MISSING: Final = (
    "its {0} has no relocation table, and offsets in it are 0 that cannot all be; "
    "compile it anew, or keep `.rela{0}`"
)
_MOST_ENTRIES: Final = 1 << 12
_MOST_UNITS: Final = 1 << 6


def problem(image: Image, section: str, units: list[Unit]) -> str | None:
    """Return why the units of a section cannot be read; None if nothing is certain.

    Tools that resolve relocations (eu-strip --reloc-debug-sections) leave offsets that differ, and so does an
    assembler that keeps addends in the section (REL). Only offsets that cannot all be 0 prove the loss.
    """
    first = units[:_MOST_UNITS]
    if image.lacks_relocations(section) and (any(map(_has_one_string, first)) or _shares_all(first)):
        return _MISSING.format(section)
    if image.lacks_relocations(".debug_str_offsets") and any(map(_has_one_offset, first)):
        return _MISSING.format(".debug_str_offsets")
    if image.lacks_relocations(".debug_line") and any(map(_has_one_path, first)):
        return _MISSING.format(".debug_line")
    return None


def _has_one_string(unit: Unit) -> bool:
    """Return whether entries of a unit have several strings of one section, all at its start.

    A unit has different strings for its producer, its folder and its name, and so do the members of a struct.
    """
    counts = dict.fromkeys(_STRINGS, 0)
    try:
        for form, offset in _strings(unit):
            if offset:
                return False
            counts[form] += 1
    except DAMAGE:
        pass  # the reader of the unit reports it
    return max(counts.values()) > 1


def _strings(unit: Unit) -> Iterator[tuple[int, int]]:
    """Yield the form and the offset of the strings of a unit's first entries. Raises DAMAGE."""
    position = unit.first
    for _ in range(_MOST_ENTRIES):
        if position >= unit.end:
            return
        plan, position = unit.entry(position)
        if plan is not None:
            values, position = unit.read(plan, position)
            for number, form in plan.forms.items():
                value = values.get(number)
                if form in _STRINGS and isinstance(value, int):
                    yield form, value


def _shares_all(units: list[Unit]) -> bool:
    """Return whether several compilations share one abbreviation table and one line table."""
    first = [(unit.abbrev_offset, _line_table(unit)) for unit in units]
    offsets = [pair for pair in first if pair[1] is not None]
    return len(offsets) > 1 and set(offsets) == {(0, 0)}


def _line_table(unit: Unit) -> int | bytes | None:
    """Return the position of a compilation's line table; None for other units and for damaged ones."""
    try:
        plan, values, _ = unit.root
    except DAMAGE:
        return None
    return values.get(_STMT_LIST) if plan.tag == _COMPILE_UNIT else None


def _has_one_offset(unit: Unit) -> bool:
    """Return whether a unit's table of string offsets has several entries, all 0."""
    try:
        _, values, _ = unit.root
        if unit.shape.version >= 5 and _STR_OFFSETS_BASE not in values:
            return False
        start, end = unit.string_table
    except DAMAGE:
        return False
    offsets = bytes(unit.sections.string_offsets[start:end])
    return len(offsets) >= 2 * unit.shape.offset_size and not any(offsets)


def _has_one_path(unit: Unit) -> bool:
    """Return whether a line table of DWARF 5 has the same name for its folder and its first file."""
    try:
        files = unit.files
        if files is None or not files.find(0):
            return False
    except DAMAGE:
        return False
    name, folder = files.name, files.folder
    return name.form in _STRINGS and (name.form, name.value) == (folder.form, folder.value)
