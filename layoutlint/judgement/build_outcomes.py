"""What a rule came to in the builds of a matrix, in few words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from layoutlint.judgement.finding import Finding
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.build import Build, named
from layoutlint.phrases import counted

Judged = tuple[str, Finding]
"""The name of a build, and what a rule is there."""

_WORST = (Outcome.BROKEN, Outcome.AT_RISK, Outcome.UNKNOWN, Outcome.KEPT)
_MOST_SHARES = 3


def worst_first(found: Iterable[Judged]) -> list[Judged]:
    """By outcome, the builds of each in the order of the matrix."""
    return sorted(found, key=lambda judged: _WORST.index(judged[1].verdict.outcome))


def worst(found: Iterable[Judged]) -> dict[str, Finding]:
    """For each build the worst of its definitions."""
    told: dict[str, Finding] = {}
    for name, finding in worst_first(found):
        told.setdefault(name, finding)
    return told


def spread(found: Sequence[Judged], builds: tuple[Build, ...]) -> str:
    """`broken in arm-*-lockdep, next; at-risk (2 of 8) in cloud; kept in 6 others`."""
    told = worst(found)
    groups: dict[str, list[str]] = {}
    for name, finding in told.items():
        groups.setdefault(_outcome(finding), []).append(name)
    groups = _fewer(groups)
    said = []
    for outcome, names in groups.items():
        is_rest = outcome == Outcome.KEPT.value and len(groups) > 1
        said.append(f"{outcome} in {counted(len(names), 'other') if is_rest else named(names, builds)}")
    left = len(builds) - len(told)
    return "; ".join((*said, *([f"not judged in {left}"] if left else [])))


def _outcome(finding: Finding) -> str:
    """The outcome, for one that depends on the placement with how often."""
    verdict = finding.verdict
    if verdict.outcome is not Outcome.AT_RISK:
        return str(verdict.outcome.value)
    return f"{verdict.outcome.value} ({len(verdict.bases)} of {verdict.total})"


def _fewer(groups: dict[str, list[str]]) -> dict[str, list[str]]:
    """The groups, with those at risk as one where their shares are many."""
    risk = Outcome.AT_RISK.value
    if sum(outcome.startswith(risk) for outcome in groups) <= _MOST_SHARES:
        return groups
    joined: dict[str, list[str]] = {}
    for outcome, names in groups.items():
        joined.setdefault(risk if outcome.startswith(risk) else outcome, []).extend(names)
    return joined
