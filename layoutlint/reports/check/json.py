"""Format `json`: the report for scripts (schema `layoutlint/report/1`, docs/json.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated

from msgspec import Meta

from layoutlint.geometry.layout import Place
from layoutlint.judgement.build_outcomes import worst_by_build
from layoutlint.judgement.finding import (
    BaselineUse,
    Coverage,
    CoverageGap,
    EmbeddedPlace,
    Finding,
    Rank,
    Report,
    State,
    UseRank,
)
from layoutlint.judgement.messages import AdviceKind, advice_kind, finding_advice, finding_message
from layoutlint.judgement.origin import Basis, EvidenceUse, Origin, basis, origins
from layoutlint.judgement.rule import SNAPSHOT, UNUSED, Severity
from layoutlint.judgement.verdict import ContainerVerdict, Outcome, Verdict
from layoutlint.kinds import KINDS
from layoutlint.model.build import Build
from layoutlint.model.json_object import NULL, Amount, JsonObject, Natural, Positive, one_of
from layoutlint.model.randomised import Randomisation
from layoutlint.model.reading import Reading, Unread
from layoutlint.model.structs import Struct
from layoutlint.model.target import TargetName
from layoutlint.randstruct.kernel_tree import MODES
from layoutlint.reports.cache_json import CacheJson, cache_rows
from layoutlint.reports.finding_phrases import (
    OrdersJson,
    coverage_part,
    fingerprint,
    fingerprint_state,
    orders_json,
    struct_name,
)
from layoutlint.reports.json_values import document_text, file_and_line

_READER = "^(snapshot of )?(clang|dwarf|btf|symbols)( and (clang|dwarf|btf|symbols))*$"
_STATEMENTS = (
    "rule file", "annotation", "marks in the struct", "comment", "suppression", "access", "snapshot", "table",
    "--one-layout",
)  # fmt: skip
_FAILS = Meta(extra_json_schema={"properties": {"outcome": {"enum": ["broken", "at-risk", "unknown"]}}})
_KEPT = Meta(extra_json_schema={"properties": {"outcome": {"enum": ["kept"]}}})
_EXACT_OR_SAMPLED = Meta(
    extra_json_schema={
        "if": {"properties": {"counted": {"const": "exact"}}},
        "then": {"properties": {"error": {"const": 0}, "confidence": {"const": 1}, "drawn": NULL}},
        "else": {"properties": {"drawn": {"type": "integer"}}},
    }
)


class Document(JsonObject, frozen=True, tag_field="schema", tag="layoutlint/report/1"):
    """Findings, and what was checked.

    Sizes and offsets are in bytes, unless the key says bits. An unknown value is null.
    """

    builds: Sequence[BuildJson]
    """The builds of the matrix, in its order. Empty without a matrix."""
    inputs: Sequence[InputJson]
    """The inputs that were read, in the order given."""
    findings: Sequence[Annotated[FindingJson, _FAILS]]
    """Every rule that does not hold on a struct. What fails the run comes first, the worst of it first."""
    kept: Sequence[Annotated[FindingJson, _KEPT]]
    """Every rule that holds on a struct, in the form of `findings`."""
    unread: Sequence[UnreadJson]
    """What could not be read."""
    coverage: CoverageJson
    """What was checked."""
    baseline: BaselineJson | None
    """What the run used of the baseline. Null without one."""
    saved_evidence: Sequence[EvidenceUse]
    """The files with saved evidence, of `--evidence` and of rules."""
    exit: Annotated[int, one_of(0, 1, 3)]
    """The exit status: 0 nothing broken, 1 findings, 3 something could not be judged."""


class BuildJson(JsonObject, frozen=True):
    """A build of the matrix."""

    name: str
    """Its name, or the values of its axes with `-` between them."""
    inputs: Sequence[str]
    """What it reads."""
    target: str | None
    """The machine of its inputs, or the one asked for. Several are separated by commas."""
    flags: Sequence[str]
    """Its compiler flags, with its `defines`."""
    config: Sequence[str] | None
    """Its `config`."""
    line_size: Positive | None
    """Its `line_size`."""
    min_align: Positive | None
    """Its `min_align`."""
    randstruct: Annotated[str, one_of(*MODES)] | None
    """Its `randstruct`."""
    read: Natural
    """How many of its inputs could be read."""


class InputJson(JsonObject, frozen=True):
    """An input that was read."""

    path: str
    """The path, as given on the command line."""
    build: str | None
    """The build that reads it. Null without a matrix."""
    reader: Annotated[str, Meta(pattern=_READER)]
    """`clang`, `dwarf`, `btf` or `symbols`; for a folder of modules with several, their names with `and`
    between them. For a snapshot, `snapshot of ` and what read its input."""
    target: TargetName
    """The machine."""
    build_id: Annotated[str, Meta(pattern=r"^[0-9a-f]+$")] | None
    """The GNU build id, in hexadecimal."""
    structs: Natural
    """The number of definitions that were read because rules name them."""
    files: Natural | None
    """How many files of a folder of modules were read. Null for any other input."""
    compile_commands: str | None
    """The compile_commands.json that the flags of its C files are from. Null if they are not from one."""
    notes: Sequence[str]
    """Notes on how it was read, for example that units of other languages were skipped."""


class FindingJson(JsonObject, frozen=True):
    """A rule and a struct that it was judged on."""

    rule: str
    """The rule's id."""
    kind: Annotated[str, one_of(*KINDS, UNUSED, SNAPSHOT)]
    """The rule's kind; `unused` for intent that matches nothing."""
    struct: str
    """The struct's tag, or the typedef that names it. For a rule on variables, the data sections; `fields`
    are then variables, with offsets from the start of the section."""
    definition: DefinitionJson | None
    """The definition that was judged. Null if no input has one."""
    outcome: Annotated[str, one_of(*Outcome)]
    """The result, over all placements. `kept` occurs only in the list `kept`."""
    severity: Annotated[str, one_of(*Severity)]
    """How much it counts. A note does not change the exit status."""
    message: str
    """What was found, with numbers, or why it could not be judged."""
    advice: str | None
    """How to make the rule hold."""
    advice_kind: AdviceKind | None
    """`fix`: the rule was judged again with this change, and holds. `first step`: more is needed. `to do`: it
    is no change of the layout, or a guess that must be confirmed first. Null without advice."""
    why: str
    """The rule's reason."""
    intent: IntentJson
    """What states the rule."""
    evidence: Sequence[str]
    """The sources of the rule."""
    origin: Basis
    """The best thing that the finding rests on. `declared`: people state the rule. `inferred`: it is a guess
    from sources. `profiled`: a profile has the accesses. `measured`: a measurement shows what the layout
    costs."""
    origins: Sequence[Origin]
    """All that the finding rests on, what states the rule first."""
    input: str
    """The first file or other input that has this definition. Empty if none has the struct."""
    also: Sequence[str]
    """The other inputs with the same definition and the same result."""
    fields: Sequence[FieldJson]
    """The fields concerned, the primary one first."""
    placements: PlacementsJson
    randomised: RandomisedJson | None
    """How the fields came into the order that was judged. Null for the declared order, and for every
    order."""
    randomisable: bool
    """True if the source marks the struct to be randomised, and the configuration has that off. The declared
    order was judged."""
    around: AroundJson | None
    """For a rule on what surrounds a struct: one place in a container. Null for other rules."""
    rank: RankJson | None
    """The rank of a note of a pack that guesses. These notes come last, the highest first. Null for
    others."""
    fingerprint: Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$")]
    """An identity made of the rule, the struct and the field paths. It stays the same when lines move."""
    fingerprint_state: Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$")]
    """Like `fingerprint`, and also made of the outcome and the share of failing placements, in each build. It
    changes if the finding becomes worse or better."""
    suppressed: str | None
    """Why the finding does not count. Null if it counts."""
    expired: str | None
    """The suppression that has expired: its reason, its place and its last day. Null if none has."""
    state: Annotated[str, one_of(*State)] | None
    """How it compares with the baseline; `known` does not fail the run. Null without a baseline, and for
    notes, suppressed findings and rules that hold."""
    builds: dict[str, BuildOutcomeJson]
    """The result in each build that was judged, by the build's name, the worst first. Empty without a matrix.
    The finding itself is that of the first build."""


