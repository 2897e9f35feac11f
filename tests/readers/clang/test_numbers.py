"""The numbers of libclang, as its own Python bindings have them."""

from __future__ import annotations

import pytest

from layoutlint.readers.clang import libclang, type_kinds
from layoutlint.sources.bodies import flow_numbers, flow_types, initial_values

cindex = pytest.importorskip("clang.cindex")
BASE = {
    "void": "VOID", "_Bool": "BOOL", "unsigned char": "UCHAR", "short unsigned int": "USHORT", "unsigned int": "UINT",
    "long unsigned int": "ULONG", "long long unsigned int": "ULONGLONG", "__int128 unsigned": "UINT128", "signed char": "SCHAR",
    "wchar_t": "WCHAR", "short int": "SHORT", "int": "INT", "long int": "LONG", "long long int": "LONGLONG", "__int128": "INT128",
    "float": "FLOAT", "double": "DOUBLE", "long double": "LONGDOUBLE", "_Float128": "FLOAT128",
}  # fmt: skip
"""The names of gcc, where they are the same for one kind only."""
KINDS = {
    "COMPLEX": "COMPLEX", "POINTER": "POINTER", "BLOCK_POINTER": "BLOCKPOINTER", "RECORD": "RECORD", "ENUM": "ENUM", "TYPEDEF": "TYPEDEF",
    "UNPROTOTYPED": "FUNCTIONNOPROTO", "PROTOTYPE": "FUNCTIONPROTO", "CONSTANT_ARRAY": "CONSTANTARRAY", "VECTOR": "VECTOR",
    "INCOMPLETE_ARRAY": "INCOMPLETEARRAY", "VARIABLE_ARRAY": "VARIABLEARRAY", "ELABORATED": "ELABORATED", "ATOMIC": "ATOMIC",
    "EXT_VECTOR": "EXTVECTOR",
}  # fmt: skip
CURSORS = {
    "STRUCT": "STRUCT_DECL", "UNION": "UNION_DECL", "ENUM": "ENUM_DECL", "FIELD": "FIELD_DECL", "VARIABLE": "VAR_DECL", "TYPEDEF": "TYPEDEF_DECL",
    "TYPE_REF": "TYPE_REF", "DECL_REF": "DECL_REF_EXPR", "UNEXPOSED_ATTRIBUTE": "UNEXPOSED_ATTR", "ANNOTATE": "ANNOTATE_ATTR",
    "PACKED": "PACKED_ATTR", "ALIGNED": "ALIGNED_ATTR",
}  # fmt: skip
SCALARS = (
    "BOOL CHAR_U UCHAR CHAR16 CHAR32 USHORT UINT ULONG ULONGLONG UINT128 CHAR_S SCHAR WCHAR SHORT INT LONG LONGLONG INT128 "
    "FLOAT DOUBLE LONGDOUBLE COMPLEX ENUM VECTOR ATOMIC"
)


def numbers(enumeration: object, names: dict[str, str]) -> dict[str, int]:
    known = {name: getattr(enumeration, word, None) for name, word in names.items()}
    return {name: each.value for name, each in known.items() if each is not None}


def test_kinds_of_types():
    assert numbers(cindex.TypeKind, KINDS).items() <= vars(type_kinds).items()
    by_name = {name: kind for kind, name in type_kinds.BASE_TYPES.items() if list(type_kinds.BASE_TYPES.values()).count(name) == 1}
    assert numbers(cindex.TypeKind, BASE).items() <= by_name.items()
    assert {kind for kind, name in type_kinds.BASE_TYPES.items() if name == "char"} == {cindex.TypeKind.CHAR_S.value, cindex.TypeKind.CHAR_U.value}


def test_kinds_of_cursors():
    assert numbers(cindex.CursorKind, CURSORS).items() <= vars(libclang).items()
    assert cindex.StorageClass.EXTERN.value == libclang.EXTERN
    severities = cindex.Diagnostic.Warning, cindex.Diagnostic.Error, cindex.Diagnostic.Fatal
    assert severities == (libclang.WARNING, libclang.ERROR, libclang.FATAL)


def test_options_of_units():
    unit = cindex.TranslationUnit
    assert libclang.PREFERRED_OPTIONS == unit.PARSE_SKIP_FUNCTION_BODIES | 0x200 | 0x2000
    assert libclang.PREAMBLE_OPTIONS == unit.PARSE_PRECOMPILED_PREAMBLE | 0x100


def test_scalars_of_flows():
    known = {name: getattr(cindex.TypeKind, name, None) for name in SCALARS.split()}
    assert {each.value for each in known.values() if each is not None} <= set(flow_types.SCALARS)
    first, last = cindex.TypeKind.BOOL.value, cindex.TypeKind.LONGDOUBLE.value
    assert set(flow_types.SCALARS) == {*range(first, last + 1), type_kinds.COMPLEX, type_kinds.ENUM, type_kinds.VECTOR, type_kinds.ATOMIC}
    assert {*flow_types.INTEGERS} == {*range(first, cindex.TypeKind.INT128.value + 1)}


def test_texts_and_constants():
    assert flow_types.TEXT == initial_values._STRING == cindex.CursorKind.STRING_LITERAL.value
    assert cindex.CursorKind.ENUM_CONSTANT_DECL.value == flow_numbers._CONSTANT
    assert (type_kinds.UNPROTOTYPED, type_kinds.PROTOTYPE) == flow_types.FUNCTION_TYPES
