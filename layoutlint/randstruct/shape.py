"""Struct types that can be laid out in any order that a compiler may choose, with the types inside them.

A Shape is computed once for each type. It then gives the layout for any orders of its own members and of
those of the types inside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import prod

from layoutlint.model.record import Record, field, replace
from layoutlint.model.structs import Aggregate, Field, Struct, place_unnamed_bits
from layoutlint.model.target import Target
from layoutlint.randstruct import order_tree
from layoutlint.randstruct.c_abi import CannotLayOut, round_up
from layoutlint.randstruct.generators import UNNAMED, Draw
from layoutlint.randstruct.order_tree import FixedOrder, Part, TooManyOrders
from layoutlint.randstruct.relayout import DESCRIBED_LATE, Relayouter
from layoutlint.randstruct.variants import StructType, Way, type_of_struct

Chosen = Mapping["Shape", Sequence[int]]
"""For each shuffled shape, the declared positions of its members in their order."""


class ShapeLayout(Record, frozen=True):
    """The offsets of the members of a shape, by their declared positions, and its size; in bits."""

    bit_size: int
    offsets: Sequence[int]
    order: Sequence[int]


class Shape(Record, frozen=True, eq=False):
    """One struct or union type whose layout depends on random orders, its own or those of inner types."""

    fields: tuple[Field, ...]
    """All members as declared, with unnamed bit-fields."""
    bit_size: int
    """The declared size."""
    aggregate: Aggregate
    align: int
    """Alignment in bytes, in every order."""
    way: Way | None
    """The way to lay it out; None if no way gives the declared layout, which must then stay."""
    mode: str = ""
    """How the build randomises."""
    stream: str | None = None
    """The key of its random numbers; None if its own members are not shuffled."""
    part: Part | None = None
    """The possible orders; None if there are too many."""
    order_by_draws: Callable[[Draw], Sequence[int]] | None = None
    """Returns an order for random numbers of `draw_bits` bits."""
    draw_bits: int = 64
    inner: Mapping[int, tuple[Shape, int]] = field(default_factory=dict)
    """By the position of a member, its shape and the number of elements, if it can move."""
    _gaps: dict[tuple[int, int], int] = field(default_factory=dict)

    def is_field(self, position: int) -> bool:
        """Return whether a member is not an unnamed bit-field."""
        return self.way is None or self.way.fields[position] is not None

    def all_inside(self) -> tuple[Shape, ...]:
        """Return the shape and all inside it, each once, inner ones first."""
        shapes: dict[Shape, None] = {}
        self._collect(shapes)
        return tuple(shapes)

    def is_like(self, other: Shape) -> bool:
        """Return whether it has the same layouts with the same probabilities."""
        ours, theirs = self.all_inside(), other.all_inside()
        return len(ours) == len(theirs) and all(
            (a.fields, a.way, a.part, a.stream) == (b.fields, b.way, b.part, b.stream)
            for a, b in zip(ours, theirs, strict=True)
        )

    def _collect(self, shapes: dict[Shape, None]) -> None:
        if self not in shapes:
            for shape, _ in self.inner.values():
                shape._collect(shapes)
            shapes[self] = None

    def sizes(self, inner: Mapping[Shape, int]) -> list[int]:
        """Return the sizes of the members in bits, given the sizes of inner shapes.

        Raises CannotLayOut if a type that must keep its declared layout has a member of another size.
        """
        sizes = [member.bit_size or 0 for member in self.fields]
        for position, (shape, count) in self.inner.items():
            sizes[position] = inner[shape] * count
            if self.way is None and sizes[position] != self.fields[position].bit_size:
                raise CannotLayOut("its declared layout contradicts the alignments of its members")
        return sizes

    def start(self, position: int, end: int) -> int:
        """Return the offset of a member after one that ends at bit `end`; it repeats with the alignment."""
        if self.way is None or self.aggregate == "union":
            return 0 if self.aggregate == "union" else self.fields[position].bit_offset
        key = (position, end % (self.align * 8))
        gap = self._gaps.get(key)
        if gap is None:
            gap = self.way.rules.start(self.way.members[position], key[1]) - key[1]
            self._gaps[key] = gap
        return end + gap

    def lay_out(self, order: Sequence[int], sizes: Sequence[int]) -> ShapeLayout:
        """Return the layout for an order of the members and their sizes."""
        end = reached = 0
        offsets = [0] * len(sizes)
        start = self.start
        for position in order:
            offsets[position] = at = start(position, end)
            end = at + sizes[position]
            if end > reached:
                reached = end
        return ShapeLayout(self.round_size(reached), tuple(offsets), order)

    def round_size(self, end: int) -> int:
        """Return the size in bits of a shape whose last member ends at bit `end`."""
        return self.bit_size if self.way is None else round_up(end, self.align * 8)

    def lay_out_all(self, chosen: Chosen) -> dict[Shape, ShapeLayout]:
        """Return the layouts of this shape and all inside it, for an order of each. Raises CannotLayOut."""
        layouts: dict[Shape, ShapeLayout] = {}
        for shape in self.all_inside():
            sizes = shape.sizes({inner: layouts[inner].bit_size for inner, _ in shape.inner.values()})
            layouts[shape] = shape.lay_out(chosen.get(shape, range(len(sizes))), sizes)
        return layouts

    def move_members(self, layouts: Mapping[Shape, ShapeLayout]) -> tuple[Field, ...]:
        """Return the members in the order and at the offsets of some layouts."""
        offsets = layouts[self].offsets
        members = [replace(member, bit_offset=at) for member, at in zip(self.fields, offsets, strict=True)]
        for position, (shape, count) in self.inner.items():
            members[position] = replace(
                members[position],
                bit_size=layouts[shape].bit_size * count,
                members=shape.move_members(layouts),
            )
        return place_unnamed_bits(
            (members[at] if self.is_field(at) else None, offsets[at], members[at].bit_size or 0)
            for at in layouts[self].order
        )


class Shapes:
    """The shapes of one input under one scheme."""

    def __init__(self, redoer: Relayouter) -> None:
        self._redoer = redoer
        self._shapes: dict[tuple[object, ...], tuple[StructType, Shape | None]] = {}

    def shape_of(self, struct: Struct) -> Shape | None:
        """Return the shape of a struct; None if nothing in it moves. Raises CannotLayOut."""
        if struct.bit_size is None:
            return None
        return self._shape_of_type(type_of_struct(struct, struct.bit_size), struct.target)

    def _shape_of_type(self, type_: StructType, target: Target) -> Shape | None:
        key = (id(type_.fields), type_.key, type_.bit_size, type_.stated, type_.likely)
        if key not in self._shapes:
            self._shapes[key] = type_, self._make_shape(type_, target)
        return self._shapes[key][1]

    def _make_shape(self, type_: StructType, target: Target) -> Shape | None:
        is_shuffled = self._redoer.is_reordered(type_, type_.fields)
        if is_shuffled and type_.declared_order:
            raise CannotLayOut(DESCRIBED_LATE)
        inner_by_field = dict(self._inner_shapes(type_, target))
        if not is_shuffled and not inner_by_field:
            return None
        way = self._find_way(type_, is_shuffled, target)
        at = range(len(type_.fields)) if way is None else way.fields
        members = type_.fields if way is None else tuple(self._redoer.members(type_, type_.fields))
        inner = {n: inner_by_field[field] for n, field in enumerate(at) if field in inner_by_field}
        align = type_.stated or type_.likely or 1
        align = align if way is None else way.lay_out(range(len(members))).align
        scheme = self._redoer.scheme
        if not is_shuffled:
            whole = FixedOrder(tuple(map(order_tree.Member, range(len(members)))))
            return Shape(
                members, type_.bit_size, type_.aggregate, align, way, scheme.mode, part=whole, inner=inner
            )
        part = self._redoer.require_stable(members, self._part)
        drawn = partial(scheme.order_by_draws, members)
        stream = type_.tag or UNNAMED if scheme.is_gcc else type_.tag or ""
        return Shape(
            members, type_.bit_size, type_.aggregate, align, way, scheme.mode, stream, part, drawn,
            scheme.draw_bits, inner,
        )  # fmt: skip

    def _part(self, members: Sequence[Field]) -> Part | None:
        try:
            return order_tree.build_tree(self._redoer.scheme, members)
        except TooManyOrders:
            return None

    def _inner_shapes(
        self, type_: StructType, target: Target
    ) -> Iterator[tuple[int | None, tuple[Shape, int]]]:
        for position, member in enumerate(type_.fields):
            if member.members and member.aggregate is not None and member.bit_size is not None:
                count = prod(dimension or 0 for dimension in member.dims)
                shape = self._shape_of_type(self._redoer.type_of(type_, position, member, count), target)
                if shape is not None:
                    yield position, (shape, count)

    def _find_way(self, type_: StructType, is_shuffled: bool, target: Target) -> Way | None:
        sizes = [member.bit_size for member in type_.fields]
        try:
            ways = self._redoer.ways(type_, sizes, is_shuffled, target)
        except CannotLayOut:
            if is_shuffled:
                raise
            return None
        steps = [
            [way.rules.start(member, at) for member in way.members for at in range(0, 256, 8)]
            for way in ways
            if way.packed is None
        ]
        if any(step != steps[0] for step in steps[1:]):
            self._redoer.note_assumption(type_)
        for way in ways:
            if way.packed is not None:  # it can then start at any byte
                self._redoer.note_assumption(type_, way.packed)
        return ways[0]
