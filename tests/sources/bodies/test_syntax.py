"""The numbers of libclang, as its own Python bindings have them."""

from __future__ import annotations

import pytest

from layoutlint.sources.bodies import syntax

cindex = pytest.importorskip("clang.cindex")
CURSORS = {
    "FUNCTION": "FUNCTION_DECL", "VARIABLE": "VAR_DECL", "PARAMETER": "PARM_DECL", "MEMBER_NAME": "MEMBER_REF",
    "UNEXPOSED": "UNEXPOSED_EXPR", "DECL_REF": "DECL_REF_EXPR", "MEMBER": "MEMBER_REF_EXPR", "CALL": "CALL_EXPR",
    "PAREN": "PAREN_EXPR", "UNARY": "UNARY_OPERATOR", "SUBSCRIPT": "ARRAY_SUBSCRIPT_EXPR", "BINARY": "BINARY_OPERATOR",
    "COMPOUND_ASSIGNMENT": "COMPOUND_ASSIGNMENT_OPERATOR", "CONDITIONAL": "CONDITIONAL_OPERATOR", "CAST": "CSTYLE_CAST_EXPR",
    "COMPOUND_LITERAL": "COMPOUND_LITERAL_EXPR", "INIT_LIST": "INIT_LIST_EXPR", "STATEMENT_EXPRESSION": "StmtExpr",
    "SIZEOF": "CXX_UNARY_EXPR", "COMPOUND": "COMPOUND_STMT", "CASE": "CASE_STMT", "DEFAULT": "DEFAULT_STMT", "IF": "IF_STMT",
    "SWITCH": "SWITCH_STMT", "WHILE": "WHILE_STMT", "DO": "DO_STMT", "FOR": "FOR_STMT", "GOTO": "GOTO_STMT",
    "RETURN": "RETURN_STMT", "ASM": "ASM_STMT", "DECLARATION": "DECL_STMT", "INTEGER": "INTEGER_LITERAL",
    "FIRST_STATEMENT": "UNEXPOSED_STMT", "FIRST_LITERAL": "INTEGER_LITERAL", "LAST_LITERAL": "CHARACTER_LITERAL",
    "FIRST_EXPRESSION": "UNEXPOSED_EXPR", "FIRST_ATTRIBUTE": "UNEXPOSED_ATTR", "LAST_REFERENCE": "VARIABLE_REF",
}  # fmt: skip
TYPES = {
    "VOID": "VOID", "POINTER": "POINTER", "RECORD": "RECORD", "ATOMIC": "ATOMIC", "CONSTANT_ARRAY": "CONSTANTARRAY",
    "INCOMPLETE_ARRAY": "INCOMPLETEARRAY", "VARIABLE_ARRAY": "VARIABLEARRAY",
}  # fmt: skip


@pytest.mark.parametrize("name", CURSORS)
def test_kinds_of_cursors(name):
    assert getattr(cindex.CursorKind, CURSORS[name]).value == getattr(syntax, name)


@pytest.mark.parametrize("name", TYPES)
def test_kinds_of_types(name):
    assert getattr(cindex.TypeKind, TYPES[name]).value == getattr(syntax, name)


def test_storage():
    assert cindex.StorageClass.STATIC.value == syntax.STATIC


@pytest.mark.parametrize("kind", ["FIRST_REFERENCE", "LAST_STATEMENT", "LAST_LITERAL", "FIRST_EXPRESSION"])
def test_ends_of_ranges(kind):
    """What is within a range is what the bindings call so, and nothing else."""
    ranges = {
        "is_reference": (syntax.FIRST_REFERENCE, syntax.LAST_REFERENCE),
        "is_statement": (syntax.FIRST_STATEMENT, syntax.LAST_STATEMENT),
    }
    for test, (first, last) in ranges.items():
        numbers = {each.value for each in cindex.CursorKind.get_all_kinds() if getattr(each, test)()}
        assert {number for number in numbers if number < 300} == {
            each.value for each in cindex.CursorKind.get_all_kinds() if first <= each.value <= last and each.value < 300
        }
