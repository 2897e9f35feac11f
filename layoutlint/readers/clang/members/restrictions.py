"""Restrictions on the order of members by the text of a struct."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from layoutlint.model.record import Record
from layoutlint.model.structs import Field
from layoutlint.readers.clang.members.items import Item
from layoutlint.readers.clang.members.pieces import CannotMove, Token

_TYPES = frozenset(("struct", "union", "enum"))
_ENDS = _TYPES.union("{;*,[")
"""What ends the tag of a type."""


class Shown(Record, frozen=True):
    """The fields of a struct in messages."""

    fields: tuple[Field, ...]

    def name(self, number: int) -> str:
        """Return the name of a field in messages."""
        name = self.fields[number].name
        return (
            f"`{name}`" if name is not None else f"the nameless {self.fields[number].aggregate or 'member'}"
        )


class Restriction(Record, frozen=True):
    """A condition on the order of fields, which are numbers of a struct's fields."""

    kind: Literal["unit", "group", "before"]
    """A `unit` stays together in its order; a `group` stays together; `before`: all `fields` stay before all
    `after`."""
    fields: tuple[int, ...]
    after: tuple[int, ...]
    reason: str
    line: int
    """The line of the file that is the reason."""
    shown: Shown

    def refuse(self, order: Sequence[int]) -> None:
        """Raise CannotMove if an order of all fields breaks the condition."""
        self.refuse_ranks(ranks_of(order), order)

    def refuse_ranks(self, ranks: dict[int, int], order: Sequence[int]) -> None:
        """Raise CannotMove if an order breaks the condition; `ranks` are the places of fields in it."""
        broken = self._violation(ranks, order)
        if broken is not None:
            raise CannotMove(f"{self.reason}: {broken}", self.line)

    def is_broken(self, ranks: dict[int, int], order: Sequence[int]) -> bool:
        """Return whether an order breaks the condition."""
        return self._violation(ranks, order) is not None

    def _violation(self, ranks: dict[int, int], order: Sequence[int]) -> str | None:
        """Return what breaks the condition; None if nothing does."""
        mine = [ranks[number] for number in self.fields]
        if self.kind == "before":
            last, first = max(mine), min(ranks[number] for number in self.after)
            names = self.shown.name(order[first]), self.shown.name(order[last])
            return f"{names[0]} cannot move before {names[1]}" if first < last else None
        own = set(self.fields)
        if max(mine) - min(mine) >= len(own):
            stranger = next(number for number in order[min(mine) :] if number not in own)
            return f"{self.shown.name(stranger)} cannot be between its members"
        if self.kind == "unit" and mine != sorted(mine):
            return "they cannot be turned round"
        return None


def ranks_of(order: Sequence[int]) -> dict[int, int]:
    """Return the place of each field in an order."""
    return {number: rank for rank, number in enumerate(order)}


def restrictions_of(items: Sequence[Item], shown: Shown) -> tuple[Restriction, ...]:
    """Return what some items forbid to an order of their fields, the outermost items first."""
    return (
        *_level_restrictions(items, shown),
        *_type_restrictions(items, shown),
        *_flexible_restrictions(items, shown),
    )


def _level_restrictions(items: Sequence[Item], shown: Shown) -> Iterator[Restriction]:
    for item in items:
        if len(item.fields) > 1:
            reason = item.reason or f"`{item.shown}` makes them"
            yield Restriction("unit", item.fields, (), reason, item.line, shown)
        if item.kind == "group" and len(item.all_fields) > 1:
            reason = f"`{item.shown}` moves only with all that belongs to it"
            yield Restriction("group", item.all_fields, (), reason, item.line, shown)
    yield from _fixed_restrictions(items, shown)
    for item in items:
        if item.items:
            yield from _level_restrictions(item.items, shown)


def _fixed_restrictions(items: Sequence[Item], shown: Shown) -> Iterator[Restriction]:
    """Yield that nothing moves past fixed items."""
    before: tuple[int, ...] = ()
    section: list[int] = []
    between: Item | None = None
    for item in (*items, None):
        if item is not None and item.kind != "fixed":
            section += item.all_fields
            continue
        for fields in (tuple(section), () if item is None else item.fields):
            reason = between or item
            if before and fields and reason is not None:
                yield Restriction("before", before, fields, _reason(reason), reason.line, shown)
            before, between = (fields, None) if fields else (before, between)
        between = item if between is None else between
        section = []


def _reason(fixed: Item) -> str:
    return fixed.reason or f"nothing moves past `{fixed.shown}`"


def _type_restrictions(items: Sequence[Item], shown: Shown) -> Iterator[Restriction]:
    """Yield that a member with a definition of a type stays before the members that use it."""
    definitions: dict[str, Item] = {}
    for item in _members(items):
        used = {definitions[name].line: name for name in _mentioned_words(item.tokens) if name in definitions}
        for name in used.values():
            definition = definitions[name]
            reason = f"`{name}` is defined in `{definition.shown}`"
            yield Restriction("before", definition.fields, item.fields, reason, definition.line, shown)
        definitions |= dict.fromkeys(_defined_names(item.tokens), item)


def _mentioned_words(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the words of some code, those behind `struct`, `union` and `enum` with that."""
    before = ""
    for token in tokens:
        yield f"{before} {token.text}" if before in _TYPES else token.text
        before = token.text


def _flexible_restrictions(items: Sequence[Item], shown: Shown) -> Iterator[Restriction]:
    """Yield that a flexible array stays last, as C11 6.7.2.1p18 has it."""
    last = len(shown.fields) - 1
    if last > 0 and shown.fields[last].dims[:1] == (None,):
        line = next(item.line for item in _members(items) if last in item.fields)
        reason = f"{shown.name(last)} is a flexible array, which is last"
        yield Restriction("before", tuple(range(last)), (last,), reason, line, shown)


def _members(items: Sequence[Item]) -> Iterator[Item]:
    for item in items:
        if item.fields:
            yield item
        yield from _members(item.items)


def _defined_names(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the tags that some code defines, and the constants of its enumerations."""
    texts = [token.text for token in tokens]
    for at, text in enumerate(texts):
        if text not in _TYPES:
            continue
        brace = next((end for end in range(at + 1, len(texts)) if texts[end] in _ENDS), len(texts))
        if brace == len(texts) or texts[brace] != "{":
            continue
        names = (word for word in texts[at + 1 : brace] if word.isidentifier() and not word.startswith("__"))
        yield from (f"{text} {name}" for name in names)
        if text == "enum":
            yield from _constants(texts, brace)


def _constants(texts: Sequence[str], brace: int) -> Iterator[str]:
    """Yield the names of the constants of an enumeration, whose opening brace is at an index."""
    for at in range(brace + 1, len(texts)):
        if texts[at] in "{}":
            return
        if texts[at - 1] in ("{", ",") and texts[at].isidentifier():
            yield texts[at]
