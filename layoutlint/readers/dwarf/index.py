"""All units of one file, and how they find one another."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from typing import Literal

from layoutlint.readers.dwarf.forms import Damaged
from layoutlint.readers.dwarf.sections import Sections
from layoutlint.readers.dwarf.unit import Unit
from layoutlint.readers.elf import Data, Image

_KEYS = itertools.count(1)


class Index:
    """The units of a file in the order in which they stand."""

    def __init__(self, image: Image) -> None:
        self.order: Literal["little", "big"] = "little" if image.little_endian else "big"
        self.units: list[Unit] = []
        self.damaged: list[str] = []
        """What could not be divided into units, with its place."""
        self.sections = Sections.of(image)
        self.key = 0
        """Tells the section that is being divided from all others."""
        self._first: list[Unit] = []
        for name in (".debug_info", ".debug_types"):
            for number, data in enumerate(image.sections(name)):
                found = self._divide(name, data)
                if name == ".debug_info" and number == 0:
                    self._first = found
                self.units += found
        self._starts = [unit.offset for unit in self._first]
        self._signed = {unit.signature: unit for unit in self.units if unit.signature is not None}

    def _divide(self, name: str, data: Data) -> list[Unit]:
        self.key = next(_KEYS)
        found: list[Unit] = []
        position = 0
        while position < len(data):
            try:
                unit = Unit(self.sections, self, name, data, position)
            except Damaged as error:
                rest = "the rest of the section is not read"
                self.damaged.append(f"{name}+{position:#x}: {error.reason}; {rest}")
                break
            found.append(unit)
            position = unit.end
        return found

    def holding(self, position: int) -> Unit:
        """The unit in which a position of .debug_info lies. Raises Damaged."""
        number = bisect_right(self._starts, position) - 1
        if number < 0 or position >= self._first[number].end:
            raise Damaged("a reference leaves .debug_info", position)
        return self._first[number]

    def signed(self, signature: int) -> tuple[Unit, int]:
        """The type unit of a signature and where its type stands. Raises Damaged when there is none."""
        unit = self._signed.get(signature)
        if unit is None or unit.type_offset is None:
            raise Damaged(f"no type unit has the signature {signature:#x}")
        return unit, unit.offset + unit.type_offset
