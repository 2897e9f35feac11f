"""All units of one file, how references find them, and signs of missing relocation tables.

Without these, all offsets of an object file are 0.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Final, Literal

from layoutlint.errors import ReadError
from layoutlint.model.randomised import ShufflingEvidence
from layoutlint.model.reading import ReadOptions
from layoutlint.readers.dwarf.format import forms
from layoutlint.readers.dwarf.format.constants import attribute, tag
from layoutlint.readers.dwarf.format.forms import DAMAGE, DwarfError, MissingFile
from layoutlint.readers.dwarf.format.package import Package
from layoutlint.readers.dwarf.format.sections import Sections
from layoutlint.readers.dwarf.format.unit import Unit
from layoutlint.readers.elf import compiler_marks, debug_files
from layoutlint.readers.elf.elf_file import Data, Image

SPLIT = ".dwo"
"""Suffix of the names of sections of split DWARF."""
_KEYS = itertools.count(1)
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


def relocation_problem(image: Image, section: str, units: list[Unit]) -> str | None:
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


class Index:
    """The units of a file in the order of its sections."""

    def __init__(self, image: Image, options: ReadOptions, suffix: str = "", where: str = "") -> None:
        """Read the units in .debug_info and .debug_types, with a suffix for split DWARF.

        `where` precedes positions in messages. Raises ReadError.
        """
        self.order: Literal["little", "big"] = "little" if image.little_endian else "big"
        self.where = where
        self.is_split = bool(suffix)
        self.units: list[Unit] = []
        self.damaged: list[str] = []
        """Parts that could not be divided into units, with their positions."""
        self.sections = Sections.from_image(image, suffix)
        self._image = image
        self._options = options
        self._package = self._read_package(image)
        self.key = 0
        """Distinguishes the section that is being divided from all others."""
        self._info_units: list[Unit] = []
        for name in (f".debug_info{suffix}", f".debug_types{suffix}"):
            for number, data in enumerate(image.sections(name)):
                units = self._divide(name, data)
                if name.startswith(".debug_info") and number == 0:
                    self._info_units = units
                self.units += units
            self._refuse_unrelocated(name)
        self._starts = [unit.offset for unit in self._info_units]
        self._type_units = {unit.signature: unit for unit in self.units if unit.signature is not None}

    @cached_property
    def types(self) -> list[Unit]:
        """The type units."""
        return [unit for unit in self.units if unit.signature is not None]

    @cached_property
    def split(self) -> dict[int, Unit]:
        """The units of skeletons in other files, by their ids, without damaged ones."""
        units: dict[int, Unit] = {}
        for unit in self.units if self.is_split else ():
            split_id = unit.split_id
            if split_id is not None and unit.signature is None:
                units.setdefault(split_id, unit)
        return units

    @property
    def shuffling_evidence(self) -> ShufflingEvidence | None:
        """The mark of a compiler that randomises fields, in the strings of this file. Raises ReadError."""
        return compiler_marks.string_evidence(self._image)

    @property
    def has_supplement(self) -> bool:
        """Whether the file names a supplementary file (dwz)."""
        return self._supplement is not None

    @property
    def supplement(self) -> Index:
        """The units of the supplementary file (dwz). Raises MissingFile, or DwarfError if none is named."""
        index = self._supplement
        if index is None:
            raise DwarfError("refers to a supplementary file (dwz), and none is named")
        if isinstance(index, str):
            raise MissingFile(index)
        return index

    @cached_property
    def _supplement(self) -> Index | str | None:
        try:
            image = debug_files.supplement(self._image, self._options)
            if image is None:
                return None
            return Index(image, self._options, where=f"{image.path}: ")
        except ReadError as error:
            return error.reason

    def _read_package(self, image: Image) -> Package | None:
        if not (self.is_split and image.section(".debug_cu_index")):
            return None
        try:
            return Package(image)
        except DwarfError as error:
            raise ReadError(image.path, error.reason) from error

    def _refuse_unrelocated(self, name: str) -> None:
        """Raise ReadError for a file without its relocation tables."""
        if not self._image.is_relocatable:
            return
        units = [unit for unit in self.units if unit.section == name]
        reason = relocation_problem(self._image, name, units)
        for unit in units:
            unit.forget()
        if reason is not None:
            raise ReadError(self._image.path, reason)

    def _divide(self, name: str, data: Data) -> list[Unit]:
        self.key = next(_KEYS)
        units: list[Unit] = []
        position = 0
        while position < len(data):
            part = self._package.part(name, position) if self._package else None
            try:
                unit = Unit(self.sections, self, name, data, position, part)
            except DwarfError as error:
                consequence = "the rest of the section is not read"
                self.damaged.append(f"{self.where}{name}+{position:#x}: {error.reason}; {consequence}")
                break
            if self._package and part is None:
                self.damaged.append(f"{self.where}{name}+{position:#x}: the package has no index of it")
            else:
                units.append(unit)
            position = unit.end
        return units

    def unit_at(self, position: int) -> Unit:
        """Return the unit at a position of .debug_info. Raises DwarfError."""
        number = bisect_right(self._starts, position) - 1
        if number < 0 or position >= self._info_units[number].end:
            raise DwarfError("a reference leaves .debug_info", position)
        return self._info_units[number]

    def has_type(self, signature: int) -> bool:
        """Return whether there is a type unit with this signature."""
        return signature in self._type_units

    def find_type(self, signature: int) -> tuple[Unit, int]:
        """Return the type unit with a signature, and the position of its type.

        Raises DwarfError without one.
        """
        unit = self._type_units.get(signature)
        if unit is None or unit.type_offset is None:
            raise DwarfError(f"no type unit has the signature {signature:#x}")
        if unit.type_offset >= unit.end - unit.offset:
            raise DwarfError(f"the type of the signature {signature:#x} is outside its unit")
        return unit, unit.offset + unit.type_offset

    def close(self) -> None:
        """Drop the units, which refer to this index, so that the file can be closed."""
        for units in (self.units, self._info_units, self.types, self._starts):
            units.clear()
        self.split.clear()
        self._type_units.clear()
