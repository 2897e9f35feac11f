"""A struct with other alignments, padding, or another order of its members, laid out as a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import count
from math import prod

from layoutlint.geometry.layout import Place
from layoutlint.model import possible_alignments
from layoutlint.model.ctype import CType
from layoutlint.model.declared import Member
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Field, Struct, Unstated, fields_in_braces
from layoutlint.model.target import Target
from layoutlint.randstruct.c_abi import CannotLayOut, MemberLayout
from layoutlint.randstruct.variants import StructType, Way, possible_ways, type_of_struct

Path = tuple[int, ...]
"""A member: its position in the fields of the struct, then in those of a type without a tag, and so on."""


class Change(Record, frozen=True):
    """A change of a struct's declaration."""

    aligned: tuple[tuple[Path, int], ...] = ()
    """Members, and the bytes to which each is aligned."""
    of_struct: int = 0
    """The bytes to which the type is aligned; 0 for none."""
    moves: tuple[tuple[int, int], ...] = ()
    """Members, and the member behind which each is moved, one after the other; -1 for the start."""
    padding: tuple[tuple[int, int], ...] = ()
    """Members, and the bytes of the array that is declared behind each."""

    def order(self, count: int) -> list[int]:
        """Return the order of `count` members."""
        order = list(range(count))
        for member, behind in self.moves:
            order.remove(member)
            order.insert(order.index(behind) + 1 if behind >= 0 else 0, member)
        return order


