"""The sides of a rule: which fields it keeps apart, or together, and what uses each side."""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable

from layoutlint.geometry.layout import Place
from layoutlint.judgement.context import Context
from layoutlint.model.record import Record

Use = Literal["read", "write", "lock"]


class Side(Record, frozen=True):
    """Fields that one processor uses."""

    places: tuple[Place, ...]
    use: Use | None = None
    """What the rule states about the use; None if only the declared accesses of the fields do."""


class Sides(Record, frozen=True):
    """The sides of a rule in one struct."""

    arranges: Literal["apart", "together"]
    sides: tuple[Side, ...]
    """Sides that are kept apart from one another, or whose fields all are kept together."""


@runtime_checkable
class HasSides(Protocol):
    """A kind of rules whose cost can be measured."""

    def sides(self, context: Context) -> Sides:
        """Return the sides in a struct. Raises CannotTell, as `check` does."""
        ...
