"""All units of one file, and how references find them."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from functools import cached_property
from typing import Literal

from layoutlint.errors import ReadError
from layoutlint.model.randomised import ShufflingEvidence
from layoutlint.model.reading import ReadOptions
from layoutlint.readers.dwarf.format import unrelocated
from layoutlint.readers.dwarf.format.forms import DwarfError, MissingFile
from layoutlint.readers.dwarf.format.package import Package
from layoutlint.readers.dwarf.format.sections import Sections
from layoutlint.readers.dwarf.format.unit import Unit
from layoutlint.readers.elf import compiler_marks, debug_files
from layoutlint.readers.elf.elf_file import Data, Image

SPLIT = ".dwo"
"""Suffix of the names of sections of split DWARF."""
_KEYS = itertools.count(1)


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
        reason = unrelocated.problem(self._image, name, units)
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
