"""Which rules an input keeps better or worse than another one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from layoutlint.comparison.alignment_cases import compare_cases
from layoutlint.comparison.edits import outline
from layoutlint.comparison.layouts import LayoutComparison
from layoutlint.comparison.scope import Scopes
from layoutlint.comparison.standings import Key, Status, compare_standings, finding_key, standing
from layoutlint.judgement.finding import Finding, Report
from layoutlint.judgement.rule import VARIABLES, Rule, Severity
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.record import Record

_NOT_JUDGED = "the rule no longer judges it"


class PairChange(Record, frozen=True):
    """Two fields that a rule keeps apart, and where they share a line."""

    first: str
    second: str
    old: tuple[int, ...]
    """The bases at which they shared a line."""
    new: tuple[int, ...]
    old_total: int
    """The number of placements."""
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
    a struct that an input can have outside of its scope is not compared.
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
            yield _compare(*both, reasons, scopes, not layouts.changes)


def _group_by_key(report: Report) -> dict[Key, list[Finding]]:
    findings: dict[Key, list[Finding]] = defaultdict(list)
    for finding in (*report.findings, *report.kept_findings):
        if not finding.rule.kind.traits.is_built_in:
            findings[finding_key(finding)].append(finding)
    return findings


def _compare_namesakes(
    old: list[Finding], new: list[Finding], scopes: Scopes, are_layouts_same: bool
) -> Iterator[RuleChange]:
    """Compare the definitions of one name by their files and fields; refuse what these do not tell apart."""
    sides = tuple(_group_by_file(findings) for findings in (old, new))
    for file in sorted({*sides[0], *sides[1]}):
        same, olds, news = _pair_equal(*(side.get(file, []) for side in sides))
        yield from (_compare(*pair, {}, scopes, are_layouts_same) for pair in same)
        if len(olds) == len(news) == 1:
            yield _compare(olds[0], news[0], {}, scopes, are_layouts_same)
        elif (one := next(iter((*news, *olds)), None)) is not None:
            reason = f"{len(old)} definitions before and {len(new)} now, which cannot be matched"
            is_new = bool(news)
            yield RuleChange(None if is_new else one, one if is_new else None, Status.NOT_COMPARED, reason)


def _pair_equal(
    old: list[Finding], new: list[Finding]
) -> tuple[list[tuple[Finding, Finding]], list[Finding], list[Finding]]:
    """Return pairs of findings on definitions with the same fields, and the findings that are left.

    Both sides have as many definitions with these fields.
    """
    groups: list[dict[object, list[Finding]]] = [defaultdict(list), defaultdict(list)]
    for group, findings in zip(groups, (old, new), strict=True):
        for finding in findings:
            group[None if finding.struct is None else outline(finding.struct)].append(finding)
    equal = [key for key in groups[0] if len(groups[0][key]) == len(groups[1].get(key, ()))]
    pairs = [pair for key in equal for pair in zip(groups[0].pop(key), groups[1].pop(key), strict=True)]
    left = [[finding for same in group.values() for finding in same] for group in groups]
    return pairs, left[0], left[1]


def _group_by_file(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    by_file: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        source = finding.struct.source if finding.struct is not None else None
        by_file[source.file.rpartition("/")[2] if source else ""].append(finding)
    return by_file


def _compare(
    old: Finding | None,
    new: Finding | None,
    reasons: Mapping[str, str],
    scopes: Scopes,
    are_layouts_same: bool,
) -> RuleChange:
    """Compare two findings; `reasons` are why the new input has no finding on a struct."""
    reason = _reason_of_absence(old, new, reasons, scopes)
    status = None if reason else compare_cases(old, new, are_layouts_same)
    if status is not None:
        return RuleChange(old, new, status)
    reason = reason or _reason_of_unknown(old, new)
    if reason:
        return RuleChange(old, new, Status.NOT_COMPARED, reason)
    status = compare_standings(standing(old), standing(new))
    return RuleChange(old, new, status, pairs=tuple(_compare_pairs(old, new)))


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
            totals[0] or totals[1],
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