class UnreadJson(JsonObject, frozen=True):
    """An input that could not be read."""

    origin: str
    """The file, or a folder of modules."""
    reason: str
    """The place and the cause."""
    files: Sequence[str]
    """If `origin` is a folder of modules, the files that could not be read for this reason."""
    builds: Sequence[str]
    """The builds of a matrix that it belongs to."""
    file: str | None
    """The text with the error that is the cause, null for none."""
    line: Positive | None
    """The line of the error in `file`, null if it is unknown."""


class CoverageJson(JsonObject, frozen=True):
    """What was checked."""

    rules: Natural
    """The number of rules that were asked for."""
    applied: Natural
    """The number of rules that judged a struct."""
    structs: Natural
    """The number of definitions that were judged."""
    unresolved: Sequence[str]
    """Structs and fields that rules name and no input has."""
    skipped: Sequence[str]
    """Rules that their `when` excludes, with the reason."""
    guessed: Sequence[str]
    """How many notes the packs that guess have, and how many of them are among the findings."""
    settings: Sequence[str]
    """The options that `[settings]` of rule files set, each with its file."""
    policy: Sequence[str]
    """With `--policy-from`: the commit whose rule files, suppressions and flags were used, what was not used,
    and files with flags that git does not track."""
    today: Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")] | None
    """The day by which suppressions with an end were judged. Null if none has one."""
    overridden: Sequence[str]
    """Rules that rule files turn off or give another severity (`override`), with the place and the reason."""
    not_covered: Sequence[CoverageGap]
    """Parts of inputs that were not checked, for example a unit without debug information."""


