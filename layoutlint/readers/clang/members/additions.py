"""Attributes and padding that are added to the members of a struct, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint.model.structs import Struct
from layoutlint.readers.clang.members.items import Item
from layoutlint.readers.clang.members.pieces import CannotMove
from layoutlint.readers.clang.members.reorder import declarations, parse_body


def add_attribute(text: str, struct: Struct, fields: Sequence[int], attribute: str) -> str:
    """Return a file's text in which some fields of a struct have an attribute, by their numbers.

    Without fields, the struct has it. Raises CannotMove.
    """
    parsed = parse_body(text, struct)
    places = [parsed.body.end + 1]
    if fields:
        places = [_end_of_declarator(parsed.items, number) for number in fields]
    for place in sorted(places, reverse=True):
        text = f"{text[:place]} {attribute}{text[place:]}"
    return text


def add_before(text: str, struct: Struct, fields: Sequence[int], specifier: str) -> str:
    """Return a file's text in which the declarations of some fields begin with a specifier.

    Raises CannotMove.
    """
    items = parse_body(text, struct).items
    for place in sorted((_declaration(items, number).tokens[0].start for number in fields), reverse=True):
        text = f"{text[:place]}{specifier} {text[place:]}"
    return text


def _end_of_declarator(items: Sequence[Item], number: int) -> int:
    """Return the offset where an attribute of a field can stand. Raises CannotMove."""
    return _declaration(items, number).tokens[-2].end


def _declaration(items: Sequence[Item], number: int) -> Item:
    """Return the declaration of one field. Raises CannotMove if it declares others, or is not understood."""
    item = next(item for item in declarations(items) if number in item.fields)
    if len(item.fields) > 1 or len(item.tokens) < 2 or item.tokens[-1].text != ";":
        raise CannotMove(f"an attribute cannot be added to `{item.shown}`", item.line)
    return item


def add_member(text: str, struct: Struct, behind: int, declaration: str) -> str:
    """Return a file's text with one more declaration behind a field of a struct. Raises CannotMove."""
    parsed = parse_body(text, struct)
    item = next(_items_around(parsed.items, behind))
    inner = next(inner for inner in declarations((item,)) if behind in inner.fields)
    is_last = item.all_fields[-1:] == (behind,)
    if not is_last or not inner.tokens or not text[: item.end].endswith("\n"):
        raise CannotMove(f"no member can be added behind `{inner.shown}`", inner.line)
    line = parsed.lines.start(parsed.lines.number(inner.tokens[0].start))
    indentation = text[line : inner.tokens[0].start]
    if indentation.strip():
        raise CannotMove(f"no member can be added behind `{inner.shown}`", inner.line)
    ending = "\r\n" if text[: item.end].endswith("\r\n") else "\n"
    return f"{text[: item.end]}{indentation}{declaration}{ending}{text[item.end :]}"


def _items_around(items: Sequence[Item], number: int) -> Iterator[Item]:
    """Yield the items that declare a field, the outermost first."""
    for item in items:
        if number in item.all_fields:
            yield item
            yield from _items_around(item.items, number)
