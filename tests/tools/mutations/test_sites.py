"""The mutations of small modules."""

from __future__ import annotations

import ast

import pytest

from layoutlint.kinds import separate
from tools.mutations.sites import mutations

TABLE = [
    # an expression or statement, what can stand in its place
    ("a < b", ["a <= b"]),
    ("a in b", ["a not in b"]),
    ("a + b * c", ["a - b * c", "a + (b // c)"]),
    ("not a", ["a"]),
    ("-a", ["a"]),
    ("a and b", ["b", "a"]),
    ("a or b or c", ["b or c", "a or c", "a or b"]),
    ("a if b else c", ["a", "c"]),
    ("4", ["5", "3"]),
    ("True", ["False"]),
    ("'text' + a", []),
    ("zip(a, b, strict=True)", []),
    ("zip(a, b, strict=False)", ["zip(a, b, strict=True)"]),
    ("f'{a + 1}'", []),
    ("'a word'", []),
]


@pytest.mark.parametrize(("expression", "mutants"), TABLE)
def test_an_expression(expression, mutants):
    found = [ast.unparse(ast.parse(each.text)) for each in mutations(f"x = {expression}\n")]
    assert sorted(found) == sorted(ast.unparse(ast.parse(f"x = {each}")) for each in mutants)


STATEMENTS = [
    # a body, the bodies of its mutants
    ("if a:\n    f()", ["if not a:\n    f()", "if a:\n    pass"]),
    ("x += y", ["pass"]),
    ("raise E(a + 1)", []),
    ("if TYPE_CHECKING:\n    f()", []),
    ("class A(B, frozen=True):\n    a = 1", ["class A(B, frozen=True):\n    a = 0", "class A(B, frozen=True):\n    a = 2"]),
    ("def f(a: int = b) -> 'A':\n    return a", []),
    ("for a in b:\n    continue", ["for a in b:\n    pass"]),
]


@pytest.mark.parametrize(("text", "mutants"), STATEMENTS)
def test_a_statement(text, mutants):
    found = [ast.unparse(ast.parse(each.text)) for each in mutations(f"{text}\n")]
    assert sorted(found) == sorted(ast.unparse(ast.parse(each)) for each in mutants)


def test_a_module():
    """Every mutation of a real module differs from it, and can be compiled."""
    with open(separate.__file__) as file:
        text = file.read()
    trees = [ast.dump(ast.parse(each.text)) for each in mutations(text)]
    assert len(trees) > 20
    assert ast.dump(ast.parse(text)) not in trees
