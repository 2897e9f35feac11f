"""Variables of ELF files: where they stand, by the symbol table; what they are, by DWARF."""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Final

from layoutlint.errors import ReadError, did_you_mean
from layoutlint.model.ctype import CType
from layoutlint.model.reading import MissingVariable, Reading, ReadOptions
from layoutlint.model.structs import Field, Struct, Unstated
from layoutlint.model.wanted import Wanted
from layoutlint.readers.elf.elf_file import Image
from layoutlint.readers.elf.headers import Section
from layoutlint.readers.linux import system_map
from layoutlint.readers.linux.system_map import SystemMap

_SYMBOLS: Final = 2  # SHT_SYMTAB
_ALLOCATED, _CODE, _THREAD = 2, 4, 0x400  # SHF_ALLOC, SHF_EXECINSTR, SHF_TLS
_OBJECT: Final = 1  # STT_OBJECT; STT_NOTYPE is 0
_ENTRY_64, _ENTRY_32 = "IBBHQQ", "IIIBBH"
_BOUNDARY = re.compile(
    r"^_*(?:start|stop|begin|end)_|_(?:start|stop|begin|end|limit)(?:_\w*)?$|^_[se](?:data|init|text)"
)
"""Names that linker scripts give to places, and that stand for no object (include/asm-generic/sections.h)."""
_LONGEST = 1 << 12
"""Bytes of a variable's name that are read."""
_MOST_MATCHES = 10_000_000
"""Patterns of rules times names of symbols."""
_PAGE = 4096
"""Sections that begin on the page on which another one ends can share a line with it."""
READ_MOSTLY = "read_mostly"
"""In the names of sections for what is hardly ever written (`.data..read_mostly` of Linux)."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable as the symbol table has it."""

    name: str
    address: int
    """In an object file, from the start of its section."""
    size: int
    section: int
    """The number of its section."""
    has_type: bool
    """Whether it is called an object, and is no mere label."""

    @property
    def end(self) -> int:
        """One past its last byte."""
        return self.address + self.size


def add(reading: Reading, image: Image, wanted: Wanted, options: ReadOptions) -> Reading:
    """A reading with the variables that are asked for. Raises ReadError for a damaged symbol table."""
    symbols = _symbols(image)
    if symbols is not None:
        return _with_symbols(reading, image, symbols, wanted, options)
    mapped = system_map.of_image(image) if reading.is_kernel and not image.is_relocatable else None
    if mapped is None:
        return reading
    note = f"its variables have addresses from {mapped.path}, which has no sizes"
    largest = _with_symbols(reading, image, _mapped_symbols(image, mapped, False), wanted, options)
    least = _with_symbols(reading, image, _mapped_symbols(image, mapped, True), wanted, options)
    return replace(largest, least_data=least.data or (), notes=(*reading.notes, note))


def misplaced(reading: Reading, image: Image, wanted: Wanted, options: ReadOptions) -> Reading:
    """Return a reading with its variables that start at no multiple of an alignment.

    Those are meant that are as large as the structs which may have it, or arrays of them. Raises ReadError
    for a damaged symbol table.
    """

    @cache
    def largest(size: int) -> int:
        """Return the largest alignment of what can be so large."""
        return max((align for one, align in wanted.misplaced if size and size % one == 0), default=1)

    symbols = [one for one in _symbols(image) or () if one.address % largest(one.size)]
    if not symbols or not image.has_dwarf:
        return reading
    from layoutlint.readers.dwarf.types import variables

    unstated = Unstated.NOTHING
    for each in reading.structs:
        unstated |= each.unstated
    known = variables.described(image, options, set(_keys(symbols)), unstated)
    found = {key: replace(field, bit_offset=key[0] * 8) for key, field in known.items()}
    return replace(reading, misplaced=tuple(found[key] for key in sorted(found)))


