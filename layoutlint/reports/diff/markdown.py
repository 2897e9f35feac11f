"""Format `markdown` of `diff`: a comment for a code review.

The first line is a marker, by which a bot finds its comment to rewrite it. Names and reasons come from the
change under review: they are escaped, so that they mention nobody and contain no links, HTML or layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layoutlint.comparison.comparison import Comparison
from layoutlint.comparison.layouts import LayoutChange, Presence
from layoutlint.comparison.standings import Status
from layoutlint.comparison.verdicts import RuleChange
from layoutlint.reports.diff import phrases
from layoutlint.reports.escaped_markdown import code, text

MARKER = "<!-- layoutlint diff -->"
_MOST_CHARACTERS = 60_000
"""GitHub allows 65,536 in a comment."""
_SYMBOLS = {Status.WORSE: "❌ worse", Status.BETTER: "✅ better"}


def render(comparison: Comparison) -> str:
    """Return the comment; empty if nothing differs. What exceeds 60,000 characters is only counted."""
    if comparison.is_silent:
        return ""
    head = [MARKER, f"### layoutlint: {text(phrases.exit_meaning(comparison))}", ""]
    head += [text(phrases.tally(comparison)), ""]
    head += [f"> {text(note)}\n" for note in comparison.notes]
    parts = ("\n".join(head) + "\n", *_rules(comparison), *_structs(comparison), *_not_compared(comparison))
    return "".join(_fitting(parts))


def _fitting(parts: Iterable[str]) -> Iterator[str]:
    """Yield the parts that fit, and the number of the others."""
    length, left = 0, 0
    for part in parts:
        if left or length + len(part) > _MOST_CHARACTERS:
            left += 1
        else:
            length += len(part)
            yield part
    if left:
        yield f"\n{left:,} more did not fit into this comment.\n"


def _rules(comparison: Comparison) -> Iterator[str]:
    changes = comparison.changed_rules
    if changes:
        yield "| | rule | struct | before | now |\n|---|---|---|---|---|\n"
    for change in changes:
        yield _rule_row(change)
    if changes:
        yield "\n"
    for change in changes:
        if change.pairs:
            rows = "".join(f"- {text(phrases.pair_change(pair))}\n" for pair in change.pairs)
            yield _details(f"{change.rule.id} on {change.struct}", rows)


def _rule_row(change: RuleChange) -> str:
    old, new = (phrases.state(finding) for finding in (change.old, change.new))
    cells = (_SYMBOLS[change.status], code(change.rule.id), code(change.struct), text(old), text(new))
    return f"| {' | '.join(cells)} |\n"


def _structs(comparison: Comparison) -> Iterator[str]:
    edited = [change for change in comparison.layouts.changes if not change.root]
    for change in edited:
        if change.presence in (Presence.BOTH, Presence.RENAMED):
            yield _details(phrases.heading(change), "".join(f"- {text(row)}\n" for row in _rows(change)))
    for change in edited:
        if change.presence in (Presence.ADDED, Presence.REMOVED):
            yield f"- {text(phrases.heading(change))}\n"


def _rows(change: LayoutChange) -> Iterator[str]:
    line_size = change.struct.target.line_size
    yield from (phrases.edit(edit) for edit in change.edits.edits)
    yield from (phrases.move(move, line_size) for move in phrases.line_moves(change))
    yield from filter(None, (phrases.allocation(change), phrases.containers(change.containers)))


def _not_compared(comparison: Comparison) -> Iterator[str]:
    if comparison.not_compared:
        yield "\n**Not compared:**\n\n"
    for each in comparison.not_compared:
        yield f"- {text(f'{each.name}: {each.reason}')}\n"


def _details(summary: str, rows: str) -> str:
    return f"<details><summary>{text(summary)}</summary>\n\n{rows}\n</details>\n"
