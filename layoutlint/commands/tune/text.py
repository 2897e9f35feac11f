"""Format `text` of `tune`."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.commands import order_phrases as phrases
from layoutlint.commands.tune.result import Tuned
from layoutlint.reports import styled
from layoutlint.reports.styled import Line, line, paragraph

_MOST = 12


def render(result: Tuned, *, color: bool = False, width: int = 100) -> str:
    """Return the contention, the order, what else changes, and what was measured."""
    lines = _lines(result, width)
    text = styled.render_colored(lines) if color else styled.render_plain(lines)
    return text + "".join(f"{row}\n" for row in result.diff)


def _lines(result: Tuned, width: int) -> Iterator[Line]:
    suggestion = result.suggestion
    place = "" if suggestion.struct.source is None else f", {suggestion.struct.source}"
    yield from paragraph("", f"{phrases.title(suggestion.struct)}{place}", width, "bold")
    yield from _section("contended", list(_contention(result)), width)
    yield from _section("order", list(_order(result)), width)
    changes = result.changes or [f"not compared: {result.not_compared}"] * bool(result.not_compared)
    yield from _section("what else changes", changes, width)
    yield from _measurement(result, width)
    yield from _section("notes", list(_notes(result)), width)
    if result.diff:
        yield line()
        yield line(("patch", "bold"))


def _section(title: str, texts: list[str], width: int, most: int = _MOST) -> Iterator[Line]:
    if not texts:
        return
    yield line()
    yield line((title, "bold"))
    for text in texts[:most]:
        yield from paragraph("  ", text, width)
    if len(texts) > most:
        yield line(f"  and {len(texts) - most} more (--format json has all)")


def _contention(result: Tuned) -> Iterator[str]:
    contention = result.suggestion.contention
    if contention is not None:
        yield contention.effect
        yield from contention.pair_lines
        yield from contention.staying_lines
    yield from result.certainties


def _order(result: Tuned) -> Iterator[str]:
    suggestion = result.suggestion
    yield phrases.headline(suggestion)
    yield from (f"{rule.id}: {rule.why} ({rule.source})" for rule in suggestion.core)
    yield from (str(refusal) for refusal in suggestion.refusals)
    for move, text in zip(suggestion.moves, phrases.moves(suggestion), strict=True):
        why = phrases.reason_of(suggestion, move, suggestion.opened)
        yield f"move {text}{why and f': {why}'}"
    for each in suggestion.alternatives[:3]:
        yield f"or {phrases.alternative(each, suggestion, with_reasons=False)}"


def _measurement(result: Tuned, width: int) -> Iterator[Line]:
    effect = result.effect
    if effect is None:
        yield from _section("measured", [f"nothing: {result.not_measured}"], width)
        return
    what = "cores repeat the accesses of the profile; ratios over all placements"
    yield from _section("measured", [what, *result.ratios, *result.method], width, 100)


def _notes(result: Tuned) -> Iterator[str]:
    suggestion = result.suggestion
    yield from suggestion.notes
    yield from (f"not searched: {text}" for text in suggestion.not_looked_at)
    if suggestion.patch is None and suggestion.no_patch and suggestion.is_change:
        yield f"no patch: {suggestion.no_patch}"