class BaselineJson(JsonObject, frozen=True):
    """The use of a baseline."""

    file: str
    """The file, as given on the command line. With --since or --staged, the revision: its findings are the
    baseline."""
    unneeded: Sequence[str]
    """The entries that are no longer needed, as `RULE on STRUCT`, sorted."""
    not_judged: Natural
    """The number of entries about which the run says nothing: of other structs or builds, or because inputs
    could not be read."""


class DefinitionJson(JsonObject, frozen=True):
    """A definition of a struct."""

    file: str | None
    """The file of the definition."""
    line: Positive | None
    """Line number, from 1."""
    origin: str | None
    """The unit or file in which it was read."""


class IntentJson(JsonObject, frozen=True):
    """What states the rule."""

    by: Annotated[str, one_of(*_STATEMENTS)]
    """What kind of statement it is. `suppression`, `access` and `table` occur only with the kind `unused`.

    Others are `rule file`, `annotation`, `marks in the struct`, `comment`, `snapshot` and `--one-layout`."""
    file: str
    """The file that states it."""
    line: Positive | None
    """Line number, from 1."""


class FieldJson(JsonObject, frozen=True):
    """A field."""

    path: str
    """The path from the struct: `i_mmap_rwsem.owner`."""
    offset: Natural
    """The first byte."""
    size: Natural | None
    """The number of bytes that it touches."""
    file: str | None
    """The file that declares it."""
    line: Positive | None
    """Line number, from 1."""


class PlacementsJson(JsonObject, frozen=True):
    """Where the object can start on a cache line, and where the rule fails."""

    line_size: Positive | None
    """The size of a line. Null for a kind that does not depend on lines."""
    line_pairs: bool
    """True if the rule counts aligned pairs of lines. `line_size` is then the size of a pair."""
    total: Natural
    """The number of placements; 0 for a kind that does not depend on them."""
    violating: Natural
    """The number of placements in which the rule fails."""
    bases: Sequence[Natural]
    """The violating placements: the object's address modulo the line size."""
    basis: str | None
    """Why the object can start there and nowhere else. Null for a kind that does not depend on it."""
    orders: Annotated[OrdersJson | None, _EXACT_OR_SAMPLED]
    """The orders of fields that the verdict covers, if the compiler can choose any. `total` and `bases` are
    then those of all orders together, and `fields` belong to one order. Null if there is one order."""
    containers: Sequence[ContainerJson]
    """Each container of an embedded struct, if its slab caches are known (`--slabs`). Else empty."""


class ContainerJson(JsonObject, frozen=True):
    """The struct in one of its containers."""

    container: str
    """The container and the member that is the struct: `inode.i_data`."""
    outcome: Annotated[str, one_of(Outcome.BROKEN, Outcome.AT_RISK, Outcome.KEPT)]
    """The outcome of the rule there, without `tolerate`."""
    bases: Sequence[Natural]
    """Where the struct can start on a line."""
    violating: Sequence[Natural]
    """Where the rule fails."""
    caches: Sequence[CacheJson]
    """The slab caches of the container. Empty if the kernel shows none."""


class RandomisedJson(JsonObject, frozen=True):
    """How the compiler put fields into a random order."""

    mode: Annotated[str, one_of(*MODES)]
    """The value of `--randstruct`."""
    seed_sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
    """The SHA-256 of the seed. A kernel has it in its vermagic."""
    kernel: str | None
    """The version of Linux, for GCC's plugin. Null if it was not given."""
    own: bool
    """True if the struct's own fields were shuffled, false if only those of structs inside it were."""


