"""Unions of a struct with members that begin like it, or with its words: C lets a program write one and read
the other (C11 6.5.2.3, note 95 and paragraph 6).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

from layoutlint.readers.order_uses.code import Code
from layoutlint.readers.order_uses.facts import OrderUse
from layoutlint.readers.order_uses.subject import Subject

_IS_UNION = re.compile(r"\bunion\b[^;{}()]*$")
_NEAR = 200
_DECLARED = re.compile(r"\s*(?:(?:const|volatile)\s+)*$")
_STRUCT = re.compile(r"\s*+(?:(?:const|volatile)\s++)*+(?:(struct)\s++)?+(\w++)?\s*+(\{)?")
_TOKEN = re.compile(r"\w+|\*")
_QUALIFIERS = frozenset(("const", "volatile", "signed"))
_SIZED = frozenset(("unsigned", "long", "short"))
_STATED_BITS = re.compile(r"(?:__)?(?:u_?int|int|[us]|[bl]e)(16|32|64)(?:_t)?")
_DIMENSION = re.compile(r"\[([^\]]*)\]")


class Overlay(NamedTuple):
    """A struct that shares the bytes of the searched one in a union, and is defined elsewhere."""

    other: str
    """Its tag or typedef."""
    line: int


class Leading(NamedTuple):
    """A member at the beginning of a struct, as C text declares it."""

    words: tuple[str, ...]
    """The words and stars of its type, sorted."""
    dims: int
    name: str


def find(code: Code, subject: Subject) -> Iterator[OrderUse | Overlay]:
    """Yield the members of unions that overlay a struct."""
    if "union" not in code.text:
        return
    places: dict[int, list[tuple[int, int]]] = {}
    for start, end in code.types(subject.type_pattern):
        brace = code.brace_around(start)
        if brace is not None and _IS_UNION.search(code.text, max(0, brace - _NEAR), brace) is not None:
            places.setdefault(brace, []).append((start, end))
    for brace, types in places.items():
        parts = list(code.parts(brace))
        own = _parts_by_value(code, parts, types)
        for low, high in parts if own else ():
            if low not in own:
                yield from _member_overlays(code, subject, low, high)


def _parts_by_value(code: Code, parts: list[tuple[int, int]], types: list[tuple[int, int]]) -> set[int]:
    """Return where the parts of a body begin that declare something of a type by value."""
    own: set[int] = set()
    for start, end in types:
        place = bisect_right(parts, (start, len(code.text))) - 1
        if place < 0:
            continue
        low, high = parts[place]
        is_value = _DECLARED.match(code.text, low, start) is not None and "*" not in code.text[end:high]
        if start < high and is_value:
            own.add(low)
    return own


def _member_overlays(code: Code, subject: Subject, low: int, high: int) -> Iterator[OrderUse | Overlay]:
    """Yield what a member of a union says about the struct beside it."""
    head = _STRUCT.match(code.text, low, high)
    if head is None or (not head[3] and "*" in code.text[low:high]):
        return
    line = code.line(head.start(2) if head[2] else high - 1)
    if head[3]:
        members = leading_members(code, head.end() - 1) if head[1] else ()
        yield from uses(subject, members, code.path, line, "a struct")
    elif _is_words(code, subject, low, high):
        text = f"`{code.declared_name(low, high)}` overlays the struct with words in a union"
        yield OrderUse("union-overlay", code.path, line, text)
    elif head[2] and head[2] not in subject.names:
        yield Overlay(head[2], line)


def _is_words(code: Code, subject: Subject, low: int, high: int) -> bool:
    """Return whether a member of a union is a word, or an array of words, of the size of the struct."""
    text, size = code.text[low:high], subject.struct.bit_size
    dims = _DIMENSION.findall(text)
    word = _word_bits(_type_words(text), subject.struct.target.pointer_size)
    if word is None or size is None:
        return False
    if any(re.search(rf"sizeof\s*\(\s*{subject.type_pattern}", each) for each in dims):
        return True
    return all(each.strip().isdecimal() for each in dims) and word * prod(map(int, dims)) == size


def _word_bits(words: tuple[str, ...], pointer_size: int) -> int | None:
    """Return the size of an integer that is wider than a byte, by the words of its type; None for others."""
    stated = _STATED_BITS.fullmatch(words[0]) if len(words) == 1 else None
    if stated is not None:
        return int(stated[1])
    sizes = {("long",): 8 * pointer_size, ("size_t",): 8 * pointer_size, ("long", "long"): 64, ("short",): 16}
    return {("int",): 32, ("unsigned",): 32, **sizes}.get(tuple(w for w in words if w != "unsigned") or words)


def bodies(code: Code, names: frozenset[str]) -> dict[str, tuple[Leading, ...]]:
    """Return the first members of the structs with some names that a text defines."""
    return {
        own.name: leading_members(code, brace)
        for brace, types in code.struct_names.items()
        for own in types
        if own.name in names
    }


def leading_members(code: Code, brace: int) -> tuple[Leading, ...]:
    """Return the members of a body up to the first one of a type with a body of its own."""
    members: list[Leading] = []
    words: tuple[str, ...] = ()
    is_next = False
    for low, high in code.parts(brace):
        text, name = code.text[low:high], code.declared_name(low, high)
        if "{" in text or not name:
            break
        words = words if is_next else _type_words(text)
        stars = ("*",) * (text.count("*") if is_next else 0)
        own = tuple(word for word in words if word != "*") if is_next else words
        members.append(Leading(_sorted_words((*own, *stars)), text.count("["), name))
        is_next = code.text[high : high + 1] == ","
    return tuple(members)


def uses(
    subject: Subject, members: Sequence[Leading], path: str, line: int, other: str
) -> Iterator[OrderUse]:
    """Yield the use of a struct in a union with members at the beginning like those of the searched one."""
    same = 0
    for field, member in zip(subject.struct.fields, members, strict=False):
        own = _sorted_words(_TOKEN.findall(str(field.type))), len(field.dims)
        if own != member[:2] or not _is_same_name(field.name or "", member.name):
            break
        same += 1
    if same:
        shown = ", ".join(f"`{name}`" for name in subject.members[:same])
        text = f"{other} in a union with the struct begins with the same members: {shown}"
        yield OrderUse("union-overlay", path, line, text, subject.members[:same], "order", "start")


def _type_words(text: str) -> tuple[str, ...]:
    """Return the words of the type in a declaration of one name, sorted as `_sorted_words` does."""
    tokens = _TOKEN.findall(_DIMENSION.sub("", text).partition(":")[0])
    return _sorted_words(tokens[:-1])


def _sorted_words(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return words of a type in one order, so that `unsigned long int` and `long unsigned` are the same."""
    words = [token for token in tokens if token not in _QUALIFIERS]
    if not _SIZED.isdisjoint(words):
        words = [word for word in words if word != "int"]
    return tuple(sorted(words))


def _is_same_name(own: str, other: str) -> bool:
    """Return whether members have one name, or names that differ in a prefix: `sa_family`, `sin_family`."""
    return bool(own) and (own == other or own.partition("_")[2] == other.partition("_")[2] != "")
