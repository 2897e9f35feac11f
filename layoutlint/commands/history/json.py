"""Format `json` of `history`: the history for scripts (schema `layoutlint/history/1`, docs/json.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from layoutlint.commands.history import phrases
from layoutlint.commands.history.builds import Build, FieldRow, History, PairRow, RuleRow, Step
from layoutlint.comparison.comparison import hole_bits, line_count
from layoutlint.geometry.layout import Place, cached_layout
from layoutlint.judgement.finding import Finding
from layoutlint.judgement.rule import Severity
from layoutlint.model.json_object import JsonObject, one_of
from layoutlint.reports import change_phrases as changes
from layoutlint.reports.json_values import document_text, file_and_line


class Document(JsonObject, frozen=True, tag_field="schema", tag="layoutlint/history/1"):
    """One struct over several builds. Lists with a value for each build have the order of `builds`; null
    where the build lacks it or does not state it.

    An unknown value is null.
    """

    struct: str
    """The name of the struct, as given."""
    order: Annotated[str, one_of("version", "given")]
    """The order of the builds: by version, or as given because not all state one."""
    builds: Sequence[BuildJson]
    """The inputs."""
    fields: Sequence[FieldJson]
    """The fields of all builds, in the order of the last build."""
    pairs: Sequence[PairJson]
    """The pairs of fields of `--pair`."""
    rules: Sequence[RuleJson]
    """The rules that judge the struct in a build."""
    steps: Sequence[StepJson]
    """What changed from each build to the next whose layout is known."""
    unknown: Sequence[UnknownJson]
    """What is not known of a build. With any, the exit status is 3."""
    exit: Annotated[int, one_of(0, 3)]
    """The exit status without --allow-unknown."""


class BuildJson(JsonObject, frozen=True):
    """One input."""

    path: str
    """The input, as given."""
    version: str | None
    """The version of Linux."""
    targets: Sequence[str]
    """The targets, such as x86_64. Empty for an input that was not read."""
    readers: Sequence[str]
    """The readers: dwarf, btf, clang or that of a snapshot."""
    size: int | None
    """The size in bytes."""
    lines: int | None
    """The lines of an object that starts on one."""
    hole_bits: int | None
    """The bits of all holes, without the padding at the end."""
    file: str | None
    """The file that declares it."""
    line: int | None
    """The line in the file, from 1."""
    reason: str | None
    """Why the layout is not known. Null if it is."""


class FieldJson(JsonObject, frozen=True):
    """A field in each build."""

    path: str
    """The path of the field."""
    moved: bool
    """Whether builds disagree on its offset, or lack it."""
    offset: Sequence[int | None]
    """The offset in bytes, for each build."""
    size: Sequence[int | None]
    """The bytes touched, for each build."""
    bit: Sequence[int | None]
    """The first bit of a bit-field in the struct, for each build. Null for other fields."""


class PairJson(JsonObject, frozen=True):
    """Two fields in each build."""

    fields: Sequence[str]
    """The two fields."""
    bases: Sequence[Sequence[int] | None]
    """For each build, the bases at which they share a line."""
    total: Sequence[int | None]
    """The number of placements, for each build."""


class RuleJson(JsonObject, frozen=True):
    """A rule in each build."""

    rule: str
    """The rule's id."""
    kind: str
    """The rule's kind."""
    severity: Annotated[str, one_of(*Severity)]
    """The rule's severity."""
    outcome: Sequence[Annotated[str, one_of("kept", "at-risk", "broken", "unknown")] | None]
    """The outcome, for each build. Null where the rule judged nothing."""
    violating: Sequence[int | None]
    """The placements that break it, for each build."""
    total: Sequence[int | None]
    """The number of placements, for each build."""


class StepJson(JsonObject, frozen=True):
    """A change between two builds."""

    old: int
    """The number of the build before, from 0."""
    new: int
    """The number of the build after."""
    edits: Sequence[str]
    """The edits of the struct, as the text report says them."""
    worse: Sequence[str]
    """The rules that got worse."""
    better: Sequence[str]
    """The rules that got better."""


class UnknownJson(JsonObject, frozen=True):
    """Something that is not known."""

    name: str
    """What is not known."""
    reason: str
    """Why it is not known."""


def render(history: History) -> str:
    """Return the history as one JSON object, with a newline at the end."""
    document = Document(
        struct=history.name,
        order="version" if history.is_by_version else "given",
        builds=[_build(build) for build in history.builds],
        fields=[_field(row, history.builds) for row in history.fields],
        pairs=[_pair(row) for row in history.pairs],
        rules=[_rule(row) for row in history.rules],
        steps=[_step(step) for step in history.steps],
        unknown=[UnknownJson(name=each.name, reason=each.reason) for each in history.gaps],
        exit=history.exit_status,
    )
    return document_text(document)


def _build(build: Build) -> BuildJson:
    struct, readings = build.struct, build.side.report.readings
    return BuildJson(
        path=build.side.label,
        version=None if build.version is None else phrases.version(build.version),
        targets=sorted({reading.target.name for reading in readings}),
        readers=sorted({reading.reader for reading in readings}),
        size=None if struct is None else (struct.bit_size or 0) // 8,
        lines=None if struct is None else line_count(struct),
        hole_bits=None if struct is None else hole_bits(cached_layout(struct)),
        **file_and_line(None if struct is None else struct.source),
        reason=build.reason or None,
    )


def _field(row: FieldRow, builds: Sequence[Build]) -> FieldJson:
    return FieldJson(
        path=row.path,
        moved=row.has_moved(builds),
        offset=[None if place is None else place.offset for place in row.places],
        size=[None if place is None else place.size for place in row.places],
        bit=[_bit(place) for place in row.places],
    )


def _bit(place: Place | None) -> int | None:
    """Return the first bit of a bit-field in its struct; None for another field."""
    return place.bit_offset if place is not None and place.field.is_bitfield else None


def _pair(row: PairRow) -> PairJson:
    return PairJson(
        fields=[row.first, row.second],
        bases=[None if each is None else list(each.bases) for each in row.meetings],
        total=[None if each is None else each.total for each in row.meetings],
    )


def _rule(row: RuleRow) -> RuleJson:
    return RuleJson(
        rule=row.rule.id,
        kind=row.rule.kind.name,
        severity=row.rule.severity.value,
        outcome=[None if each is None else each.verdict.outcome.value for each in row.findings],
        violating=[None if each is None else len(each.verdict.bases) for each in row.findings],
        total=[_total(each) for each in row.findings],
    )


def _total(finding: Finding | None) -> int | None:
    return None if finding is None else finding.verdict.total


def _step(step: Step) -> StepJson:
    layouts, rules = step.comparison.layouts.changes, step.comparison.changed_rules
    return StepJson(
        old=step.old,
        new=step.new,
        edits=[changes.edit(edit) for change in layouts for edit in change.edits.edits],
        worse=[change.rule.id for change in rules if change.status.value == "worse"],
        better=[change.rule.id for change in rules if change.status.value == "better"],
    )