class AroundJson(JsonObject, frozen=True):
    """One place of a struct in a container. The finding's `struct` is the container."""

    struct: str
    """The embedded struct."""
    path: str
    """The member of the container, with the lengths of arrays: `rings[4].lock`."""
    offset: Natural
    """The first byte in the container, of the first element of arrays."""
    file: str | None
    """The file that declares the innermost member."""
    line: Positive | None
    """Line number, from 1."""
    places: Positive
    """The number of places that the struct has in containers."""
    judged: Natural
    """The number of places around which something is declared that the rule is about."""


class RankJson(JsonObject, frozen=True):
    """The rank of a note of a pack that guesses."""

    place: Positive
    """1 for the highest."""
    of: Positive
    """The number of notes."""
    score: Amount
    """What notes are ordered by: the larger of `holders` and `elements` (at most 64), times the share of the
    placements that fail."""
    holders: Natural
    """How many other structs, and outside Linux variables, hold the struct or a pointer to it."""
    elements: Natural | None
    """Outside Linux, for a note on an array: the number of its elements, which count if there are more than
    holders. 0 if it is not known. Null for other notes."""
    uses: UsesJson | None
    """What functions do to its fields, by which notes that have it are ordered. Null without `--uses`, and
    for variables of types without fields."""


class BuildOutcomeJson(JsonObject, frozen=True):
    """The result of a rule in one build."""

    outcome: Annotated[str, one_of(*Outcome)]
    """The result, over all placements."""
    message: str
    """What was found in this build."""
    input: str
    """The first file that has the definition."""
    placements: PlacementsJson
    definitions: Positive
    """How many definitions of the struct the build has. This is the one with the worst result."""
    state: Annotated[str, one_of(*State)] | None
    """How it compares with the baseline in this build."""


class UsesJson(JsonObject, frozen=True):
    """What functions do to its fields, by which notes that have it are ordered. Null without `--uses`, and
    for variables of types without fields."""

    score: Amount
    """The score of `infer`. 0 if no function is known to use the fields."""
    reasons: Sequence[str]
    """Sentences on the functions that use the two fields that disturb each other most."""
    origin: Annotated[str, one_of("inferred")]
    """What the score rests on."""


def render(report: Report) -> str:
    """Return the report as one JSON object, indented by two spaces, with a newline at the end."""
    return document_text(document(report))


def document(report: Report) -> Document:
    """Return the report as values for JSON."""
    return Document(
        builds=[_build(build, report) for build in report.builds],
        inputs=[_input(reading) for reading in report.readings],
        findings=[_finding(finding, report.builds) for finding in report.findings],
        kept=[_finding(finding, report.builds) for finding in report.kept_findings],
        unread=[_unread_input(unread) for unread in report.unread],
        coverage=_coverage(report.coverage, report.builds),
        baseline=_baseline(report.baseline),
        saved_evidence=report.evidence,
        exit=report.exit_status,
    )


def _baseline(used: BaselineUse | None) -> BaselineJson | None:
    if used is None:
        return None
    return BaselineJson(file=used.file, unneeded=used.unneeded, not_judged=used.not_judged)


def _state(finding: Finding) -> str | None:
    return None if finding.state is None else finding.state.value


def _build(build: Build, report: Report) -> BuildJson:
    read = [reading for reading in report.readings if reading.build == build.name]
    targets = dict.fromkeys(reading.target.name for reading in read)
    return BuildJson(
        name=build.name,
        inputs=build.inputs,
        target=", ".join(targets) or build.target,
        flags=build.flags,
        config=build.config,
        line_size=build.line_size,
        min_align=build.min_align,
        randstruct=build.randomised.mode,
        read=len(read),
    )


def _input(reading: Reading) -> InputJson:
    return InputJson(
        path=reading.path,
        build=reading.build,
        reader=reading.reader,
        target=reading.target.name,
        build_id=reading.build_id,
        structs=len(reading.structs),
        files=reading.files,
        compile_commands=reading.compile_commands,
        notes=reading.notes,
    )


def _unread_input(unread: Unread) -> UnreadJson:
    return UnreadJson(
        origin=unread.origin,
        reason=unread.reason,
        files=unread.files,
        builds=unread.builds,
        **file_and_line(unread.place),
    )


