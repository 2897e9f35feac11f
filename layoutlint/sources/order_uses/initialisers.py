"""Initialisers of a struct in C text: which give values to members by position."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from layoutlint.model.structs import Field
from layoutlint.readers.c_tokens import number
from layoutlint.sources.allocations.declarations import Unclear
from layoutlint.sources.order_uses.code import Code
from layoutlint.sources.order_uses.facts import OrderUse, UnresolvedUse
from layoutlint.sources.order_uses.subject import Subject

_TAIL = re.compile(r"([^;{}=]{0,400}+)=(?!=)\s*")
_BODY = re.compile(r"[^;{}()=,]{0,100}+\{")
_NEXT = re.compile(r",([^;{}=]{0,200}+)=(?!=)\s*")
_COMPARES = "!<>=+-*/|&^%"
_NO_STARS = re.compile(r"\[[^\]]{0,400}+\]|\([^()*]*+\)")
_COMPOUND = re.compile(r"\s*+(?:const\s*+)?((?:\[[^\]\n]{0,200}+\]\s*+){0,9}+)\)\s*+")
_OPENS_COMPOUND = re.compile(r"(?:^|[^\w\s]|\breturn|[,=(]\s)\s*\(\s*(?:(?:const|static|volatile)\s+)*$")
"""The parenthesis before the type of a compound literal; it is none of a call or of `sizeof`."""
_NEAR = 60
_SPACE = re.compile(r"\s*+")
_LONGEST = 400
"""The most characters of a value that are read."""
_CALL = re.compile(r"([A-Za-z_]\w*+)\s*+(\()?")
_DESIGNATED = re.compile(r"\s*+(?:\.\s*+(\w++)\s*+((?:\.|\[)[^=]*+)?=|([A-Za-z_]\w*+)\s*+:(?!:))")
_INDEXED = re.compile(r"\s*+(?:\[[^\]]{0,400}+\]\s*+){1,9}+(?:=\s*+)?")
_NUMBER_ZERO = re.compile(r"\(*+(?:0[xX]?0*+[uUlL]*+|false|0\.0*+[fF]?|'\\0')\)*+")
_MACRO_NAME = re.compile(r"_*[A-Z][A-Z0-9_]*+|_\w++")
_COMPOUND_VALUE = re.compile(
    r"\(\s*+(?:struct\s++|union\s++|const\s++){0,9}+\w++\s*+(?:\[[^\]]{0,400}+\]\s*+){0,9}+\)\s*+\{"
)
_COMPOUND_IN_PARENTHESES = re.compile(rf"\s*+\(*?\s*+{_COMPOUND_VALUE.pattern}")
_ARITHMETIC = re.compile(r"[\w)\]]\s*(?:[+*/%|^&]|-(?!>)|<<|>>)\s*[\w(]")
_POINTED = re.compile(r"\*\s*([A-Za-z_]\w*)|([A-Za-z_]\w*)\s*\[[^\]]*\]")
_PARENTHESES = re.compile(r"\([^()]*\)")
_SCALAR_VALUE = re.compile(r"[-+~!]?\s*(?:\d|'|&)|NULL\b|\(\s*\w[\w\s]*\*+\s*\)")


class Initialiser(NamedTuple):
    """A value in braces, or made by a macro, for the struct or for an array of it."""

    at: int
    """The offset of the brace, or of the macro."""
    dims: int
    """The dimensions of the array."""
    macro: str = ""
    """The macro that the value is made by; empty for braces."""
    is_element: bool = False
    """Whether it is one of the values in other braces, whose own braces C lets out."""
    is_unclear: bool = False
    """Whether the text does not show that it is for the struct."""


class ByMacro(NamedTuple):
    """A value or a part of one that a macro makes, which is defined elsewhere."""

    name: str
    line: int
    is_element: bool
    """Whether it is one of the values in the braces."""


class Value(NamedTuple):
    """A value in braces."""

    start: int
    end: int
    member: str
    """The member that a designator names; empty for a value by position."""
    path: str = ""
    """What the designator names in the member: `[0].a`."""


def find(code: Code, type_pattern: str) -> Iterator[Initialiser]:
    """Yield the initialisers of variables and compound literals of a type."""
    for start, end, dims in code.typeof_operands(type_pattern):
        for own in variables(code, end):
            yield own._replace(dims=own.dims + (dims or 0), is_unclear=dims is None)
        for own in _compounds(code, start, end):
            yield own._replace(dims=own.dims + (dims or 0), is_unclear=dims is None)
    for start, end in code.types(type_pattern):
        yield from variables(code, end)
        yield from _compounds(code, start, end)
        body = _BODY.match(code.text, end)
        if body is not None and (behind := code.closings.get(body.end() - 1)) is not None:
            yield from variables(code, behind + 1)


def _compounds(code: Code, start: int, end: int) -> Iterator[Initialiser]:
    """Yield the compound literal whose type is in a range."""
    compound = _COMPOUND.match(code.text, end)
    if compound is not None and _OPENS_COMPOUND.search(code.text, max(0, start - _NEAR), start):
        value = _value(code, compound.end(), compound[1].count("["))
        if value is not None and (not value.macro or _MACRO_NAME.fullmatch(value.macro)):
            yield value


def variables(code: Code, at: int) -> Iterator[Initialiser]:
    """Yield the initialisers in a declaration whose type ends at an offset."""
    tail = _TAIL.match(code.text, at)
    if tail is None or not tail[1].strip(" \t\n*") or tail[1][-1] in _COMPARES:
        return
    declarator = tail[1] if tail[1].count("(") != tail[1].count(")") else tail[1].rpartition(",")[2]
    while tail is not None:
        value = _value(code, tail.end(), declarator.count("["))
        equals = code.text.rfind("=", 0, tail.end())
        if value is None and code.has_directive(equals, tail.end(), "include"):
            value = Initialiser(equals, 0)
        if value is not None and "*" not in _NO_STARS.sub("", declarator):
            yield value
            yield from _other_branches(code, value)
        comma = code.next_comma(tail.end())
        tail = None if comma is None else _NEXT.match(code.text, comma)
        declarator = tail[1] if tail is not None else ""


def _other_branches(code: Code, value: Initialiser) -> Iterator[Initialiser]:
    """Yield the values in braces that follow a value in another branch of `#if`."""
    end = code.closings.get(value.at) if code.text[value.at] == "{" else None
    while end is not None:
        start = _skip_space(code, end + 1)
        if code.text[start : start + 1] != "{" or not code.has_directive(end, start):
            return
        yield value._replace(at=start)
        end = code.closings.get(start)


def _value(code: Code, at: int, dims: int) -> Initialiser | None:
    if code.text[at : at + 1] == "{":
        return Initialiser(at, dims)
    call = _CALL.match(code.text, at)
    if call is None or call[1] == "NULL":
        return None
    return Initialiser(at, dims, call[1]) if call[2] or _MACRO_NAME.fullmatch(call[1]) else None


def elements(code: Code, brace: int) -> Iterator[Value]:
    """Yield the values within braces, without an empty one at the end."""
    for start, end in code.parts(brace):
        if code.text[start : min(end, start + _LONGEST)].strip() or end - start >= _LONGEST:
            yield element_at(code, start, end)


def element_at(code: Code, start: int, end: int) -> Value:
    """Return the value between two offsets, with its designator."""
    designator = _DESIGNATED.match(code.text[start : min(end, start + _LONGEST)])
    if designator is None:
        return Value(start, end, "")
    path = "".join((designator[2] or "").split())
    return Value(start + designator.end(), end, designator[1] or designator[3], path)


def runs(code: Code, brace: int) -> list[list[Value]]:
    """Return the values within braces in runs: each begins at a designator, or at the start."""
    groups: list[list[Value]] = []
    for element in elements(code, brace):
        if element.member or not groups:
            groups.append([])
        groups[-1].append(element)
    return groups


def array_values(code: Code, value: Initialiser) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and remaining dimensions of the values for single structs in an initialiser.

    The dimensions of a value that is not in braces are those that are left.
    """
    pending = [(value.at, code.closings.get(value.at, -1), value.dims)]
    while pending:
        start, end, dims = pending.pop()
        if end < 0:
            continue
        if dims == 0 or code.text[start] != "{":
            yield start, end, dims
            continue
        for first, last in code.parts(start):
            index = _INDEXED.match(code.text, first, last)
            first = index.end() if index is not None else first
            first = _skip_space(code, first)
            if first < last:
                pending.append((first, last, dims - 1))


