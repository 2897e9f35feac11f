"""Expansion of macros in C text, for the searches that must see what a macro declares or initialises.

Each line of the text stays at its number: an expansion is on the line on which the macro is called.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from layoutlint.readers.c_tokens import blank_comments
from layoutlint.sources import c_text

_CONTINUED = re.compile(r"\\[ \t]*\r?\n")
_WORD = re.compile(r"[A-Za-z_]\w*+")
_PARAMETER = re.compile(r"((?<!#)#(?!#)\s*)?\b([A-Za-z_]\w*+)")
_PASTE = re.compile(r"(?:(?<!\s)\s++)?##\s*+")
_ELIDED = re.compile(r",\s*##\s*(__VA_ARGS__|\w+)\b")
_OPTIONAL = re.compile(r"\b__VA_OPT__\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_OPENS = re.compile(r"\s*\(")
_PARENTHESIS = re.compile(r"[()]")
_LAST_WORD = re.compile(r"\b[A-Za-z_]\w*+(?=\s*+$)")
_STRUCTURE = re.compile(r"[{}=,]|##|\b(?:struct|union|(?:__)?typeof\w*)\b|^\s*\.")
_NEAR = 80
"""The most characters between a parameter and `##`."""
_DEEPEST = 64
"""The most macros that lead to one another; each takes three levels of calls."""
_LARGEST_ARGUMENTS = (1 << 16) + 1
"""The most characters of the arguments of a call, with the parentheses."""
LARGEST = 1 << 22
"""The most characters that the expansions in one text have."""


class TooLarge(Exception):
    """The expansions of a text are too large, or too deep."""


class MacroText(NamedTuple):
    """The definition of a macro."""

    parameters: tuple[str, ...] | None
    """None for a macro without parentheses. The name of a variadic parameter is the last one, after `...`."""
    body: str


Table = Mapping[str, tuple[MacroText, ...]]
"""The definitions of each macro: several if the configuration decides."""


def read_definitions(raw: str) -> dict[str, tuple[MacroText, ...]]:
    """Return the definitions of the macros in a text."""
    macros: dict[str, dict[MacroText, None]] = {}
    if "define" not in raw:
        return {}
    for match in c_text.MACRO.finditer(blank_comments(raw)):
        words = None if match[2] is None else tuple(word.strip() for word in match[2].split(","))
        macro = MacroText(words and _parameters(words), _CONTINUED.sub(" ", match[3]).strip())
        macros.setdefault(match[1], {})[macro] = None
    return {name: tuple(texts) for name, texts in macros.items()}


def _parameters(words: tuple[str, ...]) -> tuple[str, ...]:
    if words == ("",):
        return ()
    if words[-1].endswith("..."):
        return (*words[:-1], "...", words[-1].removesuffix("...").strip() or "__VA_ARGS__")
    return words


def with_structure(macros: Table, words: frozenset[str]) -> dict[str, tuple[MacroText, ...]]:
    """Return the macros that make more than an expression, or that lead to some words or to such macros."""
    chosen = {
        name: texts
        for name, texts in macros.items()
        if any(_has_structure(text) or not words.isdisjoint(_WORD.findall(text.body)) for text in texts)
    }
    callers: dict[str, list[str]] = {}
    for name, texts in macros.items():
        for word in {word for text in texts for word in _WORD.findall(text.body)} & macros.keys():
            callers.setdefault(word, []).append(name)
    waiting = list(chosen)
    while waiting:
        for name in callers.get(waiting.pop(), ()):
            if name not in chosen:
                chosen[name] = macros[name]
                waiting.append(name)
    return chosen


def _has_structure(macro: MacroText) -> bool:
    is_call = macro.parameters is not None and ("(" in macro.body or "&" in macro.body)
    is_open = macro.body.count("(") != macro.body.count(")")
    return is_call or is_open or _STRUCTURE.search(macro.body) is not None


def expand(text: str, table: Table, variant: int = 0) -> str:
    """Return a text with its macros expanded; of several definitions, those with a number, or the last ones.

    Raises TooLarge.
    """
    names = table.keys() & set(_WORD.findall(text))
    if not names:
        return text
    chosen = {name: texts[min(variant, len(texts) - 1)] for name, texts in table.items()}
    return _Expansion(chosen).expand(text, frozenset(), 0)


def variants(text: str, table: Table) -> int:
    """Return how many definitions the macros of a text have at most."""
    names = table.keys() & set(_WORD.findall(text))
    return max((len(table[name]) for name in names), default=1)


class _MacroCalls:
    """The arguments of calls in a text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def arguments(self, at: int) -> tuple[list[str], int] | None:
        """Return the arguments in the parentheses behind a name, and where they end; None without."""
        opens = _OPENS.match(self._text, at)
        if opens is None:
            return None
        start = opens.end() - 1
        end = self._closings.get(start)
        if end is None or end - start >= _LARGEST_ARGUMENTS:
            return None
        return c_text.arguments(self._text, start, _LARGEST_ARGUMENTS, c_text.PARENTHESES)

    @cached_property
    def _closings(self) -> dict[int, int]:
        """The offset of the parenthesis that closes each one; a call without its end is not read."""
        closings: dict[int, int] = {}
        stack: list[int] = []
        for sign in _PARENTHESIS.finditer(self._text):
            if sign[0] == "(":
                stack.append(sign.start())
            elif stack:
                closings[stack.pop()] = sign.start()
        return closings


