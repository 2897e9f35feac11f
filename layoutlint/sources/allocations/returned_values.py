"""What the text of a function shows of the pointer that it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from layoutlint.model.record import Record
from layoutlint.sources.allocations.definitions import Definition
from layoutlint.sources.allocations.expressions import (
    Tokens,
    closing_index,
    number,
    spell,
    split,
    strip_parentheses,
)

_HEADS = ("if", "while", "for", "switch")
_LOOPS = frozenset(("while", "for", "do", "goto"))
_NULLS = (("NULL",), ("0",), ("nullptr",), ("0L",))
_ERRORS = ("ERR_PTR", "ERR_CAST")
"""Macros of Linux for errors in place of pointers."""
_CHANGES = frozenset(
    (("+", "+"), ("-", "-"), ("<<", "="), (">>", "="), *((sign, "=") for sign in "+-*/%|&^"))
)
_MOST_ASSIGNMENTS, _DEEPEST = 12, 4
"""The most assignments to a variable, and of variables to one another, that are followed."""
_OUTPUTS = ("posix_memalign",)
"""The ends of the names of functions that store the block at their first argument."""


class Call(Record, frozen=True):
    """A call whose result is returned."""

    function: str
    arguments: tuple[Tokens, ...]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(spell, self.arguments))})"


class Given(Record, frozen=True):
    """A parameter as the caller gave it."""

    name: str

    def __str__(self) -> str:
        return self.name


class Other(Record, frozen=True):
    """Anything else that is returned."""

    expression: str

    def __str__(self) -> str:
        return self.expression


class _Assignment(Record, frozen=True):
    at: int
    value: Tokens
    is_certain: bool
    """Whether each run of the function from its beginning passes it."""


Expand = Callable[[Tokens], Tokens]
"""Replaces macros."""
Identity = Callable[[str], int | None]
"""Returns the index of the parameter that a function returns as it is."""
Values = frozenset[Call | Given | Other]


class ReturnedValues:
    """The values that a function can return, other than null pointers."""

    def __init__(self, definition: Definition, expand: Expand, identity: Identity) -> None:
        self._definition, self._expand, self._identity = definition, expand, identity
        self._body, self._parameters = definition.body, definition.parameters or ()
        self._statements = list(_statements(self._body))
        self._has_loop = not _LOOPS.isdisjoint(self._body)

    def values(self) -> Values:
        """Return them, with arguments in terms of the parameters."""
        if self._definition.is_macro:
            return self._evaluate(self._body, 0, frozenset())
        found: Values = frozenset()
        for start, end, _ in self._statements:
            for at in range(start, end):
                if self._body[at] == "return":
                    found |= self._evaluate(self._body[at + 1 : end], at, frozenset())
        return found

    def _evaluate(self, expression: Tokens, at: int, seen: frozenset[int]) -> Values:
        """Return the values of an expression at an index of the body."""
        expression = strip_casts(simplify(self._expand(expression)))
        if not expression or expression in _NULLS or expression[0] in _ERRORS:
            return frozenset()
        chosen = split(expression, "?")
        if len(chosen) == 2:
            return frozenset().union(*(self._evaluate(each, at, seen) for each in split(chosen[1], ":")))
        if len(expression) == 1 and expression[0].isidentifier():
            return self._of_variable(expression[0], at, seen)
        is_call = expression[0].isidentifier() and expression[1] == "("
        if is_call and closing_index(expression, 1) == len(expression) - 1:
            return self._of_call(expression, at, seen)
        base = split(expression, "+", is_binary=True)[0]
        moved = self._evaluate(base, at, seen) if base != expression else frozenset()
        return moved | {Other(spell(expression))}

    def _of_call(self, expression: Tokens, at: int, seen: frozenset[int]) -> Values:
        given = tuple(split(expression[2:-1], ","))
        passed = self._identity(expression[0])
        if passed is not None and passed < len(given):
            return self._evaluate(given[passed], at, seen)
        changed = {word for argument in given for word in argument if self._is_changed(word, at)}
        call = Call(expression[0], tuple(simplify(self._expand(each)) for each in given))
        later = {Other(f"{spell(expression)}` after a change of `{min(changed)}")} if changed else set()
        return frozenset((call, *later))

    def _is_changed(self, word: str, at: int) -> bool:
        """Return whether a parameter has another value than the caller's at an index of the body."""
        end = len(self._body) if self._has_loop else at
        is_parameter = word in self._parameters and not self._definition.is_macro
        assigned = (each.at for each in self._assignments.get(word, ()))
        return is_parameter and any(each < end for each in (*assigned, *self._other_changes.get(word, ())))

    def _of_variable(self, name: str, at: int, seen: frozenset[int]) -> Values:
        """Return the values of a variable: those since the last assignment that is passed for certain."""
        assigned = self._assignments.get(name, [])
        if name in self._other_changes or len(assigned) > _MOST_ASSIGNMENTS or len(seen) > _DEEPEST:
            return frozenset((Other(name),))
        is_straight = "goto" not in self._body and not self._definition.has_conditions
        certain = [each.at for each in assigned if is_straight and each.is_certain and each.at < at]
        earliest, latest = max(certain, default=0), len(self._body) if self._has_loop else at
        found: Values = frozenset()
        if name in self._parameters:
            found = frozenset() if certain else frozenset((Given(name),))
        elif not assigned:
            found = frozenset((Other(name),))
        reaching = (each for each in assigned if earliest <= each.at < latest and each.at not in seen)
        return found.union(*(self._evaluate(each.value, each.at, seen | {each.at}) for each in reaching))

    @cached_property
    def _assignments(self) -> dict[str, list[_Assignment]]:
        """The assignments to each variable, in their order."""
        found: dict[str, list[_Assignment]] = {}
        body = self._body
        for start, end, is_certain in self._statements:
            depth = 0
            for at in range(start, end):
                depth += (body[at] == "(") - (body[at] == ")")
                if body[at] == "=" and _is_assigned(body, at, start, end):
                    value = body[at + 1 : _end_of_value(body, at + 1, end)]
                    own = _Assignment(at - 1, value, is_certain and depth == 0)
                    found.setdefault(body[at - 1], []).append(own)
                elif body[at] == "(" and body[at - 1].endswith(_OUTPUTS):
                    stop = closing_index(body, at) + 1
                    output = strip_casts(split(body[at + 1 : stop - 1], ",")[0])
                    if len(output) == 2 and output[0] == "&":
                        own = _Assignment(at - 1, body[at - 1 : stop], is_certain=False)
                        found.setdefault(output[1], []).append(own)
        return found

    @cached_property
    def _other_changes(self) -> dict[str, list[int]]:
        """Where each variable is changed by an operator, or its address is used."""
        found: dict[str, list[int]] = {}
        body = self._body
        for at, word in enumerate(body):
            if word.isidentifier() and body[at - 1 : at] not in ((".",), ("->",)) and self._is_operand(at):
                found.setdefault(word, []).append(at)
        return found

    def _is_operand(self, at: int) -> bool:
        """Return whether the variable at an index is changed by an operator, or its address is used."""
        body = self._body
        after, before = body[at + 1 : at + 3], body[max(0, at - 2) : at]
        if after in _CHANGES or before in (("+", "+"), ("-", "-")):
            return body[at + 3 : at + 4] != ("=",) or after[1:] != ("=",)
        is_address = before[-1:] == ("&",) and not (before[0][-1:].isalnum() or before[0] in ")]")
        return is_address and not self._is_output(at)

    def _is_output(self, at: int) -> bool:
        """Return whether the address of a variable is the first argument of a function that allocates."""
        body, start = self._body, at - 1
        while start > 0 and at - start < 9 and not body[start - 1].endswith(_OUTPUTS):
            start -= 1
        return body[start - 1].endswith(_OUTPUTS) and "," not in body[start:at]


