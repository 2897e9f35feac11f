"""Format `json` of `evidence`: accesses for scripts (schema `layoutlint/evidence/1`, docs/json.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from layoutlint.judgement.evidence import (
    Certainty,
    Contradiction,
    EventSummary,
    EvidenceReport,
    FieldTouch,
    Identity,
    Option,
    PlacedLine,
    RefusedTouch,
    ReportSummary,
    RuleEvidence,
    SampleSummary,
    SeenPair,
    Sharing,
    State,
    StructEvidence,
    TypedCount,
    UnplacedLine,
)
from layoutlint.model.json_object import Amount, JsonObject, Natural, Positive, one_of
from layoutlint.model.structs import Aggregate
from layoutlint.readers.profiles.records import Counts, Thread
from layoutlint.reports.json_values import document_text, file_and_line


class Document(JsonObject, frozen=True, tag_field="schema", tag="layoutlint/evidence/1"):
    """The accesses of a profile, at fields of structs.

    Sizes and offsets are in bytes, unless the key says bits. An unknown value is null.
    """

    inputs: Sequence[InputJson]
    """The input that was read."""
    reports: Sequence[ReportJson]
    """The reports that were read, in the given order."""
    events: Sequence[EventJson]
    """The events of profiles of types. Their samples are never added up."""
    structs: Sequence[StructJson]
    """The structs with accesses, by name."""
    unplaced: Sequence[UnplacedJson]
    """The first 50 cache lines whose object is not known."""
    further_unplaced: Natural
    """The number of other cache lines that are not placed."""
    rules: Sequence[RuleJson]
    """The rules that fail for a struct with accesses."""
    contradictions: Sequence[ContradictionJson]
    """Declared accesses that the profile contradicts."""
    failures: Sequence[str]
    """What was not read, and why. The exit status is then 3."""
    notes: Sequence[str]
    """What else to know of the reports."""
    exit: Annotated[int, one_of(0, 1, 3)]
    """The exit status."""


class InputJson(JsonObject, frozen=True):
    """An input."""

    path: str
    """The input."""
    reader: str
    """How it was read: `dwarf`, `btf` or `clang`."""
    target: str
    """The machine."""
    build_id: str | None
    """The build id. Null if it has none."""


class ReportJson(JsonObject, frozen=True):
    """A report."""

    path: str
    """The report; `-` is standard input."""
    formats: Sequence[Annotated[str, one_of("perf c2c", "perf report", "perf annotate", "perf script")]]
    """The formats of its tables."""
    captured: str | None
    """When the profile was recorded, as the report states it."""
    release: str | None
    """The release of Linux on which it was recorded."""
    perf: str | None
    """The version of perf."""
    build: Annotated[str, one_of("same", "unverified")]
    """Whether the build of the profiled program is known to be that of the input."""
    build_note: str | None
    """Why the build is unverified. Null if it is the same."""
    snoops: Annotated[str, one_of("hitm", "peer")]
    """What `remote` and `local` count: loads that hit a modified line, or loads from any peer."""
    lines: Natural
    """The number of cache lines with offsets."""
    omitted_lines: Natural
    """The number of further cache lines that were read and not searched."""
    samples: SampleSummary | None
    """The samples of `perf script`. Null for other reports."""


class EventJson(JsonObject, frozen=True):
    """An event."""

    report: str
    """The report."""
    line: Positive
    """Line number in the report, from 1, where its table starts."""
    name: str | None
    """Its name. Null if the report does not state one."""
    counts: Annotated[str, one_of("loads", "stores", "both")]
    """The accesses that it counts, by its name."""
    share_of: Annotated[str, one_of("event", "type")]
    """What the percentages are parts of: the event, or the type."""
    unknown: Amount | None
    """The percentage of samples whose type perf did not find. Null if the report does not state it."""
    without_members: Amount
    """The percentage of samples in types without members, or on the stack."""
    elsewhere: Amount
    """The percentage of samples in types that the input does not have, or that were not asked for."""
    refused: Amount
    """The percentage of samples that belong to no field."""
    placed: Amount
    """The percentage of samples at fields."""
    rows: Natural
    """The number of rows of the report that were placed."""


class StructJson(JsonObject, frozen=True):
    """A struct."""

    name: str
    """The struct's tag, or the typedef that names it."""
    aggregate: Aggregate
    """Which of the two it is."""
    is_data: bool
    """Whether it is no struct, but the variables in some sections, which are then its name and its fields."""
    size: Natural
    """The size of the struct."""
    file: str | None
    """The file that defines the struct."""
    line: Positive | None
    """Line number, from 1."""
    lines: Sequence[LineJson]
    """The cache lines that were placed, in the order of the report."""
    samples: Sequence[SampleJson]
    """The samples of types, by event and field."""
    refused: Sequence[RefusedSamplesJson]
    """The samples of types that belong to no field."""


