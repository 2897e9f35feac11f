"""Conditions of `#if` that have one value for all compilers which can build a text.

Headers ask for versions that every compiler has: `__GNUC_PREREQ (2, 8) || defined __clang__`.
"""

from __future__ import annotations

import re
from functools import cache

from layoutlint.readers.c_tokens import number

Macros = tuple[tuple[str, int], ...]
"""The macros by which a compiler is told, with their values; others of NAMES are not defined for it."""

_TOKEN = re.compile(
    r"""\s*(?:
      defined\s*(?:\(\s*(?P<defined>\w+)\s*\)|(?P<bare>\w+))
    | (?P<prereq>__GNUC_PREREQ|__glibc_clang_prereq)\s*\(\s*(?P<major>\d+)\s*,\s*(?P<minor>\d+)\s*\)
    | (?P<compared>__\w+)\s*(?P<operator>[<>]=?|[=!]=)\s*(?P<number>\d+)(?![\w.])
      (?!\s*[-+*/%<>&|^]?[-+*/%<>^])
    | (?P<call>[A-Za-z_]\w*)\s*\([^()]*\)
    | (?P<number_alone>\d+)[uUlL]*
    | (?P<name>[A-Za-z_]\w*)
    | (?P<symbol>&&|\|\||!(?!=)|[()])
    )""",
    re.VERBOSE,
)
_COMPARISONS = {
    "<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__, "==": int.__eq__, "!=": int.__ne__,
}  # fmt: skip


def is_constant(condition: bytes, compilers: tuple[Macros, ...], names: frozenset[str]) -> bool:
    """Return whether a condition has one known value for all compilers, whatever other macros are."""
    tokens = _tokens(condition.decode("latin-1"))
    if tokens is None:
        return False
    values = {_Parser(tokens, dict(macros), names).value() for macros in compilers}
    return len(values) == 1 and None not in values


_ALONE = re.compile(
    r"(?P<before>(?:^|[(?:!]|&&|\|\|)\s*)"
    r"(?P<atom>__\w+_(?:PREREQ|prereq)\s*\(\s*\d+\s*,\s*\d+\s*\)|__\w+\s*(?:[<>]=?|[=!]=)\s*\d+"
    r"|defined\s*(?:\(\s*\w+\s*\)|\w+))(?=\s*(?:$|[)?:]|&&|\|\|))"
)
"""A comparison that is not an operand of arithmetic."""


def without_constants(condition: bytes, compilers: tuple[Macros, ...], names: frozenset[str]) -> bytes:
    """Return a condition without what is the same for all compilers; empty if all of it is."""
    if is_constant(condition, compilers, names):
        return b""

    def shorten(found: re.Match[str]) -> str:
        own = found["atom"].encode("latin-1")
        return found["before"] if is_constant(own, compilers, names) else found[0]

    text = condition.decode("latin-1").replace("\\\n", " ")
    return _ALONE.sub(shorten, text).encode("latin-1")


@cache
def _tokens(text: str) -> tuple[re.Match[str], ...] | None:
    """Return the parts of a condition; None if it has others than are known here."""
    tokens, position, text = [], 0, text.replace("\\\n", " ").rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return None
        tokens.append(match)
        position = match.end()
    return tuple(tokens)


class _Parser:
    """Evaluates a condition for one compiler, with None for what is not known."""

    def __init__(
        self, tokens: tuple[re.Match[str], ...], macros: dict[str, int], names: frozenset[str]
    ) -> None:
        self._tokens, self._macros, self._names = tokens, macros, names
        self._position = 0

    def value(self) -> bool | None:
        """Return the value of all of it."""
        value = self._either()
        return value if self._position == len(self._tokens) else None

    def _take(self, symbol: str) -> bool:
        is_next = self._position < len(self._tokens) and self._tokens[self._position]["symbol"] == symbol
        self._position += is_next
        return is_next

    def _either(self) -> bool | None:
        value = self._both()
        while self._take("||"):
            other = self._both()
            value = True if True in (value, other) else None if None in (value, other) else False
        return value

    def _both(self) -> bool | None:
        value = self._single()
        while self._take("&&"):
            other = self._single()
            value = False if False in (value, other) else None if None in (value, other) else True
        return value

    def _single(self) -> bool | None:
        if self._take("!"):
            value = self._single()
            return None if value is None else not value
        if self._take("("):
            value = self._either()
            return value if self._take(")") else None
        if self._position >= len(self._tokens) or self._tokens[self._position]["symbol"]:
            self._position = len(self._tokens) + 1  # malformed
            return None
        self._position += 1
        return self._atom(self._tokens[self._position - 1])

    def _atom(self, token: re.Match[str]) -> bool | None:
        macros = self._macros
        name = token["defined"] or token["bare"]
        if name:
            return name in macros if name in self._names else None
        if token["prereq"]:
            prefix = "__GNUC" if token["prereq"] == "__GNUC_PREREQ" else "__clang"
            names = (
                ("__GNUC__", "__GNUC_MINOR__")
                if prefix == "__GNUC"
                else ("__clang_major__", "__clang_minor__")
            )
            own = tuple(macros.get(name, 0) for name in names)
            return own >= (number(token["major"]), number(token["minor"]))
        if token["compared"]:
            name = token["compared"]
            compare = _COMPARISONS[token["operator"]]
            own_value, other = macros.get(name, 0), number(token["number"])
            return bool(compare(own_value, other)) if name in self._names else None
        if token["name"] in self._names:
            return bool(macros.get(token["name"], 0))
        if token["number_alone"]:
            return number(token["number_alone"]) != 0
        return None