def included_line(code: Code, value: Initialiser) -> int | None:
    """Return the line of an initialiser that includes a file; None for another one."""
    end = _skip_space(code, value.at + 1) if code.text[value.at] == "=" else code.closings.get(value.at)
    return code.line(value.at) if end is not None and code.has_directive(value.at, end, "include") else None


class Judge:
    """Judges the values of a struct's members."""

    def __init__(self, subject: Subject, code: Code) -> None:
        self._subject = subject
        self._code = code
        self._chains = first_chains(subject)

    def uses(self, value: Initialiser) -> Iterator[OrderUse | ByMacro | UnresolvedUse]:
        """Yield the uses in an initialiser of the struct, and the macros on which it depends."""
        if value.is_unclear:
            if any(isinstance(use, OrderUse) for use in self.uses(value._replace(is_unclear=False))):
                text = "whether `typeof` names the struct, of which values are set by position"
                yield UnresolvedUse(self._code.line(value.at), text)
            return
        if (line := included_line(self._code, value)) is not None:
            yield UnresolvedUse(line, "what a file that an initialiser includes sets")
        if value.macro:
            yield ByMacro(value.macro, self._code.line(value.at), value.is_element)
            return
        for start, end, dims in array_values(self._code, value):
            sign = self._code.text[start]
            if sign == "{" and dims == 0:
                yield from self.struct_value(start)
            elif sign not in "({'":
                yield from self._bare(start, end)

    def _bare(self, at: int, end: int) -> Iterator[OrderUse | ByMacro | UnresolvedUse]:
        """Yield the use of a value without braces in an array: a macro, zero, or one of a flat list."""
        element = element_at(self._code, at, end)
        if element.member:
            return
        value = value_at(self._code, element, 0)
        if value is not None:
            yield from self.uses(value)
        elif self.gives_parts(element):
            yield from self.find_in_elided_braces([element])

    def find_in_elided_braces(self, values: Sequence[Value]) -> Iterator[OrderUse]:
        """Yield the use of values for parts of the struct, whose own braces are left out."""
        texts = [_text(self._code, value) for value in values]
        if texts and all(map(is_zero, texts)):
            yield self._zero(values[0].start, texts[0])
        elif texts:
            text = "an initialiser without inner braces sets members by position"
            yield self._use(values[0].start, text, ())

    def gives_parts(self, value: Value) -> bool | None:
        """Return whether a value that should be a struct is a scalar, for a part of it; None if unclear."""
        text = _text(self._code, value)
        if text[:1] == "{" or is_compound(text):
            return False
        if text[:1] == '"' or _is_scalar(text) or is_zero(text):
            return True
        pointed = _POINTED.fullmatch(text)
        if pointed is not None:
            meaning = self._code.pointed_type(pointed[1] or pointed[2], value.start)
            return None if isinstance(meaning, Unclear) else not self._subject.is_type(meaning)
        if text.isidentifier():
            meaning = self._code.own_type(text, value.start)
            return None if isinstance(meaning, Unclear) else meaning is None
        return True if _ARITHMETIC.search(_PARENTHESES.sub("()", text)) else None

    def struct_value(self, brace: int) -> Iterator[OrderUse | ByMacro]:
        """Yield the uses in the braces of one struct."""
        values = list(elements(self._code, brace))
        positional = [value for value in values if not value.member]
        if not positional:
            return
        texts = [_text(self._code, value) for value in positional]
        is_mixed = len(positional) < len(values)
        macros = [_is_macro(text, is_mixed) for text in texts]
        for value, text, is_macro in zip(positional, texts, macros, strict=True):
            if is_macro and (call := _CALL.match(text)) is not None:
                yield ByMacro(call[1], self._code.line(value.start), True)
        if all(map(is_zero, texts)) and len(set(texts)) == 1:
            yield self._zero(brace, texts[0])
            return
        if not all(macros):
            yield from self._uses_by_position(brace, values)

    def _zero(self, brace: int, text: str) -> OrderUse:
        depth = text.count("{")
        is_pointer = "NULL" in text or "*" in text
        allowed = tuple(
            name
            for name, chain in zip(self._subject.members, self._chains, strict=True)
            if chain is not None and chain[0] >= depth and (chain[1] or not is_pointer)
        )
        shown = "".join(text.split()) or "0"
        return OrderUse(
            "zero-initialiser", self._code.path, self._code.line(brace),
            f"the initialiser {{ {shown} }} fits the type of the first member", self._subject.members[:1],
            "first", may_be_first=allowed,
        )  # fmt: skip

    def _uses_by_position(self, brace: int, values: list[Value]) -> Iterator[OrderUse]:
        """Yield a use for each run of values by position."""
        places = self._subject.member_at
        at, run_start, run, inside = 0, 0, list[int](), 0
        runs: list[tuple[int, list[int]]] = []
        for value in values:
            if value.member:
                if run:
                    runs.append((run_start, run))
                place = places.get(value.member)
                if place is None:
                    return  # another struct of this name
                at, run_start, run = place + 1, place, []
                inside = _parts_behind(self._subject.struct.fields[place], value.path)
                continue
            if inside:  # of the member that the designator names a part of
                inside -= 1
                continue
            if not run:
                run_start = at - 1 if at else 0
            if (stop := self._end_of_inner(at, value)) is not None:
                run += range(at, stop)
                at = stop
                continue
            if self._is_flat(at, value):
                yield self._use(brace, "an initialiser without inner braces sets members by position", ())
                return
            run.append(at)
            at += 1
        if run:
            runs.append((run_start, run))
        for start, places_set in runs:
            yield self._run(brace, start, places_set)

    def _run(self, brace: int, start: int, run: list[int]) -> OrderUse:
        members = self._subject.range(start, min(run[-1], len(self._subject.members) - 1))
        first, last = members[0], members[-1]
        shown = f"`{first}`" if first == last else f"`{first}` to `{last}`"
        text = f"an initialiser sets {shown} by position"
        if run[0] == 0:
            return self._use(brace, text, members, "start")
        return OrderUse(
            "positional-initialiser", self._code.path, self._code.line(brace), text, members, "range"
        )

    def _end_of_inner(self, at: int, value: Value) -> int | None:
        """Return the position behind the struct without a name that a value in braces is for."""
        return self._subject.end_of_braces(at) if _text(self._code, value)[:1] == "{" else None

    def _is_flat(self, at: int, value: Value) -> bool:
        """Return whether a value without braces is for a part of an inner struct or array."""
        if at >= len(self._subject.struct.fields):
            return True
        field = self._subject.struct.fields[at]
        text = _text(self._code, value)
        if text[:1] in ("{", '"') or is_compound(text):
            return False
        return (field.aggregate is not None or bool(field.dims)) and _is_scalar(text)

    def _use(self, at: int, text: str, members: tuple[str, ...], place: str = "anywhere") -> OrderUse:
        return OrderUse(
            "positional-initialiser", self._code.path, self._code.line(at), text, members, "order",
            "start" if place == "start" else "anywhere",
        )  # fmt: skip