class UnplacedJson(JsonObject, frozen=True):
    """A cache line that is not placed."""

    report: str
    """The report."""
    line: Positive
    """Line number in the report, from 1."""
    address: Annotated[str, Meta(pattern=r"^0x[0-9a-f]+$")]
    """The address of the line."""
    counts: Counts
    reason: str
    """Why it is not placed."""
    places: Sequence[Option]
    """The first places that may explain it."""
    total: Natural
    """The number of all such places."""
    sharing: Sharing | None
    """As for a line that is placed, with words of 4 bytes for fields."""


class RuleJson(JsonObject, frozen=True):
    """A rule that fails."""

    rule: str
    """The id of the rule."""
    struct: str
    """The struct."""
    outcome: Annotated[str, one_of("broken", "at-risk")]
    """The outcome of the rule."""
    state: State
    """What the profile says. `measured`: two fields that the rule keeps apart were on one contended line, one
    written and the other read. `possible`: the same, if the line is one of this struct. `profiled`: one is
    written and the other read, on unknown lines. `apart`: they share no line of the profile. `inconclusive`:
    the profile does not show both."""
    pairs: Sequence[SeenPair]
    """The pairs of fields, at most 20."""


class ContradictionJson(JsonObject, frozen=True):
    """A declared access."""

    struct: str
    """The struct."""
    path: str
    """The path of the field."""
    declared: str
    """The declared access."""
    declared_at: str | None
    """The file and line that declares it. Null if unknown."""
    found: str
    """The accesses that contradict it."""
    report: str
    """The report."""
    report_line: Positive
    """Line number in the report, from 1."""


class LineJson(JsonObject, frozen=True):
    """A cache line of a profile."""

    report: str
    """The report."""
    line: Positive
    """Line number in the report, from 1."""
    address: Annotated[str, Meta(pattern=r"^0x[0-9a-f]+$")]
    """The address of the line."""
    line_size: Positive
    """The size of the line."""
    covered: Amount
    """The percentage of the samples that the rows of the report have, in the column that lacks most. Less
    than 100 in an excerpt."""
    counts: Counts
    first_byte: int
    """The byte of the struct at the start of the line. Negative if the object starts on it."""
    base: Natural
    """The address of the object, modulo the size of the line."""
    object: Annotated[str, Meta(pattern=r"^-?0x[0-9a-f]+$")]
    """The address of the object."""
    certainty: Certainty
    """How the place is known: `given` by --base; `unique` if no other explains all offsets; `likely` if
    others would put offsets inside fields, or at types that the code does not access."""
    identified_by: Identity
    """Why the line is one of this struct: the address of the object; code that accesses the types of its
    fields; or only that the struct was asked for."""
    variable: str | None
    """The variable of the input that is the object, with element and member. Null if it is in none."""
    sharing: Sharing | None
    """What is shared: `true`: a field that a CPU writes and another accesses, whatever the order of fields;
    `false`: different ones; `both`; `none`. Null if the report does not tell."""
    other_places: Natural
    """The number of other places that explain the offsets less well."""
    code: Sequence[str]
    """The functions that accessed the types that they are for."""
    contradicting_code: Sequence[str]
    """The functions that would not access these fields. If there are any, the build or the address may be
    another."""
    fields: Sequence[FieldJson]
    """The fields that were accessed, by offset."""
    refused: Sequence[RefusedAccessJson]
    """The accesses that belong to no field."""


