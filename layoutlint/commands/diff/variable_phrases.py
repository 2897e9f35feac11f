"""Phrases on variables, shared by the formats of `diff` for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from layoutlint.comparison.layouts import Presence
from layoutlint.comparison.variable_causes import Cause, CauseKind
from layoutlint.comparison.variables import Neighbour, TableComparison, VariableChange
from layoutlint.model.record import Record
from layoutlint.phrases import first_few, quantity

_MOST_NEIGHBOURS = 8
_MOST_PARAGRAPHS = 20
"""The number of changed variables up to which each has a paragraph of its own."""
_CAUSES = {
    CauseKind.ADDED: "was added, {new} bytes",
    CauseKind.REMOVED: "was removed, {old} bytes",
    CauseKind.RESIZED: "{old} -> {new} bytes",
    CauseKind.REORDERED: "is at another place",
    CauseKind.NUMBERED: "{old} -> {new} bytes in all variables of this name",
    CauseKind.PLACED: "has another alignment or place behind the same variables",
}


class Block(Record, frozen=True):
    """A title with rows below it."""

    title: str
    rows: tuple[str, ...]


def heading(table: TableComparison) -> str:
    """Return how many variables of a file share lines with others than before."""
    name = f"variables of {table.label}" if table.label else "variables"
    figures = f"{table.regrouped:,} of {table.compared:,} share a line with others than before"
    return f"{name}: {figures}" if table.regrouped else f"{name}: {table.compared:,} compared"


def blocks(table: TableComparison) -> Iterator[Block]:
    """Yield what to print of a file: variables that something names, kinds of changes, causes, sections."""
    described = [change for change in table.changes if is_described(table, change)]
    for change in described:
        yield Block(variable(change), tuple(_details(change)))
    rest = [change for change in table.changes if change not in described]
    yield from _section_moves(rest)
    for kind in _KINDS:
        chosen = sorted(filter(kind.has, rest), key=kind.order)
        if chosen:
            yield Block(f"{kind.title} ({len(chosen):,})", tuple(map(kind.phrase, chosen)))
    causes = tuple(cause(each) for each in table.causes if each.regrouped)
    if causes:
        yield Block(f"what moved variables to other lines ({len(causes):,})", causes)
    if table.regrouped > _MOST_PARAGRAPHS and len(table.sections) > 1:
        sections = (each for each in table.sections if each.regrouped)
        rows = tuple(f"{s.name}: {s.regrouped:,} of {quantity(s.variables[1], 'variable')}" for s in sections)
        yield Block("sections of variables that share lines with others", rows)


def is_described(table: TableComparison, change: VariableChange) -> bool:
    """Return whether a variable gets a paragraph of its own: something names it, or few changed."""
    is_both = change.old is not None and change.new is not None
    are_few = max(table.regrouped, len(table.changes)) <= _MOST_PARAGRAPHS
    return change.is_named or (is_both and are_few)


def variable(change: VariableChange) -> str:
    """Return a variable with its section, file and size: ``foo` (.data, core.c): 8 -> 72 bytes`."""
    each = change.variable
    where = ", ".join(filter(None, (_section(change), each.unit)))
    return f"`{each.name}` ({where}): {_size(change)}"


def _section(change: VariableChange) -> str:
    old, new = change.sections
    return f"{old} -> {new}" if old and new and old != new else new or old


def _size(change: VariableChange) -> str:
    if change.old is None or change.new is None:
        only = {Presence.ADDED: "added, ", Presence.REMOVED: "removed, "}[change.presence]
        return f"{'' if change.constant_section else only}{quantity(change.variable.size, 'byte')}"
    renamed = f"renamed, was `{change.old.name}`, " if change.presence is Presence.RENAMED else ""
    sizes = change.old.size, change.new.size
    return (
        f"{renamed}{sizes[0]:,} -> {sizes[1]:,} bytes"
        if sizes[0] != sizes[1]
        else (f"{renamed}{quantity(sizes[1], 'byte')}")
    )


def _details(change: VariableChange) -> Iterator[str]:
    """Yield what differs on the lines of a variable."""
    if change.presence in (Presence.BOTH, Presence.RENAMED):
        yield from filter(None, (_straddles(change), _sole_use_phrase(change)))
    if change.gained and change.presence is not Presence.REMOVED:
        yield f"shares a line now with {_neighbours(change.gained, change)}"
    if change.ceased and change.presence is not Presence.ADDED:
        yield f"no longer shares one with {_neighbours(change.ceased, change)}"


def _straddles(change: VariableChange) -> str:
    old, new = change.straddles
    if not change.fits_line or old * change.totals[1] == new * change.totals[0]:
        return ""
    if change.totals == (1, 1):
        return "is on two lines now, and was on one" if new else "is on one line now, and was on two"
    return f"is on two lines in {old} of {change.totals[0]} -> {new} of {change.totals[1]} placements"


def _sole_use_phrase(change: VariableChange) -> str:
    if change.was_alone == change.is_alone:
        return ""
    return "has its lines for itself now" if change.is_alone else "had its lines for itself before"


def _neighbours(neighbours: tuple[Neighbour, ...], change: VariableChange) -> str:
    if change.totals == (1, 1) or 0 in change.totals:
        return _names(f"`{each.name}`" for each in neighbours)
    shares = (
        f"`{each.name}` ({each.old} of {change.totals[0]} -> {each.new} of {change.totals[1]} placements)"
        for each in neighbours
    )
    return _names(shares)


def _names(names: Iterable[str]) -> str:
    listed = list(names)
    hidden = len(listed) - _MOST_NEIGHBOURS
    return ", ".join(listed[:_MOST_NEIGHBOURS]) + (f" and {hidden:,} more" if hidden > 0 else "")


def _with_gained(change: VariableChange) -> str:
    gained = [f"`{each.name}`" for each in change.gained]
    return f"{variable(change)}, now with {first_few(gained)}" if gained else variable(change)


def _section_moves(changes: Iterable[VariableChange]) -> Iterator[Block]:
    """Yield the variables that are in another section, by both sections."""
    moves: dict[tuple[str, str], list[str]] = {}
    for change in changes:
        old, new = change.sections
        if old and new and old != new:
            moves.setdefault((old, new), []).append(f"`{change.variable.name}`")
    rows = [f"{old} -> {new}: {_names(names)}" for (old, new), names in sorted(moves.items())]
    if rows:
        yield Block(f"in another section ({sum(map(len, moves.values())):,})", tuple(rows))


def _growth(change: VariableChange) -> int:
    sizes = [0 if each is None else each.size for each in (change.old, change.new)]
    return sizes[1] - sizes[0]


def _is_resized(change: VariableChange) -> bool:
    return change.old is not None and change.new is not None and _growth(change) != 0


def _straddles_now(change: VariableChange) -> bool:
    is_there = change.old is not None and change.new is not None and change.fits_line
    return is_there and change.straddles[0] < change.straddles[1]


def _is_only(change: VariableChange, presence: Presence) -> bool:
    return change.presence is presence and not change.constant_section


def _name_key(change: VariableChange) -> tuple[int, str]:
    return 0, change.variable.name


def _growth_key(change: VariableChange) -> tuple[int, str]:
    return -abs(_growth(change)), change.variable.name


def _size_key(change: VariableChange) -> tuple[int, str]:
    """Return a key that orders small variables first: one with a line for itself is meant to have it."""
    return change.variable.size, change.variable.name


class _Kind(Record, frozen=True):
    """A kind of change, and how it is listed."""

    title: str
    has: Callable[[VariableChange], bool]
    order: Callable[[VariableChange], tuple[int, str]] = _name_key
    phrase: Callable[[VariableChange], str] = variable


_KINDS = (
    _Kind("of another size", _is_resized, _growth_key),
    _Kind("no longer alone on their lines", lambda c: c.has_lost_its_line, _size_key, _with_gained),
    _Kind("on two lines now, and on one before", _straddles_now),
    _Kind("renamed", lambda c: c.presence is Presence.RENAMED),
    _Kind("added", lambda c: _is_only(c, Presence.ADDED), _growth_key),
    _Kind("removed", lambda c: _is_only(c, Presence.REMOVED), _growth_key),
)


def cause(each: Cause) -> str:
    """Return what moved a row of variables: ``foo` (.data) 8 -> 72 bytes: moved 312 by 64 bytes, ...`."""
    what = _CAUSES[each.kind].format(old=f"{each.size[0]:,}", new=f"{each.size[1]:,}")
    more = f" (and {quantity(each.others, 'edit')} beside it)" if each.others else ""
    moved = f"moved {quantity(each.moved, 'variable')} by {each.shift:+,} bytes"
    part = "" if each.regrouped == each.moved else f", {each.regrouped:,} of them"
    return f"`{each.name}` ({each.section}) {what}{more}: {moved}{part} to lines with others"
