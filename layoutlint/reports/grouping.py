"""Findings of one rule in many containers: the worst of them, and how many there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from layoutlint.judgement.finding import Finding
from layoutlint.judgement.verdict import Outcome
from layoutlint.phrases import counted
from layoutlint.reports.finding_phrases import described

SHOWN = 3
"""So many findings of a rule on surroundings are shown in full."""
_NAMED = 8
_WORST_FIRST = (Outcome.BROKEN, Outcome.AT_RISK, Outcome.UNKNOWN, Outcome.KEPT)


def gathered(findings: Iterable[Finding]) -> list[tuple[Finding, ...]]:
    """Those of one rule on the surroundings of a struct together, worst first; every other by itself."""
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        key = id(finding) if finding.around is None else (finding.rule, finding.around.struct)
        groups.setdefault(key, []).append(finding)
    return [tuple(sorted(group, key=_weight)) for group in groups.values()]


def _weight(finding: Finding) -> tuple[int, float]:
    verdict = finding.verdict
    share = len(verdict.bases) / verdict.total if verdict.total else 0.0
    return _WORST_FIRST.index(verdict.outcome), -share


def the_rest(group: tuple[Finding, ...], rest: tuple[Finding, ...]) -> str:
    """What a group holds besides the findings that are shown in full."""
    named = [f"{described(finding)} {finding.verdict.outcome.value}" for finding in rest[:_NAMED]]
    more = len(rest) - _NAMED
    names = "; ".join(named) + (f"; and {more:,} more, which `--format json` has" if more > 0 else "")
    return f"{counted(len(rest), 'more place')} of {_held(group)}: {names}"


def in_places(group: tuple[Finding, ...]) -> str:
    """A group in a few words: `struct rw_semaphore in 12 of its 57 places: 2 broken, 10 at-risk`."""
    counts = Counter(finding.verdict.outcome for finding in group)
    told = ", ".join(f"{counts[outcome]:,} {outcome.value}" for outcome in _WORST_FIRST if counts[outcome])
    around = group[0].around
    places = f"{around.places:,} place{'' if around.places == 1 else 's'}" if around else ""
    return f"{_held(group)} in {len(group):,} of its {places}: {told}"


def silent(findings: Iterable[Finding]) -> list[str]:
    """Of each rule on surroundings, in how many places nothing is declared that it speaks of."""
    found = {f.rule.id: f.around for f in findings if f.around is not None}
    return [
        f"{id_}: judged at {around.judged:,} of the {around.places:,} places of struct {around.struct} in "
        f"other structs; nothing that it speaks of is declared beside the others"
        for id_, around in sorted(found.items())
        if around.judged < around.places
    ]


def _held(group: tuple[Finding, ...]) -> str:
    around = group[0].around
    return f"struct {around.struct}" if around is not None else ""
