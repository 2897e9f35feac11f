"""The order of findings: what fails the run first, and the worst of it first."""

from __future__ import annotations

from collections.abc import Iterable

from layoutlint.judgement.finding import Finding, State
from layoutlint.judgement.messages import finding_message
from layoutlint.judgement.rule import Severity
from layoutlint.judgement.verdict import WORST_FIRST, Outcome
from layoutlint.lint.options import Options
from layoutlint.model.build import Build


def order_findings(
    findings: Iterable[Finding], options: Options, builds: tuple[Build, ...] = ()
) -> list[Finding]:
    """Return findings in the order in which they are printed.

    What fails the run comes first, then what makes it say that something could not be judged. Among equals,
    errors come before warnings and notes, new and worse findings before accepted ones, broken before at-risk,
    own rules before shipped ones, the greatest share of placements, and then the order of files and lines.
    """
    has_only_broken = options.strictness.fail_on is Outcome.BROKEN
    fails = (Outcome.BROKEN,) if has_only_broken else (Outcome.BROKEN, Outcome.AT_RISK)
    return sorted(findings, key=lambda finding: (_weight(finding, fails), _place(finding, builds)))


def _weight(finding: Finding, fails: tuple[Outcome, ...]) -> tuple[int, int, bool, int, bool, float]:
    severity, verdict = finding.rule.severity, finding.verdict
    effect = 2 if not finding.counts else 0 if verdict.outcome in fails else 1
    return (
        effect,
        list(Severity).index(severity),
        finding.is_accepted or finding.state is State.NOT_COMPARED,
        WORST_FIRST.index(verdict.outcome),
        finding.rule.shipped,
        -verdict.share,
    )


def _place(finding: Finding, builds: tuple[Build, ...]) -> tuple[str, int, str, str, str, str]:
    place = finding.place
    name = finding.struct.name if finding.struct else finding.rule.struct
    return place.file, place.line or 0, name, finding.rule.id, finding.input, finding_message(finding, builds)
