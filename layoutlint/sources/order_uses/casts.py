"""Casts between pointers to a struct and pointers to other types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from layoutlint.sources.allocations.declarations import TypeName, Unclear
from layoutlint.sources.order_uses.code import Code
from layoutlint.sources.order_uses.facts import OrderUse, UnresolvedUse
from layoutlint.sources.order_uses.subject import Subject

_OPENS = re.compile(r"\(\s*(?:(?:const|volatile)\s+)*$")
_TO = re.compile(
    r"\s*+(?:const\s*+)?\*\s*+(?:const\s*+|__\w++\s*+)?\)(?P<open>[\s(]*+)(&?)\s*+(\w++)"
)
_TO_MEMBER = re.compile(
    r"\s*+(?:const\s*+)?\*\s*+\)\s*+\(*\s*+&\s*+\(*\w++((?:(?:->|\.)\w++)++)\s*+\)*(?!\s*+(?:->|\.|\[|\())"
)
_FROM = re.compile(
    r"\(\s*+(?:(?:const|volatile)\s+)*+(?:(struct|union)\s+)?+(\w++(?:\s+(?:int|long|char|short|unsigned|signed))*+)\s*+(?:const\s*+)?(\*(?:\s*\*)*)\s*+"
    r"(?:__\w++\s*+)?\)(?P<open>[\s(]*+)(&?)\s*+(\w++)"
)
_VARIABLE = re.compile(r"\s*+(?:const\s*+|__\w++\s*+){0,9}+(\*?)\s*+(?:const\s+|__\w++\s+)?(\w++)")
_BEHIND = re.compile(r"\s*+(?!->|\.|\[|\(|\w)(\)?)")
"""What is behind an operand; its group is a parenthesis that is closed."""
_NEXT = re.compile(r"\s*+\+\s*+1\s*+\)")
"""What is behind `(header` in `(header + 1)`: the memory behind a struct."""
_NEAR = 40
_BYTES = frozenset(
    (
        "void",
        "char",
        "u8",
        "s8",
        "__u8",
        "uint8_t",
        "int8_t",
        "unsigned char",
        "signed char",
        "byte",
        "uchar",
        "u_char",
        "guint8",
        "gpointer",
    )
)
WIDE = (
    r"(?:(?:unsigned|signed|short|int|long)(?:\s+(?:unsigned|signed|short|int|long)){0,4}|float|double|g?u?int(?:16|32|64)|u?int(?:16|32|64|ptr)_t"
    r"|u_?(?:short|int|long)|(?:__)?[us](?:16|32|64)|__[bl]e(?:16|32|64)|size_t)"
)
"""A pattern of the scalar types of more than a byte."""
_WIDE = re.compile(WIDE)
_MAPPED = re.compile(
    r"\s*+(?:const\s*+)?\*\s*+(?:__\w++\s*+)?\)\s*+"
    r"(mmap(?:64)?|shmat|ioremap\w*+|memremap|early_memremap|dma_alloc_coherent)\s*+\("
)
_FAR = 1 << 12
"""The most characters before a cast in which its variable is declared."""
_NO_OPERANDS = frozenset(("sizeof", "NULL", "return"))


class Cast(NamedTuple):
    """A cast between a pointer to the struct and one to another struct, which can embed one another."""

    other: str
    """The tag or typedef of the other struct."""
    line: int
    is_typedef: bool


def find(code: Code, subject: Subject) -> Iterator[OrderUse | Cast | UnresolvedUse]:
    """Yield the casts to and from pointers to a struct whose results depend on the order of its members."""
    yield from _casts_to_struct(code, subject)
    yield from _casts_from_struct(code, subject)


def _casts_to_struct(code: Code, subject: Subject) -> Iterator[OrderUse | Cast | UnresolvedUse]:
    text = code.text
    field = subject.struct.fields[0] if subject.struct.fields else None
    first = field.name if field is not None else None
    for start, end in code.types(subject.type_pattern):
        if _OPENS.search(text, max(0, start - _NEAR), start) is None:
            continue
        match = _TO.match(text, end)
        is_variable = match is not None and match[3].isidentifier() and not _is_keyword(match[3])
        if match is not None and is_variable and _is_operand(text, match):
            yield from _cast_of_variable(code, subject, match, start)
        mapped = _MAPPED.match(text, end)
        if mapped is not None and "ANON" not in text[mapped.end() : code.closings.get(mapped.end() - 1, 0)]:
            yield OrderUse(
                "raw-transfer", code.path, code.line(start),
                f"{mapped[1]}() gives memory that others read or write",
            )  # fmt: skip
        member = _TO_MEMBER.match(text, end) if first is not None else None
        if member is not None and re.split(r"->|\.", member[1])[-1] == first:
            yield _first_member_use(code, subject, start, "to the struct from its first member")


def _is_operand(text: str, match: re.Match[str]) -> bool:
    """Return whether a variable is all that a cast is about, in as many parentheses as are open."""
    at = match.end()
    if "(" in match["open"] and _NEXT.match(text, at) is not None:
        return False
    for _ in range(match["open"].count("(") + 1):
        behind = _BEHIND.match(text, at)
        if behind is None:
            return False
        if not behind[1]:
            return True
        at = behind.end()
    return True


def _is_marked(text: str, name: str, at: int) -> bool:
    """Return whether the function marks a pointer by a number in its low bits: `p = (void *)p + MARK`."""
    near = max(0, at - _FAR)
    start = max(near, text.rfind("\n}", near, at))
    marks = re.compile(rf"\b{re.escape(name)}\s*+=\s*+\([^()]*\*\s*+\)\s*+{re.escape(name)}\s*+[+|-]")
    return marks.search(text, start, at) is not None


def _is_keyword(word: str) -> bool:
    """Return whether a word that follows a cast is no variable: `(struct ring *)((char *)p - n)`."""
    return word in _NO_OPERANDS or word in _BYTES or _WIDE.fullmatch(word) is not None


def _cast_of_variable(
    code: Code, subject: Subject, match: re.Match[str], at: int
) -> Iterator[OrderUse | Cast | UnresolvedUse]:
    name = match[3]
    if not match[2] and _is_marked(code.text, name, at):
        return
    meaning = code.own_type(name, at) if match[2] else code.pointed_type(name, at)
    words = "" if match[2] or isinstance(meaning, TypeName) else _declared_words(code, name, at)
    if words:
        text = f"a cast from `{words} *` reads the struct by words"
        yield OrderUse("scalar-cast", code.path, code.line(at), text)
    elif isinstance(meaning, Unclear):
        if subject.first_types:
            text = f"what `{name}` is in a cast to the struct"
            yield UnresolvedUse(code.line(at), text, subject.members[:1], "first")
    elif meaning is not None and not subject.is_type(meaning):
        yield _classify(code, subject, meaning, at, "to the struct from its first member")


def _declared_words(code: Code, name: str, at: int) -> str:
    """Return the type of a pointer to wide integers, as its function declares it; empty for another type."""
    near = max(0, at - _FAR)
    start = max(near, code.text.rfind("\n}", near, at))
    if all(code.text.find(f"{star}{name}", start, at) < 0 for star in ("*", "* ", "const ")):
        return ""
    declared = re.compile(rf"\b({_WIDE.pattern})\s*\*\s*(?:const\s+)?{re.escape(name)}\s*[,;)=]")
    declarations = [" ".join(match[1].split()) for match in declared.finditer(code.text, start, at)]
    return declarations[-1] if declarations else ""


def _casts_from_struct(code: Code, subject: Subject) -> Iterator[OrderUse | Cast | UnresolvedUse]:
    text = code.text
    variables = (_VARIABLE.match(text, end) for _, end in code.types(subject.type_pattern))
    declared = {match[2] for match in variables if match is not None}
    for match in _FROM.finditer(text) if declared else ():
        name, target = match[6], " ".join(match[2].split())
        if name not in declared or target in _BYTES or not _is_operand(text, match):
            continue
        if not match[5] and _is_marked(text, name, match.start()):
            continue
        meaning = code.own_type(name, match.start()) if match[5] else code.pointed_type(name, match.start())
        stars = match[3].count("*")
        is_wide = (stars > 1 and not match[1]) or _WIDE.fullmatch(target) is not None
        if isinstance(meaning, Unclear) and is_wide:
            reason = f"whether a cast to `{target} {match[3]}` reads the struct by words"
            yield UnresolvedUse(code.line(match.start()), reason)
        if not subject.is_type(meaning):
            continue
        if match[1] and stars == 1:
            if target != subject.tag:
                yield _classify(
                    code, subject, TypeName(target), match.start(), "from the struct to its first member"
                )
        elif stars == 1 and target in subject.first_types:
            yield _first_member_use(code, subject, match.start(), "from the struct to its first member")
        elif is_wide:
            yield OrderUse(
                "scalar-cast", code.path, code.line(match.start()),
                f"a cast to `{target} {match[3]}` reads or writes the struct by words", (), "all",
            )  # fmt: skip
        elif stars == 1 and target not in subject.aliases:
            yield Cast(target, code.line(match.start()), True)


def _classify(code: Code, subject: Subject, other: TypeName, at: int, direction: str) -> OrderUse | Cast:
    if other.name in subject.first_types:
        return _first_member_use(code, subject, at, direction)
    return Cast(other.name, code.line(at), other.is_typedef)


def _first_member_use(code: Code, subject: Subject, at: int, direction: str) -> OrderUse:
    first = subject.members[:1]
    return OrderUse(
        "first-member-cast",
        code.path,
        code.line(at),
        f"a cast goes {direction}, `{first[0]}`",
        first,
        "first",
    )
