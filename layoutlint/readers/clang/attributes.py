"""Attributes that decide of layouts: which structs may be shuffled or are packed, how members are aligned."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from layoutlint.model import Inner, Marks
from layoutlint.readers.clang import native
from layoutlint.readers.clang.native import Cursor

if TYPE_CHECKING:
    from layoutlint.readers.clang.types import Types

_OF_STRUCTS = (native.UNEXPOSED_ATTRIBUTE, native.PACKED)
_MARK = re.compile(r"\b(no_)?randomize_layout\b")
_ALIGNED = re.compile(r"\b(?:aligned|__aligned__|_Alignas)\b(\()?")
_SUFFIX = re.compile(r"\b(\d+)[uUlL]+\b")
_LARGEST = 1 << 28
_OPERATORS: dict[type[ast.AST], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.LShift: lambda a, b: a << min(b, 64), ast.RShift: operator.rshift,
    ast.BitOr: operator.or_, ast.BitAnd: operator.and_,
}  # fmt: skip


def alignment(lib: Any, member: Cursor, of_type: int | None) -> int | None:
    """The alignment that a member asks for: its type's unless it is packed, or its own.

    None when it cannot be told.
    """
    kinds = _inside(lib, member)
    is_packed = native.PACKED in kinds | _inside(lib, lib.clang_getCursorSemanticParent(member))
    least = 1 if is_packed and not lib.clang_Cursor_isBitField(member) else of_type
    if native.ALIGNED not in kinds or least is None:
        return least
    if lib.clang_Cursor_isBitField(member):
        return None
    stated = [_value(text) for text in _stated(native.printed(lib, member))]
    known = [value for value in stated if value is not None]
    return max(least, *known) if known and len(known) == len(stated) else None


def _inside(lib: Any, cursor: Cursor) -> set[int]:
    """The kinds of what stands directly in a declaration."""
    kinds: set[int] = set()

    def take(child: Cursor, parent: Cursor) -> int:
        kinds.add(child.kind)
        return native.CONTINUE

    native.visit(lib, cursor, take)
    return kinds


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


class Attributes:
    """The structs of one translation unit that have attributes, gathered while declarations are visited."""

    def __init__(self, lib: Any) -> None:
        self._lib = lib
        self._records: dict[int, Cursor] = {}
        self._packed: set[int] = set()
        self._unclear: set[int] = set()

    def take(self, child: Cursor, parent: Cursor) -> None:
        """Looks at what stands inside a struct."""
        if parent.kind not in (native.STRUCT, native.UNION):
            return
        is_unclear = child.kind == native.FIELD and self._is_unnamed_bits(child)
        if child.kind not in _OF_STRUCTS and not is_unclear:
            return
        lib = self._lib
        key = lib.clang_getTypeDeclaration(lib.clang_getCursorType(parent)).data[0]
        self._records[key] = parent
        if child.kind == native.PACKED:
            self._packed.add(key)
        if is_unclear:
            self._unclear.add(key)

    def _is_unnamed_bits(self, field: Cursor) -> bool:
        lib = self._lib
        return bool(lib.clang_Cursor_isBitField(field)) and not native.spelling(lib, field)

    def marks(self, types: Types, typedefs: Iterable[Cursor]) -> Marks:
        """What the attributes say, by the names of structs."""
        names = _Names(types, typedefs)
        randomised: set[str | Inner] = set()
        kept: set[str | Inner] = set()
        for record in self._records.values():
            for mark in _MARK.finditer(native.printed(self._lib, record)):
                (kept if mark[1] else randomised).update(names.of(record))
        packed = {name for key in self._packed for name in names.of(self._records[key])}
        unclear = {name for key in self._unclear for name in names.of(self._records[key])}
        return Marks(frozenset(randomised), frozenset(kept), frozenset(packed), frozenset(unclear))


class _Names:
    """How struct types are called: by tags, by typedefs, or by where they stand in another."""

    def __init__(self, types: Types, typedefs: Iterable[Cursor]) -> None:
        self._types = types
        self._typedefs: dict[int | None, list[str]] = {}
        lib = types.lib
        for typedef in typedefs:
            of = lib.clang_getTypeDeclaration(lib.clang_getCanonicalType(lib.clang_getCursorType(typedef)))
            if of.kind in (native.STRUCT, native.UNION):
                self._typedefs.setdefault(of.data[0], []).append(native.spelling(lib, typedef))

    def of(self, record: Cursor) -> list[str | Inner]:
        """The tag of a struct, or the typedefs of one without, or its place in what it stands in."""
        tag = self._types.tag(record)
        if tag:
            return [tag]
        typedefs = self._typedefs.get(record.data[0])
        return list(typedefs) if typedefs else list(self._inside(record))

    def _inside(self, record: Cursor) -> Iterator[Inner]:
        lib = self._types.lib
        outer = lib.clang_getCursorSemanticParent(record)
        if outer.kind not in (native.STRUCT, native.UNION):
            return
        for position, field in enumerate(self._fields(outer)):
            element, _ = self._types.element(lib, lib.clang_getCursorType(field))
            if lib.clang_getTypeDeclaration(element).data[0] == record.data[0]:
                for name in self.of(outer):
                    before = (name, ()) if isinstance(name, str) else name
                    yield before[0], (*before[1], position)

    def _fields(self, record: Cursor) -> list[Cursor]:
        """The members that `Types.members` gives, which leaves out bit-fields without a name."""
        lib = self._types.lib
        fields = native.fields_of(lib, lib.clang_getCursorType(record))
        return [f for f in fields if native.spelling(lib, f) or not lib.clang_Cursor_isBitField(f)]
