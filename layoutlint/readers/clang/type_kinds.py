"""The kinds of libclang's types (enum CXTypeKind), and the types behind typedefs, keywords and arrays."""

from __future__ import annotations

from typing import Any

from layoutlint.readers.clang.libclang import Type

# Base types are spelled as in GCC's debug information.
BASE_TYPES = {
    2: "void", 3: "_Bool", 4: "char", 5: "unsigned char", 6: "char16_t", 7: "char32_t",
    8: "short unsigned int", 9: "unsigned int", 10: "long unsigned int", 11: "long long unsigned int",
    12: "__int128 unsigned", 13: "char", 14: "signed char", 15: "wchar_t", 16: "short int", 17: "int",
    18: "long int", 19: "long long int", 20: "__int128", 21: "float", 22: "double", 23: "long double",
    30: "_Float128", 31: "_Float16", 32: "_Float16", 39: "__bf16", 40: "__ibm128",
}  # fmt: skip
COMPLEX, POINTER, BLOCK_POINTER, RECORD, ENUM, TYPEDEF = 100, 101, 102, 105, 106, 107
UNPROTOTYPED, PROTOTYPE = 110, 111
CONSTANT_ARRAY, VECTOR, INCOMPLETE_ARRAY, VARIABLE_ARRAY = 112, 113, 114, 115
ELABORATED, ATTRIBUTED, EXT_VECTOR, ATOMIC, TAG_ATTRIBUTED = 119, 163, 176, 177, 178
ARRAYS = (CONSTANT_ARRAY, INCOMPLETE_ARRAY, VARIABLE_ARRAY)


def unwrap(lib: Any, ctype: Type) -> Type | None:
    """Return the element of an array, or the type behind a typedef, keyword or attribute; None for others."""
    inner: Type | None = None
    if ctype.kind in ARRAYS:
        inner = lib.clang_getElementType(ctype)
    elif ctype.kind == ELABORATED:
        inner = lib.clang_Type_getNamedType(ctype)
    elif ctype.kind in (ATTRIBUTED, TAG_ATTRIBUTED):
        inner = lib.clang_Type_getModifiedType(ctype)
    elif ctype.kind == TYPEDEF:
        inner = lib.clang_getTypedefDeclUnderlyingType(lib.clang_getTypeDeclaration(ctype))
    return inner


def count_elements(lib: Any, array: Type) -> int | None:
    """Return the number of elements of an array or a vector; None for `[]`."""
    if array.kind == INCOMPLETE_ARRAY:
        return None
    return max(0, int(lib.clang_getNumElements(array)))


def innermost(lib: Any, array: Type) -> Type:
    """Return the canonical type of the elements of an array of arrays; another type as it is."""
    while array.kind in ARRAYS:
        array = lib.clang_getCanonicalType(lib.clang_getElementType(array))
    return array
