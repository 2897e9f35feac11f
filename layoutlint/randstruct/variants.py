"""Possible declarations of a struct type, as far as its layout depends on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint.model.ctype import CType
from layoutlint.model.declared import Inner, Member, StructDeclaration
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Aggregate, Field, Struct
from layoutlint.model.target import Target
from layoutlint.randstruct import c_abi
from layoutlint.randstruct.c_abi import CannotLayOut, MemberLayout, Rules


class StructType(Record, frozen=True):
    """A declared struct or union type."""

    fields: tuple[Field, ...]
    bit_size: int
    aggregate: Aggregate
    stated: int | None
    """The type's own alignment in bytes, as far as it is known."""
    key: str | Inner | None
    """The key of the type in marks."""
    tag: str | None
    likely: int | None = None
    """The alignment of a member of this type, which may be the type's or the member's."""
    declared_order: tuple[int, ...] = ()
    """As `Struct.declared_order`."""


def type_of_struct(struct: Struct, bit_size: int) -> StructType:
    """Return the type of a definition of known size."""
    tag = struct.name if struct.is_tagged else None
    return StructType(
        struct.fields, bit_size, struct.aggregate, struct.align, struct.name, tag, None, struct.declared_order
    )


class Way(Record, frozen=True):
    """One possible declaration of a type."""

    rules: Rules
    members: tuple[Member, ...]
    fields: tuple[int | None, ...]
    """For each member the position of its Field; None for an unnamed bit-field."""
    packed: str | None = None
    """The embedded type that is assumed to be packed, if any."""

    def with_sizes(self, sizes: Sequence[int | None]) -> Way:
        """Return the declaration with other sizes of fields, in bits."""
        both = zip(self.members, self.fields, strict=True)
        members = tuple(member if at is None else replace(member, bit_size=sizes[at]) for member, at in both)
        return replace(self, members=members)

    def explains(self, type_: StructType) -> bool:
        """Return whether the declaration gives the layout that the input states."""
        laid = self.rules.lay_out(self.members)
        if laid.bit_size != type_.bit_size or laid.align != (self.rules.stated or laid.align):
            return False
        places = zip(self.fields, laid.offsets, strict=True)
        return all(at is None or type_.fields[at].bit_offset == offset for at, offset in places)

    def with_packed_inside(self, at: int, name: str) -> Way:
        """Return the declaration with a packed type of the member at a position."""
        members = list(self.members)
        members[at] = replace(members[at], align=1)
        return replace(self, members=tuple(members), packed=name)

    def relaid(self) -> Way:
        """Return the declaration as GCC lays it out a second time: with its alignment, and narrow
        bit-fields.
        """
        first = self.rules.lay_out(self.members)
        members = tuple(c_abi.relayout(self.members, first, self.rules.target))
        return replace(self, rules=replace(self.rules, stated=first.align), members=members)

    def lay_out(self, order: Sequence[int]) -> MemberLayout:
        """Return the layout with the members in an order."""
        return self.rules.lay_out([self.members[position] for position in order])


def possible_ways(type_: StructType, declared: StructDeclaration | None, target: Target) -> Iterator[Way]:
    """Yield the possible declarations of a type, the likeliest first. C text leaves open whether a `#pragma
    pack` applies.
    """
    is_union = type_.aggregate == "union"
    if declared is not None:
        pragmas = (None, *c_abi.PRAGMAS) if declared.has_pragma else (None,)
        ways = [
            Way(Rules(target, is_union, declared.align, pragma), declared.members, declared.fields)
            for pragma in pragmas
        ]
        yield from sorted(ways, key=_needs_attribute) if declared.has_pragma else ways
        return
    positions = tuple(range(len(type_.fields)))
    for stated in dict.fromkeys((type_.stated, type_.stated or type_.likely)):
        rules = Rules(target, is_union, stated)
        for is_packed in (False, True):
            members = tuple(c_abi.member_of(field, target, is_packed) for field in type_.fields)
            yield Way(rules, members, positions)


def _needs_attribute(way: Way) -> bool:
    """Return whether the struct itself must be `aligned` to have its alignment in a way."""
    natural = replace(way, rules=replace(way.rules, stated=None))
    try:
        return natural.lay_out(range(len(way.members))).align != way.rules.stated
    except CannotLayOut:
        return True


def may_be_packed(type_: StructType, target: Target) -> bool:
    """Return whether a type in debug information can be packed and have its layout."""
    try:
        *_, packed = possible_ways(type_, None, target)
        return type_.stated is None and packed.explains(type_)
    except CannotLayOut:  # this matters only if its members move
        return False


def declares(declared: StructDeclaration, fields: Sequence[Field]) -> bool:
    """Return whether a declaration is that of a type with these fields."""
    members = [member for member, at in zip(declared.members, declared.fields, strict=True) if at is not None]
    return [(one.bit_size, bool(one.unit)) for one in members] == [
        (field.bit_size, field.is_bitfield) for field in fields
    ] and all(one.name == field.name for one, field in zip(members, fields, strict=True) if field.name)


def all_members(fields: Sequence[Field], declared: StructDeclaration | None) -> list[Field]:
    """Return all members as fields, with unnamed bit-fields if they are known."""
    if declared is None:
        return list(fields)
    both = zip(declared.members, declared.fields, strict=True)
    return [_unnamed_bitfield(member) if at is None else fields[at] for member, at in both]


def _unnamed_bitfield(member: Member) -> Field:
    # Only the size of its type is known.
    return Field(None, CType("int"), 0, member.bit_size, is_bitfield=True, align=member.unit)
