"""The verdict of one rule on one struct."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Literal

from layoutlint.geometry.layout import Place
from layoutlint.geometry.placement import Placements
from layoutlint.model.record import Record
from layoutlint.model.storage import CacheSlab
from layoutlint.model.structs import Struct


class Outcome(Enum):
    """The outcome of a rule on a struct, over all placements."""

    KEPT = "kept"
    BROKEN = "broken"
    AT_RISK = "at-risk"
    UNKNOWN = "unknown"


WORST_FIRST = (Outcome.BROKEN, Outcome.AT_RISK, Outcome.UNKNOWN, Outcome.KEPT)


class Orders(Record, frozen=True):
    """The orders of fields that a verdict is about, if a compiler may choose any, and the share that fails.

    Orders are weighted by their probability; in each, all bases are equally likely.
    """

    mode: str
    """The way in which the build randomises."""
    counted: Literal["exact", "sampled"]
    share: float
    """Share of the placements of all orders in which the rule fails."""
    error: float
    """Maximum error of `share` with probability CONFIDENCE; 0 for an exact one."""
    drawn: int | None
    """Number of sampled orders; None if all were counted."""
    witness: tuple[str, ...]
    """The fields in one order, in which the rule fails if it fails in any."""
    base: int | None
    """A base at which it fails there; None if it does not, or if bases do not matter."""
    shown: Struct
    """The struct in that order."""


CONFIDENCE = 0.99


class SharedLine(Record, frozen=True):
    """Two fields that a rule keeps apart and that share a line."""

    first: str
    second: str
    bases: tuple[int, ...]
    """The bases at which they do."""
    distance: int = 0
    """Bytes from the object with the first to that with the second; 0 for one object."""
    sentence: str = ""
    """How the message states it."""
    gap: int = 0
    """Bytes between the fields in one object; negative if they overlap."""
    advice: str = ""
    """What separates the two."""


class ContainerVerdict(Record, frozen=True):
    """The bases of an embedded struct in the containers that slab caches of a kernel have."""

    container: str
    """The container and the member: `inode.i_data`."""
    caches: tuple[CacheSlab, ...]
    """The caches of the container; empty if the kernel shows none."""
    bases: tuple[int, ...]
    violating: tuple[int, ...]

    @property
    def outcome(self) -> Outcome:
        """The outcome in these containers."""
        if not self.violating:
            return Outcome.KEPT
        return Outcome.BROKEN if self.violating == self.bases else Outcome.AT_RISK


class Verdict(Record, frozen=True):
    """The verdict of one rule on one struct, with its numbers and fields."""

    outcome: Outcome
    message: str
    """The sentence of the kind; `messages.finding_message` adds what the other fields state."""
    evidence: tuple[Place, ...] = ()
    """The fields that the verdict is about, the primary one first."""
    bases: tuple[int, ...] = ()
    """The violating bases."""
    total: int = 0
    """Number of placements; 0 for a kind that does not depend on them."""
    line_size: int | None = None
    in_pairs: bool = False
    """Whether `line_size` is that of an aligned pair of lines."""
    basis: str = ""
    """The reason for the placements; empty for a kind that does not depend on them."""
    is_from_malloc: bool = False
    """Whether the objects come from malloc, which heeds no alignment of types."""
    is_placed: bool = False
    """Whether the `placement` of a rule file, or a place that an input shows, is among the reasons."""
    advice: str = ""
    """A first step towards a kept rule, in a sentence; empty if nothing is wrong."""
    fix: str = ""
    """A change with which the rule was judged again and is kept, in a sentence; empty if none was found."""
    tolerance: float | None = None
    """The share of failing placements that the rule tolerates, if it is kept only because of that."""
    has_accepted_edits: bool = False
    """Whether it is kept only because the options accept all edits since a snapshot."""
    in_other_elements: bool = False
    """Whether the rule fails in other elements of an array too; the message is about the worst one."""
    shared: tuple[SharedLine, ...] = ()
    """The pairs of fields that share a line and must not, the most frequent first."""
    is_missing_field: bool = False
    """Whether it is unknown because the rule names a field that the struct lacks."""
    is_unreliable: bool = False
    """Whether it is unknown because the layout of this or another struct is unreliable."""
    is_not_applicable: bool = False
    """Whether the rule does not apply to this struct, one of many, and is not reported."""
    orders: Orders | None = None
    """The possible orders of fields; `evidence` is then from one of them, `bases` from all."""
    possible: tuple[int, ...] = ()
    """All bases at which objects can start; empty for a kind that does not depend on them."""
    cases: tuple[Verdict, ...] = ()
    """The verdicts of which one holds, if it is unknown because an alignment is; else empty."""
    needs_containers: bool = False
    """Whether that is the alignment of the structs that embed this one."""
    seen: tuple[int, int] | None = None
    """How many objects that were seen are at violating bases, and how many there are; None for none."""
    containers: tuple[ContainerVerdict, ...] = ()
    """In each container of an embedded struct, if the slab caches of a kernel are known; else empty."""

    @property
    def witness(self) -> int | None:
        """One base at which the rule fails, in the order of fields of `evidence`."""
        if self.orders is not None:
            return self.orders.base
        return self.bases[0] if self.bases else None

    @property
    def share(self) -> float:
        """The share of the placements that fail, of all orders if there are several; 0 without placements.

        If objects were seen, it is the share of these.
        """
        if self.orders is not None:
            return self.orders.share
        if self.seen is not None:
            return self.seen[0] / self.seen[1]
        return len(self.bases) / self.total if self.total else 0.0


def judge(
    placements: Placements, bases: tuple[int, ...], message: str, evidence: tuple[Place, ...], advice: str
) -> Verdict:
    """Return the verdict for violating bases: kept for none, broken for all, at-risk for some."""
    total = len(placements.bases)
    if not bases:
        outcome, advice = Outcome.KEPT, ""
    else:
        outcome = Outcome.BROKEN if len(bases) == total else Outcome.AT_RISK
    return Verdict(
        outcome,
        message,
        evidence,
        bases,
        total,
        placements.line_size,
        placements.in_pairs,
        advice=advice,
        possible=placements.bases,
    )


def judge_once(holds: bool, message: str, evidence: tuple[Place, ...], advice: str) -> Verdict:
    """Return the verdict of a rule that does not depend on the placement."""
    if holds:
        return Verdict(Outcome.KEPT, message, evidence)
    return Verdict(Outcome.BROKEN, message, evidence, advice=advice)


def format_place(place: Place) -> str:
    """Format a field and its bytes for messages: "`cpu` at 20..23"."""
    return f"`{place.path}` at {place.extent}"


def format_places(places: Sequence[Place], limit: int = 6) -> str:
    """Format up to `limit` fields with their bytes, and the number of further ones."""
    further = len(places) - limit
    return ", ".join(map(format_place, places[:limit])) + (f" and {further} more" if further > 0 else "")


def unknown(reason: str, missing_field: bool = False) -> Verdict:
    """Return the verdict `unknown` with a reason."""
    return Verdict(Outcome.UNKNOWN, reason, is_missing_field=missing_field)
