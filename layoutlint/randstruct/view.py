"""The members of a randomised struct that a rule depends on, and their offsets in a layout.

Orders with the same view are judged once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from layoutlint.model.structs import Field
from layoutlint.randstruct.shape import Laid, Shape

Path = tuple[str, ...]
"""The names on the path to a field."""
View = tuple[int, tuple["Spot", ...]]
"""The size of a type in bits, and the positions of the members that matter, in their order."""


class Spot(NamedTuple):
    """The position of one member."""

    position: int
    """The declared position; for indistinguishable members, that of the first."""
    bit_offset: int
    inner: View | None = None
    """The view of the member's type, if it can move."""


@dataclass(frozen=True, slots=True)
class Sight:
    """The members of one shape that matter."""

    seen: frozenset[int]
    """The positions of members whose place matters."""
    asked: frozenset[int]
    """The positions of members that the rule names, or that contain named fields."""
    alike: tuple[int, ...]
    """For each position, that of the first indistinguishable member."""

    def is_complete(self, spots: int) -> bool:
        """Return whether a number of places is all that matters."""
        return spots == len(self.seen)


@dataclass(frozen=True, slots=True)
class Question:
    """The members that a rule depends on, in a shape and all inside it."""

    sights: Mapping[Shape, Sight]
    needs_size: bool
    """Whether the size of the struct itself matters."""

    def view(self, shape: Shape, known: Mapping[Shape, Laid], is_top: bool = True) -> View:
        """Return the view of a layout."""
        laid, sight = known[shape], self.sights[shape]
        spots = tuple(
            Spot(sight.alike[position], laid.offsets[position], self._inner(shape, position, known))
            for position in laid.order
            if position in sight.seen
        )
        return (laid.bit_size if self.needs_size or not is_top else 0), spots

    def near(self, shape: Shape, view: View, bits: int) -> View:
        """Return the view without members at least `bits` bits from all named ones."""
        asked = self.sights[shape].asked
        named = [self._extent(shape, spot) for spot in view[1] if spot.position in asked]
        extents = ((spot, *self._extent(shape, spot)) for spot in view[1])
        kept = (
            spot
            for spot, start, end in extents
            if any(start < stop + bits and end > begin - bits for begin, stop in named)
        )
        return view[0], tuple(kept)

    def _extent(self, shape: Shape, spot: Spot) -> tuple[int, int]:
        size = shape.fields[spot.position].bit_size or 0
        if spot.inner is not None:
            size = spot.inner[0] * shape.inner[spot.position][1]
        return spot.bit_offset, spot.bit_offset + max(size, 1)

    def _inner(self, shape: Shape, position: int, known: Mapping[Shape, Laid]) -> View | None:
        held = shape.inner.get(position)
        return None if held is None else self.view(held[0], known, False)

    def shown(self, shape: Shape, view: View) -> tuple[Field, ...]:
        """Return the members of a view at their offsets."""
        taken: dict[int, list[int]] = {}
        for position, first in enumerate(self.sights[shape].alike):
            taken.setdefault(first, []).append(position)
        return tuple(self._shown(shape, taken[spot.position].pop(0), spot) for spot in view[1])

    def _shown(self, shape: Shape, position: int, spot: Spot) -> Field:
        member = replace(shape.fields[position], bit_offset=spot.bit_offset)
        if spot.inner is None:
            return member
        held, count = shape.inner[position]
        return replace(member, bit_size=spot.inner[0] * count, members=self.shown(held, spot.inner))


def question(shape: Shape, paths: Iterable[Path], sees_others: bool, needs_size: bool) -> Question:
    """Return the members that a rule on some paths depends on; with `sees_others`, also the fields beside
    them.
    """
    looks: dict[Shape, tuple[frozenset[Path], bool]] = {}
    _look(shape, frozenset(paths), sees_others, looks)
    return Question({one: _sight(one, *look) for one, look in looks.items()}, needs_size)


def _look(
    shape: Shape, paths: frozenset[Path], sees_others: bool, looks: dict[Shape, tuple[frozenset[Path], bool]]
) -> None:
    """Collect the members that matter in each shape; a struct may contain a shape several times."""
    before, others = looks.get(shape, (frozenset[Path](), False))
    looks[shape] = before | paths, others or sees_others
    for position, (held, _) in shape.inner.items():
        member = shape.fields[position]
        below = _below(member, paths)
        _look(held, below, sees_others and (bool(below) or member.name is None), looks)


def _below(member: Field, paths: frozenset[Path]) -> frozenset[Path]:
    """Return the rest of the paths that lead into a member; the empty path means all of it."""
    if member.name is not None:
        return frozenset(path[1:] for path in paths if path and path[0] == member.name)
    inside = set(names(member.members))
    return frozenset(path for path in paths if path and path[0] in inside)


def names(fields: Iterable[Field]) -> Iterator[str]:
    """Yield the names of members, with those inside unnamed members in their place."""
    for member in fields:
        if member.name is None:
            yield from names(member.members)
        else:
            yield member.name


def _sight(shape: Shape, paths: frozenset[Path], sees_others: bool) -> Sight:
    first: dict[object, int] = {}
    asked = {position for position, member in enumerate(shape.fields) if _below(member, paths)}
    others = {position for position in range(len(shape.fields)) if shape.is_field(position)}
    alike = tuple(
        first.setdefault(_kind(shape, position, position in asked, sees_others), position)
        for position in range(len(shape.fields))
    )
    return Sight(frozenset(others if sees_others else asked), frozenset(asked), alike)


def _kind(shape: Shape, position: int, is_asked: bool, sees_others: bool) -> object:
    """Return a key that is equal for indistinguishable members: the facts that offsets depend on."""
    member = shape.fields[position]
    if is_asked or (sees_others and member.members and member.name is None):
        return position
    placing = (member.type, member.align) if member.is_bitfield else shape.start(position, 1)
    is_open = sees_others and member.is_flexible
    return member.bit_size, member.is_bitfield, placing, is_open, shape.inner.get(position)
