"""The spelling of types: pieces put together, as C declares a name with them."""

from __future__ import annotations

import pytest

from layoutlint.model.ctype import CType, add_qualifier, array_of, function_of, pointer_to

INT = CType("int")
SPELLINGS = [
    # type, declaration of `x`
    (INT, "int x"),
    (pointer_to(INT), "int *x"),
    (pointer_to(pointer_to(INT)), "int **x"),
    (array_of(array_of(INT, 3), 2), "int x[2][3]"),
    (array_of(INT, None), "int x[]"),
    (array_of(pointer_to(INT), 2), "int *x[2]"),
    (pointer_to(array_of(INT, 2)), "int (*x)[2]"),
    (function_of(INT, ()), "int x()"),
    (pointer_to(function_of(INT, ("char", "..."))), "int (*x)(char, ...)"),
    (array_of(pointer_to(function_of(INT, ("void",))), 4), "int (*x[4])(void)"),
    (pointer_to(function_of(pointer_to(INT), ("void",))), "int * (*x)(void)"),
    (add_qualifier(INT, "const"), "const int x"),
    (add_qualifier(add_qualifier(INT, "volatile"), "const"), "const volatile int x"),
    (add_qualifier(add_qualifier(INT, "const"), "volatile"), "const volatile int x"),
    (add_qualifier(CType("const_t"), "const"), "const const_t x"),
    (add_qualifier(pointer_to(INT), "const"), "int * const x"),
    (add_qualifier(add_qualifier(pointer_to(INT), "restrict"), "const"), "int * const restrict x"),
    (add_qualifier(pointer_to(add_qualifier(INT, "const")), "volatile"), "const int * volatile x"),
    (pointer_to(add_qualifier(pointer_to(INT), "const")), "int * const *x"),
    (add_qualifier(pointer_to(function_of(INT, ("void",))), "const"), "int (* const x)(void)"),
    (add_qualifier(array_of(INT, 2), "const"), "const int x[2]"),
]


@pytest.mark.parametrize(("type_", "declared"), SPELLINGS, ids=[declared for _, declared in SPELLINGS])
def test_spelling(type_, declared):
    assert type_.declare("x") == declared
