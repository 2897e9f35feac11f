"""One struct in several builds, in their order: its layouts, the verdicts of its rules, and what changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from layoutlint.comparison.comparison import Comparison, Side, compare
from layoutlint.comparison.edits import own_fields
from layoutlint.comparison.layouts import NotCompared
from layoutlint.comparison.standings import Key, finding_key
from layoutlint.errors import EXIT_KEPT, EXIT_UNKNOWN
from layoutlint.geometry.layout import Layout, Place, cached_layout
from layoutlint.geometry.placement import placements, shared_bases
from layoutlint.judgement.finding import Finding
from layoutlint.judgement.rule import Rule
from layoutlint.model.reading import Version
from layoutlint.model.record import Record
from layoutlint.model.structs import Struct


class Build(Record, frozen=True):
    """One input of a history."""

    side: Side
    struct: Struct | None
    """The struct; None if its layout is not known."""
    reason: str = ""
    """Why the layout is not known."""
    is_missing: bool = False
    """Whether the input was read, and has no such struct."""

    @property
    def version(self) -> Version | None:
        """The version of Linux; None if it is not stated, or not for all files."""
        versions = {reading.kernel for reading in self.side.report.readings}
        return next(iter(versions)) if len(versions) == 1 else None


class FieldRow(Record, frozen=True):
    """A field in each build; None where the struct lacks it, or is not known."""

    path: str
    places: tuple[Place | None, ...]

    def has_moved(self, builds: Sequence[Build]) -> bool:
        """Return whether builds that define the struct disagree on the field's offset, or lack it."""
        known = [place for place, build in zip(self.places, builds, strict=True) if build.struct is not None]
        return len({None if place is None else place.bit_offset for place in known}) > 1


class RuleRow(Record, frozen=True):
    """A rule in each build; None where it judged nothing."""

    rule: Rule
    findings: tuple[Finding | None, ...]


class Meeting(Record, frozen=True):
    """Where two fields share a line."""

    bases: tuple[int, ...]
    total: int
    """The number of placements."""


class PairRow(Record, frozen=True):
    """Two fields in each build; None where one is missing."""

    first: str
    second: str
    meetings: tuple[Meeting | None, ...]


class Step(Record, frozen=True):
    """The change from one build to the next one whose layout is known."""

    old: int
    """The number of the build, from 0."""
    new: int
    comparison: Comparison

    @property
    def is_same(self) -> bool:
        """Whether neither the layout nor a verdict differs, as far as they could be compared."""
        return not (self.comparison.layouts.changes or self.comparison.changed_rules)


class History(Record, frozen=True):
    """A struct in several builds."""

    name: str
    builds: tuple[Build, ...]
    is_by_version: bool
    """Whether the builds are in the order of their versions; else they are as given."""
    fields: tuple[FieldRow, ...] = ()
    """In the order of the last build; fields that it lacks stand where they were last."""
    rules: tuple[RuleRow, ...] = ()
    pairs: tuple[PairRow, ...] = ()
    steps: tuple[Step, ...] = ()
    gaps: tuple[NotCompared, ...] = ()
    """What is not known of a build."""

    @property
    def exit_status(self) -> int:
        """3 if the struct or a verdict of it is not known in a build."""
        return EXIT_UNKNOWN if self.gaps else EXIT_KEPT


def trace_struct(
    name: str,
    sides: Iterable[Side],
    pairs: Sequence[tuple[str, str]] = (),
    line_size: int | None = None,
    min_align: int | None = None,
) -> History:
    """Return a struct in several inputs, in the order of their versions if all state one.

    `pairs` of fields are followed at every place that the struct's alignment allows; `line_size` and
    `min_align`, in bytes, override the target's.
    """
    builds = [_build(name, side) for side in sides]
    versions = [build.version for build in builds]
    is_by_version = None not in versions
    if is_by_version:
        builds.sort(key=lambda build: build.version or ())
    known = [number for number, build in enumerate(builds) if build.struct is not None]
    steps = [Step(old, new, compare(builds[old].side, builds[new].side, ())) for old, new in pairwise(known)]
    return History(
        name, tuple(builds), is_by_version, tuple(_fields(builds)), tuple(_rules(name, builds)),
        tuple(_pair(pair, builds, line_size, min_align) for pair in pairs), tuple(steps),
        tuple(dict.fromkeys(_gaps(builds, steps))),
    )  # fmt: skip


