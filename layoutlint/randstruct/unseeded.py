"""Possible layouts of the structs of one input if the seed of the build is unknown."""

from __future__ import annotations

from collections.abc import Iterable

from layoutlint.model.reading import Reading
from layoutlint.model.structs import Struct
from layoutlint.randstruct.c_abi import CannotLayOut
from layoutlint.randstruct.randomisation import UNMARKED, Randomisation, not_packed, redoers, unseen
from layoutlint.randstruct.shape import Shape, Shapes


class Free:
    """The shapes of one input's structs."""

    def __init__(self, reading: Reading, known: Iterable[Reading], how: Randomisation) -> None:
        self.how = how = how.of(reading)
        self._is_told, self._redoers = redoers(reading, known, how)
        self._shapes = [Shapes(redoer) for redoer in self._redoers]
        self._hidden = unseen(reading)
        self._has_moved = False
        self._doubts: list[str] = []

    def of(self, struct: Struct) -> Shape | None:
        """Return the shape of a struct; None if it has its declared layout. Raises CannotLayOut."""
        shape, *others = [shapes.of(struct) for shapes in self._shapes]
        if not self._is_told and (shape is None or shape.stream is None):
            raise CannotLayOut(UNMARKED)
        doubt = self.how.doubt(struct, [not _is_same(shape, one) for one in others])
        if doubt is not None:
            self._doubts.append(doubt)
        self._has_moved |= shape is not None
        return shape

    @property
    def notes(self) -> tuple[str, ...]:
        """The assumptions about the structs requested so far, as sentences."""
        return (
            *self.how.notes,
            *not_packed(self._redoers[0].assumed),
            *dict.fromkeys(self._doubts),
            *(self._hidden if self._has_moved else ()),
        )


def _is_same(one: Shape | None, other: Shape | None) -> bool:
    """Return whether two shapes have the same orders. None stands for the declared layout."""
    if one is None or other is None:
        return one is other
    return one.stream == other.stream and one.is_like(other)
