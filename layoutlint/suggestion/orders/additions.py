"""A struct with alignment or padding that its declaration lacks, for when no order keeps its rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from layoutlint.model.ctype import CType
from layoutlint.model.declared import Member
from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Struct, Unstated
from layoutlint.suggestion.orders.arrangement import Arrangement, arrange
from layoutlint.suggestion.orders.limits import Limit


def align(arrangement: Arrangement, units: Sequence[int], line: int) -> Arrangement:
    """Return the arrangement with some plain units of one member aligned to a line; with none the struct.

    The units are none of opened structs.
    """
    way, fields = arrangement.way, list(arrangement.declared.fields)
    if not units:
        way = replace(way, rules=replace(way.rules, stated=max(line, way.rules.stated or 1)))
    members = list(way.members)
    for number in units:
        (member,) = arrangement.units[number].members
        at = way.fields[member] or 0
        old = members[member]
        members[member] = replace(old, requested_align=max(line, old.requested_align or 0))
        fields[at] = replace(fields[at], requested_align=line, align=max(line, fields[at].align or 1))
    way = replace(way, members=tuple(members))
    struct = replace(
        arrangement.declared, fields=tuple(fields), align=max(line, arrangement.align), possible=0,
        unstated=Unstated.NOTHING,
    )  # fmt: skip
    opened = arrangement.opened
    order = range(len(arrangement.units))
    declared = replace(arrange(struct, way, (), opened).lay_out(order), align=struct.align)
    return arrange(declared, way, (), opened)


def pad(arrangement: Arrangement, size: int) -> tuple[Arrangement, int]:
    """Return the arrangement with an array of some bytes as its last unit, and the number of that unit.

    It comes before a flexible array.
    """
    way, struct, units = arrangement.way, arrangement.declared, arrangement.units
    if arrangement.last is None:
        number, at, member_at = len(units), len(struct.fields), len(way.members)
    else:
        number, member_at = arrangement.last, units[arrangement.last].members[0]
        at = way.fields[member_at] or 0
    name = padding_name(arrangement.struct)
    field = Field(name, CType("char"), 0, size * 8, dims=(size,), align=1)
    fields = (*struct.fields[:at], field, *struct.fields[at:])
    members = (*way.members[:member_at], Member(name, size * 8, 1), *way.members[member_at:])
    shifted = [None if each is None else each + (each >= at) for each in way.fields]
    way = replace(way, members=members, fields=(*shifted[:member_at], at, *shifted[member_at:]))
    struct = replace(struct, fields=fields)
    opened = {each + (each >= at): inner for each, inner in arrangement.opened.items()}
    order = range(len(units) + 1)
    return arrange(arrange(struct, way, (), opened).lay_out(order), way, (), opened), number


def padding_name(struct: Struct) -> str:
    """Return a name for a new member of a struct."""
    taken = {field.name for field in struct.fields}
    return next(name for number in count() if (name := f"_pad{number or ''}") not in taken)


def shift_limits(limits: Sequence[Limit], number: int) -> Iterator[Limit]:
    """Yield limits on the units of an arrangement that has one more, with a number."""
    for limit in limits:
        units, after = (tuple(each + (each >= number) for each in own) for own in (limit.units, limit.after))
        yield replace(limit, units=units, after=after)
