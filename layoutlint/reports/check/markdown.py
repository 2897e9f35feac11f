"""Format `markdown`: a summary for a CI job or a code review."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.judgement.finding import Report
from layoutlint.reports.check.diagnostics import Diagnostic, diagnostics
from layoutlint.reports.escaped_markdown import code, text
from layoutlint.reports.finding_phrases import exit_meaning, tally

_MOST_CHARACTERS = 60_000
"""GitHub allows 65,536 in a comment."""


def render(report: Report) -> str:
    """Return a table of what counts; rows that exceed 60,000 characters are only counted."""
    head = f"### layoutlint: {text(exit_meaning(report))}\n\n{text(tally(report))}\n"
    return head + "".join(_table(tuple(diagnostics(report)), _MOST_CHARACTERS - len(head)))


def _table(rows: tuple[Diagnostic, ...], room: int) -> Iterator[str]:
    if not rows:
        return
    yield "\n| severity | rule | place | finding |\n|---|---|---|---|\n"
    for number, row in enumerate(rows):
        line = _row(row)
        room -= len(line)
        if room < 0:
            yield f"\n{len(rows) - number:,} more did not fit into this comment.\n"
            return
        yield line


def _row(row: Diagnostic) -> str:
    advice = f"<br>{text(row.advice)}" if row.advice else ""
    origins = "".join(f"<br>{text(origin)}" for origin in row.origins)
    return (
        f"| {row.severity} | {code(row.rule)} | {code(row.place)} | {text(row.message)}{origins}{advice} |\n"
    )
