"""Outcomes of a rule in the builds of a matrix, summarised."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from layoutlint.judgement.finding import Finding, State
from layoutlint.judgement.verdict import WORST_FIRST, Outcome
from layoutlint.model.build import Build, short_name
from layoutlint.phrases import quantity

BuildFinding = tuple[str, Finding]
"""The name of a build, and the finding of a rule in it."""

_MOST_SHARES = 3


def sort_worst_first(judged: Iterable[BuildFinding]) -> list[BuildFinding]:
    """Sort by outcome, with the builds of each outcome in the order of the matrix, and accepted failures
    behind the others.
    """
    return sorted(judged, key=_badness)


def _badness(judged: BuildFinding) -> tuple[int, int]:
    finding = judged[1]
    outcome = finding.verdict.outcome
    rank = 2 if outcome is Outcome.KEPT else 1 if finding.is_accepted else 0
    return rank, WORST_FIRST.index(outcome)


def worst_by_build(judged: Iterable[BuildFinding]) -> dict[str, Finding]:
    """Return the worst finding of each build."""
    findings: dict[str, Finding] = {}
    for name, finding in sort_worst_first(judged):
        findings.setdefault(name, finding)
    return findings


def summarise_builds(judged: Sequence[BuildFinding], builds: tuple[Build, ...]) -> str:
    """Summarise: `broken in arm-*-lockdep, next; at-risk (2 of 8) in cloud; kept in 6 others`."""
    findings = worst_by_build(judged)
    groups: dict[str, list[str]] = {}
    for name, finding in findings.items():
        groups.setdefault(_format_outcome(finding), []).append(name)
    groups = _merge_at_risk(groups)
    parts = []
    for outcome, names in groups.items():
        is_rest = outcome == Outcome.KEPT.value and len(groups) > 1
        parts.append(
            f"{outcome} in {quantity(len(names), 'other') if is_rest else short_name(names, builds)}"
        )
    unjudged = len(builds) - len(findings)
    return "; ".join((*parts, *([f"not judged in {unjudged}"] if unjudged else [])))


def _format_outcome(finding: Finding) -> str:
    """Return the outcome, with the share of placements if it is at-risk."""
    verdict = finding.verdict
    known = "known to be " if finding.state is State.KNOWN else ""
    if verdict.outcome is not Outcome.AT_RISK:
        return f"{known}{verdict.outcome.value}"
    return f"{known}{verdict.outcome.value} ({len(verdict.bases)} of {verdict.total})"


def _merge_at_risk(groups: dict[str, list[str]]) -> dict[str, list[str]]:
    """Merge the groups at risk into one if they differ in many shares."""
    risk = Outcome.AT_RISK.value
    if sum(outcome.startswith(risk) for outcome in groups) <= _MOST_SHARES:
        return groups
    joined: dict[str, list[str]] = {}
    for outcome, names in groups.items():
        joined.setdefault(risk if outcome.startswith(risk) else outcome, []).extend(names)
    return joined
