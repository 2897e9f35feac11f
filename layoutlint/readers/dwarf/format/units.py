"""All units of one file, and how they find one another."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from functools import cached_property
from typing import Literal

from layoutlint.errors import ReadError
from layoutlint.model.randomised import Shuffled
from layoutlint.model.reading import ReadOptions
from layoutlint.readers.dwarf.format import unrelocated
from layoutlint.readers.dwarf.format.forms import Damaged, Missing
from layoutlint.readers.dwarf.format.package import Package
from layoutlint.readers.dwarf.format.sections import Sections
from layoutlint.readers.dwarf.format.unit import Unit
from layoutlint.readers.elf import compiler_marks, debug_files
from layoutlint.readers.elf.elf_file import Data, Image

SPLIT = ".dwo"
"""Ends the names of the sections of split DWARF."""
_KEYS = itertools.count(1)


class Index:
    """The units of a file in the order in which they stand."""

    def __init__(self, image: Image, options: ReadOptions, suffix: str = "", where: str = "") -> None:
        """Those in .debug_info and .debug_types, with a suffix for split DWARF.

        `where` stands before the places in messages. Raises ReadError.
        """
        self.order: Literal["little", "big"] = "little" if image.little_endian else "big"
        self.where = where
        self.is_split = bool(suffix)
        self.units: list[Unit] = []
        self.damaged: list[str] = []
        """What could not be divided into units, with its place."""
        self.sections = Sections.of(image, suffix)
        self._image = image
        self._options = options
        self._package = self._packed(image)
        self.key = 0
        """Tells the section that is being divided from all others."""
        self._first: list[Unit] = []
        for name in (f".debug_info{suffix}", f".debug_types{suffix}"):
            for number, data in enumerate(image.sections(name)):
                found = self._divide(name, data)
                if name.startswith(".debug_info") and number == 0:
                    self._first = found
                self.units += found
            self._refuse_unrelocated(name)
        self._starts = [unit.offset for unit in self._first]
        self._signed = {unit.signature: unit for unit in self.units if unit.signature is not None}

    @cached_property
    def types(self) -> list[Unit]:
        """The type units."""
        return [unit for unit in self.units if unit.signature is not None]

    @cached_property
    def split(self) -> dict[int, Unit]:
        """The units that skeletons elsewhere stand for, by their ids; damaged ones are left out."""
        found: dict[int, Unit] = {}
        for unit in self.units if self.is_split else ():
            split_id = unit.split_id
            if split_id is not None and unit.signature is None:
                found.setdefault(split_id, unit)
        return found

    @property
    def shuffled(self) -> Shuffled | None:
        """What its strings say of being built by a compiler that shuffles. Raises ReadError."""
        return compiler_marks.of_strings(self._image)

    @property
    def has_supplement(self) -> bool:
        """Whether a supplementary file (dwz) is named."""
        return self._supplement is not None

    @property
    def supplement(self) -> Index:
        """The units of the supplementary file (dwz). Raises Missing, or Damaged when none is named."""
        found = self._supplement
        if found is None:
            raise Damaged("refers to a supplementary file (dwz), and none is named")
        if isinstance(found, str):
            raise Missing(found)
        return found

    @cached_property
    def _supplement(self) -> Index | str | None:
        try:
            image = debug_files.supplement(self._image, self._options)
            if image is None:
                return None
            return Index(image, self._options, where=f"{image.path}: ")
        except ReadError as error:
            return error.reason

    def _packed(self, image: Image) -> Package | None:
        if not (self.is_split and image.section(".debug_cu_index")):
            return None
        try:
            return Package(image)
        except Damaged as error:
            raise ReadError(image.path, error.reason) from error

    def _refuse_unrelocated(self, name: str) -> None:
        """Refuse a file whose relocation tables are gone. Raises ReadError."""
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
        found: list[Unit] = []
        position = 0
        while position < len(data):
            part = self._package.part(name, position) if self._package else None
            try:
                unit = Unit(self.sections, self, name, data, position, part)
            except Damaged as error:
                rest = "the rest of the section is not read"
                self.damaged.append(f"{self.where}{name}+{position:#x}: {error.reason}; {rest}")
                break
            if self._package and part is None:
                self.damaged.append(f"{self.where}{name}+{position:#x}: the package has no index of it")
            else:
                found.append(unit)
            position = unit.end
        return found

    def holding(self, position: int) -> Unit:
        """The unit in which a position of .debug_info lies. Raises Damaged."""
        number = bisect_right(self._starts, position) - 1
        if number < 0 or position >= self._first[number].end:
            raise Damaged("a reference leaves .debug_info", position)
        return self._first[number]

    def has_type(self, signature: int) -> bool:
        """Return whether there is a type unit of a signature."""
        return signature in self._signed

    def signed(self, signature: int) -> tuple[Unit, int]:
        """The type unit of a signature and where its type stands. Raises Damaged when there is none."""
        unit = self._signed.get(signature)
        if unit is None or unit.type_offset is None:
            raise Damaged(f"no type unit has the signature {signature:#x}")
        if unit.type_offset >= unit.end - unit.offset:
            raise Damaged(f"the type of the signature {signature:#x} is outside its unit")
        return unit, unit.offset + unit.type_offset

    def close(self) -> None:
        """Lets go of the units, which hold on to this; the file can then be closed."""
        for units in (self.units, self._first, self.types, self._starts):
            units.clear()
        self.split.clear()
        self._signed.clear()