def _parts_behind(field: Field, path: str) -> int:
    """Return how many values fit behind the element or the member of a field that a path names."""
    if path[:1] == "[" and len(field.dims) == 1 and field.aggregate is None and path[1:-1].isdecimal():
        return max(0, (field.dims[0] or 0) - number(path[1:-1]) - 1)
    names = [member.name for member in field.members]
    if path[:1] != "." or field.dims or path[1:] not in names or field.aggregate != "struct":
        return 0
    behind = field.members[names.index(path[1:]) + 1 :]
    return 0 if any(each.aggregate or each.dims for each in behind) else len(behind)


def _is_macro(text: str, is_mixed: bool) -> bool:
    """Return whether a value can be a macro that expands to designated values.

    A macro without arguments can if other values are designated; else it is taken for a constant.
    """
    call = _CALL.match(text)
    if call is None or call[1] == "NULL" or _MACRO_NAME.fullmatch(call[1]) is None:
        return False
    return call[2] is not None or (is_mixed and call.end() == len(text))


def _is_scalar(text: str) -> bool:
    """Return whether a value is a number or an address, maybe in parentheses."""
    return any(_SCALAR_VALUE.match(each) is not None for each in (text, text.lstrip("( ")))


def is_compound(text: str) -> bool:
    """Return whether a text is a compound literal, maybe in parentheses."""
    return _COMPOUND_IN_PARENTHESES.match(text) is not None


