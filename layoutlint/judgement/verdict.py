"""The judgement of one rule on one struct."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from layoutlint.geometry.layout import Place
from layoutlint.geometry.placement import Placements
from layoutlint.model.structs import Struct


class Outcome(Enum):
    """What became of a rule on a struct, over all placements."""

    KEPT = "kept"
    BROKEN = "broken"
    AT_RISK = "at-risk"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Orders:
    """Over which orders of fields a verdict is, where a compiler may choose any, and how often a rule fails.

    An order is as likely as the compiler makes it; in each, one base is as likely as another.
    """

    mode: str
    """How the build randomises."""
    counted: Literal["exact", "sampled"]
    share: float
    """Of the placements of all orders, those in which the rule fails."""
    error: float
    """With CONFIDENCE, the true share is no further off than this; 0 for an exact one."""
    drawn: int | None
    """How many orders were drawn by chance; None where all were counted."""
    witness: tuple[str, ...]
    """The fields in one order, in which the rule fails if it does so in any."""
    base: int | None
    """A base at which it fails there; None where it does not, or bases play no part."""
    shown: Struct
    """The struct in that order."""


CONFIDENCE = 0.99


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of one rule on one struct, with its numbers and places."""

    outcome: Outcome
    message: str
    evidence: tuple[Place, ...] = ()
    """The fields concerned, the primary one first."""
    bases: tuple[int, ...] = ()
    """The violating placements."""
    total: int = 0
    """How many placements there are; 0 for a kind that does not depend on them."""
    line_size: int | None = None
    in_pairs: bool = False
    """Whether `line_size` is that of an aligned pair of lines."""
    basis: str = ""
    """Why those are the placements; empty for a kind that does not depend on them."""
    is_placed: bool = False
    """Whether a rule file's `placement` is among the reasons."""
    advice: str = ""
    """What would make the rule hold, in a sentence; empty when nothing is wrong."""
    is_missing_field: bool = False
    """Unknown because the rule names a field that the struct has not."""
    is_passed_over: bool = False
    """Nothing is said of one of many structs: the rule speaks of what it has none of."""
    orders: Orders | None = None
    """Where fields may stand in any of many orders; `evidence` is then of one of them, `bases` of all."""

    @property
    def witness(self) -> int | None:
        """One base at which the rule fails, in the order that `evidence` shows."""
        if self.orders is not None:
            return self.orders.base
        return self.bases[0] if self.bases else None


def judge(
    placements: Placements, bases: tuple[int, ...], message: str, evidence: tuple[Place, ...], advice: str
) -> Verdict:
    """The verdict that `bases` violate a rule: kept for none, broken for all, at-risk for some."""
    total = len(placements.bases)
    if not bases:
        outcome, advice = Outcome.KEPT, ""
    else:
        outcome = Outcome.BROKEN if len(bases) == total else Outcome.AT_RISK
    return Verdict(
        outcome, message, evidence, bases, total, placements.line_size, placements.in_pairs, advice=advice
    )


def settle(holds: bool, message: str, evidence: tuple[Place, ...], advice: str) -> Verdict:
    """The verdict of a rule that does not depend on the placement."""
    if holds:
        return Verdict(Outcome.KEPT, message, evidence)
    return Verdict(Outcome.BROKEN, message, evidence, advice=advice)


def spell(place: Place) -> str:
    """A field and where it stands, as messages say it: "`cpu` at 20..23"."""
    return f"`{place.path}` at {place.extent}"


def listing(places: Sequence[Place], limit: int = 6) -> str:
    """Fields and where they stand; the first `limit` of them, and how many more there are."""
    more = len(places) - limit
    return ", ".join(map(spell, places[:limit])) + (f" and {more} more" if more > 0 else "")


def unknown(reason: str, missing_field: bool = False) -> Verdict:
    """The verdict that nothing could be told, and why."""
    return Verdict(Outcome.UNKNOWN, reason, is_missing_field=missing_field)
