"""Variables by their addresses: what type they have, and where they are declared."""

from __future__ import annotations

import re
from typing import Final, Literal

from layoutlint.model import Field, ReadOptions
from layoutlint.readers.dwarf.forms import DAMAGE
from layoutlint.readers.dwarf.index import Index
from layoutlint.readers.dwarf.members import Decoder
from layoutlint.readers.dwarf.names import at, tag
from layoutlint.readers.dwarf.types import TYPE
from layoutlint.readers.dwarf.unit import NAME, Unit
from layoutlint.readers.elf import Image

_VARIABLE: Final = tag("variable")
_LOCATION: Final = at("location")
_SPECIFICATION: Final = at("specification")
_ORIGIN: Final = at("abstract_origin")
_ADDR: Final = 0x03  # DW_OP_addr
_MOST_ORIGINS: Final = 8


def described(
    image: Image, options: ReadOptions, wanted: set[tuple[int, str]]
) -> dict[tuple[int, str], Field]:
    """Of variables by address and name, those that DWARF knows: type and source, without their places.

    They are found by their locations, which are searched as bytes: entries of variables are millions.
    """
    width = image.bits // 8
    order: Literal["little", "big"] = "little" if image.little_endian else "big"
    content = image.section(".debug_info")
    if content is None or not wanted:
        return {}
    index = Index(image, options)
    head = bytes((1 + width, _ADDR))
    known = {address.to_bytes(width, order) for address, _ in wanted if 0 <= address < 1 << image.bits}
    pattern = re.compile(re.escape(head) + b"(?:" + b"|".join(map(re.escape, sorted(known))) + b")")
    decoder = Decoder(image.target)
    found: dict[tuple[int, str], Field] = {}
    for match in pattern.finditer(content):
        address = int.from_bytes(match.group()[2:], order)
        try:
            variable = _variable(index.holding(match.start()), match.start(), match.group()[1:], decoder)
        except DAMAGE:
            continue  # a part of other data that looks like a location, or an entry that tells nothing
        if variable is not None and (address, variable.name or "") in wanted:
            found.setdefault((address, variable.name or ""), variable)
    return found


def _variable(unit: Unit, hit: int, location: bytes, decoder: Decoder) -> Field | None:
    """The variable whose entry has its location at a place; None where another entry is there."""
    place = _entry_at(unit, hit)
    if place is None:
        return None
    plan, behind = unit.entry(place)
    if plan is None or plan.tag != _VARIABLE:
        return None
    values, _ = unit.read(plan, behind)
    if values.get(_LOCATION) != location:
        return None
    name, kind, source = None, None, None
    for _ in range(_MOST_ORIGINS):
        name = name or unit.text(plan, values, NAME)
        source = source or decoder.source(unit, values)
        kind = kind or unit.reference(plan, values, TYPE)
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
        meant.align, source, meant.calls,
    )  # fmt: skip


def _entry_at(unit: Unit, hit: int) -> int | None:
    """Where the entry starts among whose attributes a place is; None when there is none. Raises DAMAGE."""
    _, _, position = unit.root
    while position <= hit:
        start = position
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
