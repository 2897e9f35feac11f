"""Arithmetic with addresses, which takes members for parts of an array, or of bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from layoutlint.readers.c_tokens import number
from layoutlint.readers.order_uses.code import Code
from layoutlint.readers.order_uses.facts import OrderUse, Unresolved
from layoutlint.readers.order_uses.memory import is_own
from layoutlint.readers.order_uses.subject import Subject

_BYTES = (
    r"(?:(?:const|volatile)\s++)*+(?:void|(?:(?:un)?signed\s++)?+char|(?:__)?[us]8|u?int8_t|uchar|u_char|byte)"
)
_NUMBER = r"(?:0[xX][0-9a-fA-F]+|[1-9]\d*)"
_ADDRESS = r"(?<!&)&(?!&)\s*(\w+)\s*(->|\.)\s*({members})"
_STEP = re.compile(r"\s*(?:\+(?![+=])|-(?![-=>]))\s*[\w(*&]")
_BINARY = re.compile(r"(?:(?<!\*)\)|\]|\b(?!return\b|case\b)\w+)\s*$")
"""What is before an `&` that is no address."""
_CLOSES = re.compile(r"\s*\)")
_OPENS_GROUP = re.compile(r"(?:^|[^\w\s)\]]|\breturn)\s*\(\s*$")
_SUBTRACTED = re.compile(r"\s*-\s*(?:\([^()]*\*\s*\)\s*)?&\s*\w+\s*(?:->|\.)\s*(\w+)(?!\s*(?:->|\.|\[))")
_POINTER = r"\*\s*(?:const\s+)?(\w+)\s*=\s*(?:\([^()]*\*\s*\)\s*)?{address}(?=\s*[;,])"
_MOVES = (
    r"(?:\+\+|--)\s*{name}\b|\b{name}\s*(?:\+\+|--)"
    r"|(?<!\*)\b{name}\s*(?:\+=|-=|\+(?!\+)|-(?![->])|<=?(?!<)|\[(?!\s*0\s*\]))"
)
_OUTSIDE = r"\b(\w+)\s*(->|\.)\s*({members})\s*\[\s*(-?)\s*(\d+)\s*\]"
_BYTES_FROM = (
    rf"\(\s*+{_BYTES}\s*+\*\s*+\)\s*+\(?\s*+(&?)\s*+(\w++)\s*+\)?\s*+[+-]\s*+"
    rf"(?:({_NUMBER})\b(?!\s*+\*)|sizeof\s*+\(([^()]*+(?:\([^()]*+\)[^()]*+)*+)\))"
)
_TO_OBJECT = re.compile(
    rf"\s*+\*\s*+\)\s*+\(\s*+\(\s*+{_BYTES}\s*+\*\s*+\)\s*+\(?\s*+\w++\s*+\)?\s*+[+-]\s*+{_NUMBER}\s*+\)"
)
_BYTES_BY_NAME = (
    rf"(?<!\*)(?<!\*\()\(\s*+{_BYTES}\s*+\*\s*+\)\s*+\(?\s*+(&?)\s*+(\w++)\s*+\)?\s*+\+\s*+\(*+\s*+"
    r"(?!sizeof\b)[A-Za-z_]"
)
"""A single byte, `*((char *)p + n)`, is a use that `objects` finds."""
_NEAR = 80
_IS_MEMBER = re.compile(r"\w+\s*(?:\[[^\]]*\]\s*)?(?:->|\.)")
"""A number that a member has: the size of an object behind which others are, or an offset in a table."""
_TO_OFFSET = re.compile(r"[^;]{0,200}?(?:offsetof|sizeof)\b")
_COMPARED = re.compile(
    r"\s*(?:<=?(?!<)|>=?(?!>))\s*(?:\([^()]*\*\s*\)\s*)?&\s*\w+\s*(?:->|\.)\s*(\w+)(?!\s*(?:->|\.|\[))"
)
_OPENS_CAST = re.compile(r"\(\s*(?:const\s+)?$")
_ASSEMBLY = re.compile(r"\b(?:__)?asm(?:__)?\s*(?:(?:__)?(?:volatile|goto|inline)(?:__)?\s*)*\(")
_DISPLACEMENT = re.compile(r"\b(?:0x[0-9a-f]+|[1-9]\d*)\s*\(\s*%|\[\s*%\w+\s*(?:,\s*#?|\+)\s*[1-9]")
_OBJECT = re.compile(r"\s*+(?:const\s++|volatile\s++)*+(\w++)\s*+[;=,\[]")
_WORD = re.compile(r"[A-Za-z_]\w*")
_OPERAND = re.compile(r"\(\s*(\w+)\s*\)")
_MOST_TAG = 3
"""The largest number in the low bits of a pointer, which marks it and leads to no member."""
_FUNCTION = 1 << 13
"""The most characters of a function that are read behind a pointer to a member."""
_MOST_POINTERS = 500
"""The most pointers to members in a file."""


def find(code: Code, subject: Subject, lines: frozenset[int]) -> Iterator[OrderUse | Unresolved]:
    """Yield the uses of members by arithmetic with addresses, except for the sizes in some lines."""
    if "&" in code.text:
        steps = _pointer_steps(code, subject)
        yield from (
            use
            for use in steps
            if isinstance(use, Unresolved) or use.kind == "member-index" or use.line not in lines
        )
        yield from _moving_pointers(code, subject)
    yield from _elements_outside(code, subject)
    yield from _byte_offsets(code, subject)


def find_assembly(code: Code, raw: str, subject: Subject) -> Iterator[OrderUse]:
    """Yield the assembly that gets an object in a register, and has an offset as a number."""
    for match in _ASSEMBLY.finditer(code.text) if "asm" in code.text else ():
        end = code.closings.get(match.end() - 1, match.end())
        if code.brace_around(match.start()) is None:
            before = code.text[: match.start()].rstrip()
            if before and before[-1] not in ";}":
                continue  # the name of a variable for the linker
            yield from _assembly_of_file(code, raw, subject, (match.start(), end))
            continue
        if _DISPLACEMENT.search(raw, match.end(), end) is None:
            continue
        names = (operand[1] for operand in _OPERAND.finditer(code.text, match.end(), end))
        if any(subject.is_type(code.pointed_type(name, match.start())) for name in names):
            text = "assembly has an offset in the struct as a number"
            yield OrderUse("asm-offset", code.path, code.line(match.start()), text)


def _assembly_of_file(
    code: Code, raw: str, subject: Subject, place: tuple[int, int]
) -> Iterator[OrderUse]:
    """Yield the assembly outside of functions that names an object."""
    matches = (_OBJECT.match(code.text, end) for _, end in code.types(subject.type_pattern))
    objects = {match[1] for match in matches if match is not None}
    if not objects.isdisjoint(_WORD.findall(raw[slice(*place)])):
        text = "assembly outside of functions names an object"
        yield OrderUse("asm-offset", code.path, code.line(place[0]), text)


def _pointer_steps(code: Code, subject: Subject) -> Iterator[OrderUse | Unresolved]:
    """Yield `&p->a + 1` and `&p->b - &p->a`."""
    for match in re.finditer(_ADDRESS.format(members=subject.member_pattern) + r"\b", code.text):
        start, end = match.span()
        if _CLOSES.match(code.text, end) and _OPENS_GROUP.search(code.text, max(0, start - 20), start):
            end = code.text.index(")", end) + 1
        yield from _compared_addresses(code, subject, match, end)
        if _STEP.match(code.text, end) is None or _BINARY.search(code.text, max(0, start - 20), start):
            continue
        place = subject.member_at[match[3]]
        owned = is_own(code, subject, match[1], match[2], start)
        if owned is None:
            text = f"whether members beside `{match[3]}` are reached from its address"
            yield Unresolved(code.line(start), text)
        if owned is not True:
            continue
        other = _SUBTRACTED.match(code.text, end)
        behind = subject.member_at.get(other[1]) if other is not None else None
        if behind is not None and behind != place:
            names = f"`{subject.members[place]}` and `{subject.members[behind]}`"
            yield OrderUse(
                "member-range", code.path, code.line(start), f"the addresses of {names} are subtracted",
                subject.range(place, behind), "range",
            )  # fmt: skip
        elif other is None and not subject.struct.fields[place].dims:
            yield _index_use(code, subject, match.start(), place)


def _compared_addresses(
    code: Code, subject: Subject, match: re.Match[str], end: int
) -> Iterator[OrderUse | Unresolved]:
    """Yield `&p->a < &p->b`, where `match` is the first address."""
    compared = _COMPARED.match(code.text, end)
    other = None if compared is None else subject.member_at.get(compared[1])
    place = subject.member_at[match[3]]
    if other is None or other == place:
        return
    owned = is_own(code, subject, match[1], match[2], match.start())
    members = tuple(subject.members[at] for at in sorted((place, other)))
    text = f"the addresses of `{members[0]}` and `{members[1]}` are compared"
    if owned is None:
        yield Unresolved(code.line(match.start()), f"whether {text}", members, "order")
    elif owned:
        yield OrderUse("member-range", code.path, code.line(match.start()), text, members, "order")


def _index_use(code: Code, subject: Subject, at: int, place: int) -> OrderUse:
    return OrderUse(
        "member-index", code.path, code.line(at),
        f"the members from `{subject.members[place]}` on are indexed as an array",
        subject.range(place, len(subject.members) - 1), "order",
    )  # fmt: skip


def _moving_pointers(code: Code, subject: Subject) -> Iterator[OrderUse | Unresolved]:
    """Yield the pointers to members that their function moves or indexes."""
    address = _ADDRESS.format(members=subject.member_pattern)
    for match in islice(re.finditer(_POINTER.format(address=address), code.text), _MOST_POINTERS):
        name, place = match[1], subject.member_at[match[4]]
        is_array = bool(subject.struct.fields[place].dims)
        if is_array or is_own(code, subject, match[2], match[3], match.start()) is not True:
            continue
        brace = code.brace_around(match.start())
        end = len(code.text) if brace is None else code.closings[brace]
        rest = code.text[match.end() : min(end, match.end() + _FUNCTION)]
        if re.search(_MOVES.format(name=re.escape(name)), rest) is None:
            continue
        if re.search(rf"(?<!\*)\b{re.escape(name)}\s*=(?!=)", rest) is None:
            yield _index_use(code, subject, match.start(), place)
        else:
            text = f"whether `{name}`, which points to `{subject.members[place]}`, is indexed as an array"
            yield Unresolved(code.line(match.start()), text)


def _elements_outside(code: Code, subject: Subject) -> Iterator[OrderUse]:
    """Yield the elements of arrays that are not in them: `p->array[-1]`."""
    for match in re.finditer(_OUTSIDE.format(members=subject.member_pattern), code.text):
        place = subject.member_at[match[3]]
        dims, is_last = subject.struct.fields[place].dims, place == len(subject.members) - 1
        length = dims[0] if dims else None
        is_end = code.text[max(0, match.start() - 1) : match.start()] == "&"
        index = number(match[5])
        is_behind = not is_last and bool(length) and index >= (length or 0) + is_end
        if not (is_behind or (match[4] and index and dims)):
            continue
        if is_own(code, subject, match[1], match[2], match.start()) is True:
            yield OrderUse(
                "member-index", code.path, code.line(match.start()),
                f"`{match[3]}[{match[4]}{match[5]}]` is in another member", (), "order",
            )  # fmt: skip


def _byte_offsets(code: Code, subject: Subject) -> Iterator[OrderUse | Unresolved]:
    """Yield the places that a number of bytes gives: `(char *)p + 4`, `(struct ring *)((char *)p - 4)`."""
    if not re.search(rf"\(\s*+{_BYTES}\s*+\*", code.text):
        return
    for match in re.finditer(_BYTES_FROM, code.text):
        meaning = (code.own_type if match[1] else code.pointed_type)(match[2], match.start())
        is_offset = number(match[3]) > _MOST_TAG if match[3] else _names_member(subject, match[4])
        if is_offset and subject.is_type(meaning):
            yield _byte_use(code, match.start(), "a number of bytes leads to a place in the struct")
    for match in re.finditer(_BYTES_BY_NAME, code.text):
        meaning = (code.own_type if match[1] else code.pointed_type)(match[2], match.start())
        if not subject.is_type(meaning) or _TO_OFFSET.match(code.text, match.end() - 1) is not None:
            continue
        text = f"to which place in the struct a number of bytes from `{match[2]}` leads"
        line, behind = code.line(match.start()), code.text[match.end() - 1 : match.end() + _NEAR]
        if _IS_MEMBER.match(behind) or _is_mark(code, match[2], match.start()):
            text = f"check {text}: the number is not a constant, or marks the pointer"
            yield OrderUse("unclear", code.path, line, text, is_note=True)
        else:
            yield Unresolved(line, text)
    for start, end in code.types(subject.type_pattern):
        if _TO_OBJECT.match(code.text, end) and _OPENS_CAST.search(code.text, max(0, start - 20), start):
            yield _byte_use(code, start, "a number of bytes leads from a member to the struct")


def _is_mark(code: Code, name: str, at: int) -> bool:
    """Return whether a sum is what the pointer itself gets: `p = (void *)p + MARK`."""
    return re.search(rf"\b{re.escape(name)}\s*=\s*$", code.text[max(0, at - _NEAR) : at]) is not None


def _names_member(subject: Subject, operand: str) -> bool:
    """Return whether an operand of `sizeof` is a member."""
    word = re.search(r"(?:->|\.)\s*(\w+)\s*$", operand)
    return word is not None and word[1] in subject.member_at


def _byte_use(code: Code, at: int, text: str) -> OrderUse:
    return OrderUse("offset-constant", code.path, code.line(at), text)
