"""Variables by their addresses: what type they have, and where they are declared."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from layoutlint.model.reading import ReadOptions
from layoutlint.model.structs import Field, Unstated
from layoutlint.readers.dwarf.format.constants import at, tag
from layoutlint.readers.dwarf.format.forms import DAMAGE
from layoutlint.readers.dwarf.format.unit import NAME, Unit
from layoutlint.readers.dwarf.format.units import Index
from layoutlint.readers.dwarf.types.decoder import Decoder, stated
from layoutlint.readers.dwarf.types.spelling import TYPE
from layoutlint.readers.elf.elf_file import Data, Image

_VARIABLE: Final = tag("variable")
_LOCATION: Final = at("location")
_SPECIFICATION: Final = at("specification")
_ORIGIN: Final = at("abstract_origin")
_ADDR_BASE: Final = at("addr_base")
_ADDR, _ADDRX = 0x03, 0xA1  # DW_OP_addr, DW_OP_addrx
_MOST_ORIGINS: Final = 8


def described(
    image: Image,
    options: ReadOptions,
    wanted: set[tuple[int, str]],
    unstated: Unstated = Unstated.NOTHING,
) -> dict[tuple[int, str], Field]:
    """Of variables by address and name, those that DWARF knows: type and source, without their places.

    `unstated` is what their compilers leave out, where the possible alignments of their types count. They are
    found by their locations, which are searched as bytes: entries of variables are millions.
    """
    content = image.section(".debug_info")
    known = {address for address, _ in wanted if 0 <= address < 1 << image.bits}
    if content is None or not known:
        return {}
    index = Index(image, options)
    decoder = Decoder(image.target, unstated, not image.is_kernel)
    found: dict[tuple[int, str], Field] = {}
    hits = sorted((*_direct(image, content, known), *_numbered(image, index, content, known)))
    reached: dict[int, int] = {}
    for hit in hits:
        try:
            variable = _variable(index.holding(hit.position), hit, decoder, reached)
        except DAMAGE:
            continue  # a part of other data that looks like a location, or an entry that tells nothing
        if variable is not None and (hit.address, variable.name or "") in wanted:
            found.setdefault((hit.address, variable.name or ""), variable)
    return found


@dataclass(frozen=True, slots=True, order=True)
class _Hit:
    """What looks like the location of a variable."""

    position: int
    location: bytes
    address: int


def _any_of(known: set[int], image: Image) -> bytes:
    """A pattern of addresses as they stand in a file."""
    order: Literal["little", "big"] = "little" if image.little_endian else "big"
    packed = sorted(address.to_bytes(image.bits // 8, order) for address in known)
    return b"(?:" + b"|".join(map(re.escape, packed)) + b")"


def _direct(image: Image, content: Data, known: set[int]) -> Iterator[_Hit]:
    """Locations that have the address in themselves."""
    order: Literal["little", "big"] = "little" if image.little_endian else "big"
    head = bytes((1 + image.bits // 8, _ADDR))
    for match in re.finditer(re.escape(head) + _any_of(known, image), content):
        location = match.group()[1:]
        yield _Hit(match.start(), location, int.from_bytes(location[1:], order))


def _numbered(image: Image, index: Index, content: Data, known: set[int]) -> Iterator[_Hit]:
    """Locations that have the number of an address, as clang writes them from DWARF 5 on (section 7.27)."""
    table, width = image.section(".debug_addr"), image.bits // 8
    if table is None:
        return
    order: Literal["little", "big"] = "little" if image.little_endian else "big"
    places = [match.start() for match in re.finditer(b"(?=" + _any_of(known, image) + b")", table)]
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


def _uleb(number: int) -> Iterator[int]:
    """The bytes of a number of any length (DWARF 5, section 7.6)."""
    while number > 127:
        yield number & 127 | 128
        number >>= 7
    yield number


def _variable(unit: Unit, hit: _Hit, decoder: Decoder, reached: dict[int, int]) -> Field | None:
    """The variable whose entry has its location at a place; None where another entry is there."""
    place = _entry_at(unit, hit.position, reached)
    if place is None:
        return None
    plan, behind = unit.entry(place)
    if plan is None or plan.tag != _VARIABLE:
        return None
    values, _ = unit.read(plan, behind)
    if values.get(_LOCATION) != hit.location:
        return None
    name, kind, source, asked = None, None, None, 0
    for _ in range(_MOST_ORIGINS):
        name = name or unit.text(plan, values, NAME)
        source = source or decoder.source(unit, values)
        kind = kind or unit.reference(plan, values, TYPE)
        asked = asked or stated(values) or 0
        before = unit.reference(plan, values, _SPECIFICATION) or unit.reference(plan, values, _ORIGIN)
        if before is None:
            break
        unit, place = before
        plan, behind = unit.entry(place)
        if plan is None:
            return None
        values, _ = unit.read(plan, behind)
    if name is None or kind is None:
        return None
    meant = decoder.at(*kind)
    return Field(
        name, meant.spelling, 0, meant.bit_size, False, meant.aggregate, meant.dims, meant.members,
        meant.align, source, meant.calls, meant.stands_for, asked, meant.possible,
    )  # fmt: skip


def _entry_at(unit: Unit, hit: int, reached: dict[int, int]) -> int | None:
    """Where the entry starts among whose attributes a place is; None when there is none. Raises DAMAGE.

    `reached`: by the offset of a unit, the entry up to which it was searched for a place before this one.
    """
    _, _, position = unit.root
    position = reached.get(unit.offset, position)
    while position <= hit:
        start = reached[unit.offset] = position
        plan, behind = unit.entry(position)
        if plan is None:
            position = behind
            continue
        end = unit.over(plan, behind)
        if hit < end:
            return start
        after = unit.past(plan, behind)
        position = after if hit >= after else end
    return None
