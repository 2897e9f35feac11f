"""Format `text` of `bisect`."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.commands.history.bisection import Trial
from layoutlint.commands.history.search_result import SearchResult, TriedCommit, VerdictChange
from layoutlint.phrases import quantity
from layoutlint.reports import styled
from layoutlint.reports.styled import Line, line, paragraph

_ABBREVIATED = 12


def render(result: SearchResult, *, color: bool = False, width: int = 75) -> str:
    """Return the commits that changed the verdict, or the ranges that contain them."""
    lines = _lines(result, width)
    return styled.render_colored(lines) if color else styled.render_plain(lines)


def _lines(result: SearchResult, width: int) -> Iterator[Line]:
    for change in result.changes:
        yield from _change(result.rule, change, width)
        yield line()
    for database in result.flags_from:
        yield from paragraph("flags from ", database, width)
    if result.not_judged:
        number = quantity(result.not_judged, "commit")
        verb = "changes" if result.not_judged == 1 else "change"
        text = (
            f"{number} not judged that {verb} a file from which the rule was read: the verdict can have "
            "changed there and back (`--all` judges them; if PATH is the header of the struct, fewer count)"
        )
        yield from paragraph("", text, width)
    skipped = sum(tried.trial is Trial.SKIPPED for tried in result.tried)
    yield line(f"{quantity(len(result.tried), 'commit')} tried, {skipped} of them could not be judged")


def _change(rule: str, change: VerdictChange, width: int) -> Iterator[Line]:
    start = f"{rule} got {'worse' if change.is_worse else 'better'} in"
    number = quantity(len(change.suspects), "commit")
    head = f"{start} one of {number}, oldest first:" if change.commit is None else f"{start} this commit:"
    yield from paragraph("", head, width, "bold")
    for suspect in change.suspects:
        yield from _commit(suspect, width)
    yield line()
    yield from paragraph("  before: ", change.before, width)
    yield from paragraph("  after: ", change.after, width)


def _commit(tried: TriedCommit, width: int) -> Iterator[Line]:
    reason = f" (not judged: {tried.reason})" if tried.trial is Trial.SKIPPED else ""
    yield from paragraph(f"  {tried.id[:_ABBREVIATED]} {tried.date} ", f"{tried.subject}{reason}", width)
