"""libclang for function bodies, and their syntax trees: by a compiled module, or by ctypes."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import TYPE_CHECKING, Any

from layoutlint.errors import ReadError
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.libclang import Cursor, Definition, Type
from layoutlint.sources.bodies import ctypes_nodes

if TYPE_CHECKING or libclang.native is None:
    from layoutlint.sources.bodies.ctypes_nodes import Node, definitions, find, mentions, skip_layers, tree
else:
    Node, find, tree = libclang.native.Node, libclang.native.find, libclang.native.tree
    definitions, skip_layers = libclang.native.definitions, libclang.native.skip_layers
    mentions = libclang.native.mentions

__all__ = ["Definition", "Node", "definitions", "find", "library", "mentions", "skip_layers", "tree"]

_LEAST_VERSION = 17
"""The first libclang that states the operators of expressions (clang_getCursorBinaryOperatorKind)."""
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "clang_getCursorBinaryOperatorKind": (ctypes.c_int, Cursor),
    "clang_getCursorUnaryOperatorKind": (ctypes.c_int, Cursor),
    "clang_Cursor_getVarDeclInitializer": (Cursor, Cursor),
    "clang_Cursor_isAnonymousRecordDecl": (ctypes.c_uint, Cursor),
    "clang_Cursor_getMangling": (libclang.String, Cursor),
    "clang_getCursorTLSKind": (ctypes.c_int, Cursor),
    "clang_Cursor_Evaluate": (ctypes.c_void_p, Cursor),
    "clang_EvalResult_getAsLongLong": (ctypes.c_longlong, ctypes.c_void_p),
    "clang_EvalResult_getKind": (ctypes.c_int, ctypes.c_void_p),
    "clang_Location_isInSystemHeader": (ctypes.c_int, libclang.Location),
    "clang_getCanonicalCursor": (Cursor, Cursor),
    "clang_equalTypes": (ctypes.c_uint, Type, Type),
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
        reason = f"version {version} does not state operators; {_LEAST_VERSION} or newer is needed"
        raise ReadError("libclang", reason) from None
    ctypes_nodes.bind(lib)
    return lib
