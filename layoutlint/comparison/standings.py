"""How badly a rule fails on a struct, and whether it fails worse than before."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction

from layoutlint.judgement.finding import Finding
from layoutlint.judgement.rule import VARIABLES
from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.model.record import Record

_SHARE_UNITS = 10_000
"""Shares of all orders of fields are rounded to this part: they are sums of floats, or sampled."""
Key = tuple[str, str, str, str]
"""The id of a rule, the struct, the path of an embedded struct, and the variable or array."""
Badness = tuple[int, Fraction]
"""How badly a rule fails: by its outcome, then by the share of placements."""


class Status(Enum):
    """How something compares with what it was."""

    WORSE = "worse"
    SAME = "same"
    BETTER = "better"
    NOT_COMPARED = "not-compared"


class PairShare(Record, frozen=True, order=True):
    """Two fields that a rule keeps apart, and the share of placements in which they share a line."""

    first: str
    second: str
    share: Fraction
    is_across: bool = False
    """Whether the second is in the next object."""

    @property
    def key(self) -> tuple[str, str, bool]:
        """The pair without its share."""
        return self.first, self.second, self.is_across


class Standing(Record, frozen=True):
    """How badly a rule fails on a struct."""

    outcome: Outcome
    share: Fraction = Fraction(0)
    """The share of placements in which it fails, of all orders of fields if there are several."""
    pairs: tuple[PairShare, ...] = ()
    """The pairs of fields that share a line, sorted; empty for a rule that is about no pairs."""
    fields: tuple[str, ...] = ()
    """The fields at which it fails, sorted."""
    cause: str = ""
    """Why it is unknown, in one of CAUSES; empty for another outcome."""
    error: float = 0.0
    """The largest error of a sampled share."""

    @property
    def badness(self) -> Badness:
        """How badly it fails: by its outcome, then by the share of placements."""
        return self.rank, self.share if self.rank else Fraction(0)

    @property
    def rank(self) -> int:
        """0 for a rule that is kept, 1 for one at risk, 2 for one that is broken."""
        return {Outcome.BROKEN: 2, Outcome.AT_RISK: 1}.get(self.outcome, 0)


CAUSES = ("missing-struct", "missing-field", "unreliable-layout", "not-defined", "cannot-tell")
"""The classes of reasons for which a rule is unknown."""
NO_FAILURE = Standing(Outcome.KEPT)


def finding_key(finding: Finding) -> Key:
    """Return what a finding is about, without lines, files and numbers."""
    struct = finding.struct
    name = finding.rule.struct if struct is None or finding.rule.struct == VARIABLES else struct.name
    path = finding.around.path if finding.around is not None else ""
    return finding.rule.id, name, path, struct.label if struct is not None else ""


def standing(finding: Finding | None) -> Standing:
    """Return how badly the rule of a finding fails; NO_FAILURE for no finding."""
    if finding is None:
        return NO_FAILURE
    verdict = finding.verdict
    if verdict.outcome is Outcome.UNKNOWN:
        return Standing(Outcome.UNKNOWN, fields=_fields(verdict), cause=_cause(finding))
    pairs = _pair_shares(verdict)
    if verdict.outcome is Outcome.KEPT:
        return Standing(Outcome.KEPT, pairs=pairs)
    error = 0.0 if verdict.orders is None else verdict.orders.error
    return Standing(verdict.outcome, failing_share(verdict), pairs, _fields(verdict), error=error)


def _fields(verdict: Verdict) -> tuple[str, ...]:
    """Return the fields of a verdict; none if they are from one of several orders."""
    if verdict.orders is not None:
        return ()
    return tuple(sorted({place.path for place in verdict.evidence}))


def _cause(finding: Finding) -> str:
    """Return the class of the reason for which a finding is unknown."""
    struct = finding.struct
    if struct is None:
        return "missing-struct"
    if finding.verdict.is_missing_field:
        return "missing-field"
    if struct.problem is not None:
        return "unreliable-layout"
    return "not-defined" if struct.bit_size is None else "cannot-tell"


def failing_share(verdict: Verdict) -> Fraction:
    """Return the share of placements in which a rule fails, of all orders if there are several."""
    if verdict.orders is not None:
        return Fraction(round(verdict.orders.share * _SHARE_UNITS), _SHARE_UNITS)
    if verdict.total:
        return Fraction(len(verdict.bases), verdict.total)
    return Fraction(verdict.outcome is Outcome.BROKEN)


def _pair_shares(verdict: Verdict) -> tuple[PairShare, ...]:
    """Return the pairs that share a line; of several distances to the next object, the worst."""
    shares: dict[tuple[str, str, bool], Fraction] = {}
    for pair in verdict.shared:
        key = pair.first, pair.second, bool(pair.distance)
        share = Fraction(len(pair.bases), verdict.total or 1)
        shares[key] = max(share, shares.get(key, share))
    return tuple(
        sorted(PairShare(first, second, share, across) for (first, second, across), share in shares.items())
    )


def compare_standings(old: Standing, new: Standing) -> Status:
    """Return whether a rule that is known on both sides fails worse than before.

    The outcome decides, then the share of placements, then the pairs of fields that share lines. A rule that
    fails as often, and is about no pairs, is worse if it fails at other fields.
    """
    before, after = old.badness, new.badness
    if old.rank == new.rank and abs(old.share - new.share) <= new.error:
        after = before
    if before != after:
        return Status.WORSE if before < after else Status.BETTER
    if old.pairs or new.pairs:
        return _compare_pairs(old.pairs, new.pairs)
    if new.rank and old.fields and not set(new.fields) <= set(old.fields):
        return Status.WORSE
    return Status.BETTER if new.rank and new.fields != old.fields else Status.SAME


def _compare_pairs(old: tuple[PairShare, ...], new: tuple[PairShare, ...]) -> Status:
    before, after = ({pair.key: pair.share for pair in pairs} for pairs in (old, new))
    gains = [after.get(key, Fraction(0)) - before.get(key, Fraction(0)) for key in {*before, *after}]
    if any(gain > 0 for gain in gains):
        return Status.WORSE
    return Status.BETTER if any(gains) else Status.SAME
