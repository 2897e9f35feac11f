"""Evidence of profiles for structs and rules: the terms of `layoutlint evidence`. Offsets are in bytes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Literal

from layoutlint.geometry.layout import Layout
from layoutlint.judgement.context import Access
from layoutlint.judgement.rule import Rule
from layoutlint.model.json_object import JsonObject, Natural, Positive
from layoutlint.model.reading import Reading, Unread
from layoutlint.model.record import Record
from layoutlint.model.structs import Struct
from layoutlint.phrases import quantity
from layoutlint.readers.profiles.records import Code, Counts, Format, ReportHeader, Role, Touch
from layoutlint.readers.profiles.saved import Place

LEAST_STORES = 0.05
"""A field with a smaller part of the stores to a line is not the one that takes the line away."""
Certainty = Literal["given", "unique", "likely"]
"""How the place of an object on a line is known: stated by the user; the only place that explains all
offsets; or the only one of several in which offsets start fields, and code is at the types it accesses."""
Identity = Literal["base", "code", "struct"]
"""Why a line is one of a struct: by the address of the object; by code that accesses types which the struct
has there; or only because the user names the struct."""


Sharing = Literal["true", "false", "both", "none"]
"""What processors share on a line. true: one field that one writes and another accesses, which no order of
fields avoids. false: different fields. none: nothing."""
_WORD = 4
"""Bytes of a word, where no struct tells fields apart."""


def sharing_of(touches: Iterable[Touch]) -> Sharing | None:
    """Return what is shared on a line without a struct; None as for `_sharing`."""
    return _sharing((touch.offset // _WORD, touch) for touch in touches)


def _sharing(parts: Iterable[tuple[Hashable, Touch]]) -> Sharing | None:
    """Return what is shared of some parts; None if the report does not tell who wrote and read which."""
    words: dict[Hashable, list[Touch]] = {}
    for part, touch in parts:
        words.setdefault(part, []).append(touch)
    accesses = [accesses_of(each) for each in words.values()]
    known = [each for each in accesses if each is not None]
    if len(known) < len(accesses):
        is_one = len(words) == 1 and all(touch.has_snoops for each in words.values() for touch in each)
        return "true" if is_one else None
    is_true = any(writers and len(every) > 1 for every, writers in known)
    is_false = any(_are_shared(one, other) for one in known for other in known if one is not other)
    return ("both" if is_false else "true") if is_true else ("false" if is_false else "none")


Accesses = tuple[frozenset[int], frozenset[int]]
"""The CPUs that accessed something, or the threads if the CPUs are not known; and those that wrote it."""


def accesses_of(touches: Iterable[Touch]) -> Accesses | None:
    """Return who accessed something, and who wrote; None if the report does not tell."""
    every: set[int] = set()
    writers: set[int] = set()
    for touch in touches:
        uses = touch.uses
        if uses.cpus is not None and uses.written_on is not None:
            every.update(uses.cpus)
            writers.update(uses.written_on)
        elif uses.threads is not None and all(thread.writes is not None for thread in uses.threads):
            every.update(thread.number for thread in uses.threads)
            writers.update(thread.number for thread in uses.threads if thread.writes)
        else:
            return None
    return frozenset(every), frozenset(writers)


def are_apart(one: Accesses, other: Accesses) -> bool:
    """Return whether others access one thing than the other: if not, nothing is gained by separating them."""
    return one[0] != other[0] and len(one[0] | other[0]) > 1


def _are_shared(one: Accesses, other: Accesses) -> bool:
    """Return whether somebody who accesses only one of two things is disturbed by writes of the other."""
    return bool(one[1]) and are_apart(one, other) and len(one[1] | other[0]) > 1


class FieldTouch(Record, frozen=True):
    """A field on a line, and the accesses to it."""

    path: str
    offset: int
    """Bytes from the start of the struct to the field."""
    size: int | None
    at: int
    """The byte of the struct that was touched."""
    touch: Touch
    """The accesses, as the report has them."""


class RefusedTouch(Record, frozen=True):
    """An access that belongs to no field."""

    offset: int
    """From the start of the struct; negative before the object."""
    reason: str
    records: int | None
    share: float | None
    line: int


class PlacedLine(Record, frozen=True):
    """A cache line of a profile, and the fields of one object that are on it."""

    report: str
    line: int
    address: int
    line_size: int
    counts: Counts
    shift: int
    """The byte of the struct at the start of the line; negative if the object starts on it."""
    certainty: Certainty
    identity: Identity
    others: int
    """The number of other places that explain all offsets, and that were ruled out."""
    offsets: int
    """The number of different offsets."""
    met: tuple[Code, ...]
    """The code that is at the types it accesses."""
    unmet: tuple[Code, ...]
    """The code that is at other types than it accesses: another build, or the address is wrong."""
    fields: tuple[FieldTouch, ...]
    refused: tuple[RefusedTouch, ...] = ()
    covered: float = 100.0
    """Percent of the counts that the rows of the report have."""
    variable: str = ""
    """The variable that is the object, with the element or member; empty if it is in none."""

    @property
    def base(self) -> int:
        """The address of the object, modulo the line size."""
        return -self.shift % self.line_size

    @property
    def object_address(self) -> int:
        """The address of the object; below 0 only if the report contradicts the struct."""
        return self.address - self.shift

    @property
    def sharing(self) -> Sharing | None:
        """What is shared of the fields; None if it is not known."""
        return _sharing((each.path, each.touch) for each in self.fields)

    @property
    def is_contended(self) -> bool:
        """Whether loads got the line from a cache that had modified it."""
        return self.counts.contended_loads > 0


class Option(JsonObject, frozen=True, rename={"shift": "first_byte"}):
    """A struct and a place that may explain a line."""

    struct: str
    """The struct."""
    base: Natural
    """The address of the object, modulo the size of the line."""
    shift: int
    """The byte of the struct at the start of the line."""


class UnplacedLine(Record, frozen=True):
    """A cache line whose object is not known."""

    report: str
    line: int
    address: int
    counts: Counts
    reason: str
    options: tuple[Option, ...] = ()
    """The first places that may explain it."""
    total: int = 0
    """The number of all such places."""
    sharing: Sharing | None = None


class TypedCount(Record, frozen=True):
    """Samples of one event at one field."""

    report: str
    event: int
    """The position of the event among those of all reports."""
    path: str
    offset: int
    size: int | None
    at: int
    role: Role
    share: float | None
    samples: int | None
    lines: tuple[int, ...]


class EventSummary(Record, frozen=True):
    """One event of a profile of types, and what became of its samples. Shares are in percent."""

    report: str
    line: int
    name: str | None
    role: Role
    scope: Literal["event", "type"]
    unknown: float | None
    """Samples whose type perf did not find."""
    scalars: float
    """Samples in types without members, or on the stack."""
    elsewhere: float
    """Samples in types that the input does not have, or that were not asked for."""
    refused: float
    """Samples at offsets that contradict the input."""
    placed: float
    """Samples at fields."""
    rows: int
    """The number of rows that were placed."""


class StructEvidence(Record, frozen=True):
    """A struct, and the accesses to its fields."""

    struct: Struct
    lines: tuple[PlacedLine, ...] = ()
    counts: tuple[TypedCount, ...] = ()
    refused: tuple[tuple[int, RefusedTouch], ...] = ()
    """Accesses that profiles of types state and that belong to no field, each with its event."""


State = Literal["measured", "possible", "profiled", "apart", "inconclusive"]
"""What a profile says about a rule that fails. measured: two fields that it keeps apart were on one contended
line, one written and the other read. possible: the same, if the line is one of the struct. profiled: one is
written and the other read, on unknown lines. apart: on all lines of the profile, they are apart.
inconclusive: nothing of this."""


class SeenPair(JsonObject, frozen=True, rename={"line": "report_line"}):
    """Two fields that a rule keeps apart, and the accesses to them."""

    written: str
    """The field that is written."""
    read: str
    """The field that is read."""
    stores: Natural | None
    """The stores to the one. Null if the report does not count them."""
    loads: Natural | None
    """The loads of the other: on a cache line, those that got it from another cache. Null if the report does
    not count them."""
    report: str
    """The report."""
    line: Positive
    """Line number in the report, from 1."""
    base: Natural | None
    """The place of the object on the line. Null for a profile of types."""


class RuleEvidence(Record, frozen=True):
    """A rule that fails for a struct, and the evidence of the profile."""

    rule: Rule
    struct: Struct
    outcome: str
    state: State
    pairs: tuple[SeenPair, ...] = ()
    doubt: str = ""
    """Why it is inconclusive, in words."""


class Contradiction(Record, frozen=True):
    """A declared access that the profile contradicts."""

    struct: Struct
    path: str
    access: Access
    observation: str
    """The accesses that contradict it, in words."""
    report: str
    line: int


class SampleSummary(JsonObject, frozen=True):
    """The samples of a report of `perf script`."""

    columns: Sequence[str]
    """The columns that were read, in perf's order."""
    total: Natural
    """The number of samples."""
    without_address: Natural
    """The number of samples without an address of data."""
    undecoded: Natural | None
    """The number of samples whose data source states neither a load nor a store. Null without the column."""
    dropped: Natural
    """The number of samples at addresses that were not kept, because there were too many."""
    lost: Natural
    """The number of samples that perf lost."""


