"""Code that no unit describes: a sign of units without debug information, if no symbol names their sources.

Symbols of sources are missing in a stripped file, in one linked with `--discard-all`, and for units optimised
at link time. Unwind tables and symbols of functions still list the code.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Final

from layoutlint.model.record import Record
from layoutlint.readers import frames
from layoutlint.readers.dwarf.format.constants import tag
from layoutlint.readers.dwarf.format.unit import NAME, Unit
from layoutlint.readers.dwarf.ranges import Range, Ranges
from layoutlint.readers.elf.elf_file import Image
from layoutlint.readers.elf.headers import Section
from layoutlint.readers.elf.source_files import functions, shared_objects

_VARIABLE: Final = tag("variable")
_FUNCTION: Final = tag("subprogram")
_EXECUTABLE: Final = 4  # SHF_EXECINSTR
_LINKED: Final = re.compile(r"^\.(?:init|fini|i?plt(?:\..*)?|glink|stub|MIPS\.stubs|thunks?)$")
"""Sections that linkers create, and sections with parts of two functions of the C library."""
_PLACEHOLDER: Final = 8
"""Largest size in bytes of a function of glibc's crt1.o that only returns (_dl_relocate_static_pie)."""
_GAP: Final = 16
"""Largest gap in bytes between that function and the one at which a program starts."""
_NEAR: Final = 256
"""Largest distance in bytes of that function from the address at which a program starts."""
_LIBRARY: Final = re.compile(
    r"^(?:__|_[A-Z]|_start|_init$|_fini$|_dl_relocate_static_pie$|(?:de)?register_tm_clones$|frame_dummy$"
    r"|call_(?:weak_fn|gmon_start)$|set_(?:fast_math|precision)$|_mcleanup$|_sub_[ID]_\d|at(?:_quick_)?exit$"
    r"|pthread_atfork$|[fl]?stat(?:64)?$|fstatat(?:64)?$|mknod(?:at)?$)"
)
"""Functions of the compiler, and of the parts of the C library that are always linked into programs
(crt1.o, crtbegin.o, libc_nonshared.a, libgcc.a). Programs define none that begin with `__` or `_A` (C11,
7.1.3)."""


class UndescribedCode(Record, frozen=True):
    """Functions that no unit describes."""

    names: tuple[str, ...]
    """Names, or addresses of functions without a symbol."""
    is_known: bool
    """Whether the file lists its functions."""


NOT_KNOWN: Final = UndescribedCode((), False)


def find_undescribed(image: Image, units: Iterable[Unit], by_symbols: bool) -> UndescribedCode:
    """Return the functions that no unit describes. Raises ReadError for damaged tables, DAMAGE for a unit.

    `by_symbols` adds functions that only symbols list, such as hand-written assembler.
    """
    sections = _Sections(image)
    if not sections.starts or not (by_symbols or sections.are_placed):
        return UndescribedCode((), True)  # as in a .dwo file
    described = _DescribedCode(_ranges(image, units), sections)
    starts = set(frames.starts(image))
    is_known = not described.starts or any(start in described for start in starts)
    if by_symbols and not is_known:
        # Built without unwind tables; any that exist come from the C library.
        starts.update(function.address for function in functions(image) if function.size)
        is_known = any(start in described for start in starts)
    lacking = (start for start in sorted(starts) if start not in described)
    lacking = (start for start in lacking if _is_of_unit(image, sections, start))
    return UndescribedCode(tuple(_function_names(image, list(lacking))), is_known)


def has_undescribed_data(image: Image, units: Iterable[Unit]) -> bool:
    """Return whether a symbol names data that no unit declares. Raises ReadError and DAMAGE likewise.

    In an object file, also whether one names such a function: sections that share addresses have no ranges.
    """
    found = (*shared_objects(image), *(functions(image) if image.is_relocatable else ()))
    names = {each.name.partition(".")[0] for each in found if each.size and not _LIBRARY.match(each.name)}
    for unit in units if names else ():
        try:
            plan, _, end = unit.root
            names -= {
                unit.text(child, values, NAME)
                for child, values, _ in (unit.children(plan, end) if plan.has_children else ())
                if child.tag in (_VARIABLE, _FUNCTION)
            }
        finally:
            unit.forget()
    return bool(names)


def _function_names(image: Image, starts: list[int]) -> Iterator[str]:
    """Yield the names of functions, or their addresses, without those of libraries."""
    names = {function.address: function.name for function in functions(image)} if starts else {}
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
        """Whether they have addresses of their own, which linking gives them."""

    def section_at(self, address: int) -> Section | None:
        """Return the section at an address of a linked file."""
        number = bisect_right(self.starts, address) - 1
        header = self._headers[number] if self.are_placed and number >= 0 else None
        return header if header is not None and address < header.address + header.size else None


class _DescribedCode:
    """The addresses that units describe."""

    def __init__(self, ranges: Iterable[Range], sections: _Sections) -> None:
        self.starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(ranges):
            # Functions that the linker dropped leave ranges that start in no section.
            if end <= start or (sections.are_placed and sections.section_at(start) is None):
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
                yield from ranges.read(unit)
        finally:
            unit.forget()


def _is_of_unit(image: Image, sections: _Sections, start: int) -> bool:
    """Return whether a unit can have defined a function: it belongs neither to the linker nor to crt1.o."""
    if not sections.are_placed:
        return True
    section = sections.section_at(start)
    if section is None or _LINKED.match(section.name) or start == image.entry:
        return False
    return not (image.entry < start < image.entry + _NEAR and _is_placeholder(image, start))


def _is_placeholder(image: Image, start: int) -> bool:
    sizes = frames.sizes(image)
    is_next = 0 <= start - image.entry - sizes.get(image.entry, 0) < _GAP
    return is_next and sizes.get(start, 0) <= _PLACEHOLDER
