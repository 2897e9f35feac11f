"""Layouts of structs whose members are in a random order, and of the structs that embed them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import TypeVar

from layoutlint.model import possible_alignments
from layoutlint.model.declared import Inner, StructDeclaration
from layoutlint.model.randomised import Randomisation
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Field, Struct, place_unnamed_bits
from layoutlint.model.target import Target
from layoutlint.randstruct import variants
from layoutlint.randstruct.c_abi import CannotLayOut
from layoutlint.randstruct.marked import Marks
from layoutlint.randstruct.scheme import Scheme
from layoutlint.randstruct.variants import StructType, Way, type_of_struct

Result = TypeVar("Result")
DESCRIBED_LATE = (
    "its members are not in the order of their lines, so the input may describe it as it was shuffled"
)
NAMELESS = "structs without a name"
Definition = Callable[[Field], Struct | None]
"""Returns the definition of a field's struct or union; None for an unnamed type."""


class Input(Record, frozen=True):
    """The facts that an input states about structs."""

    tells_declarations: bool
    """Whether it has a Declared for each of them."""
    tells_arrays: bool
    """Whether it distinguishes `x[0]` from `x[]`, and `x[1][2]` from `x[2][1]`."""


class _Relaid(Record, frozen=True):
    """A type after randomisation."""

    fields: tuple[Field, ...]
    bit_size: int
    is_own: bool = False
    """Whether its own members are in another order."""
    has_moved: bool = False
    """Whether members at some depth have moved."""
    align: int | None = None
    """Alignment in bytes; None if it was not laid out again."""