def _statements(body: Tokens) -> Iterator[tuple[int, int, bool]]:
    """Yield the first index and the end of each statement, and whether each run passes it."""
    depth, nesting, start = 0, 0, 0
    for at, word in enumerate((*body, ";")):
        if word in ("(", "["):
            nesting += 1
        elif word in (")", "]"):
            nesting -= 1
        elif nesting == 0 and word in (";", "{", "}"):
            first = body[start] if start < at else ""
            yield start, at, depth == 0 and first not in (*_HEADS, "else", "do", "case", "default")
            depth += (word == "{") - (word == "}")
            start = at + 1


def _is_assigned(body: Tokens, at: int, start: int, end: int) -> bool:
    """Return whether the sign at an index assigns to the variable before it."""
    first = at - 1
    if first < start or not body[first].isidentifier() or at + 1 == end or body[at + 1] == "=":
        return False
    while first > start and body[first - 1] == "*":
        first -= 1
    before = body[first - 1] if first > start else ""
    is_declared = before == "," or (before.isidentifier() and before not in ("else", "do"))
    return before not in (".", "->") and (first == at - 1 or is_declared)


def _end_of_value(body: Tokens, at: int, end: int) -> int:
    """Return the index after an assigned value: before a comma, or the parenthesis around the assignment."""
    depth = 0
    for index in range(at, end):
        depth += (body[index] in ("(", "[")) - (body[index] in (")", "]"))
        if depth < 0 or (depth == 0 and body[index] == ","):
            return index
    return end


def strip_casts(words: Tokens) -> Tokens:
    """Return an expression without parentheses and casts around all of it."""
    words = strip_parentheses(words)
    while words[:1] == ("(",):
        end = closing_index(words, 0)
        inside, rest = words[1:end], words[end + 1 :]
        is_type = all(word.isidentifier() or word == "*" for word in inside) and inside[0].isidentifier()
        is_operand = len(rest) > 0 and (rest[0].isidentifier() or rest[0] in ("(", "&"))
        is_cast = rest[:1] != ("(",) or len(inside) > 1
        is_more = any(len(split(rest, sign, is_binary=True)) > 1 for sign in "+-*/?|")
        if is_more or not (is_type and is_operand and is_cast):
            break
        words = strip_parentheses(rest)
    return words


def simplify(words: Tokens) -> Tokens:
    """Return an expression without zeros that are added, and without a smallest size: `n > 0 ? n : 8`."""
    words = strip_casts(words)
    parts = split(words, "+", is_binary=True)
    if len(parts) > 1:
        kept = [part for part in parts if number(strip_casts(part)) != 0]
        return _sum(list(map(simplify, kept)))
    chosen = split(words, "?")
    other = split(chosen[1], ":") if len(chosen) == 2 else []
    if len(other) == 2:
        least = simplify(other[0])
        compared = [strip_parentheses(side) for side in split(strip_parentheses(chosen[0]), ">")]
        return least if compared in ([least], [least, ("0",)]) else words
    return words


def _sum(parts: list[Tokens]) -> Tokens:
    return (*(word for part in parts[:-1] for word in (*part, "+")), *(parts[-1] if parts else ("0",)))