def _build(name: str, side: Side) -> Build:
    """Return a build with the one definition of the struct, or why it has none."""
    named = [struct for struct in side.structs if struct.matches(name)]
    complete = [struct for struct in named if struct.problem is None and struct.bit_size is not None]
    distinct = {(struct.bit_size, struct.fields): struct for struct in reversed(complete)}
    if len(distinct) == 1:
        return Build(side, next(iter(distinct.values())))
    if distinct:
        return Build(side, None, f"{len(distinct)} different definitions")
    problem = next((struct.problem for struct in named if struct.problem is not None), None)
    if problem is not None:
        return Build(side, None, f"layout unreliable: {problem}")
    if named:
        return Build(side, None, "declared but not defined")
    unread = next(iter(side.report.unread), None)
    if unread is not None:
        return Build(side, None, unread.reason)
    return Build(side, None, "no such struct", is_missing=True)


def _fields(builds: Sequence[Build]) -> Iterator[FieldRow]:
    """Yield the fields of all builds; one that is gone stands behind the field that it last followed."""
    every = [
        {} if build.struct is None else {place.path: place for place in _own_fields(build.struct)}
        for build in builds
    ]
    following: dict[str | None, str | None] = {None: None}
    for places in reversed(every):
        previous: str | None = None
        for path in places:
            if path not in following:
                following[path] = following[previous]
                following[previous] = path
            previous = path
    here = following[None]
    while here is not None:
        yield FieldRow(here, tuple(places.get(here) for places in every))
        here = following[here]


def _own_fields(struct: Struct) -> Iterator[Place]:
    return own_fields(struct.fields, struct.aggregate == "union")


def _rules(name: str, builds: Sequence[Build]) -> Iterator[RuleRow]:
    """Yield the rules that judge the struct, with the finding of each build."""
    every = [dict(_findings(name, build)) for build in builds]
    for key in dict.fromkeys(key for findings in every for key in findings):
        row = tuple(findings.get(key) for findings in every)
        rule = next(finding.rule for finding in reversed(row) if finding is not None)
        yield RuleRow(rule, row)


def _findings(name: str, build: Build) -> Iterator[tuple[Key, Finding]]:
    report = build.side.report
    for finding in (*report.findings, *report.kept_findings):
        is_own = finding.struct is not None and finding.struct.matches(name)
        if is_own and not (finding.rule.kind.traits.is_built_in or finding.rule.guess):
            yield finding_key(finding), finding


def _pair(
    pair: tuple[str, str], builds: Sequence[Build], line_size: int | None, min_align: int | None
) -> PairRow:
    layouts = (None if build.struct is None else cached_layout(build.struct) for build in builds)
    return PairRow(*pair, tuple(_count_meetings(pair, layout, line_size, min_align) for layout in layouts))


def _count_meetings(
    pair: tuple[str, str], layout: Layout | None, line_size: int | None, min_align: int | None
) -> Meeting | None:
    first, second = (None if layout is None else layout.find(path) for path in pair)
    if layout is None or first is None or second is None:
        return None
    where = placements(layout, line_size, min_align)
    return Meeting(shared_bases(first, second, where), len(where.bases))


def _gaps(builds: Sequence[Build], steps: Iterable[Step]) -> Iterator[NotCompared]:
    """Yield what is not known: structs, then the verdicts that steps could not compare."""
    for build in builds:
        if build.struct is None:
            yield NotCompared(build.side.label, build.reason)
    for step in steps:
        yield from step.comparison.not_compared
