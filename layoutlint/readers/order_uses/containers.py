"""Structs in C text that embed another by value: the members, and where positional initialisers find them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping

from layoutlint.model.record import Record
from layoutlint.readers.clang import text_search
from layoutlint.readers.order_uses import initialisers
from layoutlint.readers.order_uses.code import Code
from layoutlint.readers.order_uses.facts import OrderUse
from layoutlint.readers.order_uses.initialisers import ByMacro, Initialiser, Judge

_EMBEDS = re.compile(
    r"\s++((?:__\w++\s+)?\w++\s*+(?:\[[^\]\n]*+\]\s*+)*+[^;{}()*=]{0,200}+)(?:;|__\w++\s*+\()"
)
_DECLARATOR = re.compile(r"\s*(?:__\w+\s+)*(\w+)\s*((?:\[[^\]]*\]\s*)*)")
_NAME = re.compile(
    r"\(\s*\*+\s*(?:const\s+)?(\w+)|(\w+)\s*(?:\[[^\]]*\]\s*)*(?::\s*\w+\s*)?(?:__\w+(?:\s*\([^()]*\))?\s*)*$"
)
_TYPE = (
    r"\bstruct\s+(\w+)\s+(?=[^;{}=]{1,200}=\s*\{)"
    r"|\(\s*(?:const\s+)?struct\s+(\w+)\s*(?:\[[^\]\n]*\]\s*)?\)\s*(?=\{)"
)
_TYPED = re.compile(_TYPE)
_FIXED = re.compile(r"\b(?:__packed|packed|PACKED)\b")


class Container(Record, frozen=True):
    """A struct that embeds the searched one by value."""

    name: str
    """Its tag, or its typedef if it has none."""
    member: str
    dims: int
    position: int | None
    """The position of the member among those of the container; None if it depends on the configuration."""
    inner: str
    """The struct that the member is: the searched one, or another container."""
    file: str
    line: int
    is_packed: bool


def may_embed(text: str, type_pattern: str) -> bool:
    """Return whether a text seems to declare something of a type by value."""
    types = re.finditer(type_pattern, text)
    return any(_EMBEDS.match(text, match.end()) is not None for match in types)


def find(code: Code, raw: str, type_pattern: str, inner: str) -> Iterator[Container]:
    """Yield the structs that embed a type by value, each member once."""
    found = [
        (start, declarator)
        for start, end in code.types(type_pattern)
        if (match := _EMBEDS.match(code.text, end)) is not None
        for part in match[1].split(",")
        if (declarator := _DECLARATOR.match(part)) is not None
    ]
    if not found:
        return
    bodies = sorted(
        (brace, code.closings.get(brace, brace), name)
        for name, at in set(text_search.definitions_in(code.text.encode("latin-1")))
        if (brace := code.text.find("{", at)) >= 0
    )
    starts = [brace for brace, _, _ in bodies]
    for at, declarator in found:
        inside = [body for body in bodies[: bisect_right(starts, at)][-8:] if body[1] > at]
        for brace, end, name in inside[-1:]:
            tail = code.text[end : code.text.find(";", end)]
            yield Container(
                name, declarator[1], declarator[2].count("["),
                _position(code, raw, brace, declarator[1]), inner,
                code.path, code.line(at), _FIXED.search(tail) is not None,
            )  # fmt: skip


def _position(code: Code, raw: str, brace: int, member: str) -> int | None:
    """Return the position of a member in a body; None if directives are between its members."""
    end = code.closings[brace]
    if re.search(r"\n[ \t]*#", raw[brace:end]):
        return None
    for position, (start, stop) in enumerate(code.parts(brace)):
        name = _NAME.search(code.text[start:stop].rstrip()[-200:])
        if name is not None and member in (name[1], name[2]):
            return position
    return None


def find_uses(
    code: Code, containers: Mapping[str, tuple[Container, ...]], judge: Judge
) -> Iterator[OrderUse | ByMacro]:
    """Yield the uses in initialisers of containers."""
    names = {name for match in _TYPED.finditer(code.text) for name in match.groups() if name in containers}
    for name in sorted(names):
        for value in initialisers.find(code, rf"struct\s+{re.escape(name)}\b"):
            yield from _value_uses(code, containers, judge, name, value)


def _value_uses(
    code: Code, containers: Mapping[str, tuple[Container, ...]], judge: Judge, name: str, value: Initialiser
) -> Iterator[OrderUse | ByMacro]:
    pending = [(name, value)]
    while pending:
        name, value = pending.pop()
        if value.macro:
            continue
        for start, _, dims in initialisers.array_values(code, value):
            if code.text[start] != "{" or dims:
                continue
            position = 0
            for element in initialisers.elements(code, start):
                inner = _inner(containers[name], element, position)
                position = position + 1 if not element.member else len(code.text)
                given = initialisers.value_at(code, element, inner.dims) if inner is not None else None
                if inner is None or given is None:
                    continue
                if inner.inner in containers and inner.inner != name:
                    pending.append((inner.inner, given))
                else:
                    yield from judge.uses(given)


def _inner(members: tuple[Container, ...], element: initialisers.Element, position: int) -> Container | None:
    """Return the embedded member that a value is for; None if it is for another one."""
    for each in members:
        is_named = element.member == each.member and not element.is_nested
        if is_named or (not element.member and each.position == position):
            return each
    return None
