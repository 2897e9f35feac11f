"""Attributes that decide of layouts: which structs may be shuffled or are packed, how members are aligned."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.libclang import Cursor

_MARK = re.compile(r"\b(no_)?randomize_layout\b")
_ALIGNED = re.compile(r"\b(?:aligned|__aligned__|_Alignas)(?:(\()|(?=[],)]))")
"""Not a member, or a file in the name of its type, that is called so."""
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|\\"')
_INNERMOST = re.compile(r"\{[^{}]*\}")
_SUFFIX = re.compile(r"\b(\d+)[uUlL]+\b")
_PRAGMA = re.compile(rb"#\s*pragma\s+pack\s*\(([^)]{0,400})\)|\b_Pragma\b")
_LARGEST = 1 << 28
_OPERATORS: dict[type[ast.AST], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.LShift: lambda a, b: a << min(b, 64), ast.RShift: operator.rshift,
    ast.BitOr: operator.or_, ast.BitAnd: operator.and_,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Attributes:
    """What the attributes of one struct, or of one member, say."""

    is_packed: bool = False
    is_randomised: bool = False
    is_kept: bool = False
    aligned: int | None = 0
    """Bytes that it asks for; 0 for none, None when that cannot be told. Of members only."""


def of(lib: Any, declaration: Cursor) -> Attributes:
    """The attributes that stand in a declaration."""
    kinds = _inside(lib, declaration)
    is_packed, is_member = libclang.PACKED in kinds, declaration.kind == libclang.FIELD
    if not is_member and libclang.UNEXPOSED_ATTRIBUTE in kinds:
        marks = [mark[1] for mark in _MARK.finditer(_without_members(libclang.printed(lib, declaration)))]
        return Attributes(is_packed, None in marks, any(marks))
    if is_member and libclang.ALIGNED in kinds:
        stated = [_value(text) for text in _stated(libclang.printed(lib, declaration))]
        known = [value for value in stated if value is not None]
        return Attributes(is_packed, aligned=max(known) if known and len(known) == len(stated) else None)
    return Attributes(is_packed)


def _inside(lib: Any, cursor: Cursor) -> set[int]:
    """The kinds of what stands directly in a declaration."""
    kinds: set[int] = set()

    def take(child: Cursor, parent: Cursor) -> int:
        kinds.add(child.kind)
        return libclang.CONTINUE

    libclang.visit(lib, cursor, take)
    return kinds


def _without_members(declaration: str) -> str:
    """A struct without what stands in its braces, where structs with attributes of their own may be."""
    declaration, found = _TEXT.sub("", declaration), 1
    while found:
        declaration, found = _INNERMOST.subn("", declaration)
    return declaration


def _stated(declaration: str) -> Iterator[str]:
    """What stands in the parentheses of each `aligned`; empty for one without."""
    for found in _ALIGNED.finditer(declaration):
        depth, end = 1, found.end()
        while found[1] and depth and end < len(declaration):
            depth += {"(": 1, ")": -1}.get(declaration[end], 0)
            end += 1
        yield declaration[found.end() : end - 1] if found[1] else ""


def _value(text: str) -> int | None:
    """A constant expression of integers, if it is an alignment."""
    try:
        value = _computed(ast.parse(_SUFFIX.sub(r"\1", text).replace("/", "//"), mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError):
        return None
    return value if 0 < value <= _LARGEST and not value & (value - 1) else None


def _computed(node: ast.AST) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_computed(node.left), _computed(node.right))
    raise ValueError


def pragmas(text: bytes) -> tuple[tuple[int, bytes], ...]:
    """Each `#pragma pack` of a file: where it stands, and what it says; `?` for a `_Pragma`."""
    return tuple((found.start(), b"".join((found[1] or b"?").split())) for found in _PRAGMA.finditer(text))


def may_hold(several: Iterable[tuple[int, bytes]], offset: int) -> bool:
    """Whether one of them may hold at a place, taken that all before it are compiled."""
    held: list[bytes] = []
    now = b""
    for at, said in several:
        if at >= offset:
            break
        words = said.split(b",")
        if words[0] == b"push":
            held.append(now)
            now = words[-1] if len(words) > 1 else now
        elif words[0] == b"pop":
            now = held.pop() if held else b""
        else:
            now = said
    return bool(now) or bool(held)
