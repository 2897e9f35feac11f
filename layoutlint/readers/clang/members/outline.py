"""What the text of a struct shows a reader: the lines of each declaration, and groups of members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint.model.record import Record
from layoutlint.model.structs import Struct
from layoutlint.readers.clang.members.items import Item
from layoutlint.readers.clang.members.pieces import TextLines
from layoutlint.readers.clang.members.reorder import parse_body


class Outline(Record, frozen=True):
    """A field in the text of its struct."""

    first_line: int
    """The line where its declaration begins, with the comment above it: other fields can share it."""
    lines: int
    """The lines of the declaration, with its comments, and with the directives around it."""
    group: int | None
    """The line of the comment that is the heading of its group; None for none."""


def outlines(text: str, struct: Struct) -> dict[int, Outline]:
    """Return the fields of a struct in a file's text, by their numbers; raises CannotMove.

    A group is a heading and at least two members with no blank line and no other comment above one between
    them. The heading is a comment on lines of its own, behind a blank line or at the beginning.
    """
    parsed = parse_body(text, struct)
    groups = dict(_groups(parsed.items))
    return {
        number: Outline(parsed.lines.number(item.start), count, groups.get(number))
        for item, count in _declarations(parsed.lines, parsed.items)
        for number in item.fields
    }


def _declarations(lines: TextLines, items: Sequence[Item]) -> Iterator[tuple[Item, int]]:
    """Yield what declares fields, with its lines, and those of the directives around it alone."""
    for item in items:
        count = lines.number(item.end - 1) - lines.number(item.start) + 1
        inner = list(_declarations(lines, item.items))
        if item.fields:
            yield item, count
        elif len(inner) == 1:
            yield inner[0][0], count
        else:
            yield from inner


def _groups(items: Sequence[Item]) -> Iterator[tuple[int, int]]:
    """Yield the fields of groups, each with the line of the heading; those of inner groups come last."""
    group: list[Item] = []
    before: Item | None = None
    for item in (*items, None):
        is_separate = before is None or before.kind == "fixed" or item is None or before.end != item.start
        is_member = item is not None and item.kind != "fixed"
        if group and item is not None and is_member and not is_separate and item.comment is None:
            group.append(item)
        else:
            yield from _fields_of(group)
            starts = is_separate and is_member and item is not None and item.comment is not None
            group = [item] if starts and item is not None else []
        before = item
    for item in items:
        yield from _groups(item.items)


def _fields_of(group: Sequence[Item]) -> Iterator[tuple[int, int]]:
    if len(group) > 1:
        yield from ((number, group[0].comment or 0) for item in group for number in item.all_fields)
