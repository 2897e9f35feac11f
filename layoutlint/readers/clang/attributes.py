"""Attributes that decide layouts: which structs may be shuffled or are packed, how members are aligned.

Alignments that types or other constant expressions state are evaluated by libclang.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from layoutlint.model.record import Record, field
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.libclang import Cursor

_MARK = re.compile(r"\b(no_)?randomize_layout\b")
_ALIGNED = re.compile(r"\b(?:aligned|__aligned__|_Alignas)(?:(\()|(?=[],)]))")
"""Does not match a member, or a file in the name of its type, with that name."""
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|\\"')
_INNERMOST = re.compile(r"\{[^{}]*\}")
_SUFFIX = re.compile(r"\b(\d+)[uUlL]+\b")
_LARGEST = 1 << 28
_SMALLEST = ("char", "signed char", "unsigned char", "_Bool")
"""Types that are aligned to 1."""
_OPERATORS: dict[type[ast.AST], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.LShift: lambda a, b: a << min(b, 64), ast.RShift: operator.rshift,
    ast.BitOr: operator.or_, ast.BitAnd: operator.and_,
}  # fmt: skip
_PROBE = "layoutlint_alignment_probe"
_MOST = 32
"""The most arguments of a unit that are evaluated: each takes the time of parsing the unit."""


class Attributes(Record, frozen=True):
    """The attributes of one struct, or of one member."""

    is_packed: bool = False
    is_randomised: bool = False
    is_kept: bool = False
    aligned: int | None = 0
    """The requested bytes; 0 for none, None if they cannot be computed. Members only."""


class Alignments(Record):
    """The values of arguments of `aligned` and `_Alignas` at the end of a unit."""

    lib: Any
    parse: Callable[[str], AbstractContextManager[int]]
    """Parses the unit with a text behind it."""
    _known: dict[str, int | None] = field(default_factory=dict)

    def value(self, argument: str) -> int | None:
        """Return the alignment that an argument states, in bytes; None if it cannot be told.

        An empty one is that of `aligned` alone.
        """
        if argument not in self._known:
            self._known[argument] = None if len(self._known) >= _MOST else self._evaluate(argument)
        return self._known[argument]

    def _evaluate(self, argument: str) -> int | None:
        """Return the alignment of a struct whose member has it; None also for 1, which errors leave."""
        attribute = f"_Alignas({argument})" if argument else "__attribute__((aligned))"
        text = f"\nstruct {_PROBE} {{ {attribute} char c; }};\n"
        with self.parse(text) as handle:
            probe = _last_struct(self.lib, handle)
            if probe is None:
                return None
            align = int(self.lib.clang_Type_getAlignOf(self.lib.clang_getCursorType(probe)))
            return align if align > 1 else None


def _last_struct(lib: Any, handle: int) -> Cursor | None:
    """Return the struct of a probe; None if the end of the unit is not compiled."""
    found: list[Cursor] = []

    def take(child: Cursor, _: Cursor) -> int:
        if child.kind == libclang.STRUCT and libclang.spelling(lib, child) == _PROBE:
            found.append(child)
        return libclang.CONTINUE

    libclang.visit(lib, lib.clang_getTranslationUnitCursor(handle), take)
    return found[-1] if found else None


def read_attributes(lib: Any, declaration: Cursor, alignments: Alignments | None = None) -> Attributes:
    """Return the attributes of a declaration; `alignments` has values of arguments that are no numbers."""
    kinds = child_kinds(lib, declaration)
    is_packed = libclang.PACKED in kinds
    is_member = declaration.kind in (libclang.FIELD, libclang.VARIABLE)
    if not is_member and libclang.UNEXPOSED_ATTRIBUTE in kinds:
        marks = [mark[1] for mark in _MARK.finditer(without_members(libclang.pretty_print(lib, declaration)))]
        return Attributes(is_packed, None in marks, any(marks))
    if is_member and libclang.ALIGNED in kinds:
        text, _, _ = libclang.pretty_print(lib, declaration).partition(" = ")  # of a variable: its value
        arguments = aligned_arguments(text)
        stated = [alignment(text, alignments) for text in arguments]
        values = [value for value in stated if value is not None]
        return Attributes(is_packed, aligned=max(values) if values and len(values) == len(stated) else None)
    return Attributes(is_packed)


def alignment(argument: str, alignments: Alignments | None) -> int | None:
    """Return the alignment that an argument states; None if it is not known."""
    value = 1 if argument in _SMALLEST else _value(argument)
    if value is None and alignments is not None:
        return alignments.value(argument)
    return value


def child_kinds(lib: Any, cursor: Cursor) -> set[int]:
    """Return the kinds of the direct children of a declaration."""
    kinds: set[int] = set()

    def take(child: Cursor, parent: Cursor) -> int:
        kinds.add(child.kind)
        return libclang.CONTINUE

    libclang.visit(lib, cursor, take)
    return kinds


def without_members(declaration: str) -> str:
    """Return a struct without the text in its braces, where other structs can have attributes."""
    declaration, count = _TEXT.sub("", declaration), 1
    while count:
        declaration, count = _INNERMOST.subn("", declaration)
    return declaration


def aligned_arguments(declaration: str) -> Iterator[str]:
    """Yield the text in the parentheses of each `aligned`; empty for one without."""
    for attribute in _ALIGNED.finditer(declaration):
        depth, end = 1, attribute.end()
        while attribute[1] and depth and end < len(declaration):
            depth += {"(": 1, ")": -1}.get(declaration[end], 0)
            end += 1
        yield declaration[attribute.end() : end - 1] if attribute[1] else ""


def _value(text: str) -> int | None:
    """Return the value of a constant integer expression, if it is an alignment; else None."""
    try:
        value = _evaluate(ast.parse(_SUFFIX.sub(r"\1", text).replace("/", "//"), mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError):
        return None
    return value if 0 < value <= _LARGEST and not value & (value - 1) else None


def _evaluate(node: ast.AST) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_evaluate(node.left), _evaluate(node.right))
    raise ValueError