class SampleJson(JsonObject, frozen=True):
    """Samples of one event at one field."""

    event: Natural
    """The event, as a position in the document's `events`."""
    path: str
    """The path of the field."""
    offset: Natural
    """The first byte of the field, from the start of the struct."""
    size: Natural
    """The size of the field."""
    at: Natural
    """The byte that was accessed, from the start of the struct."""
    share: Amount | None
    """The percentage of the samples. Null if the report does not state it."""
    samples: Natural | None
    """The number of samples. Null if the report does not state it."""
    report_lines: Sequence[Positive]
    """The line numbers of the report with these samples, from 1."""


class RefusedSamplesJson(JsonObject, frozen=True):
    """Samples that belong to no field."""

    event: Natural
    """The event, as a position in the document's `events`."""
    offset: Natural
    """Their byte, from the start of the struct."""
    reason: str
    """Why they belong to no field."""
    samples: Natural | None
    """The number of samples. Null if the report does not state it."""
    share: Amount | None
    """The percentage of the samples. Null if the report does not state it."""
    report_line: Positive
    """Line number in the report, from 1."""


class FieldJson(JsonObject, frozen=True):
    """A field on the line."""

    path: str
    """The path of the field."""
    offset: Natural
    """The first byte of the field, from the start of the struct."""
    size: Natural
    """The size of the field."""
    at: Natural
    """The byte that was accessed, from the start of the struct."""
    counts: Counts
    records: Natural | None
    """All sampled loads and stores. Null if the report does not count them."""
    written: bool
    """Whether stores or locked accesses were sampled, even if their share rounds to none."""
    read_modified: bool
    """Whether loads got the line from another cache, even if their share rounds to none."""
    cpus: Natural
    """The most CPUs on which one place in the code accessed it; of samples, all CPUs."""
    loads: Natural | None
    """All sampled loads. Null if the report does not count them."""
    locked: Natural | None
    """The accesses by locked instructions. Null if the report does not count them."""
    mean_weight: Amount | None
    """The mean weight of the loads. Null without weights."""
    accessed_on: Sequence[Natural] | None
    """The numbers of the CPUs that accessed it. Null if unknown."""
    written_on: Sequence[Natural] | None
    """The numbers of the CPUs that wrote it. Null if unknown."""
    read_on: Sequence[Natural] | None
    """The numbers of the CPUs that read it. Null if unknown."""
    threads: Sequence[Thread] | None
    """The threads that accessed it, at most 1,000. Null if unknown."""
    code: Sequence[CodeJson]
    """The first functions that accessed it."""
    report_lines: Sequence[Positive]
    """The line numbers of the report with these accesses, from 1; at most 1,000."""


class RefusedAccessJson(JsonObject, frozen=True):
    """An access that belongs to no field."""

    offset: int
    """Its byte, from the start of the struct. Negative before the object."""
    reason: str
    """Why it belongs to no field."""
    records: Natural | None
    """All sampled loads and stores. Null if the report does not count them."""
    report_line: Positive
    """Line number in the report, from 1."""


class CodeJson(JsonObject, frozen=True):
    """Code."""

    symbol: str
    """The function, or an address."""
    source: str | None
    """File and line, or function and offset. Null if the report has neither."""


def render(report: EvidenceReport) -> str:
    """Return the evidence as one JSON object, with a newline at the end."""
    document = Document(
        inputs=[
            InputJson(path=r.path, reader=r.reader, target=r.target.name, build_id=r.build_id)
            for r in report.readings
        ],
        reports=[_report(each) for each in report.reports],
        events=[_event(each) for each in report.events],
        structs=[_struct(each) for each in report.structs],
        unplaced=[_unplaced_line(each) for each in report.unplaced],
        further_unplaced=report.further,
        rules=[_rule(each) for each in report.rules],
        contradictions=[_contradiction(each) for each in report.contradictions],
        failures=[str(each) for each in report.failures],
        notes=report.notes,
        exit=report.exit_status,
    )
    return document_text(document)


def _report(report: ReportSummary) -> ReportJson:
    return ReportJson(
        path=report.path,
        formats=report.formats,
        captured=report.header.captured,
        release=report.header.release,
        perf=report.header.tool,
        build=report.build,
        build_note=report.build_note or None,
        snoops="peer" if report.is_peer else "hitm",
        lines=report.lines,
        omitted_lines=report.omitted,
        samples=report.samples,
    )


