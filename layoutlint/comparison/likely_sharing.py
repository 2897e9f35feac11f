"""Fields that came to share a line and are likely to disturb each other, by what functions do to them."""

from __future__ import annotations

from layoutlint.comparison.verdicts import PairChange
from layoutlint.model.record import Record
from layoutlint.model.structs import Struct


class LikelyPair(Record, frozen=True):
    """A written field, and a field whose readers it disturbs in more placements than before."""

    struct: Struct
    """As it is now."""
    change: PairChange
    """The written field and the read one, and where they share a line."""
    score: float
    """The score of `infer`, for the placements in which they did not share a line before."""
    rank_of_writer: int
    """Its rank among the pairs with the same written field."""
    reasons: tuple[str, ...]
    """Sentences on the functions that use the two."""


class LikelySharing(Record, frozen=True):
    """Pairs of fields in a comparison, ranked by the functions of some sources."""

    sources: tuple[str, ...]
    """The sources, as they were named."""
    pairs: tuple[LikelyPair, ...]
    """Best first."""
    left_out: int
    """The number of pairs after these."""
