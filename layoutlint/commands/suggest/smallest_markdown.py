"""Format `markdown` of `suggest --smallest` without STRUCT: a table for issues and reviews."""

from __future__ import annotations

from layoutlint.commands.suggest import smallest_phrases as phrases
from layoutlint.commands.suggest.candidates import Candidate, Smaller
from layoutlint.reports.escaped_markdown import code, plain, text

_HEAD = "| saved | size | least | moves | struct | details |"
_MOST_ROWS = 200
"""The most structs that are listed: GitHub allows 65,536 characters in a comment."""


def render(result: Smaller) -> str:
    """Return a heading, a table of the structs with the most bytes, and notes."""
    rows = [_row(one) for one in result.candidates[:_MOST_ROWS]]
    hidden = len(result.candidates) - len(rows)
    more = [f"\n{hidden:,} more are in `--format json`."] if hidden else []
    table = [_HEAD, "|---:|---:|---:|---:|---|---|", *rows, *more, ""]
    notes = [f"> {text(note)}\n" for note in phrases.notes(result)]
    return "\n".join((f"### {text(phrases.summary(result))}\n", *(table if rows else ()), *notes))


def _row(one: Candidate) -> str:
    place = "" if one.source is None else f" {plain(str(one.source))}"
    cells = (
        phrases.savings(one),
        f"{one.size:,}",
        plain(phrases.least(one)),
        plain(phrases.moves(one)),
        f"{code(one.name)}{place}",
        "<br>".join(text(detail) for detail in phrases.details(one)),
    )
    return f"| {' | '.join(cells)} |"
