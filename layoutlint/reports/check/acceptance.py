"""Texts to paste to accept one finding: a suppression in the source, or a line of a baseline."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.comparison.baseline_match import Entry, can_be_accepted
from layoutlint.comparison.baseline_row import row
from layoutlint.comparison.standings import finding_key, standing
from layoutlint.judgement.finding import Finding
from layoutlint.judgement.rule import VARIABLES
from layoutlint.judgement.verdict import Outcome
from layoutlint.reports.styled import Line, line

_MOST_BUILDS = 5


def suppression(finding: Finding) -> str | None:
    """Return the comment that suppresses a finding at its place; None if no comment can."""
    rule = finding.rule
    if finding.struct is None or rule.struct == VARIABLES or {"[", "]"} & set(rule.id):
        return None
    return f"/* layoutlint: ignore[{rule.id}] REASON */"


def acceptance_lines(finding: Finding) -> Iterator[Line]:
    """Yield the texts that accept a finding; nothing for one that does not count, or is unknown.

    They are not wrapped, so that they can be copied.
    """
    rule = finding.rule
    failing = [
        (name, each)
        for name, each in finding.builds or (("", finding),)
        if can_be_accepted(each) and not each.is_accepted and each.verdict.outcome is not Outcome.UNKNOWN
    ]
    if not failing or rule.kind.traits.is_built_in:
        return
    comment = suppression(finding)
    if comment is not None:
        yield line("  to accept it: ", comment, f" at {finding.place}")
    yield line("  or in a baseline:" if len(failing) == 1 else "  or in a baseline, for each build:")
    for name, each in failing[:_MOST_BUILDS]:
        yield line(f"    {row(Entry(finding_key(each), name, standing(each)))},")
    if len(failing) > _MOST_BUILDS:
        yield line(f"    and {len(failing) - _MOST_BUILDS} more: `layoutlint baseline update` writes them")
