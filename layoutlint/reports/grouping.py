"""Groups the findings of one rule on many containers, worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from layoutlint.judgement.finding import Finding
from layoutlint.judgement.verdict import Outcome
from layoutlint.phrases import quantity
from layoutlint.reports.finding_phrases import subject

SHOWN = 3
"""The number of findings of a group that are shown in full."""
_NAMED = 8
_WORST_FIRST = (Outcome.BROKEN, Outcome.AT_RISK, Outcome.UNKNOWN, Outcome.KEPT)


def group_findings(findings: Iterable[Finding]) -> list[tuple[Finding, ...]]:
    """Group the findings of each rule on surroundings, worst first; other findings stay alone."""
    groups: dict[object, list[Finding]] = {}
    for number, finding in enumerate(findings):
        key = number if finding.around is None else (finding.rule, finding.around.struct)
        groups.setdefault(key, []).append(finding)
    return [tuple(sorted(group, key=_weight)) for group in groups.values()]


def _weight(finding: Finding) -> tuple[int, float]:
    verdict = finding.verdict
    share = len(verdict.bases) / verdict.total if verdict.total else 0.0
    return _WORST_FIRST.index(verdict.outcome), -share


def summarize_others(group: tuple[Finding, ...], others: tuple[Finding, ...]) -> str:
    """Return a summary of the findings of a group that are not shown in full."""
    words = [f"{subject(finding)} {finding.verdict.outcome.value}" for finding in others[:_NAMED]]
    hidden = len(others) - _NAMED
    names = "; ".join(words) + (f"; and {hidden:,} more, which `--format json` has" if hidden > 0 else "")
    return f"{quantity(len(others), 'more place')} of {_subject(group)}: {names}"


def summarize_group(group: tuple[Finding, ...]) -> str:
    """Return a summary of a group: `struct rw_semaphore in 12 of its 57 places: 2 broken, 10 at-risk`."""
    counts = Counter(finding.verdict.outcome for finding in group)
    outcomes = ", ".join(
        f"{counts[outcome]:,} {outcome.value}" for outcome in _WORST_FIRST if counts[outcome]
    )
    around = group[0].around
    places = f"{around.places:,} place{'' if around.places == 1 else 's'}" if around else ""
    return f"{_subject(group)} in {len(group):,} of its {places}: {outcomes}"


def undeclared_places(findings: Iterable[Finding]) -> list[str]:
    """Return, for each rule on surroundings, in how many places no declared field matches it."""
    around_of = {finding.rule.id: finding.around for finding in findings if finding.around is not None}
    return [
        f"{id_}: judged at {around.judged:,} of the {around.places:,} places of struct {around.struct} in "
        f"other structs; beside the others, no declared field matches the rule"
        for id_, around in sorted(around_of.items())
        if around.judged < around.places
    ]


def _subject(group: tuple[Finding, ...]) -> str:
    around = group[0].around
    return f"struct {around.struct}" if around is not None else ""
