"""Another order of the members of a struct, as text."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct
from layoutlint.readers.clang.members import items, pieces
from layoutlint.readers.clang.members.items import Item
from layoutlint.readers.clang.members.pieces import CONDITIONS, BodyText, CannotMove, TextLines, Token
from layoutlint.readers.clang.members.restrictions import Restriction, Shown, ranks_of, restrictions_of
from layoutlint.readers.clang.members.shared_lines import separate_lines


class MemberText(Record, frozen=True):
    """A declaration of members that moves as one, with its comments."""

    names: tuple[str | None, ...]
    """The fields that it declares, in order; None for an anonymous struct or union."""
    fields: tuple[int, ...]
    """Their numbers in the fields of the struct."""
    first_line: int
    last_line: int
    """Its lines in the file, with its comments."""
    text: str
    notes: tuple[str, ...] = ()
    """What a person should know who moves it."""


class ParsedText(Record, frozen=True):
    """A file with the items of a struct's body."""

    lines: TextLines
    body: BodyText
    items: tuple[Item, ...]


def split_members(text: str, struct: Struct) -> tuple[MemberText, ...]:
    """Return the declarations of a struct's members in a file's text, in their order.

    Raises CannotMove for a struct whose text shows no members that can move.
    """
    parsed = parse_body(text, struct)
    return tuple(
        MemberText(
            tuple(struct.fields[number].name for number in item.fields),
            item.fields,
            parsed.lines.number(item.start),
            parsed.lines.number(item.end - 1),
            text[item.start : item.end],
            item.notes,
        )
        for item in declarations(parsed.items)
    )


def restrictions(text: str, struct: Struct) -> tuple[Restriction, ...]:
    """Return what the text forbids to an order of the members; raises CannotMove like `split_members`.

    Declarations that share a line can move apart where the line can be split.
    """
    parsed = parse_body(text, struct)
    separate = separate_lines(parsed.lines, parsed.body, struct)
    items = parse_body(separate.text, separate.struct).items
    return tuple(
        replace(each, line=separate.old_line(each.line))
        for each in restrictions_of(items, Shown(struct.fields))
    )


def conditional_lines(text: str, struct: Struct) -> tuple[int, ...]:
    """Return the lines of the `#if`s between members; raises CannotMove like `split_members`.

    In other configurations the struct can have other members there.
    """
    parsed = parse_body(text, struct)
    directives = (each for each in parsed.body.pieces if each.kind == "directive" and each.word in CONDITIONS)
    return tuple(parsed.lines.number(each.start) for each in directives)


def reorder_members(text: str, struct: Struct, order: Sequence[int]) -> str:
    """Return a file's text with the members of a struct in another order: numbers of its fields.

    Lines whose declarations move apart are split, and no others.

    Raises CannotMove if the text forbids the order, and ValueError if it is no order of all fields.
    """
    if sorted(order) != list(range(len(struct.fields))):
        raise ValueError("not an order of all fields of the struct")
    parsed = parse_body(text, struct)
    if list(order) == sorted(order):
        return text
    ranks = ranks_of(order)
    if any(each.is_broken(ranks, order) for each in restrictions_of(parsed.items, Shown(struct.fields))):
        kept = [each.fields[0] for each in declarations(parsed.items) if _stays_together(each, ranks)]
        separate = separate_lines(parsed.lines, parsed.body, struct, kept)
        text, parsed = separate.text, parse_body(separate.text, separate.struct)
        for restriction in restrictions_of(parsed.items, Shown(struct.fields)):
            replace(restriction, line=separate.old_line(restriction.line)).refuse_ranks(ranks, order)
    start, end = parsed.body.start, parsed.body.end
    return text[:start] + _Arrangement(text, ranks).text_of(parsed.items, start, end) + text[end:]


def _stays_together(item: Item, ranks: dict[int, int]) -> bool:
    """Return whether the fields of a line follow one another in a new order, as they do now."""
    first = ranks[item.fields[0]]
    is_same = [ranks[number] for number in item.fields] == list(range(first, first + len(item.fields)))
    return item.kind == "member" and is_same


def parse_body(text: str, struct: Struct) -> ParsedText:
    """Return the items of a struct's body; raises CannotMove."""
    if struct.problem is not None:
        raise CannotMove(struct.problem)
    line = None if struct.source is None else struct.source.line
    if line is None:
        raise CannotMove("the input does not state where the struct is defined")
    if struct.aggregate == "union":
        raise CannotMove("the members of a union are all at its start", line)
    if struct.randomised is not None:
        raise CannotMove("the build puts the members into a random order", line)
    lines = TextLines(text)
    body = pieces.scan(lines, _opening(lines, struct, line))
    return ParsedText(lines, body, items.items_of(lines, body, struct))


_FARTHEST = 1 << 16
"""The most characters from the name of a struct to its brace, attributes and comments among them."""
_KEYWORDS = {"struct", "union"}


