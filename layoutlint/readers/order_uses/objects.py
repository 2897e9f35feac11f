"""Accesses to the bytes of whole objects: through pointers to other types, and by sizes of parts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutlint.readers.allocations import expressions
from layoutlint.readers.allocations.declarations import Unclear
from layoutlint.readers.order_uses.casts import WIDE
from layoutlint.readers.order_uses.code import Code
from layoutlint.readers.order_uses.facts import OrderUse, Unresolved
from layoutlint.readers.order_uses.memory import (
    calls,
    is_own,
    members_before,
    whole_size,
)
from layoutlint.readers.order_uses.overlays import scalar_bits
from layoutlint.readers.order_uses.subject import Subject

_BYTE = r"(?:(?:un)?signed\s+char|char|(?:__)?[us]8|u?int8_t|uchar|u_char|byte|bool|_Bool)"
_SCALAR = rf"(?:(?:const|volatile)\s++)*+(?:{_BYTE}|{WIDE})"
_CAST = rf"\(\s*{_SCALAR}\s*+\*\s*+\)\s*+\(*\s*+(&?)\s*+(\w+)\s*+\)*"
_ELEMENT = re.compile(rf"{_CAST}\s*+\[([^\]]*)\]")
_DEREFERENCED = re.compile(rf"\*\s*+\(\s*{_CAST}\s*+[+-]\s*([^;,]{{1,200}})")
_JUDGED = re.compile(r"\s*(?:sizeof\b|0[xX]|[4-9]|[1-9]\d)")
"""A number or a size, which `addresses` judges."""
_ASSIGNED = re.compile(
    r"(?<![\w.>])([A-Za-z_]\w*+)\s*+=\s*(?:\([^()]{1,80}\*\s*+\)\s*)*\(*(&?)\s*+([A-Za-z_]\w*+)(?:(->|\.)(\w++))?\)*\s*[;,)]"
)
_DECLARED = r"\b({scalar}|(?:const\s+)?void)\s*+\*[^;(){{}}]*?\b{name}\b"
_MOVES = (
    r"(?:\+\+|--)\s*+{name}\b|\b{name}\s*+(?:\+\+|--)|(?<!\*)\b{name}\s*+(?:\+=|-=|\+(?!\+)|-(?![->])|\[)"
    r"|(?:^|[^\w)\]\s])\s*+\*\s*+(?:\+\+|--)?{name}\b"
)
_CAST_OF = r"\(\s*{scalar}\s*+\*+\s*+\)\s*+\(*\s*+{name}\b"
_WIDE_MEMBER = rf"\(\s*({WIDE})\s*+\*\s*+\)\s*+\(*&\s*+(\w+)\s*+(->|\.)\s*({{members}})\b(?!\s*(?:->|\.|\[))"
_NUMBER_OFFSET = re.compile(
    r"\(\s*(?:u?intptr_t|size_t|unsigned\s+long|long|ulong)\s*+\)\s*+\(?\s*+(&?)\s*+([A-Za-z_]\w*)\s*+\)?\s*+\+\s*+(?:[4-9]|[1-9]\d|0[xX])"
)
_FROM_START = (
    rf"&\s*+(\w+)\s*+(->|\.)\s*({{members}})\s*+\)*\s*+-\s*+\(\s*{_SCALAR}\s*+\*\s*+\)\s*+\(?\s*+&?\s*\1\b(?!\s*(?:->|\.))"
)
_ARGUMENT = re.compile(r"\s*(?:\([^()]*\*\s*+\)\s*)*\(*(&?)\s*+([A-Za-z_]\w*)\s*+\)*\s*")
_VARIABLE = re.compile(r"\s*+(?:const\s*+|__\w++\s*+|\*\s*+)*+(\w++)")
_STARTS_AT_OFFSET = re.compile(r"[^;]{0,80}?\boffsetof\b")
_HAS_HANDLE = re.compile(r"(?:nla_put|skb_put)\w*|(?:\w*_)?(?:read|write|send|recv)(?:to|from|msg)?")
"""Functions whose first argument is the file or the message, and not the memory."""
_NEAR = 80
_MOST_POINTERS = 500
"""The most pointers to bytes or words that are followed in a text."""
_MOST_FUNCTION = 1 << 13
"""The most characters behind an assignment in which its variable is followed."""


def find(code: Code, subject: Subject) -> Iterator[OrderUse | Unresolved]:
    """Yield the accesses to parts of an object that its members' names do not show."""
    objects = _Objects(code, subject)
    yield from _elements(code, objects)
    yield from _pointers(code, subject, objects)
    yield from _sizes(code, subject, objects)
    yield from _distances_from_start(code, subject)
    yield from _wide_members(code, subject)
    yield from _numbers(code, objects)


