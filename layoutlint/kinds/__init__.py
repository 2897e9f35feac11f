"""One module per rule kind; KINDS is the table of them all."""

from __future__ import annotations

from layoutlint.kinds.access import AccessApart
from layoutlint.kinds.adjacent import Adjacent
from layoutlint.kinds.distance import Distance
from layoutlint.kinds.holes import Holes
from layoutlint.kinds.isolated import Isolated
from layoutlint.kinds.line_start import LineStart
from layoutlint.kinds.lines import Lines
from layoutlint.kinds.no_straddle import NoStraddle
from layoutlint.kinds.offset import Offset
from layoutlint.kinds.order import Order
from layoutlint.kinds.separate import Separate
from layoutlint.kinds.size import Size
from layoutlint.kinds.together import Together
from layoutlint.rule import Kind

KINDS: tuple[type[Kind], ...] = (
    Separate,
    Together,
    Adjacent,
    Order,
    Isolated,
    LineStart,
    NoStraddle,
    Distance,
    Offset,
    Size,
    Lines,
    Holes,
    AccessApart,
)


def kind_named(name: str) -> type[Kind] | None:
    """The kind called `name`, None when there is none."""
    return next((kind for kind in KINDS if kind.name == name), None)
