"""Variables of ELF files: addresses from the symbol table, types from DWARF."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from math import gcd, prod
from typing import TYPE_CHECKING

from layoutlint.errors import ReadError, did_you_mean
from layoutlint.model.ctype import CType
from layoutlint.model.reading import MissingVariable, Reading, ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Struct, Unstated
from layoutlint.model.wanted import Wanted
from layoutlint.readers.elf.elf_file import Image
from layoutlint.readers.elf.headers import Section
from layoutlint.readers.elf.symbols import Symbol, holds_data, names_without_place, read_symbols

if TYPE_CHECKING:
    from layoutlint.readers.linux.system_map import SystemMap

_BOUNDARY = re.compile(
    r"^_*(?:start|stop|begin|end)_|_(?:start|stop|begin|end|limit)(?:_\w*)?$|^_[se](?:data|init|text)"
)
"""Names that linker scripts give to addresses, not objects (include/asm-generic/sections.h)."""
_UNKNOWN = Field("", CType("??"), 0, None)
"""A variable that DWARF does not describe."""
_HANDLE = "__dso_handle"
"""A pointer of crtbegin.o, whose symbol has no size."""
_BOUNDARIES = ("__TMC_END__", "edata", "etext", "end")
"""Others, of crtend.o and of the default linker script."""
_MOST_MATCHES = 10_000_000
"""The most comparisons: patterns of rules times names of symbols."""
_PAGE = 4096
"""A section that begins on the page where another ends can share a cache line with it."""
READ_MOSTLY = "read_mostly"
"""Part of the names of sections with rarely written data (`.data..read_mostly` of Linux)."""


def add(reading: Reading, image: Image, wanted: Wanted, options: ReadOptions) -> Reading:
    """Return a reading with the requested variables. Raises ReadError for a damaged symbol table."""
    symbols = read_symbols(image)
    if symbols is not None and wanted.wants_arrays(reading):
        objects = [symbol for symbol in symbols if symbol.has_type and symbol.size]
        fields = _fields(objects, image, options)
        shallow = tuple(replace(field, members=()) for field in fields.values() if field.source is not None)
        reading = replace(reading, arrays=tuple(_arrays(image, fields)), variables=shallow)
    elif symbols is not None and wanted.counted:
        fields = _fields(_of_sizes(symbols, wanted.counted), image, options)
        shallow = tuple(replace(field, members=()) for field in fields.values() if field.source is not None)
        reading = replace(reading, variables=shallow)
    if not wanted.near:
        return reading
    if symbols is not None:
        return _with_symbols(reading, image, symbols, wanted, options)
    from layoutlint.readers.linux import system_map  # only a kernel without a symbol table needs it

    symbol_map = system_map.image_map(image) if reading.is_kernel and not image.is_relocatable else None
    if symbol_map is None:
        return reading
    note = f"its variables have addresses from {symbol_map.path}, which has no sizes"
    largest = _with_symbols(reading, image, _mapped_symbols(image, symbol_map, False), wanted, options)
    least = _with_symbols(reading, image, _mapped_symbols(image, symbol_map, True), wanted, options)
    return replace(largest, least_data=least.data or (), notes=(*reading.notes, note))


def _of_sizes(symbols: Iterable[Symbol], sizes: frozenset[int]) -> list[Symbol]:
    """Return the symbols of data that are as large as a struct of some size, or several of them."""

    @cache
    def can_hold(size: int) -> bool:
        return any(size % each == 0 for each in sizes)

    return [symbol for symbol in symbols if symbol.has_type and symbol.size and can_hold(symbol.size)]


def add_misplaced(
    reading: Reading, image: Image, alignments: frozenset[tuple[int, int]], options: ReadOptions
) -> Reading:
    """Return a reading with its variables whose address is no multiple of an expected alignment.

    `alignments` has sizes of structs, each with an alignment, in bytes. The variables are as large as one of
    the structs, or arrays of them, also if only elements are at other addresses. In an object file, an
    address is a multiple if it is one in its section, and the section is aligned so. Raises ReadError for a
    damaged symbol table.
    """

    @cache
    def largest_alignment(size: int) -> int:
        """Return the largest alignment that an object of this size, and its elements, can have."""
        return max(
            (
                align if size == struct_size or struct_size % align == 0 else _PAGE
                for struct_size, align in alignments
                if size and size % struct_size == 0
            ),
            default=1,
        )

    def unit(symbol: Symbol) -> int:
        """Return what the address of a variable is a multiple of."""
        known = image.headers[symbol.section].align or 1 if image.is_relocatable else _PAGE
        return gcd(symbol.address, known)

    symbols = [
        symbol for symbol in read_symbols(image) or () if unit(symbol) % largest_alignment(symbol.size)
    ]
    if not symbols or not image.has_dwarf:
        return reading
    from layoutlint.readers.dwarf.types import variables

    unstated = Unstated.NOTHING
    for definition in reading.structs:
        unstated |= definition.unstated
    fields = variables.find_variables(image, options, set(_keys(symbols)), unstated)
    found: dict[Struct, None] = {}
    for symbol in sorted(symbols, key=lambda s: (s.section, s.address, s.name)):
        described = next((fields[key] for key in _keys((symbol,)) if key in fields), None)
        if described is not None:
            variable = replace(described, bit_offset=symbol.address * 8)
            found[_alone(symbol, variable, image)] = None
    return replace(reading, misplaced=tuple(found))


def _mapped_symbols(image: Image, symbol_map: SystemMap, is_least: bool) -> list[Symbol]:
    """Return the symbols of a System.map. Each ends at the next one, or has one byte if `is_least`.

    All symbols of an address count, such as a variable and the linker script's name of a boundary.
    """
    holding = (numbered for numbered in enumerate(image.headers) if holds_data(numbered[1]))
    sections = sorted((header.address, header.address + header.size, number) for number, header in holding)
    addresses = sorted({address for address, _ in symbol_map.symbols})
    symbols: list[Symbol] = []
    for address, name in symbol_map.symbols:
        position = bisect_right(sections, (address, 1 << 64, 0)) - 1
        if position < 0 or address >= sections[position][1]:
            continue
        next_address = bisect_right(addresses, address)
        end = min([sections[position][1], *addresses[next_address : next_address + 1]])
        is_object = _BOUNDARY.search(name) is None
        symbols.append(
            Symbol(name, address, 1 if is_least else end - address, sections[position][2], is_object)
        )
    return symbols


def _with_symbols(
    reading: Reading, image: Image, symbols: list[Symbol], wanted: Wanted, options: ReadOptions
) -> Reading:
    """Return a reading with the requested variables among some symbols."""
    largest = _largest_sizes(symbols, image)
    objects = {large for symbol, large in largest.items() if symbol.has_type}
    symbols = [largest.get(symbol, symbol) for symbol in symbols]
    chosen = _select_symbols(symbols, wanted, image)
    near = sorted(
        _neighbourhood(symbols, chosen, wanted.near, not image.is_relocatable),
        key=lambda s: (s.section, s.address, s.name),
    )
    fields = _fields(near, image, options, frozenset(largest.values()))
    present = {symbol.name for symbol in chosen}
    names = {symbol.name for symbol in symbols if symbol.has_type}
    lacking = [
        name for name in wanted.variables if not _is_pattern(name) and _variable_of(name) not in present
    ]
    reasons = names_without_place(image, map(_variable_of, lacking)) if lacking else {}
    missing = tuple(
        MissingVariable(name, _hint(_variable_of(name), names, reasons), image.is_relocatable)
        for name in sorted(lacking)
    )
    sections = {symbol.section for symbol in chosen}

    def data(sized: dict[Symbol, Field]) -> tuple[Struct, ...]:
        return tuple(replace(area, origin=reading.path) for area in _areas(image, near, sized, sections))

    reading = replace(reading, data=data(fields), missing_variables=missing)
    of_unknown_size = [
        s for s in largest.values() if s in fields and fields[s].type == _UNKNOWN.type and s.name != _HANDLE
    ]
    if not of_unknown_size:
        return reading
    # A label that no rule names can have nothing behind it.
    objects.update(chosen)
    least = {s: replace(fields[s], bit_size=8 if s in objects else 0) for s in of_unknown_size}
    return replace(
        reading,
        least_data=data({**fields, **least}),
        unsized=tuple(sorted({symbol.name for symbol in of_unknown_size})),
    )


def _hint(name: str, names: Iterable[str], reasons: Mapping[str, str]) -> str:
    """Return why a variable is missing, or the nearest name, behind its name."""
    if name in reasons:
        return f" ({reasons[name]}: give the linked program)"
    return did_you_mean(name, names)


def _largest_sizes(symbols: list[Symbol], image: Image) -> dict[Symbol, Symbol]:
    """Return the symbols without a size, each as large as it can be: up to the next symbol, or to the end of
    its section.

    Assembler states no sizes by itself. Names of boundaries, and labels inside of a variable, are none.
    """
    largest: dict[Symbol, Symbol] = {}
    ordered = sorted(symbols, key=lambda s: (s.section, s.address, -s.size))
    addresses = [(symbol.section, symbol.address) for symbol in ordered]
    filled = (-1, 0)  # the section and the address up to which symbols with sizes reach
    for symbol in ordered:
        if symbol.size:
            filled = max(filled, (symbol.section, symbol.end))
        elif (symbol.section, symbol.address) >= filled and not _is_label_only(symbol.name):
            header = image.headers[symbol.section]
            end = header.size + (0 if image.is_relocatable else header.address)
            number = bisect_right(addresses, (symbol.section, symbol.address))
            if number < len(addresses) and addresses[number][0] == symbol.section:
                end = addresses[number][1]
            if symbol.name == _HANDLE:
                end = min(end, symbol.address + image.target.pointer_size)
            if end > symbol.address:
                largest[symbol] = replace(symbol, size=end - symbol.address, has_type=True)
    return largest


def _is_label_only(name: str) -> bool:
    """Return whether a symbol without a size is a boundary, or a mark of the assembler (`$d` on arm)."""
    return name.startswith("$") or name in _BOUNDARIES or _BOUNDARY.search(name) is not None


def _variable_of(path: str) -> str:
    """Return the variable that a path starts with."""
    return path.partition(".")[0].partition("[")[0]


def _is_pattern(path: str) -> bool:
    return any(mark in _variable_of(path) for mark in "*?")


def _select_symbols(symbols: list[Symbol], wanted: Wanted, image: Image) -> list[Symbol]:
    """Return the requested variables, and those in read-mostly sections.

    Raises ReadError for too many patterns.
    """
    names = frozenset(map(_variable_of, wanted.variables))
    patterns = [name for name in names if _is_pattern(name)]
    if len(patterns) * len(symbols) > _MOST_MATCHES:
        many = f"the rules hold {len(patterns):,} patterns against {len(symbols):,} variables"
        raise ReadError(image.path, f"{many}, more than is allowed; use fewer patterns")
    read_mostly = {number for number, header in enumerate(image.headers) if READ_MOSTLY in header.name}

    def is_selected(symbol: Symbol) -> bool:
        is_boundary = not symbol.size and _is_label_only(symbol.name)  # `__TMC_END__` is an STT_OBJECT
        if symbol.name in names or is_boundary or not symbol.has_type:
            return symbol.name in names
        return symbol.section in read_mostly or any(fnmatchcase(symbol.name, pattern) for pattern in patterns)

    # A linker script's name for the same address has no size of its own (`jiffies`).
    sizes = {(s.section, s.address): s.size for s in symbols if s.size}
    matches = filter(is_selected, symbols)
    return [s if s.size else replace(s, size=sizes.get((s.section, s.address), 0)) for s in matches]


def _neighbourhood(symbols: list[Symbol], chosen: list[Symbol], near: int, is_linked: bool) -> set[Symbol]:
    """Return the chosen variables and those near them; in object files only within the same section."""
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


def _fields(
    symbols: Iterable[Symbol], image: Image, options: ReadOptions, unsized: frozenset[Symbol] = frozenset()
) -> dict[Symbol, Field]:
    """Return each variable as a field that starts at its address, with its type if DWARF has it.

    That of `unsized` states their size, too.
    """
    described: dict[tuple[int, str], Field] = {}
    if image.has_dwarf:
        from layoutlint.readers.dwarf.types import variables

        described = variables.find_variables(image, options, set(_keys(symbols)))
    fields: dict[Symbol, Field] = {}
    for symbol in symbols:
        field = next((described[key] for key in _keys((symbol,)) if key in described), _UNKNOWN)
        size = symbol.size * 8
        if symbol in unsized and field.bit_size is not None:
            size = field.bit_size
        fields[symbol] = replace(field, name=symbol.name, bit_offset=symbol.address * 8, bit_size=size)
    return fields


def _keys(symbols: Iterable[Symbol]) -> Iterator[tuple[int, str]]:
    """Yield the address of each symbol with the names that it can have in the source.

    GCC numbers variables inside of functions (`count.3`); clang adds the name of the function (`f.count.3`).
    """
    return ((symbol.address, part) for symbol in symbols for part in symbol.name.split(".")[:2])


def _areas(
    image: Image, symbols: list[Symbol], fields: dict[Symbol, Field], wanted: set[int]
) -> Iterator[Struct]:
    """Yield data that is contiguous in memory: a section of an object file, adjacent sections of a linked
    file.
    """
    by_section: dict[int, list[Field]] = {}
    for symbol in symbols:
        by_section.setdefault(symbol.section, []).append(fields[symbol])
    headers = image.headers
    for numbers in _adjacent_sections(image):
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


def _arrays(image: Image, fields: dict[Symbol, Field]) -> Iterator[Struct]:
    """Yield the variables that are arrays of several elements, each as data of its own."""
    for symbol in sorted(fields, key=lambda s: (s.section, s.address, s.name)):
        if prod(length or 0 for length in fields[symbol].dims) > 1:
            yield _alone(symbol, fields[symbol], image)


def _alone(symbol: Symbol, variable: Field, image: Image) -> Struct:
    """Return a variable as data of its own; in an object file with the bytes before it in its section."""
    header = image.headers[symbol.section]
    start = 0 if image.is_relocatable else symbol.address
    moved = replace(variable, bit_offset=(symbol.address - start) * 8)
    size = (symbol.end - start) * 8
    part = Field(None, CType(header.name), 0, size, aggregate="struct", members=(moved,))
    return Struct(
        symbol.name,
        "struct",
        size,
        header.align or 1,
        (part,),
        image.target,
        variable.source,
        image.path,
        address=None if image.is_relocatable else start,
        label=f"variable {symbol.name}",
    )


def _part(header: Section, variables: list[Field], start: int) -> Field:
    """Return a section as a part of the data; its variables keep their names."""
    moved = tuple(replace(v, bit_offset=v.bit_offset - header.address * 8) for v in variables)
    offset = (header.address - start) * 8
    return Field(None, CType(header.name), offset, header.size * 8, aggregate="struct", members=moved)


def _adjacent_sections(image: Image) -> list[list[int]]:
    """Return the numbers of the sections with data, grouped into runs that can share lines."""
    numbered = [(n, header) for n, header in enumerate(image.headers) if holds_data(header) and header.size]
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