def _finding(finding: Finding, builds: tuple[Build, ...]) -> FindingJson:
    rule, verdict = finding.rule, finding.verdict
    return FindingJson(
        rule=rule.id,
        kind=rule.kind.name,
        struct=struct_name(finding),
        definition=_definition(finding.struct),
        outcome=verdict.outcome.value,
        severity=rule.severity.value,
        message=finding_message(finding, builds),
        advice=(advice := finding_advice(finding) or None),
        advice_kind=advice_kind(finding) if advice else None,
        why=rule.why,
        intent=IntentJson(by=rule.by, file=rule.source.file, line=rule.source.line),
        evidence=rule.evidence,
        origin=basis(finding),
        origins=origins(finding),
        input=finding.input,
        also=finding.also,
        fields=[_field(place) for place in verdict.evidence],
        placements=_placements(verdict),
        randomised=_randomisation(finding.struct.randomised if finding.struct else None),
        randomisable=finding.struct is not None and finding.struct.is_randomisable,
        around=_surroundings(finding.around),
        rank=_rank(finding.rank),
        fingerprint=fingerprint(finding),
        fingerprint_state=fingerprint_state(finding),
        suppressed=finding.suppressed,
        expired=finding.expired,
        state=_state(finding),
        builds=_outcomes(finding),
    )


def _outcomes(finding: Finding) -> dict[str, BuildOutcomeJson]:
    """Return the outcome in each build, that of the worst definition."""
    worst_findings = worst_by_build(finding.builds)
    definitions = Counter(name for name, _ in finding.builds)
    return {name: _outcome(worst_findings[name], definitions[name]) for name in dict.fromkeys(definitions)}


def _outcome(finding: Finding, definitions: int) -> BuildOutcomeJson:
    return BuildOutcomeJson(
        outcome=finding.verdict.outcome.value,
        message=finding_message(finding),
        input=finding.input,
        placements=_placements(finding.verdict),
        definitions=definitions,
        state=_state(finding),
    )


def _definition(struct: Struct | None) -> DefinitionJson | None:
    if struct is None:
        return None
    return DefinitionJson(**file_and_line(struct.source), origin=struct.origin or None)


def _surroundings(around: EmbeddedPlace | None) -> AroundJson | None:
    if around is None:
        return None
    return AroundJson(
        struct=around.struct,
        path=around.path,
        offset=around.offset,
        **file_and_line(around.source),
        places=around.places,
        judged=around.judged,
    )


def _rank(rank: Rank | None) -> RankJson | None:
    if rank is None:
        return None
    return RankJson(
        place=rank.place,
        of=rank.total,
        score=round(rank.score, 3),
        holders=rank.holders,
        elements=rank.elements,
        uses=None if rank.uses is None else _uses(rank.uses),
    )


def _uses(uses: UseRank) -> UsesJson:
    return UsesJson(score=round(uses.score, 4), reasons=uses.reasons, origin="inferred")


def _field(place: Place) -> FieldJson:
    source = file_and_line(place.field.source)
    return FieldJson(path=place.path, offset=place.offset, size=place.size, **source)


def _placements(verdict: Verdict) -> PlacementsJson:
    return PlacementsJson(
        line_size=verdict.line_size,
        line_pairs=verdict.in_pairs,
        total=verdict.total,
        violating=len(verdict.bases),
        bases=verdict.bases,
        basis=verdict.basis or None,
        containers=[_container(each) for each in verdict.containers],
        orders=None if verdict.orders is None else orders_json(verdict.orders),
    )


def _container(each: ContainerVerdict) -> ContainerJson:
    return ContainerJson(
        container=each.container,
        outcome=each.outcome.value,
        bases=each.bases,
        violating=each.violating,
        caches=cache_rows(each.caches),
    )


def _randomisation(how: Randomisation | None) -> RandomisedJson | None:
    """Return how the field order was randomised, with the keys of `show`; None for every order."""
    if how is None or how.seed is None:
        return None
    return RandomisedJson(mode=how.mode, seed_sha256=how.seed, kernel=how.kernel, own=how.is_own)


def _coverage(coverage: Coverage, builds: tuple[Build, ...]) -> CoverageJson:
    return CoverageJson(
        rules=coverage.rules,
        applied=coverage.applied,
        structs=coverage.structs,
        unresolved=[coverage_part(part, builds) for part in coverage.unresolved],
        skipped=[coverage_part(part, builds) for part in coverage.skipped],
        guessed=coverage.guessed,
        settings=coverage.settings,
        policy=coverage.policy,
        today=coverage.today,
        overridden=coverage.overridden,
        not_covered=[*coverage.not_covered, *_gap_of_change(coverage)],
    )


def _gap_of_change(coverage: Coverage) -> Iterator[CoverageGap]:
    """Yield why a change, or a rule file, left nothing to judge, as a part to which no rule applies."""
    if coverage.unreached:
        yield CoverageGap("change", coverage.unreached, ())
    for path in coverage.drafts:
        yield CoverageGap(path, "it has no rules yet", ())
