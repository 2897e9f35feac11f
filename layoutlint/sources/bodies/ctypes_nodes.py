"""Syntax trees of function bodies by ctypes, for want of a compiled module (clang/native.pyx)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.libclang import Cursor, Definition
from layoutlint.sources.bodies import syntax

_lib: Any = None


def bind(lib: Any) -> None:
    """Use a libclang whose functions have their types."""
    global _lib
    _lib = lib


class Node:
    """A node of a syntax tree: its kind, its cursor and its children."""

    __slots__ = ("children", "cursor", "kind")

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.kind: int = cursor.kind
        self.children: list[Node] = []

    @property
    def identity(self) -> int:
        """What tells a declaration from others."""
        return self.cursor.data[0] or 0

    @property
    def type_kind(self) -> int:
        """The kind of its type, without typedefs."""
        return int(_lib.clang_getCanonicalType(_lib.clang_getCursorType(self.cursor)).kind)

    @property
    def type_identity(self) -> int:
        """What tells that type from others."""
        return int(_lib.clang_getCanonicalType(_lib.clang_getCursorType(self.cursor)).data[0] or 0)

    @property
    def binary_operator(self) -> int:
        """Its CX_BinaryOperatorKind; 0 for what has none."""
        return int(_lib.clang_getCursorBinaryOperatorKind(self.cursor))

    @property
    def unary_operator(self) -> int:
        """Its CXUnaryOperatorKind; 0 for what has none."""
        return int(_lib.clang_getCursorUnaryOperatorKind(self.cursor))

    @property
    def reference(self) -> Cursor:
        """The declaration that it names."""
        declaration: Cursor = _lib.clang_getCursorReferenced(self.cursor)
        return declaration

    @property
    def referenced_kind(self) -> int:
        """The kind of that declaration."""
        return int(self.reference.kind)

    @property
    def referenced_identity(self) -> int:
        """The identity of that declaration."""
        return self.reference.data[0] or 0

    @property
    def spot(self) -> tuple[int | None, int]:
        """Its file, as libclang's handle, and line."""
        return _spot(self.cursor)


def tree(cursor: Cursor) -> Node:
    """Return the syntax tree below a cursor, without types, attributes and what is never evaluated."""
    root = Node(cursor)
    stack = [root]
    identities = [_identity(cursor)]

    def take(child: Cursor, parent: Cursor) -> int:
        kind = child.kind
        if kind >= syntax.FIRST_ATTRIBUTE:
            return libclang.CONTINUE
        if syntax.FIRST_REFERENCE <= kind <= syntax.LAST_REFERENCE and kind != syntax.MEMBER_NAME:
            return libclang.CONTINUE
        identity = _identity(parent)
        while identities[-1] != identity and len(stack) > 1:
            stack.pop()
            identities.pop()
        node = Node(child)
        stack[-1].children.append(node)
        if syntax.FIRST_LITERAL <= kind <= syntax.LAST_LITERAL or kind in (syntax.SIZEOF, syntax.MEMBER_NAME):
            return libclang.CONTINUE
        stack.append(node)
        identities.append(_identity(child))
        return libclang.RECURSE

    libclang.visit(_lib, cursor, take)
    return root


def find(node: Node, kind: int) -> list[Node]:
    """Return the nodes of a kind below a node, and itself if it is one, in the order of the text."""
    every: list[Node] = []
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.kind == kind:
            every.append(each)
        waiting += reversed(each.children)
    return every


def mentions(
    cursor: Cursor, names: tuple[int, ...], typed: tuple[int, ...]
) -> tuple[dict[int, Node], list[Node]]:
    """Return a node of some kinds for each declaration that is named below a cursor; nodes of other kinds.

    What `tree` leaves out is left out.
    """
    named: dict[int, Node] = {}
    nodes: list[Node] = []
    waiting = tree(cursor).children
    while waiting:
        each = waiting.pop()
        if each.kind in names:
            named.setdefault(each.referenced_identity, each)
        elif each.kind in typed:
            nodes.append(each)
        waiting += each.children
    return named, nodes


def skip_layers(node: Node, layers: tuple[int, ...] = syntax.LAYERS) -> Node:
    """Return the expression inside of parentheses, conversions and casts, or of some of these kinds."""
    while node.kind in layers and len(node.children) == 1:
        node = node.children[0]
    return node


def _identity(cursor: Cursor) -> tuple[int, int | None]:
    """Return what tells two cursors of one body apart: declarations and expressions are objects of clang."""
    kind = cursor.kind
    if kind < syntax.FIRST_EXPRESSION:
        return kind, cursor.data[0]
    return kind, cursor.data[1]


def definitions(unit: Cursor, is_own: Callable[[int | None], bool]) -> list[Definition]:
    """Return the functions, and variables outside of functions, that a unit has in files of its own."""
    every: list[Definition] = []

    def take(child: Cursor, _: Cursor) -> int:
        is_function = child.kind == syntax.FUNCTION and _lib.clang_isCursorDefinition(child)
        if (is_function or child.kind == syntax.VARIABLE) and is_own(_spot(child)[0]):
            every.append(Definition(child, libclang.spelling(_lib, child), *_spot(child)))
        return libclang.CONTINUE

    libclang.visit(_lib, unit, take)
    return every


def _spot(cursor: Cursor) -> tuple[int | None, int]:
    return libclang.spot(_lib, cursor)