def is_zero(text: str) -> bool:
    """Return whether a value is zero for every type: `0`, `NULL`, `{0}`, `{}`."""
    text = "".join(text.split())
    while text[:1] == "{" and text[-1:] == "}":
        text = text[1:-1].removesuffix(",")
        if not text:
            return True
    return text in ("NULL", "((void*)0)", "(void*)0") or _NUMBER_ZERO.fullmatch(text) is not None


Chain = tuple[int, bool]
"""How many braces may be around the first scalar of a member, and whether it is a pointer."""


def first_chains(subject: Subject) -> tuple[Chain | None, ...]:
    """Return the chain of each member; None for one that `{ 0 }` does not set to zero as a whole.

    That is a union, of which only the first member is set (C11 6.7.9, GCC 15), and a member without size.
    """
    chains = map(_chain, subject.struct.fields)
    around = [
        sum(first <= at < stop for first, stop in subject.groups) for at in range(len(subject.struct.fields))
    ]  # structs without a name have braces of their own
    return tuple(chain and (chain[0] + more, chain[1]) for chain, more in zip(chains, around, strict=True))


def _chain(field: Field) -> Chain | None:
    depth = len(field.dims)
    while field.aggregate is not None:
        if field.aggregate == "union" or not field.members:
            return None
        field = field.members[0]
        depth += 1 + len(field.dims)
    if field.bit_size == 0 or field.is_flexible:
        return None
    return depth, "*" in field.type.left or field.is_function_pointer


def value_at(code: Code, element: Value, dims: int) -> Initialiser | None:
    """Return the initialiser that a value is; None for an expression."""
    value = _value(code, _skip_space(code, element.start), dims)
    if value is None or _MACRO_NAME.fullmatch(value.macro) is None:
        return value
    return value._replace(is_element=True)


def _skip_space(code: Code, at: int) -> int:
    """Return the offset of the first character from one on that is no space."""
    match = _SPACE.match(code.text, at)
    return at if match is None else match.end()


def _text(code: Code, value: Value) -> str:
    """Return the text of a value, or the beginning of a long one."""
    return code.text[value.start : min(value.end, value.start + _LONGEST)].strip()
