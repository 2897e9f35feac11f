"""Layouts of structs whose members are in a random order, and of the structs that embed them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeVar

from layoutlint.model import alignment
from layoutlint.model.declared import Declared, Inner
from layoutlint.model.randomised import Randomised
from layoutlint.model.structs import Field, Struct
from layoutlint.model.target import Target
from layoutlint.randstruct import variants as ways
from layoutlint.randstruct.c_abi import CannotLayOut
from layoutlint.randstruct.marked import Marks
from layoutlint.randstruct.scheme import Scheme
from layoutlint.randstruct.variants import Type, Way

Result = TypeVar("Result")
NAMELESS = "structs without a name"
Definition = Callable[[Field], Struct | None]
"""Returns the definition of a field's struct or union; None for an unnamed type."""


@dataclass(frozen=True, slots=True)
class Input:
    """The facts that an input states about structs."""

    tells_declarations: bool
    """Whether it has a Declared for each of them."""
    tells_arrays: bool
    """Whether it distinguishes `x[0]` from `x[]`, and `x[1][2]` from `x[2][1]`."""


def declared(struct: Struct, bit_size: int) -> Type:
    """Return the type of a definition of known size."""
    tag = struct.name if struct.is_tagged else None
    return Type(struct.fields, bit_size, struct.aggregate, struct.align, struct.name, tag)


@dataclass(frozen=True, slots=True)
class _New:
    """A type after randomisation."""

    fields: tuple[Field, ...]
    bit_size: int
    is_own: bool = False
    """Whether its own members are in another order."""
    has_moved: bool = False
    """Whether members at some depth have moved."""
    align: int | None = None
    """Alignment in bytes; None if it was not laid out again."""