class _Expansion:
    """The expansion of one text."""

    def __init__(self, macros: Mapping[str, MacroText]) -> None:
        self._macros = macros
        self._size = 0

    def expand(self, text: str, active: frozenset[str], depth: int) -> str:
        if depth > _DEEPEST:
            raise TooLarge
        parts: list[str] = []
        at = 0
        calls = _MacroCalls(text)
        for match in _WORD.finditer(text):
            macro = self._macros.get(match[0])
            if macro is None or match.start() < at or match[0] in active:
                continue
            made = self._call(calls, match.end(), match[0], macro, active, depth)
            if made is None:
                continue
            result, end = self._call_last(calls, *made, active | {match[0]}, depth)
            self._size += len(result)
            if self._size > LARGEST:
                raise TooLarge
            parts += (text[at : match.start()], " ", result, " ", "\n" * text.count("\n", match.start(), end))
            at = end
        parts.append(text[at:])
        return "".join(parts)

    def _call_last(
        self, calls: _MacroCalls, result: str, end: int, active: frozenset[str], depth: int
    ) -> tuple[str, int]:
        """Return what a macro makes, with the call of a macro whose name comes last in it, and its end."""
        while (last := _LAST_WORD.search(result)) is not None:
            macro = self._macros.get(last[0])
            if macro is None or macro.parameters is None or last[0] in active:
                break
            made = self._call(calls, end, last[0], macro, active, depth)
            if made is None:
                break
            result, end = result[: last.start()] + made[0], made[1]
            active |= {last[0]}
        return result, end

    def _call(
        self, calls: _MacroCalls, at: int, name: str, macro: MacroText, active: frozenset[str], depth: int
    ) -> tuple[str, int] | None:
        """Return what a macro makes, and where its call ends; None if it is not called."""
        values: dict[str, str] = {}
        if macro.parameters is not None:
            call = calls.arguments(at)
            if call is None:
                return None
            arguments, at = call
            values = _bind(macro.parameters, [" ".join(argument.split()) for argument in arguments])
        inner = {key: self.expand(value, active, depth + 1) for key, value in values.items()}
        body = _substitute(macro.body, values, inner)
        return self.expand(body, active | {name}, depth + 1), at


def _bind(parameters: tuple[str, ...], arguments: list[str]) -> dict[str, str]:
    if "..." in parameters:
        fixed = parameters[:-2]
        rest = ", ".join(arguments[len(fixed) :])
        return dict(zip((*fixed, parameters[-1]), (*_pad(arguments, len(fixed)), rest), strict=True))
    return dict(zip(parameters, _pad(arguments, len(parameters)), strict=True))


def _pad(arguments: list[str], count: int) -> Iterable[str]:
    return (arguments[at] if at < len(arguments) else "" for at in range(count))


def _substitute(body: str, values: Mapping[str, str], inner: Mapping[str, str]) -> str:
    """Return a body with arguments: expanded ones, and as they are beside `##`."""
    rest = values.get("__VA_ARGS__", "")
    if "__VA_OPT__" in body:
        body = _OPTIONAL.sub(lambda match: match[1] if rest else "", body)
    if "##" in body:
        body = _ELIDED.sub(lambda match: f", {match[1]}" if values.get(match[1], "x") else "", body)

    def value(match: re.Match[str]) -> str:
        word = match[2]
        if word not in values:
            return match[0]
        if match[1]:
            return '""'
        before = body[max(0, match.start() - _NEAR) : match.start()].rstrip()
        behind = body[match.end() : match.end() + _NEAR].lstrip()
        return values[word] if before.endswith("##") or behind.startswith("##") else inner[word]

    made = _PARAMETER.sub(value, body) if values else body
    return _PASTE.sub("", made) if "##" in made else made
