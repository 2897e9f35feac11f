"""The guesses from sources about a comparison, for the JSON format of `diff`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from layoutlint.comparison.likely_sharing import LikelyPair, LikelySharing
from layoutlint.model.json_object import Amount, JsonObject, Natural, Positive, one_of
from layoutlint.reports.json_values import file_and_line


class LikelySharingJson(JsonObject, frozen=True):
    """What functions do to the fields that share a line more often than before. Null without `--uses`."""

    sources: Sequence[str]
    """The sources, as on the command line."""
    pairs: Sequence[LikelyPairJson]
    """At most 150, the likeliest first."""
    left_out: Natural
    """The number of pairs after these."""


class LikelyPairJson(JsonObject, frozen=True):
    """A written field, and a field whose readers it disturbs more than before."""

    struct: str
    """The name of the struct."""
    file: str | None
    """Where the struct is defined now."""
    line: int | None
    """The line of the definition."""
    fields: tuple[str, str]
    """The written field, and the read one."""
    violating: tuple[Natural, Natural]
    """In how many placements they share a line."""
    total: Positive
    """The number of placements now."""
    old_total: Positive
    """The number of placements before."""
    bases: tuple[Sequence[Natural], Sequence[Natural]]
    """The bases at which they share a line."""
    rank: Positive
    """1 for the likeliest of all pairs."""
    rank_of_writer: Positive
    """The rank among the pairs with the same written field."""
    score: Amount
    """The score of `infer`, for the placements that were added."""
    reasons: Sequence[str]
    """Sentences on the functions that use the two."""
    origin: Annotated[str, one_of("inferred")]
    """What the guess rests on."""


def likely_sharing(likely: LikelySharing) -> LikelySharingJson:
    """Return the guesses from sources about a comparison."""
    return LikelySharingJson(
        sources=likely.sources,
        pairs=[_likely_pair(rank, each) for rank, each in enumerate(likely.pairs, 1)],
        left_out=likely.left_out,
    )


def _likely_pair(rank: int, each: LikelyPair) -> LikelyPairJson:
    change = each.change
    return LikelyPairJson(
        struct=each.struct.name,
        **file_and_line(each.struct.source),
        fields=(change.first, change.second),
        violating=(len(change.old), len(change.new)),
        total=change.new_total,
        old_total=change.old_total,
        bases=(change.old, change.new),
        rank=rank,
        rank_of_writer=each.rank_of_writer,
        score=round(each.score, 4),
        reasons=each.reasons,
        origin="inferred",
    )
