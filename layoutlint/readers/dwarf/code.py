"""Code that no unit describes: it shows units without debug information where no symbol names their sources.

Symbols of sources are missing in a stripped file, in one that was linked with `--discard-all`, and for units
that were optimised when they were linked. Unwind tables and symbols of functions list the code all the same.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from layoutlint.readers import frames
from layoutlint.readers.dwarf.format.unit import Unit
from layoutlint.readers.dwarf.ranges import Range, Ranges
from layoutlint.readers.elf.elf_file import Image
from layoutlint.readers.elf.headers import Section
from layoutlint.readers.elf.source_files import functions

_EXECUTABLE: Final = 4  # SHF_EXECINSTR
_LINKED: Final = re.compile(r"^\.(?:init|fini|i?plt(?:\..*)?|glink|stub|MIPS\.stubs|thunks?)$")
"""Sections that linkers make, and those that hold parts of two functions of the C library."""
_PLACEHOLDER: Final = 8
"""Bytes, at most, of a function of glibc's crt1.o that only returns (_dl_relocate_static_pie)."""
_GAP: Final = 16
"""Bytes, at most, between it and the function where a program starts."""
_NEAR: Final = 256
"""Bytes, at most, from where a program starts to it."""
_LIBRARY: Final = re.compile(
    r"^(?:__|_[A-Z]|_start|_init$|_fini$|_dl_relocate_static_pie$|(?:de)?register_tm_clones$|frame_dummy$"
    r"|call_(?:weak_fn|gmon_start)$|set_(?:fast_math|precision)$|_mcleanup$|_sub_[ID]_\d|at(?:_quick_)?exit$"
    r"|pthread_atfork$|[fl]?stat(?:64)?$|fstatat(?:64)?$|mknod(?:at)?$)"
)
"""Functions of the compiler, and of the parts of the C library that are linked into programs even so (crt1.o,
crtbegin.o, libc_nonshared.a, libgcc.a). Programs define none that begin with `__` or `_A` (C11, 7.1.3)."""


@dataclass(frozen=True, slots=True)
class Undescribed:
    """Functions that no unit describes."""

    names: tuple[str, ...]
    """Names, or addresses where no symbol has one."""
    is_known: bool
    """Whether the file lists its functions."""


NOT_KNOWN: Final = Undescribed((), False)


def undescribed(image: Image, units: Iterable[Unit], by_symbols: bool) -> Undescribed:
    """Return the functions that no unit describes. Raises ReadError for damaged tables, DAMAGE for a unit.

    With `by_symbols` those count as well that symbols alone tell of, as hand-written assembler has them.
    """
    sections = _Sections(image)
    if not sections.starts or not (by_symbols or sections.are_placed):
        return Undescribed((), True)  # as in a .dwo file
    described = _Described(_ranges(image, units), sections)
    found = set(frames.starts(image))
    is_known = not described.starts or any(start in described for start in found)
    if by_symbols and not is_known:
        # Built without unwind tables; those that are there come with the C library.
        found.update(each.address for each in functions(image) if each.size)
        is_known = any(start in described for start in found)
    lacking = (start for start in sorted(found) if start not in described)
    lacking = (start for start in lacking if _is_of_unit(image, sections, start))
    return Undescribed(tuple(_named(image, list(lacking))), is_known)


def _named(image: Image, starts: list[int]) -> Iterator[str]:
    """Yield the names of functions, or their addresses, without those of libraries."""
    names = {each.address: each.name for each in functions(image)} if starts else {}
    for start in starts:
        name = names.get(start, f"{start:#x}")
        if not _LIBRARY.match(name):
            yield name


class _Sections:
    """The sections with code."""

    def __init__(self, image: Image) -> None:
        headers = [header for header in image.headers if header.flags & _EXECUTABLE and header.size]
        self._headers = sorted(headers, key=lambda header: header.address)
        self.starts = [header.address for header in self._headers]
        self.are_placed = not image.is_relocatable
        """Whether they have addresses of their own, as they have once they are linked."""

    def holding(self, address: int) -> Section | None:
        """Return the section in which an address is, of a linked file."""
        number = bisect_right(self.starts, address) - 1
        header = self._headers[number] if self.are_placed and number >= 0 else None
        return header if header is not None and address < header.address + header.size else None


class _Described:
    """The addresses that units describe."""

    def __init__(self, ranges: Iterable[Range], sections: _Sections) -> None:
        self.starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(ranges):
            # Of functions that the linker left out, ranges remain that start in no section.
            if end <= start or (sections.are_placed and sections.holding(start) is None):
                continue
            if self.starts and start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self.starts.append(start)
                self._ends.append(end)

    def __contains__(self, address: int) -> bool:
        number = bisect_right(self.starts, address) - 1
        return number >= 0 and address < self._ends[number]


def _ranges(image: Image, units: Iterable[Unit]) -> Iterator[Range]:
    ranges = Ranges(image)
    for unit in units:
        try:
            if unit.signature is None:
                yield from ranges.of(unit)
        finally:
            unit.forget()


def _is_of_unit(image: Image, sections: _Sections, start: int) -> bool:
    """Whether a unit can have defined a function: it is neither the linker's nor, by its place, of crt1.o."""
    if not sections.are_placed:
        return True
    section = sections.holding(start)
    if section is None or _LINKED.match(section.name) or start == image.entry:
        return False
    return not (image.entry < start < image.entry + _NEAR and _is_placeholder(image, start))


def _is_placeholder(image: Image, start: int) -> bool:
    sizes = frames.sizes(image)
    is_behind = 0 <= start - image.entry - sizes.get(image.entry, 0) < _GAP
    return is_behind and sizes.get(start, 0) <= _PLACEHOLDER
