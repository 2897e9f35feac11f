"""Format `text` of `history`: tables with a column for each build, and what changed between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint.commands.history import phrases, rows
from layoutlint.commands.history.builds import History, Step
from layoutlint.commands.history.rows import Row
from layoutlint.comparison.standings import Status
from layoutlint.phrases import first_few, quantity
from layoutlint.reports import change_phrases as changes
from layoutlint.reports import styled
from layoutlint.reports.styled import Line, line, paragraph

_MOST_ROWS = 40
"""The number of fields that are listed by default."""
_MOST_EDITS = 20
_MOST_NAMES = 6
_WIDEST_NAME = 44
"""Columns for names; longer ones are on a line of their own."""
_GAP = "  "
_STYLES = {Status.WORSE: "bold red", Status.BETTER: "bold green"}


def render(history: History, *, color: bool = False, width: int = 75, verbose: bool = False) -> str:
    """Return the history as text, with tables of at most `width` columns; with `verbose`, all fields."""
    lines = _lines(history, width, verbose)
    return styled.render_colored(lines) if color else styled.render_plain(lines)


def _lines(history: History, width: int, verbose: bool) -> Iterator[Line]:
    order = "by version" if history.is_by_version else "in the given order"
    struct = next((build.struct for build in reversed(history.builds) if build.struct is not None), None)
    aggregate = "struct" if struct is None else struct.aggregate
    yield line((f"{aggregate} {history.name} in {quantity(len(history.builds), 'build')}, {order}", "bold"))
    yield line()
    for label, build in zip(phrases.labels(history), history.builds, strict=True):
        version = phrases.version(build.version)
        stated = f"{version}  " if build.version and version != label else ""
        yield line(f"  {label:<12}  {stated}{phrases.target(build):<7}  ", (build.side.label, "cyan"))
    yield line()
    moved = [field for field in history.fields if verbose or field.has_moved(history.builds)]
    shown = moved if verbose else moved[:_MOST_ROWS]
    table = [
        *rows.figures(history.builds),
        *rows.field_rows(shown, history.builds),
        *rows.pair_rows(history),
        *rows.rule_rows(history),
    ]
    yield from _table(table, phrases.labels(history), width)
    yield from _remark(history, len(moved) - len(shown), verbose)
    for steps in rows.step_groups(history):
        yield from _steps(steps, history, width, verbose)
    yield from _gaps(history, width, verbose)


def _table(table: Sequence[Row], labels: Sequence[str], width: int) -> Iterator[Line]:
    """Yield a table; columns that do not fit follow in another table below."""
    names = min(_WIDEST_NAME, max(len(row.name) for row in table))
    columns = [max(len(label), *(len(row.cells[at]) for row in table)) for at, label in enumerate(labels)]
    start = 0
    while start < len(labels):
        stop, room = start + 1, width - names - len(_GAP) * 2 - columns[start]
        while stop < len(labels) and room >= columns[stop] + len(_GAP):
            room -= columns[stop] + len(_GAP)
            stop += 1
        heads = (f"{_GAP}{label:>{columns[at]}}" for at, label in enumerate(labels) if start <= at < stop)
        yield line("  " + " " * names, ("".join(heads), "dim"))
        for row in table:
            yield from _row(row, names, columns, start, stop)
        yield line()
        start = stop


def _row(row: Row, names: int, columns: Sequence[int], start: int, stop: int) -> Iterator[Line]:
    """Yield a row; cells that differ from the ones before them are bold."""
    name = row.name
    if len(name) > names:
        yield line(f"  {name}")
        name = ""
    spans: list[str | styled.Span] = [f"  {name:<{names}}"]
    for at in range(start, stop):
        has_changed = at > 0 and row.cells[at] != row.cells[at - 1]
        spans.append((f"{_GAP}{row.cells[at]:>{columns[at]}}", "bold" if has_changed else ""))
    yield line(*spans)


def _remark(history: History, left_out: int, verbose: bool) -> Iterator[Line]:
    """Yield which fields the table does not have."""
    same = sum(not field.has_moved(history.builds) for field in history.fields)
    if left_out:
        yield line(f"{quantity(left_out, 'field')} more moved (-v shows all)")
    if same and not verbose:
        yield line(f"{quantity(same, 'field')} did not move (-v shows all)")
    if left_out or (same and not verbose):
        yield line()


def _steps(steps: Sequence[Step], history: History, width: int, verbose: bool) -> Iterator[Line]:
    """Yield what one step changed; or that several changed nothing, if `verbose`."""
    names, step = phrases.labels(history), steps[0]
    title = f"{names[step.old]} -> {names[steps[-1].new]}"
    if step.is_same:
        if verbose:
            count = f" in {len(steps)} steps" if len(steps) > 1 else ""
            yield line((f"{title}: nothing changed{count}", "bold"))
            yield line()
        return
    for change in step.comparison.layouts.changes:
        yield from paragraph("", f"{title}: {changes.heading(change)}", width, "bold")
        edits = change.edits.edits if verbose else change.edits.edits[:_MOST_EDITS]
        for edit in edits:
            yield from paragraph("  ", changes.edit(edit), width)
        if len(edits) < len(change.edits.edits):
            yield line(f"  and {len(change.edits.edits) - len(edits)} more edits (-v shows all)")
    if not step.comparison.layouts.changes:
        yield line((f"{title}: the same layout", "bold"))
    for rule in step.comparison.changed_rules:
        yield from paragraph("  ", changes.rule_change(rule), width, _STYLES.get(rule.status, ""))
        for pair in rule.pairs:
            yield from paragraph("    ", changes.pair_change(pair), width)
    yield line()


def _gaps(history: History, width: int, verbose: bool) -> Iterator[Line]:
    """Yield what is not known, and why; names with one reason together."""
    names: dict[str, list[str]] = {}
    for each in history.gaps:
        names.setdefault(each.reason, []).append(each.name)
    if names:
        yield line(("not known", "bold magenta"))
    for reason, group in names.items():
        shown = ", ".join(group) if verbose else first_few(group, _MOST_NAMES)
        yield from paragraph("  ", f"{shown}: {reason}", width)
