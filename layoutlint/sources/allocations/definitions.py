"""Definitions of functions and macros in C text, for the calls of them that allocate."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutlint.model.record import Record
from layoutlint.readers.c_tokens import blank_comments, blank_out
from layoutlint.sources.allocations.expressions import Tokens, tokens
from layoutlint.sources.allocations.struct_definitions import closing_brace
from layoutlint.sources.c_text import MACRO, arguments

_BODY = re.compile(r"\s*+(?:[A-Za-z_]\w*+\s*+(?:\((?:[^{};()]|\([^{};()]*+\))*+\)\s*+)?){0,4}\{")
_OPEN = re.compile(r"\s*+\(")
_NO_POINTER = re.compile(
    r"void|bool|char|short|int|long|unsigned|s?size_t|[us](?:8|16|32|64)|u?int(?:8|16|32|64)_t"
)
_WORD = re.compile(r"\w+")
_FEW = 20
"""So many names are sought one by one: faster than all words of a text."""
_DEFINE = re.compile(r"#[ \t]*+define[ \t]++\Z")
_CONDITION = re.compile(r"^[ \t]*#[ \t]*if", re.MULTILINE)
_STATEMENT_ENDS = ";{}"
_LONGEST_HEAD = 400


class Definition(Record, frozen=True):
    """A function or a macro, as its text defines it."""

    name: str
    file: str
    parameters: tuple[str, ...] | None
    """Their names; None for a macro without parentheses, or a function that returns no pointer."""
    body: Tokens
    is_macro: bool = False
    is_own: bool = False
    """Whether only its file can use it: a static function, or a macro, outside of headers."""
    has_conditions: bool = False
    """Whether `#if` decides about parts of the body."""
    is_compiled: bool = False
    """Whether the text is without what conditions leave out."""


def definitions(
    text: str, file: str, names: frozenset[str], *, is_compiled: bool = False
) -> Iterator[Definition]:
    """Yield the definitions of some names in C text, and one without body for a name with other uses.

    `is_compiled` is for a text without what conditions leave out.
    """
    is_header = not file.endswith(".c")
    uses = list(_uses(text, names.intersection(_WORD.findall(text)) if len(names) > _FEW else names))
    defined = frozenset(name for name, at, _ in uses if _DEFINE.search(text, max(0, at - 40), at))
    for macro in MACRO.finditer(blank_comments(text)) if defined else ():
        if macro[1] in defined:
            parameters = None if macro[2] is None else _names(macro[2].split(","))
            body = tokens(macro[3].replace("\\", " "))
            yield Definition(macro[1], file, parameters, body, True, not is_header, False, is_compiled)
    used = {name for name, _, end in uses if end is not None}
    yield from (Definition(name, file, (), ()) for name in sorted(used))
    defined = frozenset(name for name, _, end in uses if end is not None and _may_define(text, end))
    code = blank_out(text) if defined else ""
    for name, at, end in _uses(code, defined):
        parsed = arguments(code, end) if end is not None else None
        brace = _BODY.match(code, parsed[1]) if parsed is not None else None
        if parsed is None or brace is None:
            continue
        near = max(0, at - _LONGEST_HEAD)
        start = max(near, *(code.rfind(sign, near, at) for sign in _STATEMENT_ENDS))
        words = tokens(code[start:at])
        is_own = not is_header and "static" in words
        if "*" not in words and any(map(_NO_POINTER.fullmatch, words)):
            yield Definition(name, file, None, ("0",), False, is_own)
            continue
        last = closing_brace(code, brace.end())
        body = tokens(code[brace.end() : last - 1])
        has_conditions = not is_compiled and _CONDITION.search(text, brace.end(), last) is not None
        yield Definition(name, file, _names(parsed[0]), body, False, is_own, has_conditions, is_compiled)


def _uses(text: str, names: frozenset[str]) -> Iterator[tuple[str, int, int | None]]:
    """Yield uses of some names: name, offset, and the offset of the parenthesis behind it if there is one."""
    for name in sorted(names):
        at = text.find(name)
        while at >= 0:
            end = at + len(name)
            if not _is_in_word(text, at - 1) and not _is_in_word(text, end):
                parenthesis = _OPEN.match(text, end)
                yield name, at, None if parenthesis is None else parenthesis.end() - 1
            at = text.find(name, end)


def _is_in_word(text: str, at: int) -> bool:
    return 0 <= at < len(text) and (text[at].isalnum() or text[at] == "_")


def _may_define(text: str, at: int) -> bool:
    """Return whether the parentheses at an offset of C text can begin a definition, and no call."""
    parsed = arguments(text, at)
    if parsed is None:
        return True
    rest = text[parsed[1] : parsed[1] + _LONGEST_HEAD]
    before = rest[: rest.find("{")] if "{" in rest else ""
    return bool(before or rest[:1] == "{") and (";" not in before or "/" in before)


def _names(declarations: list[str]) -> tuple[str, ...]:
    """Return the names of parameters: the last word of each, before brackets; empty for one without."""
    return tuple((_WORD.findall(declaration.partition("[")[0]) or [""])[-1] for declaration in declarations)
