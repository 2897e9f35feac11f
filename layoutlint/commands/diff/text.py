"""Format `text` of `diff`: a report that fits into a mail, or a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.commands.diff import variable_phrases
from layoutlint.comparison.allocations import Allocators
from layoutlint.comparison.comparison import Comparison
from layoutlint.comparison.layouts import LayoutChange, NotCompared, Presence
from layoutlint.comparison.likely_sharing import LikelySharing
from layoutlint.comparison.standings import Status
from layoutlint.comparison.variables import TableComparison
from layoutlint.comparison.verdicts import RuleChange
from layoutlint.phrases import first_few, quantity
from layoutlint.reports import change_phrases as phrases
from layoutlint.reports import styled
from layoutlint.reports.styled import Line, line, paragraph

WIDTH = 75
_LEAST_WIDTH = 60
_MOST_IN_FULL = 10
"""The number of changed structs up to which each is described in full."""
_MOST_LISTED = 20
"""The length up to which lists are printed by default."""
_MOST_PAIRS = 3
_MOST_MOVES = 6
_MOST_RETYPED = 3
_MOST_VARIABLES = 8
_MOST_NAMES = 6
_MOST_LIKELY = 10
_MOST_IDLE = 3
"""The number of rules that compare nothing up to which each is named."""
_STYLES = {Status.WORSE: "bold red", Status.BETTER: "bold green"}


def render(comparison: Comparison, *, color: bool = False, width: int = WIDTH, verbose: bool = False) -> str:
    """Return the comparison as text, wrapped at `width` columns.

    With `verbose`, no list is shortened.
    """
    width = max(_LEAST_WIDTH, width)
    lines = _same(comparison, width) if comparison.is_silent else _lines(comparison, width, verbose)
    return styled.render_colored(lines) if color else styled.render_plain(lines)


def _same(comparison: Comparison, width: int) -> Iterator[Line]:
    """Yield what was compared if nothing differs; its notes are printed on stderr."""
    yield from paragraph("", phrases.sameness(comparison), width, "bold")
    yield from _exit(comparison, width)


def _lines(comparison: Comparison, width: int, verbose: bool) -> Iterator[Line]:
    for note in comparison.notes:
        yield from paragraph("note: ", note, width)
    for change in comparison.changed_rules:
        yield from _rule(change, width, verbose)
    if comparison.changed_rules:
        yield line()
    if comparison.likely is not None:
        yield from _likely_sharing_lines(comparison.likely, width, verbose)
    yield from _layouts(comparison, width, verbose)
    for table in comparison.variables.tables if comparison.variables is not None else ():
        yield from _variables(table, width, verbose)
    yield from _refusals(comparison.not_compared, width, verbose)
    yield from _idle_rules(comparison, width, verbose)
    yield from paragraph("", phrases.tally(comparison), width, "bold")
    yield from _exit(comparison, width)


def _exit(comparison: Comparison, width: int) -> Iterator[Line]:
    style = "bold red" if comparison.exit_status else "bold green"
    meaning = phrases.exit_meaning(comparison)
    yield from paragraph("", f"exit {comparison.exit_status}: {meaning}", width, style)


def _refusals(rows: tuple[NotCompared, ...], width: int, verbose: bool) -> Iterator[Line]:
    """Yield what could not be compared, and why; names with one reason together."""
    names: dict[str, list[str]] = {}
    for each in rows:
        names.setdefault(each.reason, []).append(each.name)
    if names:
        yield line(("not compared", "bold magenta"))
    for reason, group in names.items():
        shown = ", ".join(group) if verbose else first_few(group, _MOST_NAMES)
        yield from paragraph("  ", f"{shown}: {reason}", width)
    if names:
        yield line()


def _idle_rules(comparison: Comparison, width: int, verbose: bool) -> Iterator[Line]:
    rules = comparison.idle_rules
    if not rules:
        return
    if verbose or len(rules) <= _MOST_IDLE:
        yield line(("rules that compare nothing", "bold"))
        for row in phrases.idle_rules(rules):
            yield from paragraph("  ", row, width)
    else:
        yield from paragraph("", f"{len(rules):,} rules compare nothing (-v says why)", width)
    yield line()


def _rule(change: RuleChange, width: int, verbose: bool) -> Iterator[Line]:
    """Yield a rule in a line; the worst pairs of one that got worse, or all with `verbose`; and why."""
    yield from paragraph("", phrases.rule_change(change), width, _STYLES.get(change.status, ""))
    most = len(change.pairs) if verbose else _MOST_PAIRS if change.status is Status.WORSE else 0
    pairs = sorted(change.pairs, key=lambda pair: pair.shares[0] - pair.shares[1])
    for pair in pairs[:most]:
        yield from paragraph("  ", phrases.pair_change(pair), width)
    if 0 < most < len(change.pairs):
        yield line(f"  and {quantity(len(change.pairs) - most, 'more pair')} (-v shows all)")
    if change.status is Status.WORSE and change.rule.states_why:
        yield from paragraph("  why: ", change.rule.why, width)


def _likely_sharing_lines(likely: LikelySharing, width: int, verbose: bool) -> Iterator[Line]:
    """Yield the pairs of fields that are likely to disturb each other, best first."""
    yield from paragraph("", phrases.likely_heading(likely), width, "bold")
    shown = likely.pairs if verbose else likely.pairs[:_MOST_LIKELY]
    for rank, pair in enumerate(shown, 1):
        yield from paragraph(f"  {rank}. ", phrases.likely_pair(pair), width)
    left = len(likely.pairs) - len(shown)
    if left or likely.left_out:
        more = " (-v shows more)" if left else ""
        yield line(f"  and {left + likely.left_out:,} less likely{more}")
    yield line()


def _layouts(comparison: Comparison, width: int, verbose: bool) -> Iterator[Line]:
    """Yield the structs that were edited themselves; those that only contain one follow from it."""
    ruled = {change.struct for change in comparison.changed_rules}
    edited = [change for change in comparison.layouts.changes if not change.root]
    shown = [change for change in edited if change.presence in (Presence.BOTH, Presence.RENAMED)]
    in_full = [c for c in shown if c.name in ruled or _is_explained_by(ruled, c)]
    if verbose or len(shown) <= _MOST_IN_FULL:
        in_full = shown
    for change in in_full:
        yield from _struct(change, comparison.allocators, width, verbose)
        yield line()
    names = {change.name for change in in_full}
    yield from _list([change for change in edited if change.name not in names], width, verbose)
    yield from _retypings(phrases.retyped_alone(comparison), width, verbose)


def _retypings(changes: tuple[LayoutChange, ...], width: int, verbose: bool) -> Iterator[Line]:
    """Yield the structs whose own change is one of types."""
    shown = changes if verbose else changes[:_MOST_LISTED]
    for change in shown:
        text = phrases.retyped_struct(change, None if verbose else _MOST_RETYPED)
        yield from paragraph("", text, width)
    if len(shown) < len(changes):
        yield line(f"and {quantity(len(changes) - len(shown), 'struct')} more retyped (-v shows all)")
    if changes:
        yield line()


def _is_explained_by(ruled: set[str], change: LayoutChange) -> bool:
    """Return whether a rule got better or worse on a struct that contains this one."""
    return not ruled.isdisjoint(change.containers)


def _list(changes: list[LayoutChange], width: int, verbose: bool) -> Iterator[Line]:
    shown = changes if verbose or len(changes) <= _MOST_LISTED else changes[:_MOST_LISTED]
    for change in shown:
        yield from paragraph("", phrases.heading(change), width)
    if len(shown) < len(changes):
        yield line(f"and {quantity(len(changes) - len(shown), 'struct')} more (-v shows all)")
    if changes:
        yield line()


def _struct(change: LayoutChange, allocators: Allocators, width: int, verbose: bool) -> Iterator[Line]:
    yield from paragraph("", phrases.heading(change), width, "bold")
    if change.struct.source is not None:
        yield line("  --> ", (str(change.struct.source), "cyan"))
    for edit in change.edits.edits:
        yield from paragraph("  ", phrases.edit(edit), width)
    for text in _cut((*phrases.retypings(change), *phrases.unexplained_moves(change)), verbose):
        yield from paragraph("  ", text, width)
    moves = phrases.line_moves(change)
    shown = moves if verbose or len(moves) <= _MOST_MOVES else moves[:_MOST_MOVES]
    if moves:
        yield line("  on another line of an object that starts on one:")
    for move in shown:
        yield from paragraph("    ", phrases.move(move, change.struct.target.line_size), width)
    if len(shown) < len(moves):
        yield line(f"    and {len(moves) - len(shown)} more (-v shows all)")
    rows = (
        *_cut(tuple(phrases.straddles(change)), verbose),
        *phrases.allocations(change, allocators),
        *filter(None, (phrases.containers(change.containers),)),
    )
    for row in rows:
        yield from paragraph("  ", row, width)


def _cut(rows: tuple[str, ...], verbose: bool) -> Iterator[str]:
    """Yield the first rows, and how many there are more."""
    shown = rows if verbose else rows[:_MOST_MOVES]
    yield from shown
    if len(shown) < len(rows):
        yield f"and {len(rows) - len(shown)} more (-v shows all)"


def _variables(table: TableComparison, width: int, verbose: bool) -> Iterator[Line]:
    """Yield how the variables of two files compare; nothing if only their addresses differ."""
    if table.is_same:
        return
    yield from paragraph("", variable_phrases.heading(table), width, "bold")
    for block in variable_phrases.blocks(table):
        yield from paragraph("  ", block.title, width)
        shown = block.rows if verbose else block.rows[:_MOST_VARIABLES]
        for row in shown:
            yield from paragraph("    ", row, width)
        if len(shown) < len(block.rows):
            yield line(f"    and {len(block.rows) - len(shown):,} more (-v shows all)")
    yield line()
