"""Saved evidence for findings: profiles and measurements of the layout that was judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from layoutlint.errors import ReadError, RuleFileError, UsageError
from layoutlint.geometry.layout import Layout, cached_layout
from layoutlint.judgement.evidence import (
    FieldTouch,
    PlacedLine,
    SeenPair,
    StructEvidence,
    TypedCount,
    layout_difference,
)
from layoutlint.judgement.finding import Finding, Report
from layoutlint.judgement.origin import EvidenceUse, Origin, Support
from layoutlint.judgement.rule import Rule
from layoutlint.judgement.verdict import Outcome, SharedLine
from layoutlint.lint.evidence_rules import state_of
from layoutlint.model.paths import is_within
from layoutlint.model.record import Record, replace
from layoutlint.phrases import quantity
from layoutlint.readers.profiles import saved
from layoutlint.readers.profiles.records import Code, Counts, Touch
from layoutlint.readers.profiles.saved import Measured, MeasuredLayout, Profile, ProfiledStruct, Saved

_MOST_PAIRS = 2
"""Pairs of fields of one file that a finding names."""
_ROLES = {"loads": "load", "stores": "store", "both": "any"}


def load_all(paths: tuple[str, ...]) -> tuple[Saved, ...]:
    """Return the evidence in some files, each once. Raises UsageError and ReadError."""
    return tuple(saved.load(path) for path in dict.fromkeys(paths))


def rule_files(report: Report) -> tuple[str, ...]:
    """Return the files with evidence that the rules of a report name."""
    return tuple(dict.fromkeys(path for rule in _rules(report) for path in rule.evidence_files))


def _rules(report: Report) -> tuple[Rule, ...]:
    return tuple(dict.fromkeys((*report.rules, *(finding.rule for finding in report.findings))))


def attach(report: Report, given: tuple[Saved, ...]) -> Report:
    """Return a report whose findings state the evidence for them: that of a run, and that of their rules.

    No outcome and no exit status changes. Raises RuleFileError for files that rules name and that cannot be
    read.
    """
    run = _Run(given, _evidence_of_rules(report), {r.path: r.build_id for r in report.readings})
    if not run.given and not run.of_rules:
        return report
    findings = tuple(run.with_origins(finding) for finding in report.findings)
    paths = dict.fromkeys((*(each.path for each in given), *rule_files(report)))
    return replace(report, findings=findings, evidence=tuple(_use(path, findings) for path in paths))


def _evidence_of_rules(report: Report) -> dict[str, Saved]:
    evidence: dict[str, Saved] = {}
    mistakes: list[str] = []
    for rule in _rules(report):
        for path in rule.evidence_files:
            if path in evidence:
                continue
            try:
                evidence[path] = saved.load(path)
            except (UsageError, ReadError) as error:
                mistakes.append(f"{rule.source}: `evidence_files` of rule `{rule.id}`: {error}")
    if mistakes:
        raise RuleFileError(tuple(mistakes))
    return evidence


def _use(path: str, findings: tuple[Finding, ...]) -> EvidenceUse:
    counts: Counter[bool] = Counter()
    for finding in findings:
        supports = [each.support == "supports" for each in finding.origins if each.file == path]
        if supports:
            counts[any(supports)] += 1
    return EvidenceUse(path, counts[True], counts[False])


class _Run(Record, frozen=True):
    """All evidence, and the build ids of the inputs by path."""

    given: tuple[Saved, ...]
    of_rules: dict[str, Saved]
    build_ids: dict[str, str | None]

    def with_origins(self, finding: Finding) -> Finding:
        """Return a finding with the evidence on it; over a matrix, with that of each build."""
        of_rule = (self.of_rules[path] for path in finding.rule.evidence_files)
        files = {each.path: each for each in (*self.given, *of_rule)}.values()
        judged = [each for _, each in finding.builds] or [finding]
        origins: list[Origin] = []
        for file in files:
            each_time = dict.fromkeys(origin for one in judged for origin in self._origins(one, file))
            counting = [origin for origin in each_time if origin.support == "supports"]
            origins += counting or each_time
        return replace(finding, origins=tuple(origins)) if origins else finding

    def _origins(self, finding: Finding, file: Saved) -> Iterator[Origin]:
        """Yield what one file says about one finding."""
        struct, verdict = finding.struct, finding.verdict
        is_failing = verdict.outcome in (Outcome.BROKEN, Outcome.AT_RISK)
        if struct is None or struct.bit_size is None or not is_failing or verdict.orders is not None:
            return
        layout = cached_layout(struct)
        if isinstance(file.content, Measured):
            yield from _measurement_origins(finding, layout, file.content, file.path)
            return
        for profiled in file.content.structs:
            if profiled.name == struct.name and profiled.aggregate == struct.aggregate:
                build = self._other_build(finding, file.content)
                yield from _profile_origins(finding, layout, file, profiled, build)

    def _other_build(self, finding: Finding, profile: Profile) -> str:
        """Return how the build of a profile differs; empty if it is the same, or not known."""
        theirs = {each.build_id for each in profile.inputs if each.build_id}
        ours = {build_id for path in finding.files if (build_id := self.build_ids.get(path))}
        if not theirs or not ours or theirs & ours:
            return ""
        return f"the build is another: its build id is {min(theirs)}, here it is {min(ours)}"


def _profile_origins(
    finding: Finding, layout: Layout, file: Saved, struct: ProfiledStruct, other_build: str
) -> Iterator[Origin]:
    """Yield what a profile says about a finding."""
    content = file.content
    assert isinstance(content, Profile)
    evidence = _evidence(layout, content, struct, finding.verdict.line_size)
    places: dict[str, saved.Place] = {each.path: each for line in struct.lines for each in line.fields}
    places.update((each.path, each) for each in struct.samples)
    difference = layout_difference(layout, struct.size, tuple(places.values()))
    if other_build or difference:
        support: Support = "other-build" if other_build else "other-layout"
        if _names_fields(finding, places):
            yield Origin("profiled", support, other_build or difference, file.path)
        return
    state, pairs = state_of(finding, evidence)
    if state not in ("measured", "profiled", "possible"):
        return
    pairs = sorted(pairs, key=lambda pair: -((pair.stores or 0) + (pair.loads or 0)))
    for pair in pairs[:_MOST_PAIRS]:
        yield _pair_origin(pair, content, file.path, "possible" if state == "possible" else "supports")


def _names_fields(finding: Finding, places: dict[str, saved.Place]) -> bool:
    """Return whether a profile has accesses to both of two fields that the rule keeps apart."""

    def is_touched(name: str) -> bool:
        return any(is_within(path, name, any_element=True) for path in places)

    return any(is_touched(pair.first) and is_touched(pair.second) for pair in finding.verdict.shared)


def _pair_origin(pair: SeenPair, profile: Profile, path: str, support: Support) -> Origin:
    report = next((each for each in profile.reports if each.path == pair.report), None)
    stores = "stores" if pair.stores is None else quantity(pair.stores, "store")
    loads = "loads" if pair.loads is None else quantity(pair.loads, "load")
    took = "" if pair.base is None else " that took the line"
    certainty = ", if the line is one of this struct" if support == "possible" else ""
    text = f"{stores} to `{pair.written}`, {loads} of `{pair.read}`{took}{certainty}"
    formats = " and ".join(report.formats) if report is not None else ""
    where = f"{formats}, {pair.report}:{pair.line}" if formats else f"{pair.report}:{pair.line}"
    return Origin("profiled", support, text, path, None, where, report.captured if report else None)


def _evidence(
    layout: Layout, profile: Profile, struct: ProfiledStruct, line_size: int | None
) -> StructEvidence:
    """Return the accesses of a profile on lines of the size that was judged."""
    lines = tuple(_line(each) for each in struct.lines if each.line_size == line_size)
    counts = tuple(
        TypedCount(
            profile.events[each.event].report,
            each.event,
            each.path,
            each.offset,
            each.size,
            each.at,
            _ROLES[profile.events[each.event].counts],  # type: ignore[arg-type]  # the keys are literals
            None,
            each.samples,
            each.report_lines,
        )
        for each in struct.samples
    )
    return StructEvidence(layout.struct, lines, counts)


def _line(line: saved.Line) -> PlacedLine:
    touched = tuple(
        FieldTouch(each.path, each.offset, each.size, each.at, _touch(each, each.at - line.first_byte))
        for each in line.fields
    )
    unmet = tuple(Code(symbol) for symbol in line.contradicting_code)
    return PlacedLine(
        line.report, line.line, int(line.address, 16), line.line_size, _counts(line.counts), line.first_byte,
        line.certainty, line.identified_by, 0, len(touched), (), unmet, touched,
    )  # fmt: skip


def _touch(touch: saved.Touch, offset: int) -> Touch:
    """Return the accesses at an offset of a line, as far as the file is read."""
    return Touch(offset, _counts(touch.counts), None, touch.written, touch.read_modified, 0, (), ())


def _counts(samples: saved.Samples) -> Counts:
    return Counts(samples.remote, samples.local, samples.peer, samples.l1_hit, samples.l1_miss, samples.other)


def _measurement_origins(finding: Finding, layout: Layout, measured: Measured, path: str) -> Iterator[Origin]:
    """Yield what a measurement says about a finding."""
    is_about = measured.rule in (None, finding.rule.id)
    if measured.struct != layout.struct.name or not is_about or measured.refusal is not None:
        return
    about = [each for each in measured.layouts if _affected_bases(finding, measured, each)]
    date = measured.run.date
    differences = [layout_difference(layout, each.size, each.accesses) for each in about]
    if measured.machine.line_size != finding.verdict.line_size:
        differences = [f"it was measured on lines of {measured.machine.line_size} bytes"] * len(about)
    for each, difference in zip(about, differences, strict=True):
        effect = _effect(measured, each)
        if not difference and effect:
            yield Origin("measured", "supports", effect, path, None, None, date)
            return
    if all(differences):
        for difference in differences[:1]:
            yield Origin("measured", "other-layout", difference, path, None, None, date)


def _affected_bases(finding: Finding, measured: Measured, layout: MeasuredLayout) -> bool:
    """Return whether a measurement has the accesses of a finding, in placements that fail."""
    affected = {each.base for each in layout.placements if each.affected}
    verdict = finding.verdict
    if measured.mode == "contention":
        return any(affected & set(pair.bases) and _accesses_both(layout, pair) for pair in verdict.shared)
    is_together = finding.rule.kind.traits.arranges == "together" and not verdict.shared
    paths = [place.path for place in verdict.evidence]
    has_all = all(any(_overlap(each.path, path) for each in layout.accesses) for path in paths)
    return is_together and bool(paths) and has_all and bool(affected & set(verdict.bases))


def _accesses_both(layout: MeasuredLayout, pair: SharedLine) -> bool:
    """Return whether one core accessed the one field, and another core the other."""
    firsts = {(each.core, each.distance) for each in layout.accesses if _overlap(each.path, pair.first)}
    seconds = {(each.core, each.distance) for each in layout.accesses if _overlap(each.path, pair.second)}
    return any(
        core != other and abs(distance - far) == abs(pair.distance)
        for core, distance in firsts
        for other, far in seconds
    )


def _overlap(path: str, other: str) -> bool:
    return is_within(path, other, any_element=True) or is_within(other, path, any_element=True)


def _effect(measured: Measured, layout: MeasuredLayout) -> str:
    """Return the greatest slowdown that all rounds agree on, in words; empty for none."""
    slower = [
        each
        for each in measured.ratios
        if each.of == "affected" and each.layout == layout.label and each.clear and each.ratio.median < 1
    ]
    if not slower:
        return ""
    worst = min(slower, key=lambda each: (each.ratio.median, each.interval))
    reference = "on as few lines as possible" if measured.mode == "sweep" else "on lines of their own"
    others = "in the other placements" if worst.to == "unaffected" else reference
    pace = f", every {worst.interval:,} ns" if worst.interval else ""
    processor = f", on {measured.machine.processor}" if measured.machine.processor else ""
    return f"{worst.ratio.median:.2g} times the rate {others}{pace}{processor}"