def _wide_members(code: Code, subject: Subject) -> Iterator[OrderUse]:
    """Yield `*(long *)&p->member` where the type is larger than the member."""
    for match in re.finditer(_WIDE_MEMBER.format(members=subject.member_pattern), code.text):
        field = subject.struct.fields[subject.member_at[match[4]]]
        bits = scalar_bits(match[1], subject.struct.target.pointer_size)
        is_alone = bits is not None and not field.dims and field.name is not None
        is_wider = is_alone and (bits or 0) > (field.bit_size or bits or 0)
        if is_wider and is_own(code, subject, match[2], match[3], match.start()) is not False:
            text = f"`{match[4]}` is read or written as a larger `{match[1]}`"
            yield OrderUse("scalar-cast", code.path, code.line(match.start()), text)


def _numbers(code: Code, objects: _Objects) -> Iterator[OrderUse | Unresolved]:
    """Yield `(uintptr_t)p + 8`."""
    for match in _NUMBER_OFFSET.finditer(code.text):
        owned = objects.owns(match[1], match[2], match.start())
        if owned is not False:
            yield _use(code, match.start(), "a number of bytes leads to a place in the struct", owned)


class _Objects:
    """The names in a text that the struct, or a pointer to it, may have."""

    def __init__(self, code: Code, subject: Subject) -> None:
        self._code, self._subject = code, subject
        matches = (_VARIABLE.match(code.text, end) for _, end in code.types(subject.type_pattern))
        self._names = {match[1] for match in matches if match is not None}

    def owns(self, sign: str, name: str, at: int) -> bool | None:
        """Return whether `&name`, or a pointer, is the address of an object; None if the text is unclear."""
        code = self._code
        meaning = code.own_type(name, at) if sign else code.pointed_type(name, at)
        if isinstance(meaning, Unclear):
            return None if name in self._names else False
        return self._subject.is_type(meaning)


def _use(code: Code, at: int, text: str, owned: bool | None) -> OrderUse | Unresolved:
    if owned is None:
        return Unresolved(code.line(at), f"whether {text}")
    return OrderUse("scalar-cast", code.path, code.line(at), text)


def _elements(code: Code, objects: _Objects) -> Iterator[OrderUse | Unresolved]:
    """Yield `((char *)p)[i]` and `*((char *)p + i)`."""
    for pattern in (_ELEMENT, _DEREFERENCED):
        for match in pattern.finditer(code.text):
            owned = objects.owns(match[1], match[2], match.start())
            is_judged = pattern is _DEREFERENCED and _JUDGED.match(match[3]) is not None
            if "offsetof" not in match[3] and owned is not False and not is_judged:
                text = f"single bytes or words of `{match[2]}` are read or written"
                yield _use(code, match.start(), text, owned)


def _pointers(code: Code, subject: Subject, objects: _Objects) -> Iterator[OrderUse | Unresolved]:
    """Yield the pointers to bytes or words that get the address of an object or of a member."""
    followed = 0
    for match in _ASSIGNED.finditer(code.text):
        name, sign, source, at = match[1], match[2], match[3], match.start()
        if match[5]:
            place = subject.member_at.get(match[5])
            is_array = place is not None and bool(subject.struct.fields[place].dims)
            if place is None or is_array or not sign:
                continue
            owned = is_own(code, subject, source, match[4], at)
            if owned is False:
                continue
            is_whole = subject.byte_size(place)
        else:
            owned, is_whole = objects.owns(sign, source, at), None
            if owned is False:
                continue
        scalar = _declared_scalar(code, name, at)
        if scalar is None:
            continue
        followed += 1
        if followed > _MOST_POINTERS:
            yield Unresolved(code.line(at), "what further pointers read or write: they are too many")
            return
        brace = code.brace_around(at)
        end = len(code.text) if brace is None else code.closings[brace]
        end = min(end, match.end() + _MOST_FUNCTION)
        is_followed = not match[5] or owned is None  # `addresses` follows the others
        used = _part_use(code, subject, name, scalar, (match.end(), end), is_whole, is_followed)
        if used is None:
            continue
        yield _use(code, used, f"parts of `{source}` are read or written through `{name}`", owned)


