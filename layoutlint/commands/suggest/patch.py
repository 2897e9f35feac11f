"""Format `patch` of `suggest`: a draft of a commit message, and a diff that `git apply` accepts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from layoutlint import escapes
from layoutlint.commands import order_phrases as phrases
from layoutlint.commands.suggest import builds
from layoutlint.suggestion.orders.result import Suggestion

_WIDTH = 75
"""The most columns of a line in a commit message (Documentation/process/submitting-patches.rst of Linux)."""
_CONTEXT = 2
_MOST_PAIRS = 5
_DIFF_LINES = ("diff ", "---", "+++", "@@", "Index:", "index ", "GIT binary", "***", "=====", "From ")
"""How lines begin by which git-apply(1), git-am(1) and patch(1) find diffs, and the end of a message."""


def render(results: Sequence[Suggestion]) -> str:
    """Return the patches, numbered if several change something; without a change only the messages.

    They apply one after the other: each diff is against the text that the one before it leaves.
    """
    changes = [result for result in results if result.patch is not None and result.patch.diff]
    if len(changes) < 2:
        return "".join(_patch(result, "") for result in changes or results)
    return "".join(
        _patch(result, f"[PATCH {number}/{len(changes)}] ") for number, result in enumerate(changes, 1)
    )


def _patch(result: Suggestion, prefix: str) -> str:
    message = escapes.lines(map(_inert, _message(result, prefix)))
    diff = "" if result.patch is None else result.patch.diff
    return f"{message}---\n{diff}" if diff else message


def _inert(line: str) -> str:
    """Return a line of the message that is no part of a diff: rule files are not to change other files."""
    return f" {line}" if line.startswith(_DIFF_LINES) else line


def _message(result: Suggestion, prefix: str) -> Iterator[str]:
    name = phrases.title(result.struct)
    moved = ", ".join(move.member for move in result.moves[:3]) + (", ..." if len(result.moves) > 3 else "")
    subject = f"move {moved}" if moved else "keep the order"
    if result.chosen is not None:
        subject = phrases.addition(result.chosen).replace("`", "")
    yield _cut(f"{prefix}{name}: {subject}")
    yield ""
    for outcome in result.rules:
        if outcome.before.outcome is not outcome.after.outcome:
            why = outcome.rule.why.rstrip(".")
            yield from _wrap(f"{why[:1].upper()}{why[1:]}: {outcome.before.message}.")
            yield ""
    if result.contention is not None:
        effect = result.contention.effect
        yield from _wrap(f"{effect[:1].upper()}{effect[1:]}.")
        yield from (f"  {row}" for text in result.contention.pair_lines[:_MOST_PAIRS] for row in _wrap(text))
        yield ""
    changes = [*_additions(result), *(f"move {text}" for text in phrases.moves(result))]
    if changes:
        text = "; ".join(changes)
        yield from _wrap(f"{text[:1].upper()}{text[1:]}.")
        yield ""
        count = len(result.builds)
        shown = (each for each in result.aims if each.aim not in ("contention", "moves"))
        yield from _wrap("; ".join(phrases.aim(each, True, count) for each in shown).capitalize() + ".")
        yield ""
    for outcome in result.rules:
        if outcome.before.outcome is not outcome.after.outcome:
            yield from _wrap(f"Now {outcome.after.message}.")
            yield ""
    yield from _table_of_builds(result) if result.builds else _table(result)


def _additions(result: Suggestion) -> Iterator[str]:
    if result.chosen is not None:
        yield phrases.addition(result.chosen)


def _table_of_builds(result: Suggestion) -> Iterator[str]:
    """Yield the offsets in all builds of the moved members and those beside them."""
    if not result.moves:
        return
    moved = {move.member for move in result.moves}
    near = frozenset(
        name
        for at, name in enumerate(result.order)
        if moved.intersection(result.order[max(0, at - _CONTEXT) : at + _CONTEXT + 1])
    )
    yield from _wrap("Offsets, before -> after, in")
    for text in builds.legend(result):
        yield from (f"    {row}" for row in _wrap(text, _WIDTH - 4))
    yield ""
    for cells, name, is_moved in builds.table(result, near):
        yield _cut(f"    {cells}  {name}{'  <- moved' if is_moved else ''}")


def _table(result: Suggestion) -> Iterator[str]:
    """Yield the offsets of the moved members and those beside them."""
    if result.new is None or not result.is_change:
        return
    rows = phrases.layout_rows(result)
    near = {
        at
        for number, row in enumerate(rows)
        if row.mark
        for at in range(number - _CONTEXT, number + _CONTEXT + 1)
    }
    yield "    offset  before  member"
    was_shown = True
    for at, (offset, before, _, name, mark) in enumerate(rows):
        if at in near:
            done = f"  <- {'moved' if mark == 'moves' else mark}" if mark else ""
            yield _cut(f"    {offset:>6}  {before:>6}  {name}{done}")
        elif was_shown:
            yield "       ..."
        was_shown = at in near


def _wrap(text: str, width: int = _WIDTH) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=True, break_on_hyphens=False)


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."
