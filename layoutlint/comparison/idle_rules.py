"""The rules that compare nothing, each with the reason: they fail no run, and are never "no change"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layoutlint.comparison.scope import Scopes
from layoutlint.judgement.finding import Report
from layoutlint.judgement.rule import VARIABLES, Rule
from layoutlint.model.json_object import JsonObject
from layoutlint.model.paths import is_pattern


class IdleRule(JsonObject, frozen=True):
    """A rule."""

    rule: str
    """The id."""
    struct: str
    """The struct or pattern that it names."""
    reason: str
    """The reason."""
    is_excluded: bool
    """Whether its `when` excludes an input, so that nothing is missing."""


def idle_rules(reports: tuple[Report, Report], scopes: Scopes, judged: Iterable[str]) -> Iterator[IdleRule]:
    """Yield the rules about structs of both scopes that are not among the ids of those that judged."""
    done, both = set(judged), (scopes.old, scopes.new)
    for rule in dict.fromkeys((*reports[0].rules, *reports[1].rules)):
        if rule.id in done or rule.guess or rule.struct == VARIABLES or rule.kind.traits.is_built_in:
            continue
        if not (is_pattern(rule.struct) or all(scope.has_name(rule.struct) for scope in both)):
            continue
        exclusion = next(_exclusions(rule, reports), "")
        reason = exclusion or _lack(rule, scopes, reports)
        yield IdleRule(rule.id, rule.struct, reason, bool(exclusion))


def _exclusions(rule: Rule, reports: tuple[Report, Report]) -> Iterator[str]:
    for word, report in zip(("old", "new"), reports, strict=True):
        for skip in report.coverage.skipped:
            if skip.rule_id == rule.id:
                yield f"its `when` excludes the {word} input: {skip.reason}"


def _lack(rule: Rule, scopes: Scopes, reports: tuple[Report, Report]) -> str:
    """Return what neither input has of what a rule is about."""
    for finding in reports[1].findings:
        if finding.rule.id == rule.id and finding.struct is not None:
            return f"{finding.verdict.message} (in both inputs)"
    folders = {scope.missing_folder(rule.struct) for scope in (scopes.old, scopes.new)} - {""}
    if folders:
        return f"neither input has {min(folders)}, where it is defined"
    if is_pattern(rule.struct):
        reasons = {each.by: each.reason for report in reports for each in report.coverage.unresolved}
        return reasons.get(rule.id, "neither input has such a struct")
    return "neither input defines it"