def _opening(lines: TextLines, struct: Struct, line: int) -> int:
    """Return the offset behind the brace of a struct that is declared at a line; raises CannotMove."""
    if line > len(lines):
        raise CannotMove("the file has fewer lines than when it was read", line)
    start, end = lines.start(line), lines.start(line + 1)
    tag = {struct.realigned_from or struct.name} if struct.is_tagged or struct.realigned_from else _KEYWORDS
    heads: list[tuple[set[str], int]] = []
    head: list[Token] = []
    for token in pieces.code_from(lines.text, start, start + _FARTHEST):
        if token.text in ("{", "}", ";"):
            if token.text == "{":
                heads.append(({each.text for each in head if each.start < end}, token.end))
            head = []
            if token.start >= end or (heads and heads[-1][0] & tag):
                break
        else:
            head.append(token)
    # A macro can be the tag in the text (`#define __snd_pcm_sync_ptr64 snd_pcm_sync_ptr` of Linux).
    for words in (tag, _KEYWORDS):
        if (at := next((at for mine, at in heads if mine & words), None)) is not None:
            return at
    raise CannotMove(f"no `struct {struct.name} {{` is there: a macro can make it", line)


def declarations(items: Sequence[Item]) -> Iterator[Item]:
    """Yield the items that declare fields, in order, also those in groups."""
    for item in items:
        if item.fields:
            yield item
        yield from declarations(item.items)


class _Arrangement(Record):
    """Writes the items of a body in the order of the new ranks of their fields."""

    text: str
    ranks: dict[int, int]

    def text_of(self, items: Sequence[Item], start: int, end: int) -> str:
        """Return the items between two offsets; those between fixed ones are put into their order."""
        parts: list[str] = []
        section: list[Item] = []
        position = start
        for item in items:
            if item.kind == "fixed":
                parts += (self._section(section, position), self.text[_end(section, position) : item.end])
                section, position = [], item.end
            else:
                section.append(item)
        parts += (self._section(section, position), self.text[_end(section, position) : end])
        return "".join(parts)

    def _section(self, section: list[Item], start: int) -> str:
        """Return the items between two fixed ones in their new order, with the blank lines before each."""
        if not section:
            return ""
        ends = [start, *(item.end for item in section)]
        gaps = [self.text[end : item.start] for end, item in zip(ends, section, strict=False)]
        order, staying = self._order(section)
        parts = [gaps[0]]
        last_staying = -1
        for previous, at in zip([None, *order], order, strict=False):
            if previous is not None:
                parts.append(_gap(gaps, previous, at, last_staying, staying))
            last_staying = at if at in staying else last_staying
            parts.append(self._item(section[at]))
        return "".join(parts)

    def _item(self, item: Item) -> str:
        return (
            self.text_of(item.items, item.start, item.end) if item.items else self.text[item.start : item.end]
        )

    def _order(self, section: list[Item]) -> tuple[list[int], set[int]]:
        """Return the new order of the items of a section, and those that the others move past.

        Items without fields stay behind the item that they follow.
        """
        filled = [at for at, item in enumerate(section) if item.all_fields]
        ranked = sorted(filled, key=lambda at: self._rank(section[at]))
        staying = _longest_increasing(ranked)
        empty = [at for at, item in enumerate(section) if not item.all_fields]
        limits = iter([*sorted(staying), len(section)])
        order: list[int] = []
        for at in (None, *ranked):
            order += [] if at is None else [at]
            limit = next(limits) if at is None or at in staying else 0
            while empty and empty[0] < limit:
                order.append(empty.pop(0))
        return order, staying.union(set(order).difference(ranked))

    def _rank(self, item: Item) -> int:
        return min(self.ranks[number] for number in item.all_fields)


def _end(section: list[Item], start: int) -> int:
    return section[-1].end if section else start


def _longest_increasing(numbers: Sequence[int]) -> set[int]:
    """Return the numbers of a longest increasing subsequence; of several the one that ends lowest."""
    tails: list[int] = []
    before: dict[int, int | None] = {}
    for number in numbers:
        at = bisect_left(tails, number)
        before[number] = tails[at - 1] if at else None
        tails[at : at + 1] = [number]
    kept = set()
    last = tails[-1] if tails else None
    while last is not None:
        kept.add(last)
        last = before[last]
    return kept


def _gap(gaps: list[str], previous: int, at: int, last_staying: int, staying: set[int]) -> str:
    """Return the blank lines between two items that follow each other now, of those that there were.

    `gaps` are those before each item. An item that had blank lines on both sides keeps one on both.
    """
    if at == previous + 1:
        return gaps[at]
    alone = max(
        (_own_gap(gaps, each) for each in (previous, at) if each not in staying), key=_height, default=""
    )
    if at not in staying:
        return _one_line(alone)
    passed = gaps[last_staying + 1 : at + 1] if last_staying >= 0 else []
    return _one_line(max((*passed, alone), key=_height))


def _own_gap(gaps: list[str], at: int) -> str:
    """Return the blank lines of an item that stands alone between such lines, or at an end; else none."""
    is_first, is_last = at == 0, at == len(gaps) - 1
    sides = ["" if is_first else gaps[at], "" if is_last else gaps[at + 1]]
    is_alone = all(side or is_end for side, is_end in zip(sides, (is_first, is_last), strict=True))
    return max(sides, key=_height) if is_alone else ""


def _one_line(gap: str) -> str:
    return gap[gap.rfind("\n", 0, -1) + 1 :]


def _height(gap: str) -> int:
    return gap.count("\n")