class ReportSummary(Record, frozen=True):
    """A report that was read."""

    path: str
    formats: tuple[Format, ...]
    header: ReportHeader
    listed: int
    lines: int
    """Cache lines with offsets."""
    omitted: int
    is_peer: bool
    build: Literal["same", "unverified"]
    build_note: str = ""
    """Why the build is not verified."""
    samples: SampleSummary | None = None


class EvidenceReport(Record, frozen=True):
    """The result of a run of `evidence`."""

    readings: tuple[Reading, ...]
    reports: tuple[ReportSummary, ...]
    events: tuple[EventSummary, ...]
    structs: tuple[StructEvidence, ...]
    unplaced: tuple[UnplacedLine, ...]
    further: int
    """The number of other lines that were not placed."""
    rules: tuple[RuleEvidence, ...]
    contradictions: tuple[Contradiction, ...]
    failures: tuple[Unread, ...]
    notes: tuple[str, ...]
    exit_status: int


def layout_difference(layout: Layout, size: int | None, places: tuple[Place, ...]) -> str:
    """Return how a layout differs from that of saved evidence; empty if it does not."""
    for place in places:
        now = layout.find(place.path)
        if now is None:
            return f"the layout differs: it has no `{place.path}`"
        if now.offset != place.offset or now.size != place.size:
            was = f"was at {place.offset} with {_bytes(place.size)}"
            is_now = f"is at {now.offset} with {_bytes(now.size)}"
            return f"the layout is another: `{place.path}` {was}, and {is_now}"
    if size != layout.size:
        return f"the layout is another: the struct had {_bytes(size)}, and has {_bytes(layout.size)}"
    return ""


def _bytes(size: int | None) -> str:
    return "?? bytes" if size is None else quantity(size, "byte")