def moves_to(order: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return few moves that lead to an order of members: the longest rising run of them stays."""
    runs: list[tuple[int, tuple[int, ...]]] = []
    for member in order:
        length, before = max((run for run in runs if run[1][-1] < member), default=(0, ()))
        runs.append((length + 1, (*before, member)))
    staying = set(max(runs, default=(0, ()))[1])
    pairs = zip(order, (-1, *order[:-1]), strict=True)
    return tuple((member, behind) for member, behind in pairs if member not in staying)


class Changeable(Record, frozen=True, dict=True):
    """A struct whose layout its members explain, so that a changed one can be computed."""

    struct: Struct
    way: Way

    @property
    def count(self) -> int:
        """The number of members."""
        return len(self.struct.fields)

    def field(self, path: Path) -> Field:
        """Return a member."""
        field = self.struct.fields[path[0]]
        for at in path[1:]:
            field = field.members[at]
        return field

    def can_align(self, path: Path) -> bool:
        """Return whether a member has a name, and can have an alignment of its own."""
        field = self.field(path)
        return field.name is not None and not field.is_bitfield

    @cached_property
    def can_move(self) -> bool:
        """Whether members can be in another order: none marks a place, and no bits may be hidden."""
        return self.struct.aggregate == "struct" and not any(
            field.bit_size in (0, None) or (field.is_bitfield and field.unnamed_bits is None)
            for field in self.struct.fields
        )

    def path_of(self, place: Place) -> Path | None:
        """Return the member that a field is, or is a part of; None for none."""
        names = [name.split("[")[0] for name in place.path.split(".")]
        return _find(self.struct.fields, names)

    def name(self, path: Path) -> str:
        """Return the name of a member in C, with those of the structs around it."""
        names = (self.field(path[: length + 1]).name for length in range(len(path)))
        return ".".join(filter(None, names))

    def words(self, member: int) -> str:
        """Return words for a member: its name, or for a type without one the first name in it."""
        field = self.struct.fields[member]
        inside = next((path for path, _ in fields_in_braces((field,))), "")
        return f"`{field.name}`" if field.name else f"the {field.aggregate} around `{inside}`"

    def apply(self, change: Change) -> Struct:
        """Return the struct with a change. Raises CannotLayOut."""
        fields, members = _align(self.struct.fields, self.way, dict(change.aligned))
        order = change.order(self.count)
        names = {field.name for field in fields}
        for member, size in change.padding:
            name = next(name for number in count() if (name := f"_pad{number or ''}") not in names)
            names.add(name)
            order.insert(order.index(member) + 1, len(fields))
            fields.append(Field(name, CType("char", f"[{size}]"), 0, size * 8, dims=(size,), align=1))
            members.append(Member(name, size * 8, 1))
        rules = self.way.rules
        if change.of_struct:
            rules = replace(rules, stated=max(change.of_struct, rules.stated or 1))
        layout = rules.lay_out([members[at] for at in order])
        placed = _place_fields([fields[at] for at in order], layout)
        if not change.aligned and not change.of_struct:
            return possible_alignments.reorder(self.struct, placed, layout.bit_size, layout.align)
        return replace(
            self.struct, fields=placed, bit_size=layout.bit_size, align=layout.align,
            unstated=Unstated.NOTHING, possible=0,
        )  # fmt: skip


def _align(
    old: Sequence[Field], way: Way, aligned: Mapping[Path, int]
) -> tuple[list[Field], list[Member]]:
    """Return fields and members with alignments, also of what is in them. Raises CannotLayOut."""
    fields, members = list(old), list(way.members)
    for at, field in enumerate(old):
        inside = {path[1:]: size for path, size in aligned.items() if path[0] == at and len(path) > 1}
        if inside:
            own = _explaining_way(_type_inside(field), way.rules.target)
            new_fields, new_members = _align(field.members, own, inside)
            layout = own.rules.lay_out(new_members)
            size = layout.bit_size * prod(length or 0 for length in field.dims)
            align = max(layout.align, field.align or 1)
            fields[at] = replace(field, members=_place_fields(new_fields, layout), bit_size=size, align=align)
            members[at] = replace(members[at], bit_size=size, align=max(layout.align, members[at].align or 1))
        if size := aligned.get((at,), 0):
            fields[at] = replace(fields[at], requested_align=size, align=max(size, fields[at].align or 1))
            asked = max(size, members[at].requested_align or 0)
            members[at] = replace(members[at], requested_align=asked)
    return fields, members


def _place_fields(fields: Sequence[Field], layout: MemberLayout) -> tuple[Field, ...]:
    both = zip(fields, layout.offsets, strict=True)
    return tuple(replace(field, bit_offset=offset) for field, offset in both)


def _type_inside(field: Field) -> StructType:
    """Return the type of a member, or of its elements. Raises CannotLayOut for an array without a length."""
    elements = prod(length or 0 for length in field.dims)
    if not elements or field.bit_size is None or field.aggregate is None:
        raise CannotLayOut(f"the size of the elements of `{field.name}` is not known")
    size = field.bit_size // elements
    return StructType(field.members, size, field.aggregate, None, None, None, field.align)


def _explaining_way(type_: StructType, target: Target) -> Way:
    """Return the likeliest declaration that gives a type its layout. Raises CannotLayOut for none.

    What is packed by itself or by a `#pragma` is left out: an alignment may mean little there.
    """
    if any(field.unnamed_bits for field in type_.fields):
        raise CannotLayOut("bit-fields without a name are among its members")
    for way in possible_ways(type_, None, target):
        if way.explains(type_) and not any(member.is_packed for member in way.members):
            return way
    raise CannotLayOut("its members do not explain its layout")


def changeable(struct: Struct) -> Changeable | None:
    """Return a struct that can be laid out anew; None if its members alone do not explain its layout."""
    if struct.bit_size is None or struct.problem is not None or struct.randomised is not None:
        return None
    if not struct.fields:
        return None
    try:
        return Changeable(struct, _explaining_way(type_of_struct(struct, struct.bit_size), struct.target))
    except CannotLayOut:
        return None


def _find(fields: Sequence[Field], names: Sequence[str]) -> Path | None:
    """Return the path to a field by its names, as far as types without a tag are around it."""
    for at, field in enumerate(fields):
        if field.name is None:
            inside = _find(field.members, names)
            if inside is not None:
                return (at, *inside) if field.type.is_untagged else (at,)
        elif field.name == names[0]:
            is_open = field.type.is_untagged and field.aggregate == "struct" and len(names) > 1
            inside = _find(field.members, names[1:]) if is_open else None
            return (at, *(inside or ()))
    return None


def words(names: Iterable[str]) -> str:
    """Return names as words: "`a`, `b` and `c`"."""
    *first, last = (f"`{name}`" for name in names)
    return " and ".join(filter(None, (", ".join(first), last)))
