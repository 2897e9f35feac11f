"""The part of libclang's interface that function bodies need, and their syntax trees."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from layoutlint.errors import ReadError
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.libclang import Cursor

# enum CXCursorKind
FUNCTION, VARIABLE, PARAMETER = 8, 9, 10
MEMBER_NAME = 47
UNEXPOSED, DECL_REF, MEMBER, CALL = 100, 101, 102, 103
PAREN, UNARY, SUBSCRIPT, BINARY, COMPOUND_ASSIGNMENT, CONDITIONAL, CAST = 111, 112, 113, 114, 115, 116, 117
COMPOUND_LITERAL, INIT_LIST, STATEMENT_EXPRESSION = 118, 119, 121
SIZEOF = 136
COMPOUND, CASE, DEFAULT, IF, SWITCH, WHILE, DO, FOR, GOTO = 202, 203, 204, 205, 206, 207, 208, 209, 210
RETURN, ASM, DECLARATION = 214, 215, 231
INTEGER = 106
FIRST_STATEMENT, LAST_STATEMENT = 200, 299
FIRST_LITERAL, LAST_LITERAL = 106, 110
FIRST_REFERENCE, LAST_REFERENCE = 40, 50
FIRST_ATTRIBUTE = 400
# enum CX_BinaryOperatorKind and CXUnaryOperatorKind
SUBTRACT, ASSIGN, COMMA = 7, 22, 33
ADDRESS_OF, DEREFERENCE = 5, 6
INCREMENTS = (1, 2, 3, 4)
# enum CXTypeKind
VOID, POINTER, RECORD, ATOMIC = 2, 101, 105, 177
CONSTANT_ARRAY, INCOMPLETE_ARRAY, VARIABLE_ARRAY = 112, 114, 115
ARRAYS = (CONSTANT_ARRAY, INCOMPLETE_ARRAY, VARIABLE_ARRAY)
STATIC = 3
"""CX_SC_Static."""
LEAST_VERSION = 17
"""The first libclang that states the operators of expressions (clang_getCursorBinaryOperatorKind)."""

_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "clang_getCursorBinaryOperatorKind": (ctypes.c_int, Cursor),
    "clang_getCursorUnaryOperatorKind": (ctypes.c_int, Cursor),
    "clang_Cursor_getVarDeclInitializer": (Cursor, Cursor),
    "clang_Cursor_isAnonymousRecordDecl": (ctypes.c_uint, Cursor),
    "clang_Cursor_Evaluate": (ctypes.c_void_p, Cursor),
    "clang_EvalResult_getAsLongLong": (ctypes.c_longlong, ctypes.c_void_p),
    "clang_EvalResult_getKind": (ctypes.c_int, ctypes.c_void_p),
    "clang_EvalResult_dispose": (None, ctypes.c_void_p),
}


@cache
def library() -> Any:
    """Return libclang with the functions for bodies; raises ReadError if it has none, or is too old."""
    lib = libclang.library()
    try:
        for name, (result, *parameters) in _SIGNATURES.items():
            function = getattr(lib, name)
            function.restype, function.argtypes = result, parameters
    except AttributeError:
        version = libclang.version(lib)
        reason = f"version {version} does not state operators; {LEAST_VERSION} or newer is needed"
        raise ReadError("libclang", reason) from None
    return lib


class Node:
    """A node of a syntax tree: its kind, its cursor and its children."""

    __slots__ = ("children", "cursor", "kind")

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.kind: int = cursor.kind
        self.children: list[Node] = []


def tree(lib: Any, cursor: Cursor) -> Node:
    """Return the syntax tree below a cursor, without types, attributes and what is never evaluated."""
    root = Node(cursor)
    stack = [root]
    identities = [_identity(cursor)]

    def take(child: Cursor, parent: Cursor) -> int:
        kind = child.kind
        if kind >= FIRST_ATTRIBUTE:
            return libclang.CONTINUE
        if FIRST_REFERENCE <= kind <= LAST_REFERENCE and kind != MEMBER_NAME:
            return libclang.CONTINUE
        identity = _identity(parent)
        while identities[-1] != identity and len(stack) > 1:
            stack.pop()
            identities.pop()
        node = Node(child)
        stack[-1].children.append(node)
        if FIRST_LITERAL <= kind <= LAST_LITERAL or kind in (SIZEOF, MEMBER_NAME):
            return libclang.CONTINUE
        stack.append(node)
        identities.append(_identity(child))
        return libclang.RECURSE

    libclang.visit(lib, cursor, take)
    return root


def _identity(cursor: Cursor) -> tuple[int, int | None]:
    """Return what tells two cursors of one body apart: declarations and expressions are objects of clang."""
    kind = cursor.kind
    if kind < 100:
        return kind, cursor.data[0]
    return kind, cursor.data[1]
