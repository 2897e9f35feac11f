"""Format `text` of `bisect`."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.comparison.bisection import Trial
from layoutlint.comparison.search_result import SearchResult, TriedCommit
from layoutlint.phrases import quantity
from layoutlint.reports import styled
from layoutlint.reports.styled import Line, line, paragraph

_ABBREVIATED = 12


def render(result: SearchResult, *, color: bool = False, width: int = 75) -> str:
    """Return the commit that changed the verdict, or the range that contains it."""
    lines = _lines(result, width)
    return styled.render_colored(lines) if color else styled.render_plain(lines)


def _lines(result: SearchResult, width: int) -> Iterator[Line]:
    if result.first_bad is not None:
        yield from paragraph("", f"{result.rule} got worse in this commit:", width, "bold")
        yield from _commit(result.first_bad, width)
    else:
        number = quantity(len(result.suspects), "commit")
        yield from paragraph("", f"{result.rule} got worse in one of {number}, oldest first:", width, "bold")
        for suspect in result.suspects:
            yield from _commit(suspect, width)
    yield line()
    yield from paragraph("  before: ", result.before, width)
    yield from paragraph("  after: ", result.after, width)
    skipped = sum(tried.trial is Trial.SKIPPED for tried in result.tried)
    yield line()
    for database in result.flags_from:
        yield from paragraph("flags from ", database, width)
    yield line(f"{quantity(len(result.tried), 'commit')} tried, {skipped} of them could not be judged")


def _commit(tried: TriedCommit, width: int) -> Iterator[Line]:
    reason = f" (not judged: {tried.reason})" if tried.trial is Trial.SKIPPED else ""
    yield from paragraph(f"  {tried.id[:_ABBREVIATED]} {tried.date} ", f"{tried.subject}{reason}", width)