class Redoer:
    """Lays out the structs of one input as one build does."""

    def __init__(
        self, scheme: Scheme, given: Marks, shown: Iterable[Declared], of: Input, definition: Definition
    ) -> None:
        self.scheme = scheme
        self._given = given
        self._input = of
        self._definition = definition
        self._declared: dict[str | Inner, list[Declared]] = {}
        for one in dict.fromkeys(shown):
            self._declared.setdefault(one.key, []).append(one)
        self.assumed: list[str] = []
        """Structs that are assumed not to be packed, if the layout depends on it and the input does not state
        it."""

    def struct(self, struct: Struct) -> Struct:
        """Return the struct as the build lays it out. Raises CannotLayOut if the input states too little."""
        if struct.bit_size is None:
            return struct
        new = self._redone(declared(struct, struct.bit_size), struct.target)
        if not new.has_moved:
            return struct
        how = Randomised(self.scheme.mode, self.scheme.seed.hash, None, new.is_own)
        if new.align is None:
            return replace(struct, fields=new.fields, bit_size=new.bit_size, randomised=how)
        return replace(alignment.reordered(struct, new.fields, new.bit_size, new.align), randomised=how)

    def _redone(self, of: Type, target: Target) -> _New:
        inner = [self._inner(of, position, field, target) for position, field in enumerate(of.fields)]
        fields = tuple(field for field, _ in inner)
        has_moved = any(moved for _, moved in inner)
        if self.is_taken(of, fields):
            return self._laid(of, fields, self._order(of, fields), target)
        if all(new.bit_size == old.bit_size for new, old in zip(fields, of.fields, strict=True)):
            return _New(fields, of.bit_size, False, has_moved)
        return self._laid(of, fields, None, target)

    def members(self, of: Type, fields: Sequence[Field]) -> list[Field]:
        """Return all members of a type: its fields, and unnamed bit-fields if the input states them."""
        return ways.whole(fields, self._of_text(of))

    def _of_text(self, of: Type) -> Declared | None:
        """Return the declaration of a type in C; None for another input. Raises CannotLayOut if it is
        unknown.
        """
        if not self._input.tells_declarations or of.key is None:
            return None
        fitting = [one for one in self._declared.get(of.key, ()) if ways.is_of(one, of.fields)]
        if len(fitting) != 1:
            name = of.key if isinstance(of.key, str) else "a struct without a name"
            what = "is declared in several ways" if fitting else "was not found as it is declared"
            raise CannotLayOut(f"`{name}` {what}")
        return fitting[0]

    def _order(self, of: Type, fields: Sequence[Field]) -> list[int]:
        return self.settled(self.members(of, fields), lambda members: self.scheme.order(members, of.tag))

    def settled(self, members: Sequence[Field], ordered: Callable[[Sequence[Field]], Result]) -> Result:
        """Return the result of `ordered` for some members.

        Raises CannotLayOut if it depends on array dimensions that the input does not state.
        """
        order = ordered(members)
        if self._input.tells_arrays or not members[-1].dims:
            return order
        last = members[-1]
        # An empty array may be `[0]`; GCC 12 writes several dimensions in reverse order;
        # pahole writes `[1][3]` and `[3][1]` as `[3]`.
        for dims in ((last.dims[0] or 0, *last.dims[1:]), last.dims[::-1], *_unflattened(last)):
            if ordered((*members[:-1], replace(last, dims=dims))) != order:
                raise CannotLayOut(
                    f"BTF does not tell how long the array `{last.name}` is, which may stay last"
                )
        return order

    def is_taken(self, of: Type, fields: Sequence[Field]) -> bool:
        """Return whether the members of a type are reordered. Raises CannotLayOut."""
        if of.aggregate != "struct" or not of.fields:
            return False
        shown = self._of_text(of)
        marked, kept = of.key in self._given.randomised, of.key in self._given.kept
        if shown is not None and not marked and not kept:
            marked, kept = shown.is_randomised, shown.is_kept
        members = ways.whole(fields, shown)
        count = len(members)
        return self.scheme.takes(of.tag, count, marked, kept, lambda: self._is_pure(of, members))

    def _is_pure(self, of: Type, members: Sequence[Field]) -> bool:
        """Return whether a type contains only pointers to functions, and structs of them if the build counts
        those.
        """
        is_gcc = self.scheme.is_gcc
        if not all(one.is_function_pointer for one in members if one.aggregate is None):
            return False
        if not is_gcc and any(one.dims or one.aggregate == "union" for one in members):
            return False
        embedded = [(at, field) for at, field in enumerate(of.fields) if field.aggregate is not None]
        if embedded and not self.scheme.behaviour.opens_structs:
            return False
        return all(self._is_opened(of, at, field) for at, field in embedded if field.members)

    def _is_opened(self, of: Type, at: int, field: Field) -> bool:
        """Return whether an embedded struct or union counts as one of function pointers."""
        inner = self.type_of(of, at, field, prod(n or 0 for n in field.dims))
        if not self._is_pure(inner, self.members(inner, inner.fields)):
            return False
        return self.scheme.behaviour.opens_shuffled or not self.is_taken(inner, inner.fields)

    def _inner(self, of: Type, position: int, field: Field, target: Target) -> tuple[Field, bool]:
        """Return a member with its type as the build lays it out, and whether anything in it has moved."""
        if not field.members or field.aggregate is None or field.bit_size is None:
            return field, False
        count = prod(dimension or 0 for dimension in field.dims)
        new = self._redone(self.type_of(of, position, field, count), target)
        if not new.has_moved:
            return field, False
        return replace(field, members=new.fields, bit_size=new.bit_size * count), True

    def type_of(self, of: Type, position: int, field: Field, count: int) -> Type:
        """Return the type of a member, or of the `count` elements of an array. Raises CannotLayOut."""
        found = self._definition(field)
        if found is not None and found.bit_size is not None:
            return declared(found, found.bit_size)
        if field.bit_size is None or field.aggregate is None:
            raise CannotLayOut(f"the size of the elements of `{field.name}` is not known")
        size = field.bit_size // count if count else _end(field.members, field.align or 1)
        before: Inner | None = (of.key, ()) if isinstance(of.key, str) else of.key
        key = before and (before[0], (*before[1], position))
        return Type(
            field.members, size, field.aggregate, None, key, None, field.align
        )  # fmt: skip

    def _laid(self, of: Type, fields: tuple[Field, ...], order: list[int] | None, target: Target) -> _New:
        """Lay out a type with its members in the given order; None for the declared order."""
        sizes = tuple(field.bit_size for field in fields)
        found = self.ways(of, sizes, order is not None, target)
        positions = found[0].fields
        by = range(len(positions)) if order is None else order
        results = [way.lay_out(by) for way in found]
        laid = results[0]
        for way, one in zip(found, results, strict=True):
            if (one.offsets, one.bit_size) != (laid.offsets, laid.bit_size):
                self.is_assumed(of, way.packed)
        placed = tuple(
            replace(fields[at], bit_offset=offset)
            for at, offset in zip((positions[index] for index in by), laid.offsets, strict=True)
            if at is not None
        )
        return _New(placed, laid.bit_size, order is not None, True, laid.align)

    def _holding_packed(self, of: Type, way: Way) -> Iterator[Way]:
        """Yield the ways in which an embedded type is packed, though the input does not state it."""
        sizes = [field.bit_size for field in of.fields]
        for at, field in enumerate(of.fields):
            if field.members and field.aggregate is not None and field.bit_size and (field.align or 1) > 1:
                inner = self.type_of(of, at, field, prod(n or 0 for n in field.dims))
                held = way.holding_packed(at, inner.tag or NAMELESS)
                may_be = held.gives(of) or held.resized(sizes).gives(of)
                if may_be and ways.may_be_packed(inner, way.rules.target):
                    yield held

    def is_assumed(self, of: Type, packed: str | None = None) -> None:
        """Record that the likeliest of several ways is used. Raises CannotLayOut if none is likelier."""
        if self._input.tells_declarations:
            raise CannotLayOut("it depends on whether a `#pragma pack` before it holds for it")
        self.assumed.append(packed or of.tag or NAMELESS)

    def ways(self, of: Type, sizes: Sequence[int | None], is_shuffled: bool, target: Target) -> list[Way]:
        """Return the ways to lay out a type, the likeliest first; `sizes` are the new sizes of its fields.

        Raises CannotLayOut if none explains the declared layout.
        """
        shown = self._of_text(of)
        found: list[Way] = []
        for one in (of,) if shown is not None else (self._aligned(of, target), of):
            # A compiler that has shuffled an embedded type describes its container with the new size.
            both = [(way, way.resized(sizes)) for way in ways.ways(one, shown, target)]
            found = found or [new for way, new in both if way.gives(of) or new.gives(of)]
        if not found:
            raise CannotLayOut(_UNEXPLAINED if shown is None else _READ_OTHERWISE)
        if shown is None:
            found += self._holding_packed(of, found[0])
        return [way.again() for way in found] if self.scheme.is_gcc and is_shuffled else found

    def _aligned(self, of: Type, target: Target) -> Type:
        """Return the type with each embedded type aligned as if it is not packed.

        Debug information states less if bit-fields, whose places show no alignment, have the largest
        alignment.
        """
        held = (self._held(of, at, field, target) for at, field in enumerate(of.fields))
        return replace(of, fields=tuple(held))

    def _held(self, of: Type, at: int, field: Field, target: Target) -> Field:
        """Return a member; a struct or union with that alignment."""
        if not field.members or field.aggregate is None or field.bit_size is None:
            return field
        inner = self.type_of(of, at, field, prod(n or 0 for n in field.dims))
        try:
            way = next(self._likeliest(inner, target))
        except (CannotLayOut, StopIteration):
            return field
        align = way.lay_out(range(len(way.members))).align
        return replace(field, align=max(align, field.align or 1))

    def _likeliest(self, of: Type, target: Target) -> Iterator[Way]:
        """Yield the ways that give the declared layout of a type in debug information, the
        likeliest first.
        """
        for one in (self._aligned(of, target), of):
            yield from (way for way in ways.ways(one, None, target) if way.gives(of))


def _end(members: Sequence[Field], align: int) -> int:
    """Return the bits of a struct whose size is not stated, such as an element of `x[]`."""
    end = max(member.bit_offset + (member.bit_size or 0) for member in members)
    return -(-end // (align * 8)) * align * 8


_READ_OTHERWISE = (
    "clang, which reads it, and GCC lay out its declaration differently "
    "(a bit-field that is `aligned`, or a `#pragma pack` of another file)"
)
_UNEXPLAINED = (
    "its declared layout is not what the members that this input shows give: "
    "there is an attribute, or a bit-field without a name, that it does not show"
)


def _unflattened(array: Field) -> tuple[tuple[int | None, ...], ...]:
    """Return the possible dimensions of an array, flattened by the input, that affect its place."""
    return ((1, *array.dims),) if array.is_flattened else ()