def _mapped_symbols(image: Image, mapped: SystemMap, is_least: bool) -> list[Symbol]:
    """Return the symbols of a System.map, each as far as the next one or, if `is_least`, of one byte.

    Of several at one address, such as a variable and the linker script's name of a boundary, all count.
    """
    holding = (numbered for numbered in enumerate(image.headers) if _holds_data(numbered[1]))
    sections = sorted((header.address, header.address + header.size, number) for number, header in holding)
    addresses = sorted({address for address, _ in mapped.symbols})
    found: list[Symbol] = []
    for address, name in mapped.symbols:
        at = bisect_right(sections, (address, 1 << 64, 0)) - 1
        if at < 0 or address >= sections[at][1]:
            continue
        later = bisect_right(addresses, address)
        end = min([sections[at][1], *addresses[later : later + 1]])
        is_object = _BOUNDARY.search(name) is None
        found.append(Symbol(name, address, 1 if is_least else end - address, sections[at][2], is_object))
    return found


def _with_symbols(
    reading: Reading, image: Image, symbols: list[Symbol], wanted: Wanted, options: ReadOptions
) -> Reading:
    """Return a reading with the variables that are asked for among some symbols."""
    chosen = _chosen(symbols, wanted, image)
    near = sorted(
        _near(symbols, chosen, wanted.near, not image.is_relocatable),
        key=lambda s: (s.section, s.address, s.name),
    )
    fields = _fields(near, image, options)
    there = {symbol.name for symbol in chosen}
    names = {symbol.name for symbol in symbols if symbol.has_type}
    lacking = [name for name in wanted.variables if not _is_pattern(name) and _first(name) not in there]
    missing = tuple(MissingVariable(name, did_you_mean(_first(name), names)) for name in sorted(lacking))
    areas = _areas(image, near, fields, {symbol.section for symbol in chosen})
    data = tuple(replace(area, origin=reading.path) for area in areas)
    return replace(reading, data=data, missing_variables=missing)


def _first(path: str) -> str:
    """The variable that a path is about."""
    return path.partition(".")[0].partition("[")[0]


def _is_pattern(path: str) -> bool:
    return any(mark in _first(path) for mark in "*?")


def _symbols(image: Image) -> list[Symbol] | None:
    """The variables of a file; None where it has no symbol table."""
    table = next((header for header in image.headers if header.type == _SYMBOLS and header.size), None)
    if table is None or table.link >= len(image.headers):
        return None
    order = "<" if image.little_endian else ">"
    entry = struct.Struct(order + (_ENTRY_64 if image.bits == 64 else _ENTRY_32))
    content, strings = image.raw(table), bytes(image.raw(image.headers[table.link]))
    if len(content) % entry.size:
        raise ReadError(image.path, f"section {table.name} ends inside a symbol")
    holding = [_holds_data(header) for header in image.headers]
    found: list[Symbol] = []
    for values in entry.iter_unpack(content):
        if image.bits == 64:
            name, info, _, section, address, size = values
        else:
            name, address, size, info, _, section = values
        if info & 15 <= _OBJECT and section < len(holding) and holding[section]:
            called = strings[name : name + _LONGEST].partition(b"\0")[0].decode(errors="replace")
            if called and _is_inside(image, section, address, size):
                found.append(Symbol(called, address, size, section, info & 15 == _OBJECT))
    return found


def _is_inside(image: Image, section: int, address: int, size: int) -> bool:
    """Whether a symbol lies within its section; linker scripts set some outside, and damage others."""
    header = image.headers[section]
    start = 0 if image.is_relocatable else header.address
    return start <= address and address + size <= start + header.size


def _holds_data(header: Section) -> bool:
    return bool(header.flags & _ALLOCATED) and not header.flags & (_CODE | _THREAD)


def _chosen(symbols: list[Symbol], wanted: Wanted, image: Image) -> list[Symbol]:
    """The variables that are asked for, and those of sections that say what they are for.

    Raises ReadError for too many patterns.
    """
    names = frozenset(map(_first, wanted.variables))
    patterns = [name for name in names if _is_pattern(name)]
    if len(patterns) * len(symbols) > _MOST_MATCHES:
        many = f"the rules hold {len(patterns):,} patterns against {len(symbols):,} variables"
        raise ReadError(image.path, f"{many}, more than is allowed; use fewer patterns")
    quiet = {number for number, header in enumerate(image.headers) if READ_MOSTLY in header.name}

    def is_meant(symbol: Symbol) -> bool:
        if symbol.name in names or not symbol.has_type:
            return symbol.name in names
        return symbol.section in quiet or any(fnmatchcase(symbol.name, pattern) for pattern in patterns)

    # A name for the same place, which a linker script gives, has no size of its own (`jiffies`).
    sizes = {(s.section, s.address): s.size for s in symbols if s.size}
    meant = filter(is_meant, symbols)
    return [s if s.size else replace(s, size=sizes.get((s.section, s.address), 0)) for s in meant]


