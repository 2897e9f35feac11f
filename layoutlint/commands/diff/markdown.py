"""Format `markdown` of `diff`: a comment for a code review.

The first line is a marker, by which a bot finds its comment to rewrite it. Names and reasons come from the
change under review: they are escaped, so that they mention nobody and contain no links, HTML or layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain

from layoutlint.commands.diff import variable_phrases
from layoutlint.comparison.allocations import Allocators
from layoutlint.comparison.comparison import Comparison
from layoutlint.comparison.layouts import LayoutChange
from layoutlint.comparison.standings import Status
from layoutlint.comparison.variables import TableComparison
from layoutlint.comparison.verdicts import RuleChange
from layoutlint.reports import change_phrases as phrases
from layoutlint.reports.escaped_markdown import code, plain, text

MARKER = "<!-- layoutlint diff -->"
_MOST_CHARACTERS = 60_000
"""GitHub allows 65,536 in a comment."""
_MOST_IN_BLOCK = 6_000
"""Characters of the details of one struct or rule, so that one cannot crowd out the others."""
_Part = Callable[[], str]
"""Makes a part of the comment."""
_SYMBOLS = {Status.WORSE: "❌ worse", Status.BETTER: "✅ better", Status.SAME: "for fewer fields"}


def render(comparison: Comparison) -> str:
    """Return the comment; empty if nothing differs. What exceeds 60,000 characters is only counted."""
    if comparison.is_silent:
        return ""
    title = text(phrases.exit_meaning(comparison))
    head = f"{MARKER}\n### layoutlint: {title}\n\n{text(phrases.tally(comparison))}\n"
    notes = _fit_texts((f"\n> {text(note)}\n" for note in comparison.notes), _MOST_IN_BLOCK)
    variables = comparison.variables.tables if comparison.variables is not None else ()
    before = (*_rules(comparison), *_likely_sharing_lines(comparison))
    after = (
        *(part for table in variables for part in _variables(table)),
        *_refusals(comparison),
        *_idle_rules(comparison),
    )
    parts = chain(_ready_parts(before), _structs(comparison), _ready_parts(after))
    top = f"{head}{''.join(notes)}\n"
    return top + "".join(_fit_parts(parts, _MOST_CHARACTERS - len(top)))


def _fit_texts(texts: Iterable[str], room: int) -> Iterator[str]:
    return _fit_parts(_ready_parts(texts), room)


def _ready_parts(texts: Iterable[str]) -> Iterator[_Part]:
    yield from (partial(str, each) for each in texts)


def _fit_parts(parts: Iterable[_Part], room: int) -> Iterator[str]:
    """Yield the parts that fit, and the number of the others, which are not made."""
    left = 0
    for part in parts:
        made = "" if left else part()
        room -= len(made)
        if left or room < 0:
            left += 1
        else:
            yield made
    if left:
        yield f"\n{left:,} more did not fit into this comment.\n"


def _rules(comparison: Comparison) -> Iterator[str]:
    """Yield the table of the rules, row by row, and the pairs of fields of each rule."""
    changes = comparison.changed_rules
    start = "| | rule | struct | before | now |\n|---|---|---|---|---|\n"
    for number, change in enumerate(changes, 1):
        yield f"{'' if number > 1 else start}{_rule_row(change)}{'' if number < len(changes) else chr(10)}"
    for change in changes:
        if change.pairs:
            rows = (text(phrases.pair_change(pair)) for pair in change.pairs)
            yield _details(f"{change.rule.id} on {change.struct}", rows)


def _rule_row(change: RuleChange) -> str:
    old, new = (phrases.state(finding) for finding in (change.old, change.new))
    cells = (_SYMBOLS[change.status], code(change.rule.id), code(change.struct), text(old), text(new))
    return f"| {' | '.join(cells)} |\n"


def _likely_sharing_lines(comparison: Comparison) -> Iterator[str]:
    """Yield the pairs of fields that are likely to disturb each other, best first."""
    if comparison.likely is not None and comparison.likely.pairs:
        rows = (text(phrases.likely_pair(pair)) for pair in comparison.likely.pairs)
        yield _details(phrases.likely_heading(comparison.likely), rows)


def _structs(comparison: Comparison) -> Iterator[_Part]:
    """Yield a block for each struct with edits or moves, then a line for each of the others."""
    others = []
    for change in comparison.layouts.changes:
        if (change.edits.edits or change.edits.moves or change.retyped) and not change.root:
            yield partial(_struct, change, comparison.allocators)
        elif not change.root:
            others.append(change)
    yield from (partial(_struct_line, change) for change in others)
    yield from (partial(_retyped_line, change) for change in phrases.retyped_alone(comparison))


def _struct(change: LayoutChange, allocators: Allocators) -> str:
    return _details(phrases.heading(change), map(text, _rows(change, allocators)))


def _struct_line(change: LayoutChange) -> str:
    return f"- {text(phrases.heading(change))}\n"


def _retyped_line(change: LayoutChange) -> str:
    return f"- {text(phrases.retyped_struct(change))}\n"


def _rows(change: LayoutChange, allocators: Allocators) -> Iterator[str]:
    line_size = change.struct.target.line_size
    yield from (phrases.edit(edit) for edit in change.edits.edits)
    yield from phrases.retypings(change)
    yield from phrases.unexplained_moves(change)
    yield from (phrases.move(move, line_size) for move in phrases.line_moves(change))
    yield from phrases.straddles(change)
    yield from phrases.allocations(change, allocators)
    yield from filter(None, (phrases.containers(change.containers),))


def _variables(table: TableComparison) -> Iterator[str]:
    """Yield how the variables of two files compare; nothing if only their addresses differ."""
    if not table.is_same:
        yield f"\n{text(variable_phrases.heading(table))}\n\n"
        for block in variable_phrases.blocks(table):
            yield _details(block.title, map(text, block.rows))


def _refusals(comparison: Comparison) -> Iterator[str]:
    for number, each in enumerate(comparison.not_compared):
        heading = "" if number else "\n**Not compared:**\n\n"
        yield f"{heading}- {text(f'{each.name}: {each.reason}')}\n"


def _idle_rules(comparison: Comparison) -> Iterator[str]:
    if comparison.idle_rules:
        rows = phrases.idle_rules(comparison.idle_rules)
        yield "\n" + _details("rules that compare nothing", map(text, rows))


def _details(summary: str, rows: Iterable[str]) -> str:
    """Return a block that a click opens. Its first line is HTML: it has no code in backquotes."""
    listed = "".join(_fit_texts((f"- {row}\n" for row in rows), _MOST_IN_BLOCK))
    return f"<details><summary>{plain(summary)}</summary>\n\n{listed}\n</details>\n\n"