def _declared_scalar(code: Code, name: str, at: int) -> str | None:
    """Return the type that a pointer variable is declared to point to: a scalar, or void; None for others."""
    near = max(0, at - _MOST_FUNCTION)
    start = max(near, code.text.rfind("\n}", near, at))
    end = at + len(name)
    star = max(code.text.rfind(f"{sign}{name}", start, end) for sign in ("*", "* ", "*const ", "* const "))
    if star < 0:
        return None
    pattern = _DECLARED.format(scalar=_SCALAR, name=re.escape(name))
    declarations = list(re.finditer(pattern, code.text[max(start, star - _NEAR) : star + _NEAR]))
    return declarations[-1][1].split()[-1] if declarations else None


def _part_use(
    code: Code,
    subject: Subject,
    name: str,
    scalar: str,
    place: tuple[int, int],
    size: int | None,
    is_followed: bool,
) -> int | None:
    """Return where a pointer reaches a part of what it points to; None if nowhere."""
    own, (start, end) = re.escape(name), place
    pattern = _CAST_OF.format(scalar=_SCALAR, name=own) if scalar == "void" else _MOVES.format(name=own)
    for match in re.finditer(pattern, code.text[start:end]) if is_followed else ():
        is_deref = "*" in match[0] and scalar != "void"
        if size is not None and is_deref:
            continue
        if _STARTS_AT_OFFSET.match(code.text, start + match.end()) is None:
            return start + match.start()
    for at, _, parenthesis in calls(code.text[start:end]):
        parsed = expressions.arguments(code.text, start + parenthesis)
        if parsed is None or not any(re.search(rf"\b{own}\b", each) for each in parsed[0]):
            continue
        if size is None and not whole_size(code, subject, parsed[0], start + at):
            return start + at
        if size is not None and not any("sizeof" in each for each in parsed[0]):
            return start + at
    return None


def _sizes(code: Code, subject: Subject, objects: _Objects) -> Iterator[OrderUse | Unresolved]:
    """Yield the calls that read or write a part of an object by its size: `memset(p, 0, 8)`."""
    for at, name, parenthesis in calls(code.text):
        parsed = expressions.arguments(code.text, parenthesis)
        if parsed is None or len(parsed[0]) < 2:
            continue
        count = 1 if name.endswith(("set", "zero", "chr")) else 2
        first = int(_HAS_HANDLE.fullmatch(name) is not None)
        owned = [_owns(objects, each, at) for each in parsed[0][first : first + count]]
        if all(each is False for each in owned):
            continue
        if whole_size(code, subject, parsed[0], at):
            continue
        shown = f"{name}() reads or writes a part of the struct"
        members = members_before(subject, parsed[0][-1])
        if members == subject.members:
            continue
        if members is None or True not in owned:
            yield Unresolved(code.line(at), f"which part of the struct {name}() reads or writes")
        else:
            yield OrderUse("member-range", code.path, code.line(at), shown, members, "range", "start")


def _owns(objects: _Objects, argument: str, at: int) -> bool | None:
    match = _ARGUMENT.fullmatch(argument)
    return match is not None and objects.owns(match[1], match[2], at)


def _distances_from_start(code: Code, subject: Subject) -> Iterator[OrderUse]:
    """Yield `(char *)&p->tail - (char *)p`."""
    for match in re.finditer(_FROM_START.format(members=subject.member_pattern), code.text):
        place = subject.member_at[match[3]]
        if place and is_own(code, subject, match[1], match[2], match.start()) is not False:
            text = f"a size goes from the start of the struct to `{match[3]}`"
            line, members = code.line(match.start()), subject.range(0, place)
            yield OrderUse("member-range", code.path, line, text, members, "range", "start")