def _near(symbols: list[Symbol], chosen: list[Symbol], near: int, is_linked: bool) -> set[Symbol]:
    """The chosen variables and what stands near them, in the same section where no addresses are given."""
    around: dict[int, list[tuple[int, int]]] = {}
    for symbol in sorted(chosen, key=lambda s: s.address):
        spans = around.setdefault(0 if is_linked else symbol.section, [])
        start, end = symbol.address - near, symbol.end + near
        if spans and start <= spans[-1][1]:
            start, end = spans[-1][0], max(end, spans.pop()[1])
        spans.append((start, end))
    close = set(chosen)
    for symbol in symbols:
        spans = around.get(0 if is_linked else symbol.section, [])
        number = bisect_right(spans, (symbol.end, 0)) - 1
        if symbol.has_type and symbol.size and number >= 0 and spans[number][1] > symbol.address:
            close.add(symbol)
    return close


def _fields(symbols: Iterable[Symbol], image: Image, options: ReadOptions) -> dict[Symbol, Field]:
    """Each variable as a field that starts at its address, with its type where DWARF has it."""
    described: dict[tuple[int, str], Field] = {}
    if image.has_dwarf:
        from layoutlint.readers.dwarf.types import variables

        described = variables.described(image, options, set(_keys(symbols)))
    unknown = Field("", CType("??"), 0, None)
    return {
        symbol: replace(
            next((described[key] for key in _keys((symbol,)) if key in described), unknown),
            name=symbol.name,
            bit_offset=symbol.address * 8,
            bit_size=symbol.size * 8,
        )
        for symbol in symbols
    }


def _keys(symbols: Iterable[Symbol]) -> Iterator[tuple[int, str]]:
    """Yield addresses with what can be the names in the source.

    GCC numbers variables inside of functions (`count.3`), clang names the function as well (`f.count.3`).
    """
    return ((symbol.address, part) for symbol in symbols for part in symbol.name.split(".")[:2])


def _areas(
    image: Image, symbols: list[Symbol], fields: dict[Symbol, Field], wanted: set[int]
) -> Iterator[Struct]:
    """Data that stands together in memory: a section of an object file, neighbours in a linked one."""
    by_section: dict[int, list[Field]] = {}
    for symbol in symbols:
        by_section.setdefault(symbol.section, []).append(fields[symbol])
    headers = image.headers
    for numbers in _together(image):
        if wanted.isdisjoint(numbers):
            continue
        start = headers[numbers[0]].address
        parts = tuple(_part(headers[n], by_section.get(n, []), start) for n in numbers)
        yield Struct(
            ", ".join(dict.fromkeys(headers[n].name for n in numbers if n in wanted)),
            "struct",
            max(part.bit_offset + (part.bit_size or 0) for part in parts),
            headers[numbers[0]].align or 1,
            parts,
            image.target,
            origin=image.path,
            address=None if image.is_relocatable else start,
        )


def _part(header: Section, variables: list[Field], start: int) -> Field:
    """A section as a part of the data; what is in it has no other name than its own."""
    moved = tuple(replace(v, bit_offset=v.bit_offset - header.address * 8) for v in variables)
    offset = (header.address - start) * 8
    return Field(None, CType(header.name), offset, header.size * 8, aggregate="struct", members=moved)


def _together(image: Image) -> list[list[int]]:
    """The sections with data, by number, in runs that can have lines in common."""
    numbered = [(n, header) for n, header in enumerate(image.headers) if _holds_data(header) and header.size]
    if image.is_relocatable:
        return [[number] for number, _ in numbered]
    groups: list[list[int]] = []
    end = -1
    for number, header in sorted(numbered, key=lambda pair: pair[1].address):
        if groups and header.address // _PAGE <= end // _PAGE:
            groups[-1].append(number)
        else:
            groups.append([number])
        end = max(end, header.address + header.size - 1)
    return groups
