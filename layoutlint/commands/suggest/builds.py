"""An order in the builds of a matrix: offsets and outcomes, for builds that have the same ones together."""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_uppercase
from typing import NamedTuple

from layoutlint.commands import order_phrases as phrases
from layoutlint.model.build import Build, short_name
from layoutlint.model.structs import Struct
from layoutlint.reports.styled import Line, line, paragraph
from layoutlint.suggestion.orders.result import RuleOutcome, Suggestion

_MOST_COLUMNS = 6
_MISSING = "-"
"""Stands for the offset of a member that a build lacks."""


class Column(NamedTuple):
    """The offsets of members in builds that have the same ones."""

    letter: str
    """The title in tables."""
    names: str
    """The builds."""
    cells: dict[str, str]
    """By member: `8 -> 72`, or one number if it stays."""
    size: str


def builds_of(result: Suggestion) -> tuple[Build, ...]:
    """Return the builds of the matrix that have the struct."""
    return tuple(each.build for each in result.builds)


def columns(result: Suggestion) -> list[Column]:
    """Return the offsets in all builds, each column once."""
    names: dict[tuple[tuple[tuple[str, str], ...], str], list[str]] = {}
    for each in result.builds:
        rows = phrases.layout_rows(each.result)
        cells = tuple((row.name, _change(row.before, row.offset)) for row in rows)
        assert each.result.new is not None
        size = _change(_bytes(each.result.struct), _bytes(each.result.new))
        names.setdefault((cells, size), []).append(each.build.name)
    builds = builds_of(result)
    return [
        Column(ascii_uppercase[at % 26], short_name(own, builds), dict(cells), size)
        for at, ((cells, size), own) in enumerate(names.items())
    ]


def _change(before: str, after: str) -> str:
    return after if before == after else f"{before} -> {after}"


def _bytes(struct: Struct) -> str:
    return str((struct.bit_size or 0) // 8)


def table(result: Suggestion, only: frozenset[str] | None = None) -> Iterator[tuple[str, str, bool]]:
    """Yield the cells of each row as text, the member, and whether it moves; the first row has the titles.

    `only` are the members to show; None for all.
    """
    shown = columns(result)[:_MOST_COLUMNS]
    moved = {move.member for move in result.moves}
    rows = [([column.letter for column in shown], "member", False)]
    rows += (
        ([column.cells.get(name, _MISSING) for column in shown], name, name in moved)
        for name in result.order
        if only is None or name in only
    )
    rows.append(([column.size for column in shown], "(bytes of the struct)", False))
    widths = [max(map(len, column)) for column in zip(*(row[0] for row in rows), strict=True)]
    for cells, name, is_moved in rows:
        yield "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)), name, is_moved


def legend(result: Suggestion) -> Iterator[str]:
    """Yield the builds of each column of the table."""
    every = columns(result)
    for column in every[:_MOST_COLUMNS]:
        yield f"{column.letter}: {column.names}"
    hidden = len(every) - _MOST_COLUMNS
    if hidden > 0:
        yield f"builds with other offsets: {hidden} more (--format json has all)"


def table_lines(result: Suggestion, width: int) -> Iterator[Line]:
    """Yield the offsets, as `before -> after` where they change, for the terminal."""
    yield line("  offsets, before -> after, in")
    for text in legend(result):
        yield from paragraph("    ", text, width)
    for number, (cells, name, is_moved) in enumerate(table(result)):
        if not number:
            yield line((f"  {cells}  {name}", "dim"))
        else:
            yield line(f"  {cells}  ", (name, "bold" if is_moved else ""), "  <- moves" if is_moved else "")


def rule_lines(result: Suggestion, width: int) -> Iterator[Line]:
    """Yield the outcomes of each rule, with the builds that have them."""
    builds = builds_of(result)
    for rule in result.rules:
        groups: dict[str, list[tuple[str, RuleOutcome]]] = {}
        for each in result.builds:
            for outcome in each.result.rules:
                if outcome.rule.id == rule.rule.id:
                    change = _change(outcome.before.outcome.value, outcome.after.outcome.value)
                    groups.setdefault(change, []).append((each.build.name, outcome))
        for change, own in groups.items():
            outcome = own[0][1]
            style = "green" if outcome.after.outcome.value == "kept" else "red"
            where = short_name([name for name, _ in own], builds)
            yield line("  ", (change, style), f"  {rule.rule.id} in {where}")
            yield from paragraph("    ", outcome.after.message, width)
            if outcome.reason:
                yield from paragraph("    ", f"only judged, not searched for: {outcome.reason}", width)


def core_place(result: Suggestion, number: int) -> str:
    """Return the builds of a rule of the core, behind a comma; empty without a matrix."""
    if not result.core_builds:
        return ""
    names = [build.name for build in result.core_builds[number]]
    return f", in {short_name(names, builds_of(result))}"
