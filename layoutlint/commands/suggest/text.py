"""Format `text` of `suggest`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint.commands import order_phrases as phrases
from layoutlint.commands.suggest import builds
from layoutlint.phrases import quantity
from layoutlint.reports import styled
from layoutlint.reports.styled import Line, line, paragraph
from layoutlint.sources.order_uses import OrderUse
from layoutlint.suggestion.contention import Contention
from layoutlint.suggestion.orders.result import RuleOutcome, Suggestion

_MOST_REFUSALS = 20
_MOST_ALTERNATIVES = 3
_MOST_PAIRS = 8
_GENERAL = (
    *("files that do not name", "conversions through `void *` without a cast"),
    *("what functions reach from an address", "texts too long for their member"),
)
"""How the limits of every search begin."""


def render(results: Sequence[Suggestion], *, color: bool = False, width: int = 100) -> str:
    """Return each order with its moves, the rules before and after, and what the sources say about it."""
    lines = _all_lines(results, width)
    return styled.render_colored(lines) if color else styled.render_plain(lines)


def _all_lines(results: Sequence[Suggestion], width: int) -> Iterator[Line]:
    for number, result in enumerate(results):
        if number:
            yield line()
        yield from _lines(result, width)


def _lines(result: Suggestion, width: int) -> Iterator[Line]:
    place = "" if result.struct.source is None else f", {result.struct.source}"
    yield from paragraph("", f"{phrases.title(result.struct)}{place}", width, "bold")
    yield from paragraph("", phrases.headline(result), width)
    if result.contention is not None:
        yield from _contention(result.contention, width)
    for number, rule in enumerate(result.core):
        place = f"{rule.source}{builds.core_place(result, number)}"
        yield from paragraph(f"  {rule.id}: ", f"{rule.why} ({place})", width)
    if result.core and not result.is_core_minimal:
        yield from paragraph("  ", "perhaps fewer of them contradict one another: raise --effort", width)
    yield from _refusals(result, width)
    is_mended_otherwise = result.status == "infeasible" and bool(result.alternatives)
    if is_mended_otherwise:
        yield from _alternatives(result, width)
    if result.new is not None and (result.is_change or not is_mended_otherwise):
        yield from _order(result, width)
    if not is_mended_otherwise:
        yield from _alternatives(result, width)
    yield from _notes(result, width)


def _contention(contention: Contention, width: int) -> Iterator[Line]:
    yield from paragraph("  ", contention.effect, width)
    rows = [*contention.pair_lines[:_MOST_PAIRS], *contention.staying_lines[:_MOST_PAIRS]]
    for text in rows:
        yield from paragraph("    ", text, width)
    hidden = len(contention.pairs) + len(contention.stays) - len(rows)
    if hidden:
        yield line(f"    and {hidden} more (--format json has all)")


def _alternatives(result: Suggestion, width: int) -> Iterator[Line]:
    for number, alternative in enumerate(result.alternatives[:_MOST_ALTERNATIVES]):
        if not number:
            what = "what keeps all rules" if result.contention is None else "what leaves less contention"
            yield line(f"{what} (--alternative N makes a patch of it):")
        yield from paragraph(f"  {number + 1}. ", phrases.alternative(alternative, result), width)


def _order(result: Suggestion, width: int) -> Iterator[Line]:
    if result.status == "infeasible":
        yield line("the order that keeps the most rules:")
    elif result.status == "refused":
        yield line("the order that was found:")
    for move, text in zip(result.moves, phrases.moves(result), strict=True):
        why = phrases.reason_of(result, move, result.opened)
        yield from paragraph("  ", f"move {text}{why and f': {why}'}", width)
    aims = phrases.aims(result, result.status == "optimal")
    yield from paragraph("  ", aims + phrases.doubt(result), width)
    if frontier := phrases.frontier(result):
        yield from paragraph("  ", f"{frontier}: --moves N takes fewer", width)
    if result.rules:
        yield line()
        if result.builds:
            yield from builds.rule_lines(result, width)
        else:
            for outcome in result.rules:
                yield from _rule(outcome, width)
    if result.is_change:
        yield line()
        yield from builds.table_lines(result, width) if result.builds else _table(result)


def _rule(outcome: RuleOutcome, width: int) -> Iterator[Line]:
    before, after = outcome.before.outcome.value, outcome.after.outcome.value
    change = after if before == after else f"{before} -> {after}"
    style = "green" if after == "kept" else "red"
    yield line("  ", (change, style), f"  {outcome.rule.id}")
    yield from paragraph("    ", outcome.after.message, width)
    if outcome.reason:
        yield from paragraph("    ", f"only judged, not searched for: {outcome.reason}", width)


def _table(result: Suggestion) -> Iterator[Line]:
    rows = phrases.layout_rows(result)
    columns = zip(("offset", "before", "size"), *(row[:3] for row in rows), strict=True)
    sizes = [max(map(len, column)) for column in columns]
    head = zip(("offset", "before", "size"), sizes, strict=True)
    yield line(("  " + "  ".join(name.rjust(size) for name, size in head) + "  member", "dim"))
    for *numbers, name, mark in rows:
        cells = "  ".join(cell.rjust(size) for cell, size in zip(numbers, sizes, strict=True))
        yield line(f"  {cells}  ", (name, "bold" if mark else ""), f"  <- {mark}" if mark else "")


def _refusals(result: Suggestion, width: int) -> Iterator[Line]:
    if not result.refusals or result.reason:
        return
    yield line("suggested in spite of:" if result.is_forced else "what depends on the order:")
    for refusal in result.refusals[:_MOST_REFUSALS]:
        yield from paragraph("  ", str(refusal), width)
    if len(result.refusals) > _MOST_REFUSALS:
        yield line(f"  and {len(result.refusals) - _MOST_REFUSALS} more (--format json has all)")
    if not result.is_forced:
        yield from paragraph("  ", "--force suggests the order without regard to them", width)


def _place(use: OrderUse) -> str:
    return use.file if use.line is None else f"{use.file}:{use.line}"


def _limit_notes(sentences: Sequence[str]) -> Iterator[str]:
    """Yield what was not searched in this run, and the number of the limits that every search has."""
    shown = [text for text in sentences if not text.startswith(_GENERAL)] or list(sentences[:1])
    hidden = len(sentences) - len(shown)
    for number, text in enumerate(shown, 1):
        is_last = hidden and number == len(shown)
        more = f"; and {hidden} more (--format json has all)" if is_last else ""
        yield f"not searched: {text}{more}"


def _notes(result: Suggestion, width: int) -> Iterator[Line]:
    looked = result.looked_at
    notes = [f"{_place(use)}: {use.text}" for use in result.hints]
    if looked.sources or looked.headers:
        notes.append(
            f"searched for what depends on the order: {quantity(looked.sources, 'source')} and "
            f"{quantity(looked.headers, 'header')}, {looked.mentioning} of which name the struct"
        )
    notes += _limit_notes(result.not_looked_at)
    notes += result.notes
    if result.patch is not None:
        notes += result.patch.notes
        if result.patch.diff:
            notes.append("--patch prints the change as a patch, --write makes it")
    elif result.no_patch and result.is_change:
        notes.append(f"no patch: {result.no_patch}")
    if notes:
        yield line()
    for note in notes:
        yield from paragraph("note: ", note, width)
