"""Unions of a struct with members that begin like it, or with its words: C lets a program write one and read
the other (C11 6.5.2.3, note 95 and paragraph 6).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

from layoutlint.model.structs import Field
from layoutlint.sources.order_uses.code import Code
from layoutlint.sources.order_uses.facts import OrderUse, UnresolvedUse
from layoutlint.sources.order_uses.subject import Subject

_IS_UNION = re.compile(r"\bunion\b[^;{}()]{0,200}+$")
_IS_AGGREGATE = re.compile(r"\b(?:struct|union)\b[^;{}=]{0,200}+$")
_DEEPEST = 8
_DEEPEST_UNION = 3
_NEAR = 200
_DECLARED = re.compile(r"\s*+(?:(?:const|volatile)\s++){0,9}+$")
_DECLARED_END = re.compile(r"[^;{}()=,]{0,400}+")
_POINTED = re.compile(r"\(\s*\*[^()]*\)\s*(\()?")
_STRUCT = re.compile(r"\s*+(?:(?:const|volatile)\s++){0,9}+(?:(struct|union)\b\s*+)?+(\w++)?\s*+(\{)?")
_TOKEN = re.compile(r"\w+|\*")
_QUALIFIERS = frozenset(("const", "volatile", "signed"))
_SIZED = frozenset(("unsigned", "long", "short"))
_STATED_BITS = re.compile(r"(?:__|g)?(?:u_?int|int|[us]|[bl]e)(8|16|32|64)(?:_t)?")
_IS_NAMELESS = re.compile(
    r"\s*+(?:(?:const|volatile|__extension__)\s++)*+struct\b(?:\s*+__attribute__\s*+\(\(.*\)\))?+\s*+"
)
_ATTRIBUTES = re.compile(r"\s*+(?:(?:__attribute__\s*+\(\(.*\)\)|__\w++)\s*+)*+", re.DOTALL)
_DIMENSION = re.compile(r"\[([^\]]{0,400}+)\]")


class Overlay(NamedTuple):
    """A struct that shares the bytes of the searched one in a union, and is defined elsewhere."""

    other: str
    """Its tag or typedef."""
    line: int
    is_pointer: bool = False
    """Whether pointers to both are in the union."""


class ByUnion(NamedTuple):
    """What a member of a union says about the struct that shares its bytes, if programs use both."""

    use: OrderUse | Overlay | UnresolvedUse


class Leading(NamedTuple):
    """A member at the beginning of a struct, as C text declares it."""

    words: tuple[str, ...]
    """The words and stars of its type, sorted."""
    dims: int
    name: str


def find(code: Code, subject: Subject) -> Iterator[OrderUse | Overlay | ByUnion]:
    """Yield the members of unions that overlay a struct, and pointers that overlay a pointer to it."""
    yield from find_around(code, subject, subject.type_pattern, is_inside=False)


def find_around(
    code: Code, subject: Subject, type_pattern: str, is_inside: bool = True
) -> Iterator[OrderUse | Overlay | ByUnion]:
    """Yield the members of unions that overlay a type: the struct, or one that has the struct inside."""
    if "union" not in code.text:
        return
    places: dict[tuple[int, bool], list[tuple[int, int]]] = {}
    heads: dict[int, tuple[bool, bool]] = {}
    for start, end in code.types(type_pattern):
        for level, brace in enumerate(_braces(code, start, heads)):
            if heads[brace][1]:
                places.setdefault((brace, is_inside or level > 0), []).append((start, end))
    for (brace, is_nested), types in places.items():
        parts = list(code.parts(brace))
        own = _own_parts(code, parts, types, is_nested)
        sorts = frozenset(own.values())
        for low, high in parts:
            if low in own:
                continue
            if "pointer" in sorts and not is_nested:
                yield from _pointer_overlays(code, subject, low, high)
            if "value" in sorts:
                yield from map(ByUnion, _member_overlays(code, subject, low, high))
            elif "inside" in sorts:
                yield from map(ByUnion, _scalar_overlays(code, subject, low, high, is_inside=True))


def _braces(code: Code, at: int, heads: dict[int, tuple[bool, bool]]) -> Iterator[int]:
    """Yield the braces of the structs and unions around an offset, the innermost first.

    `heads` keeps which braces are of a struct or a union, and which of a union.
    """
    for _ in range(_DEEPEST):
        brace = code.brace_around(at)
        if brace is None:
            return
        if brace not in heads:
            patterns = (_IS_AGGREGATE, _IS_UNION)
            matches = [each.search(code.text, max(0, brace - _NEAR), brace) is not None for each in patterns]
            heads[brace] = matches[0], matches[1]
        if not heads[brace][0]:
            return
        yield brace
        at = brace


def _own_parts(
    code: Code, parts: list[tuple[int, int]], types: list[tuple[int, int]], is_nested: bool
) -> dict[int, str]:
    """Return the parts of a body that have a type: itself, a pointer to it, or inside; by their beginning."""
    own: dict[int, str] = {}
    for start, end in types:
        low, high = parts[bisect_right(parts, (start, len(code.text))) - 1]
        behind = _DECLARED_END.match(code.text, end, high)
        pointed = None if behind is None else _POINTED.match(code.text, behind.end(), high)
        if pointed is not None and pointed[1]:
            continue  # a pointer to a function
        is_pointer = pointed is not None or (behind is not None and "*" in behind[0])
        is_alone = _DECLARED.match(code.text, low, start) is not None
        if not is_alone and code.text.find("{", low, start) < 0:
            continue  # a part of another declaration, as in `int raw[sizeof(struct ring)]`
        if is_nested or not is_alone:
            sort = "" if is_pointer else "inside"
        elif is_pointer:
            sort = "pointer"
        else:
            sort = "inside" if behind is not None and "[" in behind[0] else "value"
        if sort:
            own.setdefault(low, sort)
    return own


def _member_overlays(
    code: Code, subject: Subject, low: int, high: int, depth: int = _DEEPEST_UNION
) -> Iterator[OrderUse | Overlay | UnresolvedUse]:
    """Yield what a member of a union says about the struct beside it."""
    head = _STRUCT.match(code.text, low, high)
    if head is None:
        return
    line = code.line(head.start(2) if head[2] else high - 1)
    if head[3] and head[1] == "union":
        if not depth:
            yield UnresolvedUse(line, "what unions in unions overlay: they are too deep")
            return
        for part in code.parts(head.end() - 1):
            yield from _member_overlays(code, subject, *part, depth - 1)
    elif head[3]:
        members = leading_members(code, head.end() - 1) if head[1] else ()
        yield from uses(subject, members, code.path, line, "a struct")
    elif _is_scalar(code, subject, low, high):
        yield from _scalar_overlays(code, subject, low, high)
    elif head[2] and head[2] not in subject.names:
        yield Overlay(head[2], line)


def _is_scalar(code: Code, subject: Subject, low: int, high: int) -> bool:
    return _word_bits(_type_words(code.text[low:high]), subject.struct.target.pointer_size) is not None


def _scalar_overlays(
    code: Code, subject: Subject, low: int, high: int, is_inside: bool = False
) -> Iterator[OrderUse]:
    """Yield the use of a scalar, or an array of scalars, over the first bytes of the struct."""
    if code.text.find("{", low, high) >= 0:
        return
    text, name = code.text[low:high], code.declared_name(low, high)
    bits = _word_bits(_type_words(text), subject.struct.target.pointer_size)
    dims = _DIMENSION.findall(text)
    if bits is None:
        return
    line = code.line(high - 1)
    is_storage = bool(dims) and is_inside and not all(each.strip().isdecimal() for each in dims)
    if is_storage and not code.used_members.get(name):
        return  # a stack, or what else an object is at an end of
    if bits == 8 and dims and name not in code.used_members:
        return  # bytes that only give the union its size
    shown = f"`{name}` overlays the struct with words in a union"
    is_counted = all(each.strip().isdecimal() for each in dims)
    if is_inside or not is_counted:
        yield OrderUse("union-overlay", code.path, line, shown)
        return
    covered = bits * prod(map(int, dims))
    members = tuple(
        member
        for member, field in zip(subject.members, subject.struct.fields, strict=True)
        if field.bit_offset < covered
    )
    if len(members) == len(subject.members):
        yield OrderUse("union-overlay", code.path, line, shown)
    else:
        yield OrderUse("union-overlay", code.path, line, shown, members, "range", "start")


def _pointer_overlays(code: Code, subject: Subject, low: int, high: int) -> Iterator[OrderUse | Overlay]:
    """Yield what a pointer in a union says about what the pointer to the struct beside it points to."""
    head = _STRUCT.match(code.text, low, high)
    if head is None or head[3] or code.text.find("*", low, high) < 0 or code.text.find("(", low, high) >= 0:
        return
    text = code.text[low:high]
    line = code.line(high - 1)
    words = tuple(word for word in _type_words(text) if word != "*")
    if words == ("void",) or (len(words) > 1 and words[-1] == "void"):
        return
    bits = _word_bits(words, subject.struct.target.pointer_size)
    if bits is not None:
        name = code.declared_name(low, high)
        shown = f"`{name}` overlays a pointer to the struct in a union, and points to its words"
        is_text = bits == 8 and text.count("*") == 1
        yield OrderUse("union-overlay", code.path, line, shown, is_note=is_text)
    elif head[2] and head[2] not in subject.names:
        yield Overlay(head[2], line, True)


def _word_bits(words: tuple[str, ...], pointer_size: int) -> int | None:
    """Return the size of a scalar by the words of its type; None for another type."""
    if "*" in words:
        return 8 * pointer_size
    stated = _STATED_BITS.fullmatch(words[0]) if len(words) == 1 else None
    if stated is not None:
        return int(stated[1])
    if "enum" in words:
        return 32
    word = 8 * pointer_size
    sizes = {
        ("long",): word, ("size_t",): word, ("uintptr_t",): word, ("intptr_t",): word, ("long", "long"): 64,
        ("short",): 16, ("char",): 8, ("bool",): 8, ("_Bool",): 8, ("byte",): 8,
        ("float",): 32, ("double",): 64, ("int",): 32, ("unsigned",): 32, ("uint",): 32, ("ulong",): word,
        ("ushort",): 16, ("u_short",): 16, ("u_int",): 32, ("u_long",): word,
    }  # fmt: skip
    return sizes.get(tuple(word for word in words if word != "unsigned") or words)


def bodies(code: Code, names: frozenset[str]) -> dict[str, tuple[Leading, ...]]:
    """Return the first members of the structs with some names that a text defines."""
    return {
        own.name: leading_members(code, brace)
        for brace, types in code.struct_names.items()
        for own in types
        if own.name in names
    }


def leading_members(code: Code, brace: int) -> tuple[Leading, ...]:
    """Return the members of a body up to the first one of a type with a body of its own.

    Members of structs without a name are among them.
    """
    members: list[Leading] = []
    words: tuple[str, ...] = ()
    is_next = False
    for low, high in code.parts(brace):
        if (inner := _nameless_body(code, low, high)) is not None:
            inside = leading_members(code, inner)
            members += inside
            if len(inside) < sum(1 for _ in code.parts(inner)):
                break
            continue
        if code.text.find("{", low, high) >= 0 or not (name := code.declared_name(low, high)):
            break
        text = code.text[low:high]
        words = words if is_next else _type_words(text)
        stars = ("*",) * (text.count("*") if is_next else 0)
        own = tuple(word for word in words if word != "*") if is_next else words
        members.append(Leading(_sorted_words((*own, *stars)), text.count("["), name))
        is_next = code.text[high : high + 1] == ","
    return tuple(members)


def _nameless_body(code: Code, low: int, high: int) -> int | None:
    """Return the brace of a struct without a name that a declaration is; None for another one."""
    brace = code.text.find("{", low, high)
    end = code.closings.get(brace) if brace >= 0 else None
    if end is None or not _IS_NAMELESS.fullmatch(code.text, low, brace):
        return None
    return brace if _ATTRIBUTES.fullmatch(code.text, end + 1, high) else None


def _leading_fields(subject: Subject) -> Iterator[tuple[int, Field]]:
    """Yield the fields with the position of the member that they are, or that is a struct without a name."""
    for position, field in enumerate(subject.struct.fields):
        yield from ((position, each) for each in _fields_inside(field))


def _fields_inside(field: Field) -> Iterator[Field]:
    if field.name is None and field.aggregate == "struct":
        for member in field.members:
            yield from _fields_inside(member)
    else:
        yield field


def _is_alike(subject: Subject, field: Field, member: Leading) -> bool:
    """Return whether a field has the type of a member of another struct, or both are scalars of one size."""
    own = _sorted_words(_TOKEN.findall(str(field.type))), len(field.dims)
    bits = _word_bits(member.words, subject.struct.target.pointer_size)
    is_scalar = field.aggregate is None and not field.dims and not member.dims
    return own == member[:2] or (is_scalar and bits == field.bit_size)


def uses(
    subject: Subject, members: Sequence[Leading], path: str, line: int, other: str
) -> Iterator[OrderUse]:
    """Yield the use of a struct in a union with members at the beginning like those of the searched one."""
    same, matched = 0, 0
    for position, field in _leading_fields(subject):
        if matched < len(members) and _is_alike(subject, field, members[matched]):
            same, matched = position + 1, matched + 1
        elif field.bit_size != 0:  # a mark has no bytes that the other struct could have
            break
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
