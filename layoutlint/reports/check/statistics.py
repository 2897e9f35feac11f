"""The table of `--statistics`: the number of findings of each rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from layoutlint.judgement.finding import Finding, State
from layoutlint.judgement.rule import Rule
from layoutlint.reports.finding_phrases import outcome
from layoutlint.reports.styled import Line, line


def statistics_table(findings: Iterable[Finding]) -> Iterator[Line]:
    """Yield a row for each rule with findings, those with the most first; nothing without findings."""
    counts: dict[Rule, Counter[str]] = {}
    for finding in findings:
        known = "known" if finding.state is State.KNOWN else outcome(finding)
        word = "suppressed" if finding.suppressed is not None else known
        counts.setdefault(finding.rule, Counter())[word] += 1
    rows = sorted(counts.items(), key=lambda row: (-row[1].total(), row[0].id, str(row[0].source)))
    if not rows:
        return
    column = max(len(rule.id) for rule in counts)
    yield line(("   count  severity  rule", "dim"))
    for rule, of_rule in rows:
        outcomes = ", ".join(f"{number:,} {word}" for word, number in of_rule.items())
        yield line(
            f"{of_rule.total():>8,}  {rule.severity.value:<8}  ",
            (f"{rule.id:<{column}}", "bold"),
            f"  {outcomes}",
        )
    yield line()
