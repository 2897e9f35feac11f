"""Format `text` of `suggest --smallest` without STRUCT: a row for each struct that could be smaller."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint.commands.suggest import smallest_phrases as phrases
from layoutlint.commands.suggest.candidates import Candidate, Smaller
from layoutlint.reports import styled
from layoutlint.reports.styled import Line, line, paragraph

_INDENT = " " * 8


def render(result: Smaller, *, color: bool = False, width: int = 100) -> str:
    """Return the structs, the most bytes first; behind them those that are not proposed."""
    lines = _lines(result, width)
    return styled.render_colored(lines) if color else styled.render_plain(lines)


def _lines(result: Smaller, width: int) -> Iterator[Line]:
    yield from paragraph("", phrases.summary(result), width, "bold")
    own = [one for one in result.candidates if one.bytes_saved]
    sections = (
        ("", [one for one in own if not one.refusals]),
        ("smaller by orders inside of members:", [one for one in result.candidates if not one.bytes_saved]),
        ("something depends on the order:", [one for one in own if one.refusals]),
    )
    for title, rows in sections:
        if rows:
            yield line()
            yield from (line(title),) if title else ()
            yield from _table(rows, width)
    yield line()
    for note in phrases.notes(result):
        yield from paragraph("note: ", note, width)


def _table(rows: Sequence[Candidate], width: int) -> Iterator[Line]:
    yield line(("     saved    size   least  moves  struct", "dim"))
    for one in rows:
        numbers = f"{phrases.savings(one):>10}{one.size:>8,}{phrases.least(one):>8}{phrases.moves(one):>7}  "
        yield line(numbers, (phrases.name(one), "bold"))
        for text in phrases.details(one):
            yield from paragraph(_INDENT, text, width)
