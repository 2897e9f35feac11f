"""Possible layouts of the structs of one input if the seed of the build is unknown."""

from __future__ import annotations

from collections.abc import Iterable

from layoutlint.model.reading import Reading
from layoutlint.model.structs import Struct
from layoutlint.randstruct.c_abi import CannotLayOut
from layoutlint.randstruct.randomisation import (
    UNMARKED,
    Randomisation,
    make_redoers,
    notes_on_unstated,
    packing_notes,
)
from layoutlint.randstruct.shape import Shape, Shapes


class UnseededInput:
    """The shapes of one input's structs."""

    def __init__(self, reading: Reading, context: Iterable[Reading], how: Randomisation) -> None:
        self.how = how = how.settle(reading)
        self._is_marked_known, self._redoers = make_redoers(reading, context, how)
        self._shapes = [Shapes(redoer) for redoer in self._redoers]
        self._hidden = notes_on_unstated(reading)
        self._has_moved = False
        self._doubts: list[str] = []

    def shape_of(self, struct: Struct) -> Shape | None:
        """Return the shape of a struct; None if it has its declared layout. Raises CannotLayOut."""
        shape, *others = [shapes.shape_of(struct) for shapes in self._shapes]
        if not self._is_marked_known and (shape is None or shape.stream is None):
            raise CannotLayOut(UNMARKED)
        doubt = self.how.doubt(struct, [not _are_same(shape, alternative) for alternative in others])
        if doubt is not None:
            self._doubts.append(doubt)
        self._has_moved |= shape is not None
        return shape

    @property
    def notes(self) -> tuple[str, ...]:
        """The assumptions about the structs requested so far, as sentences."""
        return (
            *self.how.notes,
            *packing_notes(self._redoers[0].assumed),
            *dict.fromkeys(self._doubts),
            *(self._hidden if self._has_moved else ()),
        )


def _are_same(first: Shape | None, second: Shape | None) -> bool:
    """Return whether two shapes have the same orders. None stands for the declared layout."""
    if first is None or second is None:
        return first is second
    return first.stream == second.stream and first.is_like(second)