class Relayouter:
    """Lays out the structs of one input as one build does."""

    def __init__(
        self,
        scheme: Scheme,
        marks: Marks,
        declarations: Iterable[StructDeclaration],
        facts: Input,
        definition: Definition,
    ) -> None:
        self.scheme = scheme
        self._marks = marks
        self._input = facts
        self._definition = definition
        self._declared: dict[str | Inner, list[StructDeclaration]] = {}
        for declaration in dict.fromkeys(declarations):
            self._declared.setdefault(declaration.key, []).append(declaration)
        self.assumed: list[str] = []
        """Structs that are assumed not to be packed, if the layout depends on it and the input does not state
        it."""

    def relay_struct(self, struct: Struct) -> Struct:
        """Return the struct as the build lays it out. Raises CannotLayOut if the input states too little."""
        if struct.bit_size is None:
            return struct
        new = self._relay_type(type_of_struct(struct, struct.bit_size), struct.target)
        if not new.has_moved:
            return struct
        how = Randomisation(self.scheme.mode, self.scheme.seed.hash, None, new.is_own)
        if new.align is None:
            return replace(struct, fields=new.fields, bit_size=new.bit_size, randomised=how)
        return replace(
            possible_alignments.reorder(struct, new.fields, new.bit_size, new.align), randomised=how
        )

    def _relay_type(self, type_: StructType, target: Target) -> _Relaid:
        inner = [
            self._relay_member(type_, position, field, target) for position, field in enumerate(type_.fields)
        ]
        fields = tuple(field for field, _ in inner)
        has_moved = any(moved for _, moved in inner)
        if self.is_reordered(type_, fields):
            if type_.declared_order:
                self._require_own_order(type_, fields)
                return _Relaid(fields, type_.bit_size, True, True)
            return self._lay_out(type_, fields, self._order(type_, fields), target)
        if all(new.bit_size == old.bit_size for new, old in zip(fields, type_.fields, strict=True)):
            return _Relaid(fields, type_.bit_size, False, has_moved)
        return self._lay_out(type_, fields, None, target)

    def members(self, type_: StructType, fields: Sequence[Field]) -> list[Field]:
        """Return all members of a type: its fields, and unnamed bit-fields if the input states them."""
        return variants.all_members(fields, self._find_declaration(type_))

    def _find_declaration(self, type_: StructType) -> StructDeclaration | None:
        """Return the declaration of a type in C; None for another input. Raises CannotLayOut if it is
        unknown.
        """
        if not self._input.tells_declarations or type_.key is None:
            return None
        fitting = [one for one in self._declared.get(type_.key, ()) if variants.declares(one, type_.fields)]
        if len(fitting) != 1:
            name = type_.key if isinstance(type_.key, str) else "a struct without a name"
            reason = "is declared in several ways" if fitting else "was not found as it is declared"
            raise CannotLayOut(f"`{name}` {reason}")
        return fitting[0]

    def _require_own_order(self, type_: StructType, fields: Sequence[Field]) -> None:
        """Raise CannotLayOut if a type that was described in random order has not the order of the seed."""
        declared = [fields[position] for position in type_.declared_order]
        if [declared[position] for position in self._order(type_, declared)] != list(fields):
            raise CannotLayOut(DESCRIBED_LATE)

    def _order(self, type_: StructType, fields: Sequence[Field]) -> list[int]:
        return self.require_stable(
            self.members(type_, fields), lambda members: self.scheme.order(members, type_.tag)
        )

    def require_stable(
        self, members: Sequence[Field], ordered: Callable[[Sequence[Field]], Result]
    ) -> Result:
        """Return the result of `ordered` for some members.

        Raises CannotLayOut if it depends on array dimensions that the input does not state.
        """
        order = ordered(members)
        if self._input.tells_arrays or not members[-1].dims:
            return order
        last = members[-1]
        # An empty array may be `[0]`; GCC 12 writes several dimensions in reverse order;
        # pahole writes `[1][3]` and `[3][1]` as `[3]`.
        for dims in ((last.dims[0] or 0, *last.dims[1:]), last.dims[::-1], *_possible_dimensions(last)):
            if ordered((*members[:-1], replace(last, dims=dims))) != order:
                raise CannotLayOut(
                    f"BTF does not state the length of the array `{last.name}`, which may stay last"
                )
        return order

    def is_reordered(self, type_: StructType, fields: Sequence[Field]) -> bool:
        """Return whether the members of a type are reordered. Raises CannotLayOut."""
        if type_.aggregate != "struct" or not type_.fields:
            return False
        declaration = self._find_declaration(type_)
        is_marked, is_unrandomised = (
            type_.key in self._marks.randomised,
            type_.key in self._marks.unrandomised,
        )
        if declaration is not None and not is_marked and not is_unrandomised:
            is_marked, is_unrandomised = declaration.is_randomised, declaration.is_kept
        members = variants.all_members(fields, declaration)
        count = len(members)
        return self.scheme.is_reordered(
            type_.tag, count, is_marked, is_unrandomised, lambda: self._is_pure(type_, members)
        )

    def _is_pure(self, type_: StructType, members: Sequence[Field]) -> bool:
        """Return whether a type contains only pointers to functions, and structs of them if the build counts
        those.
        """
        is_gcc = self.scheme.is_gcc
        if not all(one.is_function_pointer for one in members if one.aggregate is None):
            return False
        if not is_gcc and any(one.dims or one.aggregate == "union" for one in members):
            return False
        embedded = [(at, field) for at, field in enumerate(type_.fields) if field.aggregate is not None]
        if embedded and not self.scheme.behaviour.opens_structs:
            return False
        return all(self._is_opened(type_, at, field) for at, field in embedded if field.members)

    def _is_opened(self, type_: StructType, at: int, field: Field) -> bool:
        """Return whether an embedded struct or union counts as one of function pointers."""
        inner = self.type_of(type_, at, field, prod(n or 0 for n in field.dims))
        if not self._is_pure(inner, self.members(inner, inner.fields)):
            return False
        return self.scheme.behaviour.opens_shuffled or not self.is_reordered(inner, inner.fields)

    def _relay_member(
        self, type_: StructType, position: int, field: Field, target: Target
    ) -> tuple[Field, bool]:
        """Return a member with its type as the build lays it out, and whether anything in it has moved."""
        if not field.members or field.aggregate is None or field.bit_size is None:
            return field, False
        count = prod(dimension or 0 for dimension in field.dims)
        new = self._relay_type(self.type_of(type_, position, field, count), target)
        if not new.has_moved:
            return field, False
        return replace(field, members=new.fields, bit_size=new.bit_size * count), True

    def type_of(self, type_: StructType, position: int, field: Field, count: int) -> StructType:
        """Return the type of a member, or of the `count` elements of an array. Raises CannotLayOut."""
        definition = self._definition(field)
        if definition is not None and definition.bit_size is not None:
            return type_of_struct(definition, definition.bit_size)
        if field.bit_size is None or field.aggregate is None:
            raise CannotLayOut(f"the size of the elements of `{field.name}` is not known")
        size = field.bit_size // count if count else _size_of_members(field.members, field.align or 1)
        outer_key: Inner | None = (type_.key, ()) if isinstance(type_.key, str) else type_.key
        key = outer_key and (outer_key[0], (*outer_key[1], position))
        return StructType(
            field.members, size, field.aggregate, None, key, None, field.align
        )  # fmt: skip

    def _lay_out(
        self, type_: StructType, fields: tuple[Field, ...], order: list[int] | None, target: Target
    ) -> _Relaid:
        """Lay out a type with its members in the given order; None for the declared order."""
        sizes = tuple(field.bit_size for field in fields)
        possible_ways = self.ways(type_, sizes, order is not None, target)
        positions = possible_ways[0].fields
        member_order = range(len(positions)) if order is None else order
        results = [way.lay_out(member_order) for way in possible_ways]
        first = results[0]
        for way, layout in zip(possible_ways, results, strict=True):
            if (layout.offsets, layout.bit_size) != (first.offsets, first.bit_size):
                self.note_assumption(type_, way.packed)
        members = possible_ways[0].members
        placed = (
            (None if at is None else replace(fields[at], bit_offset=offset), offset, width)
            for at, offset, width in zip(
                (positions[index] for index in member_order), first.offsets,
                (members[index].bit_size or 0 for index in member_order), strict=True,
            )
        )  # fmt: skip
        return _Relaid(place_unnamed_bits(placed), first.bit_size, order is not None, True, first.align)

    def _find_packed_inside(self, type_: StructType, way: Way) -> Iterator[Way]:
        """Yield the ways in which an embedded type is packed, though the input does not state it."""
        sizes = [field.bit_size for field in type_.fields]
        for at, field in enumerate(type_.fields):
            if field.members and field.aggregate is not None and field.bit_size and (field.align or 1) > 1:
                inner = self.type_of(type_, at, field, prod(n or 0 for n in field.dims))
                candidate = way.with_packed_inside(at, inner.tag or NAMELESS)
                may_be = candidate.explains(type_) or candidate.with_sizes(sizes).explains(type_)
                if may_be and variants.may_be_packed(inner, way.rules.target):
                    yield candidate

    def note_assumption(self, type_: StructType, packed: str | None = None) -> None:
        """Record that the likeliest of several ways is used. Raises CannotLayOut if none is likelier."""
        if self._input.tells_declarations:
            raise CannotLayOut("it depends on whether a `#pragma pack` before it holds for it")
        self.assumed.append(packed or type_.tag or NAMELESS)

    def ways(
        self, type_: StructType, sizes: Sequence[int | None], is_shuffled: bool, target: Target
    ) -> list[Way]:
        """Return the ways to lay out a type, the likeliest first; `sizes` are the new sizes of its fields.

        Raises CannotLayOut if none explains the declared layout.
        """
        declaration = self._find_declaration(type_)
        possible_ways: list[Way] = []
        for candidate in (
            (type_,) if declaration is not None else (self._align_embedded(type_, target), type_)
        ):
            # A compiler that has shuffled an embedded type describes its container with the new size.
            both = [
                (way, way.with_sizes(sizes)) for way in variants.possible_ways(candidate, declaration, target)
            ]
            possible_ways = possible_ways or [
                new for way, new in both if way.explains(type_) or new.explains(type_)
            ]
        if not possible_ways:
            raise CannotLayOut(_UNEXPLAINED if declaration is None else _READ_OTHERWISE)
        if declaration is None:
            possible_ways += self._find_packed_inside(type_, possible_ways[0])
        return (
            [way.relaid() for way in possible_ways] if self.scheme.is_gcc and is_shuffled else possible_ways
        )

    def _align_embedded(self, type_: StructType, target: Target) -> StructType:
        """Return the type with each embedded type aligned as if it is not packed.

        Debug information states less if bit-fields, whose places show no alignment, have the largest
        alignment.
        """
        fields = (self._align_member(type_, at, field, target) for at, field in enumerate(type_.fields))
        return replace(type_, fields=tuple(fields))

    def _align_member(self, type_: StructType, at: int, field: Field, target: Target) -> Field:
        """Return a member; a struct or union with that alignment."""
        if not field.members or field.aggregate is None or field.bit_size is None:
            return field
        inner = self.type_of(type_, at, field, prod(n or 0 for n in field.dims))
        try:
            way = next(self._explaining_ways(inner, target))
        except (CannotLayOut, StopIteration):
            return field
        align = way.lay_out(range(len(way.members))).align
        return replace(field, align=max(align, field.align or 1))

    def _explaining_ways(self, type_: StructType, target: Target) -> Iterator[Way]:
        """Yield the ways that give the declared layout of a type in debug information, the
        likeliest first.
        """
        for candidate in (self._align_embedded(type_, target), type_):
            yield from (way for way in variants.possible_ways(candidate, None, target) if way.explains(type_))


def _size_of_members(members: Sequence[Field], align: int) -> int:
    """Return the bits of a struct whose size is not stated, such as an element of `x[]`."""
    end = max(member.bit_offset + (member.bit_size or 0) for member in members)
    return -(-end // (align * 8)) * align * 8


_READ_OTHERWISE = (
    "clang, which reads it, and GCC lay out its declaration differently "
    "(a bit-field that is `aligned`, or a `#pragma pack` of another file)"
)
_UNEXPLAINED = (
    "its declared layout has an attribute, or a bit-field without a name, that this input does not show"
)


def _possible_dimensions(array: Field) -> tuple[tuple[int | None, ...], ...]:
    """Return the possible dimensions of an array, flattened by the input, that affect its place."""
    return ((1, *array.dims),) if array.is_flattened else ()
