"""The members of a randomised struct that a rule depends on, and their offsets in a layout.

Orders with the same view are judged once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Field
from layoutlint.randstruct.shape import Shape, ShapeLayout

Path = tuple[str, ...]
"""The names on the path to a field."""
View = tuple[int, tuple["MemberSpot", ...]]
"""The size of a type in bits, and the positions of the members that matter, in their order."""


class MemberSpot(NamedTuple):
    """The position of one member."""

    position: int
    """The declared position; for indistinguishable members, that of the first."""
    bit_offset: int
    inner: View | None = None
    """The view of the member's type, if it can move."""


class Sight(Record, frozen=True):
    """The members of one shape that matter."""

    relevant: frozenset[int]
    """The positions of members whose place matters."""
    named: frozenset[int]
    """The positions of members that the rule names, or that contain named fields."""
    first_alike: tuple[int, ...]
    """For each position, that of the first indistinguishable member."""

    def is_complete(self, spots: int) -> bool:
        """Return whether a number of places is all that matters."""
        return spots == len(self.relevant)


class Question(Record, frozen=True):
    """The members that a rule depends on, in a shape and all inside it."""

    sights: Mapping[Shape, Sight]
    needs_size: bool
    """Whether the size of the struct itself matters."""

    def view(self, shape: Shape, layouts: Mapping[Shape, ShapeLayout], is_top: bool = True) -> View:
        """Return the view of a layout."""
        laid, sight = layouts[shape], self.sights[shape]
        spots = tuple(
            MemberSpot(
                sight.first_alike[position],
                laid.offsets[position],
                self._inner_view(shape, position, layouts),
            )
            for position in laid.order
            if position in sight.relevant
        )
        return (laid.bit_size if self.needs_size or not is_top else 0), spots

    def view_near(self, shape: Shape, view: View, bits: int) -> View:
        """Return the view without members at least `bits` bits from all named ones."""
        named = self.sights[shape].named
        named_extents = [self._extent(shape, spot) for spot in view[1] if spot.position in named]
        extents = ((spot, *self._extent(shape, spot)) for spot in view[1])
        near_spots = (
            spot
            for spot, start, end in extents
            if any(start < stop + bits and end > begin - bits for begin, stop in named_extents)
        )
        return view[0], tuple(near_spots)

    def _extent(self, shape: Shape, spot: MemberSpot) -> tuple[int, int]:
        size = shape.fields[spot.position].bit_size or 0
        if spot.inner is not None:
            size = spot.inner[0] * shape.inner[spot.position][1]
        return spot.bit_offset, spot.bit_offset + max(size, 1)

    def _inner_view(self, shape: Shape, position: int, layouts: Mapping[Shape, ShapeLayout]) -> View | None:
        inner_shape = shape.inner.get(position)
        return None if inner_shape is None else self.view(inner_shape[0], layouts, False)

    def place_members(self, shape: Shape, view: View) -> tuple[Field, ...]:
        """Return the members of a view at their offsets."""
        positions: dict[int, list[int]] = {}
        for position, first in enumerate(self.sights[shape].first_alike):
            positions.setdefault(first, []).append(position)
        return tuple(self._place_member(shape, positions[spot.position].pop(0), spot) for spot in view[1])

    def _place_member(self, shape: Shape, position: int, spot: MemberSpot) -> Field:
        member = replace(shape.fields[position], bit_offset=spot.bit_offset, unnamed_bits=None)
        if spot.inner is None:
            return member
        inner_shape, count = shape.inner[position]
        return replace(
            member, bit_size=spot.inner[0] * count, members=self.place_members(inner_shape, spot.inner)
        )


def make_question(shape: Shape, paths: Iterable[Path], sees_others: bool, needs_size: bool) -> Question:
    """Return the members that a rule on some paths depends on; with `sees_others`, also the fields beside
    them.
    """
    looks: dict[Shape, tuple[frozenset[Path], bool]] = {}
    _collect_paths(shape, frozenset(paths), sees_others, looks)
    return Question({part: _make_sight(part, *look) for part, look in looks.items()}, needs_size)


def _collect_paths(
    shape: Shape, paths: frozenset[Path], sees_others: bool, looks: dict[Shape, tuple[frozenset[Path], bool]]
) -> None:
    """Collect the members that matter in each shape; a struct may contain a shape several times."""
    earlier, others = looks.get(shape, (frozenset[Path](), False))
    looks[shape] = earlier | paths, others or sees_others
    for position, (inner_shape, _) in shape.inner.items():
        member = shape.fields[position]
        inner_paths = _paths_inside(member, paths)
        _collect_paths(
            inner_shape, inner_paths, sees_others and (bool(inner_paths) or member.name is None), looks
        )


def _paths_inside(member: Field, paths: frozenset[Path]) -> frozenset[Path]:
    """Return the rest of the paths that lead into a member; the empty path means all of it."""
    if member.name is not None:
        return frozenset(path[1:] for path in paths if path and path[0] == member.name)
    inside = set(member_names(member.members))
    return frozenset(path for path in paths if path and path[0] in inside)


def member_names(fields: Iterable[Field]) -> Iterator[str]:
    """Yield the names of members, with those inside unnamed members in their place."""
    for member in fields:
        if member.name is None:
            yield from member_names(member.members)
        else:
            yield member.name


def _make_sight(shape: Shape, paths: frozenset[Path], sees_others: bool) -> Sight:
    first: dict[object, int] = {}
    named = {position for position, member in enumerate(shape.fields) if _paths_inside(member, paths)}
    others = {position for position in range(len(shape.fields)) if shape.is_field(position)}
    alike = tuple(
        first.setdefault(_identity(shape, position, position in named, sees_others), position)
        for position in range(len(shape.fields))
    )
    return Sight(frozenset(others if sees_others else named), frozenset(named), alike)


def _identity(shape: Shape, position: int, is_named: bool, sees_others: bool) -> object:
    """Return a key that is equal for indistinguishable members: the facts that offsets depend on."""
    member = shape.fields[position]
    if is_named or (sees_others and member.members and member.name is None):
        return position
    placing = (member.type, member.align) if member.is_bitfield else shape.start(position, 1)
    is_open = sees_others and member.is_flexible
    return member.bit_size, member.is_bitfield, placing, is_open, shape.inner.get(position)
