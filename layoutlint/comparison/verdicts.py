"""Which rules an input keeps better or worse than another one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product

from layoutlint.comparison.contents import Contents
from layoutlint.comparison.definitions import Definition, match
from layoutlint.comparison.layouts import LayoutComparison
from layoutlint.comparison.scope import Scopes
from layoutlint.comparison.standings import Key, Standing, Status, compare_standings, finding_key, standing
from layoutlint.judgement.finding import Finding, Report
from layoutlint.judgement.rule import VARIABLES, Rule, Severity
from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.model.record import Record, replace

_NOT_JUDGED = "the rule no longer judges it"


class PairChange(Record, frozen=True):
    """Two fields that a rule keeps apart, and where they share a line."""

    first: str
    second: str
    old: tuple[int, ...]
    """The bases at which they shared a line."""
    new: tuple[int, ...]
    old_total: int
    """The number of placements; 0 if the struct was not there."""
    new_total: int
    is_across: bool = False
    """Whether the second is in the next object."""

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        """The shares of placements, before and after, in which they share a line."""
        return Fraction(len(self.old), self.old_total or 1), Fraction(len(self.new), self.new_total or 1)


class RuleChange(Record, frozen=True):
    """One rule on one struct, judged in two inputs."""

    old: Finding | None
    """None if it judged no such struct there."""
    new: Finding | None
    status: Status
    reason: str = ""
    """Why it could not be compared."""
    pairs: tuple[PairChange, ...] = ()
    """The pairs of fields whose number of shared placements changed."""
    is_eased: bool = False
    """Whether it fails as badly as before, but for fewer fields."""

    @property
    def finding(self) -> Finding:
        """The finding as it is now, or as it was."""
        finding = self.new or self.old
        if finding is None:
            raise ValueError("a rule that judged nothing cannot change")
        return finding

    @property
    def rule(self) -> Rule:
        """The rule."""
        return self.finding.rule

    @property
    def struct(self) -> str:
        """The name of the struct, variable or array."""
        struct = self.finding.struct
        return self.rule.struct if struct is None else struct.label or struct.name

    @property
    def counts(self) -> bool:
        """Whether it can decide the exit status: notes and suppressed findings do not."""
        return self.rule.severity is not Severity.NOTE and self.finding.suppressed is None


def compare_reports(
    old: Report, new: Report, layouts: LayoutComparison, scopes: Scopes
) -> Iterator[RuleChange]:
    """Yield every rule that judged a struct in both reports, or in one of them.

    `layouts` are those of the same inputs. A rule whose `when` excludes one of the inputs is left out. One on
    a struct that an input can have outside of its scope is not compared. One that cannot judge a struct in
    either input, for the same reason, compares nothing, and is left out.
    """
    before, after = _group_by_key(old), _group_by_key(new)
    lacking = {each.by: each.reason for each in new.coverage.unresolved}
    skipped = [frozenset(skip.rule_id for skip in report.coverage.skipped) for report in (old, new)]
    for key in dict.fromkeys((*before, *after)):
        olds, news = before.get(key, []), after.get(key, [])
        if (not news and key[0] in skipped[1]) or (not olds and key[0] in skipped[0]):
            continue
        if len(olds) > 1 or len(news) > 1:
            yield from _compare_namesakes(olds, news, scopes, not layouts.changes)
        else:
            reasons = {key[1]: lacking.get(key[0], _NOT_JUDGED), **layouts.vanished}
            both = olds[0] if olds else None, news[0] if news else None
            if not _is_unknown_alike(*both, not layouts.changes):
                yield _compare(*both, reasons, scopes, not layouts.changes)


def _is_unknown_alike(old: Finding | None, new: Finding | None, are_layouts_same: bool) -> bool:
    """Return whether a rule cannot judge the same struct in both inputs for the same reason.

    If the struct has the fields of the rule, other structs may be the reason, so all layouts must be the
    same. What is unreliable can differ unseen; cases are compared one by one.
    """
    if old is None or new is None or old.struct is None or new.struct is None:
        return False
    before, after = old.verdict, new.verdict
    if before.outcome is not Outcome.UNKNOWN or after.outcome is not Outcome.UNKNOWN:
        return False
    if after.is_unreliable or after.cases:
        return False
    is_same = before.message == after.message and Contents().is_same_layout(old.struct, new.struct)
    return is_same and (are_layouts_same or before.is_missing_field)


def _group_by_key(report: Report) -> dict[Key, list[Finding]]:
    findings: dict[Key, list[Finding]] = defaultdict(list)
    for finding in (*report.findings, *report.kept_findings):
        if not finding.rule.kind.traits.is_built_in:
            findings[finding_key(finding)].append(finding)
    return findings


class _JudgedDefinition(Definition, frozen=True):
    """A definition with what a rule found on it."""

    finding: Finding


def _compare_namesakes(
    old: list[Finding], new: list[Finding], scopes: Scopes, are_layouts_same: bool
) -> Iterator[RuleChange]:
    """Compare the definitions of one name by their files and fields; refuse what these do not tell apart."""
    same, olds, news = _pair_equal(_definitions(old), _definitions(new))
    pairs, reason = match(olds, news)
    for before, after in (*same, *pairs):
        removed = {} if before is None else {before.struct.name: f"its definition in {before.file} is gone"}
        findings = [None if one is None else one.finding for one in (before, after)]
        if not _is_unknown_alike(findings[0], findings[1], are_layouts_same):
            yield _compare(findings[0], findings[1], removed, scopes, are_layouts_same)
    if reason:
        matched = {id(one) for pair in pairs for one in pair}
        one = next(one.finding for one in news if id(one) not in matched)
        yield RuleChange(None, one, Status.NOT_COMPARED, reason)


def _definitions(findings: list[Finding]) -> list[_JudgedDefinition]:
    """Return the definitions that findings are about; equal ones with the same verdict count once."""
    definitions: dict[object, _JudgedDefinition] = {}
    for finding in findings:
        if finding.struct is not None:
            one = _JudgedDefinition(finding.struct, None, finding)
            definitions.setdefault((one.file, one.outline, standing(finding)), one)
    return list(definitions.values())


def _pair_equal(
    old: list[_JudgedDefinition], new: list[_JudgedDefinition]
) -> tuple[
    list[tuple[_JudgedDefinition, _JudgedDefinition]], list[_JudgedDefinition], list[_JudgedDefinition]
]:
    """Return pairs of definitions with the same file and fields, and those that are left.

    Both sides have as many definitions with these.
    """
    groups: list[dict[object, list[_JudgedDefinition]]] = [defaultdict(list), defaultdict(list)]
    for group, definitions in zip(groups, (old, new), strict=True):
        for one in definitions:
            group[one.file, one.outline].append(one)
    equal = [key for key in groups[0] if len(groups[0][key]) == len(groups[1].get(key, ()))]
    pairs = [pair for key in equal for pair in zip(groups[0].pop(key), groups[1].pop(key), strict=True)]
    left = [[one for same in group.values() for one in same] for group in groups]
    return pairs, left[0], left[1]


def _compare_cases(old: Finding | None, new: Finding | None, are_layouts_same: bool) -> Status | None:
    """Return how two findings compare of which one depends on an alignment that is not known.

    If all cases compare alike, that is the status. Two equal definitions with the same cases are the same, as
    are those of which one input states the alignment, if its verdict is one of the cases; for the alignment
    of containers only if the layouts of all structs are the same. None if it depends on the alignment, or if
    nothing does.
    """
    if old is None or new is None or not (old.verdict.cases or new.verdict.cases):
        return None
    before, after = _cases(old), _cases(new)
    if any(case.outcome is Outcome.UNKNOWN for case in (*before, *after)):
        return None
    states = [{_state(one, case) for case in cases} for one, cases in ((old, before), (new, after))]
    statuses = {compare_standings(first, second) for first, second in product(*states)}
    if len(statuses) == 1:
        return statuses.pop()
    if old.verdict.cases and new.verdict.cases:
        return Status.SAME if _has_equal_struct(old, new) and states[0] == states[1] else None
    needs_containers = old.verdict.needs_containers or new.verdict.needs_containers
    is_certain = _has_equal_struct(old, new) and (are_layouts_same or not needs_containers)
    return Status.SAME if is_certain and states[0] & states[1] else None


def _cases(finding: Finding) -> tuple[Verdict, ...]:
    return finding.verdict.cases or (finding.verdict,)


def _state(finding: Finding, case: Verdict) -> Standing:
    return standing(replace(finding, verdict=case))


def _has_equal_struct(old: Finding, new: Finding) -> bool:
    if old.struct is None or new.struct is None or old.struct.target.name != new.struct.target.name:
        return False
    return Contents().is_same_layout(old.struct, new.struct)


def _compare(
    old: Finding | None,
    new: Finding | None,
    reasons: Mapping[str, str],
    scopes: Scopes,
    are_layouts_same: bool,
) -> RuleChange:
    """Compare two findings; `reasons` are why the new input has no finding on a struct."""
    reason = _reason_of_absence(old, new, reasons, scopes)
    status = None if reason else _compare_cases(old, new, are_layouts_same)
    if status is not None:
        return RuleChange(old, new, status)
    reason = reason or _reason_of_unknown(old, new)
    if reason:
        return RuleChange(old, new, Status.NOT_COMPARED, reason)
    before, after = standing(old), standing(new)
    status = compare_standings(before, after)
    is_eased = status is Status.BETTER and before.badness == after.badness
    pairs = tuple(_compare_pairs(old, new))
    return RuleChange(old, new, Status.SAME if is_eased else status, pairs=pairs, is_eased=is_eased)


def _reason_of_absence(
    old: Finding | None, new: Finding | None, reasons: Mapping[str, str], scopes: Scopes
) -> str:
    """Return why the one input without a finding says nothing about the struct; empty if it does."""
    one = new or old
    if one is None or (old is not None and new is not None):
        return ""
    name = finding_key(one)[1]
    absence = "" if name == VARIABLES else scopes.absence_from(scopes.old if new else scopes.new, name)
    return absence or ("" if new else reasons.get(name, _NOT_JUDGED))


def _reason_of_unknown(old: Finding | None, new: Finding | None) -> str:
    """Return why a finding is unknown, the new one first; empty if both are known."""
    if new is not None and new.verdict.outcome is Outcome.UNKNOWN:
        return new.verdict.message
    if old is not None and old.verdict.outcome is Outcome.UNKNOWN:
        return f"it was unknown before: {old.verdict.message}"
    return ""


def _compare_pairs(old: Finding | None, new: Finding | None) -> Iterator[PairChange]:
    """Yield the pairs of fields that share lines in other placements than before."""
    before, after = _sharing_bases(old), _sharing_bases(new)
    totals = [finding.verdict.total if finding is not None else 0 for finding in (old, new)]
    for key in dict.fromkeys((*before, *after)):
        first, second, is_across = key
        change = PairChange(
            first,
            second,
            before.get(key, ()),
            after.get(key, ()),
            totals[0] if old is None else totals[0] or totals[1],
            totals[1] or totals[0],
            is_across,
        )
        if change.shares[0] != change.shares[1]:
            yield change


def _sharing_bases(finding: Finding | None) -> dict[tuple[str, str, bool], tuple[int, ...]]:
    """Return the bases at which pairs of fields share a line, in one object or across two."""
    if finding is None:
        return {}
    pairs = finding.verdict.shared
    return {(pair.first, pair.second, bool(pair.distance)): pair.bases for pair in pairs}
