"""Variables by their addresses: their types, and where they are declared."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Final, Literal

from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import Record
from layoutlint.model.structs import Field, Unstated
from layoutlint.readers.dwarf.format.constants import attribute, tag
from layoutlint.readers.dwarf.format.forms import DAMAGE, read_uleb
from layoutlint.readers.dwarf.format.unit import NAME, Unit
from layoutlint.readers.dwarf.format.units import Index
from layoutlint.readers.dwarf.types.decoder import Decoder, read_alignment
from layoutlint.readers.dwarf.types.spelling import TYPE
from layoutlint.readers.elf import compiler_marks
from layoutlint.readers.elf.elf_file import Data, Image

_VARIABLE: Final = tag("variable")
_LOCATION: Final = attribute("location")
_SPECIFICATION: Final = attribute("specification")
_ORIGIN: Final = attribute("abstract_origin")
_ADDR_BASE: Final = attribute("addr_base")
_ADDR, _ADDRX = 0x03, 0xA1  # DW_OP_addr, DW_OP_addrx
# An address, or the index of one, and DW_OP_plus_uconst.
_DIRECT_SUM: Final = rb"\x03(?=([\x00-\xff]{%d})\x23([\x80-\xff]{0,4}[\x00-\x7f]))"
_INDEXED_SUM: Final = rb"\xa1(?=([\x80-\xff]{0,4}[\x00-\x7f])\x23([\x80-\xff]{0,4}[\x00-\x7f]))"
_MOST_ORIGINS: Final = 8
_MANY: Final = 100
"""The number of addresses above which locations are compared with a set of them."""


def find_variables(
    image: Image,
    options: ReadOptions,
    wanted: set[tuple[int, str]],
    unstated: Unstated = Unstated.NOTHING,
) -> dict[tuple[int, str], Field]:
    """Return the types and sources of variables, by address and name, as far as DWARF describes them.

    `unstated` is what their compilers leave out, if the possible alignments of their types matter. Variables
    are found by their locations, which are searched as bytes: there are millions of entries of variables.
    """
    content = image.section(".debug_info")
    addresses = {address for address, _ in wanted if 0 <= address < 1 << image.bits}
    if content is None or not addresses:
        return {}
    index = Index(image, options)
    decoder = Decoder(image.target, unstated, not image.is_kernel)
    fields: dict[tuple[int, str], Field] = {}
    _add_fields(
        fields,
        index,
        decoder,
        wanted,
        (*_direct_hits(image, content, addresses), *_indexed_hits(image, index, content, addresses)),
    )
    addresses -= {address for address, _ in fields}
    if addresses and _may_merge(image):
        _add_fields(fields, index, decoder, wanted, _merged_hits(image, index, content, addresses))
    return fields


def _add_fields(
    fields: dict[tuple[int, str], Field],
    index: Index,
    decoder: Decoder,
    wanted: set[tuple[int, str]],
    hits: Iterable[_Hit],
) -> None:
    """Add the requested variables whose locations are among some hits."""
    progress: dict[int, int] = {}
    for hit in sorted(hits):
        try:
            variable = _variable(index.unit_at(hit.position), hit, decoder, progress)
        except DAMAGE:
            continue  # other data that looks like a location, or an incomplete entry
        if variable is not None and (hit.address, variable.name or "") in wanted:
            fields.setdefault((hit.address, variable.name or ""), variable)


class _Hit(Record, frozen=True, order=True):
    """Bytes that look like the location of a variable."""

    position: int
    location: bytes
    address: int


def _address_pattern(addresses: set[int], image: Image) -> bytes:
    """Return a pattern of addresses, in the byte order of a file."""
    order: Literal["little", "big"] = "little" if image.little_endian else "big"
    packed = sorted(address.to_bytes(image.bits // 8, order) for address in addresses)
    return b"(?:" + b"|".join(map(re.escape, packed)) + b")"


def _direct_hits(image: Image, content: Data, addresses: set[int]) -> Iterator[_Hit]:
    """Yield the locations that hold the address itself."""
    order: Literal["little", "big"] = "little" if image.little_endian else "big"
    width = image.bits // 8
    head = re.escape(bytes((1 + width, _ADDR)))
    if len(addresses) > _MANY:  # every alternative of a pattern is tried in turn
        pattern = head + b"(?=[\x00-\xff]{%d})" % width
    else:
        pattern = head + b"(?=" + _address_pattern(addresses, image) + b")"
    for match in re.finditer(pattern, content):
        location = bytes(content[match.start() + 1 : match.end() + width])
        address = int.from_bytes(location[1:], order)
        if address in addresses:
            yield _Hit(match.start(), location, address)


def _indexed_hits(image: Image, index: Index, content: Data, addresses: set[int]) -> Iterator[_Hit]:
    """Yield the locations with the index of an address, which clang writes since DWARF 5 (section 7.27)."""
    table, width = image.section(".debug_addr"), image.bits // 8
    if table is None:
        return
    order: Literal["little", "big"] = "little" if image.little_endian else "big"
    places = [
        match.start() for match in re.finditer(b"(?=" + _address_pattern(addresses, image) + b")", table)
    ]
    for unit in index.units:
        try:
            base = unit.root[1].get(_ADDR_BASE)
        except DAMAGE:
            continue
        if not isinstance(base, int) or base < 8:
            continue
        end = base - 4 + int.from_bytes(table[base - 8 : base - 4], order)
        for place in places[bisect_left(places, base) : bisect_left(places, end)]:
            if (place - base) % width == 0:
                location = bytes((_ADDRX, *_uleb((place - base) // width)))
                needle = re.escape(bytes((len(location),)) + location)
                for match in re.finditer(needle, content[unit.offset : unit.end]):
                    address = int.from_bytes(table[place : place + width], order)
                    yield _Hit(unit.offset + match.start(), location, address)


def _may_merge(image: Image) -> bool:
    """Return whether LLVM may have merged variables into one (lib/CodeGen/GlobalMerge.cpp), by `.comment`."""
    names = compiler_marks.compilers(image)
    return not names or any("clang" in name for name in names)


def _merged_hits(image: Image, index: Index, content: Data, addresses: set[int]) -> Iterator[_Hit]:
    """Yield the locations that add a number to the address of merged variables, or to the index of one."""
    order: Literal["little", "big"] = "little" if image.little_endian else "big"
    width = image.bits // 8
    for match in re.finditer(_DIRECT_SUM % width, content):
        yield from _sum_hit(match, int.from_bytes(match[1], order), addresses)
    table = image.section(".debug_addr")
    for match in re.finditer(_INDEXED_SUM, content) if table is not None else ():
        try:
            base = index.unit_at(match.start()).root[1].get(_ADDR_BASE)
        except DAMAGE:
            continue
        place = (base if isinstance(base, int) else len(table or b"")) + read_uleb(match[1], 0)[0] * width
        yield from _sum_hit(match, int.from_bytes((table or b"")[place : place + width], order), addresses)


def _sum_hit(match: re.Match[bytes], base: int, addresses: set[int]) -> Iterator[_Hit]:
    """Yield the location that begins at a match, if its length is in front and its sum is an address."""
    start, end = match.start(), match.end(2)
    location = match.string[start:end]
    address = base + read_uleb(match[2], 0)[0]
    if address in addresses and start and match.string[start - 1] == end - start:
        yield _Hit(start - 1, bytes(location), address)


def _uleb(number: int) -> Iterator[int]:
    """Yield the bytes of a number as unsigned LEB128 (DWARF 5, section 7.6)."""
    while number > 127:
        yield number & 127 | 128
        number >>= 7
    yield number


def _variable(unit: Unit, hit: _Hit, decoder: Decoder, progress: dict[int, int]) -> Field | None:
    """Return the variable of the entry with a location; None if another entry is there."""
    place = _entry_at(unit, hit.position, progress)
    if place is None:
        return None
    plan, start = unit.entry(place)
    if plan is None or plan.tag != _VARIABLE:
        return None
    values, _ = unit.read(plan, start)
    if values.get(_LOCATION) != hit.location:
        return None
    name, kind, source, own_align = None, None, None, 0
    for _ in range(_MOST_ORIGINS):
        name = name or unit.text(plan, values, NAME)
        source = source or decoder.source(unit, values)
        kind = kind or unit.reference(plan, values, TYPE)
        own_align = own_align or read_alignment(values) or 0
        origin = unit.reference(plan, values, _SPECIFICATION) or unit.reference(plan, values, _ORIGIN)
        if origin is None:
            break
        unit, place = origin
        plan, start = unit.entry(place)
        if plan is None:
            return None
        values, _ = unit.read(plan, start)
    if name is None or kind is None:
        return None
    decoded = decoder.type_at(*kind)
    return Field(
        name, decoded.spelling, 0, decoded.bit_size, False, decoded.aggregate, decoded.dims, decoded.members,
        decoded.align, source, decoded.calls, decoded.stands_for, own_align, decoded.possible,
    )  # fmt: skip


def _entry_at(unit: Unit, hit: int, progress: dict[int, int]) -> int | None:
    """Return the position of the entry with `hit` among its attributes; None without one. Raises DAMAGE.

    `progress` holds, by the offset of a unit, the entry up to which it was searched before.
    """
    _, _, position = unit.root
    position = progress.get(unit.offset, position)
    while position <= hit:
        start = progress[unit.offset] = position
        plan, attributes_start = unit.entry(position)
        if plan is None:
            position = attributes_start
            continue
        end = unit.skip_attributes(plan, attributes_start)
        if hit < end:
            return start
        after = unit.skip_entry(plan, attributes_start)
        position = after if hit >= after else end
    return None
