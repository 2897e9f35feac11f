"""Macros in C text, expanded as the preprocessor expands them; and which are worth it."""

from __future__ import annotations

import re
import subprocess

import pytest

from layoutlint.sources.order_uses import expansion
from layoutlint.sources.order_uses.expansion import (
    MacroText,
    TooLarge,
    expand,
    read_definitions,
    variants,
    with_structure,
)
from tests.oracles.c_probe import need

TEXTS = [
    # definitions, the text
    ("#define A 1\n#define B A + A", "x = B;"),
    ("#define F(a, b) b a", "F(x, y) F((1, 2), z) F(, y) F(x,)"),
    ("#define F(a) [a]\n#define G F", "G(1) G (2) G F G"),
    ("#define F(a) [a]\n#define G a F\n#define H G", "H(1) + H"),
    ("#define F(a) [a]\n#define G(b) b F", "G(1)(2) G(1)"),
    ("#define F(a) a F", "F(1)(2)(3)"),
    ("#define F() none", "F() F"),
    ("#define F(a, b) a##b a ## _t", "F(x, y)"),
    ("#define F(a) a##1 a\n#define X Y", "F(X)"),
    ("#define F(...) {__VA_ARGS__}\n#define G(a, ...) a: __VA_ARGS__", "F(1, (2, 3)) F() G(x, y, z) G(x)"),
    ("#define F(a, rest...) a: rest", "F(x, y, z) F(x)"),
    ("#define F(f, ...) f(0, ##__VA_ARGS__)", "F(g) F(g, 1, 2)"),
    ("#define F(f, ...) f(0 __VA_OPT__(, (__VA_ARGS__)))", "F(g) F(g, 1)"),
    ("#define A B\n#define B A", "A B"),
    ("#define F(x) x F(x)", "F(1) F(F(2))"),
    ("#define F(x) \\\n\tx; \\\n\tx", "F(a)"),
    ("#define A /* one */ 1 // two", "A"),
    ("#define F(a) {a}", "F(.b = 1) F((x, y))"),
    ("#define LIST(X) X(one) X(two)\n#define ROW(name) int name;", "LIST(ROW)"),
]


@pytest.mark.parametrize(("definitions", "text"), TEXTS)
def test_the_preprocessor_does_the_same(definitions, text):
    command = [need("gcc"), "-E", "-P", "-std=gnu2x", "-x", "c", "-"]
    done = subprocess.run(command, input=f"{definitions}\n{text}\n", check=True, capture_output=True, text=True)
    assert tokens(expand(text, read_definitions(definitions))) == tokens(done.stdout)


def tokens(text: str) -> list[str]:
    return re.findall(r"\w+|\S", text)


@pytest.mark.parametrize(("text", "expected"), [
    ("F(one,\n\ntwo);\nnext", " one + two \n\n;\nnext"), ("F(open", "F(open"), ("plain", "plain"),
])  # fmt: skip
def test_lines_stay_at_their_numbers(text, expected):
    assert expand(text, read_definitions("#define F(a, b) a + b")) == expected


def test_several_definitions():
    """The number chooses one; where there are fewer, the last."""
    table = read_definitions("#ifdef X\n#define A 1\n#define B 2\n#else\n#define A 3\n#endif\n#define A 1\n")
    assert table == {"A": (MacroText(None, "1"), MacroText(None, "3")), "B": (MacroText(None, "2"),)}
    assert [tokens(expand("A B", table, number)) for number in range(3)] == [["1", "2"], ["3", "2"], ["3", "2"]]
    assert (variants("A B", table), variants("B", table), variants("none", table)) == (2, 1, 1)


STRUCTURE = {
    # a macro, whether it makes more than an expression
    "#define M 1": False, "#define M (1 + 2)": False, "#define M(p) p->head": False, "#define M(p) (p)->head": True,
    "#define M(p) &p->head": True, "#define M &head": False, "#define M (1": True, "#define M 1)": True, "#define M {": True,
    "#define M }": True, "#define M a = 1": True, "#define M a, b": True, "#define M a##b": True, "#define M struct s": True,
    "#define M union u": True, "#define M typeof": True, "#define M __typeof__(x)": True, "#define M .head": True,
    "#define M a.head": False, "#define M structure": False,
}  # fmt: skip


@pytest.mark.parametrize("text", STRUCTURE)
def test_macros_with_structure(text):
    assert with_structure(read_definitions(text), frozenset()).keys() == ({"M"} if STRUCTURE[text] else set())


def test_macros_that_lead_to_words_or_structure():
    table = read_definitions("#define A B\n#define B head\n#define C D\n#define D {\n#define E 1\n#define F E")
    assert with_structure(table, frozenset({"head"})).keys() == {"A", "B", "C", "D"}
    assert with_structure(table, frozenset({"E"})).keys() == {"C", "D", "F"}


def chain(length: int) -> str:
    return "\n".join(f"#define M{number} M{number + 1}" for number in range(length))


@pytest.mark.parametrize(("length", "fails"), [(63, False), (expansion._DEEPEST + 1, True)])
def test_the_deepest(length, fails):
    table = read_definitions(chain(length))
    if fails:
        with pytest.raises(TooLarge):
            expand("M0", table)
    else:
        assert expand("M0", table).split() == [f"M{length}"]


@pytest.mark.parametrize(("largest", "fails"), [(8, False), (7, True)])
def test_the_largest(largest, fails, monkeypatch):
    monkeypatch.setattr(expansion, "LARGEST", largest)
    table = read_definitions("#define A 1234")
    if fails:
        with pytest.raises(TooLarge):
            expand("A A", table)
    else:
        assert expand("A A", table).split() == ["1234", "1234"]