def _event(event: EventSummary) -> EventJson:
    return EventJson(
        report=event.report,
        line=event.line,
        name=event.name,
        counts={"load": "loads", "store": "stores", "any": "both"}[event.role],
        share_of=event.scope,
        unknown=_share(event.unknown),
        without_members=round(event.scalars, 2),
        elsewhere=round(event.elsewhere, 2),
        refused=round(event.refused, 2),
        placed=round(event.placed, 2),
        rows=event.rows,
    )


def _share(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _struct(each: StructEvidence) -> StructJson:
    struct = each.struct
    return StructJson(
        name=struct.name,
        aggregate=struct.aggregate,
        is_data=struct.address is not None,
        size=(struct.bit_size or 0) // 8,
        **file_and_line(struct.source),
        lines=[_line(line) for line in each.lines],
        samples=[_samples(count) for count in each.counts],
        refused=[_refused_samples(event, refused) for event, refused in each.refused],
    )


def _line(line: PlacedLine) -> LineJson:
    return LineJson(
        report=line.report,
        line=line.line,
        address=f"{line.address:#x}",
        line_size=line.line_size,
        covered=round(min(100.0, line.covered), 2),
        counts=line.counts,
        first_byte=line.shift,
        base=line.base,
        object=f"{line.object_address:#x}",
        certainty=line.certainty,
        identified_by=line.identity,
        variable=line.variable or None,
        sharing=line.sharing,
        other_places=line.others,
        code=[code.symbol for code in line.met],
        contradicting_code=[code.symbol for code in line.unmet],
        fields=[_touch(field) for field in line.fields],
        refused=[_refused_touch(each) for each in line.refused],
    )


def _touch(field: FieldTouch) -> FieldJson:
    touch = field.touch
    return FieldJson(
        path=field.path,
        offset=field.offset,
        size=field.size,  # type: ignore[arg-type]  # one with accesses has a size
        at=field.at,
        counts=touch.counts,
        records=touch.records,
        written=touch.has_stores,
        read_modified=touch.has_snoops,
        cpus=touch.cpus,
        loads=touch.loads,
        locked=touch.locked,
        mean_weight=_share(touch.weight),
        accessed_on=touch.uses.cpus,
        written_on=touch.uses.written_on,
        read_on=touch.uses.read_on,
        threads=touch.uses.threads,
        code=[CodeJson(symbol=code.symbol, source=code.source or None) for code in touch.codes],
        report_lines=touch.lines,
    )


def _refused_touch(refused: RefusedTouch) -> RefusedAccessJson:
    return RefusedAccessJson(
        offset=refused.offset,
        reason=refused.reason,
        records=refused.records,
        report_line=refused.line,
    )


def _refused_samples(event: int, refused: RefusedTouch) -> RefusedSamplesJson:
    return RefusedSamplesJson(
        event=event,
        offset=refused.offset,
        reason=refused.reason,
        samples=refused.records,
        share=_share(refused.share),
        report_line=refused.line,
    )


def _samples(count: TypedCount) -> SampleJson:
    return SampleJson(
        event=count.event,
        path=count.path,
        offset=count.offset,
        size=count.size,  # type: ignore[arg-type]  # one with accesses has a size
        at=count.at,
        share=_share(count.share),
        samples=count.samples,
        report_lines=count.lines,
    )


def _unplaced_line(line: UnplacedLine) -> UnplacedJson:
    return UnplacedJson(
        report=line.report,
        line=line.line,
        address=f"{line.address:#x}",
        counts=line.counts,
        reason=line.reason,
        places=line.options,
        total=line.total,
        sharing=line.sharing,
    )


def _rule(evidence: RuleEvidence) -> RuleJson:
    return RuleJson(
        rule=evidence.rule.id,
        struct=evidence.struct.name,
        outcome=evidence.outcome,
        state=evidence.state,
        pairs=evidence.pairs,
    )


def _contradiction(each: Contradiction) -> ContradictionJson:
    return ContradictionJson(
        struct=each.struct.name,
        path=each.path,
        declared=each.access.access,
        declared_at=str(each.access.source) if each.access.source else None,
        found=each.observation,
        report=each.report,
        report_line=each.line,
    )
