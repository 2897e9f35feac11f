"""Marks in blocks, and the tests that reach a line."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import ModuleType

import pytest

from tools.mutations.blocks import Reach, TimedTest, put_marks
from tools.mutations.trials import Copy

TEXT = '''"""A module."""

from __future__ import annotations

LIMIT = 3


def f(a):
    """Return a word."""
    if a > LIMIT:
        return "many"
    elif a:
        return "some"
    return "none"


class C:
    def method(self):
        for each in (1, 2):
            yield each
'''
BLOCKS = [(8, 14), (11, 11), (12, 13), (13, 13), (18, 20), (20, 20)]


@pytest.mark.parametrize(("argument", "word", "reached"), [
    (0, "none", [(8, 14), (12, 13)]), (1, "some", [(8, 14), (12, 13), (13, 13)]), (9, "many", [(8, 14), (11, 11)])
])  # fmt: skip
def test_marks(argument, word, reached, monkeypatch):
    """A module with marks does the same, and marks what runs."""
    marks = ModuleType("layoutlint_marks")
    marks.marks = bytearray(9)
    monkeypatch.setitem(sys.modules, "layoutlint_marks", marks)
    blocks: list[tuple[str, int, int]] = []
    own: dict = {}
    exec(put_marks(TEXT, "m.py", blocks), own)
    assert sorted(blocks) == [("m.py", *lines) for lines in BLOCKS]
    assert own["f"](argument) == word
    assert sorted(blocks[number][1:] for number, mark in enumerate(marks.marks) if mark) == reached


REACH = Reach(
    [("m.py", 11, 11), ("m.py", 8, 14), ("m.py", 18, 20), ("n.py", 1, 9), ("m.py", 12, 13)],
    [TimedTest("test_a.py::a", 0.1, 0b1011), TimedTest("test_b.py::b", 0.2, 0b10), TimedTest("test_c.py::c", 0.3, 0b1000)],
)


@pytest.mark.parametrize(("module", "line", "files"), [
    ("m.py", 11, ["test_a.py"]), ("m.py", 10, ["test_a.py", "test_b.py"]), ("m.py", 19, []), ("n.py", 3, ["test_a.py", "test_c.py"]),
    ("m.py", 12, ["test_a.py", "test_b.py"]), ("m.py", 5, ["test_a.py", "test_b.py"]), ("o.py", 1, []),
])  # fmt: skip
def test_tests_that_reach_a_line(module, line, files):
    """Outside functions and in blocks that none reaches, more tests count."""
    assert [test.file for test in REACH.find_tests(module, line)] == files


def test_what_is_written_can_be_read(tmp_path):
    reach = replace(REACH, options=("--exhaustive",))
    reach.write(tmp_path / "reach.json")
    assert Reach.read(tmp_path / "reach.json") == reach


def test_unreached():
    assert list(REACH.find_unreached()) == ["m.py:18-20", "m.py:12-13"]


@pytest.mark.parametrize(("module", "line", "is_outside"), [("m.py", 5, True), ("m.py", 8, False), ("m.py", 14, False), ("m.py", 15, True), ("n.py", 10, True)])
def test_lines_outside_of_functions(module, line, is_outside):
    assert REACH.is_outside(module, line) is is_outside


IMPORTS = [
    # the text of a test, whether it imports layoutlint/kinds/x.py
    ("from layoutlint.kinds import x\n", True), ("from layoutlint.kinds import a, x\n", True), ("from layoutlint.kinds.x import f\n", True),
    ("from layoutlint.kinds import (\n    a,\n    x,\n)\n", True), ("from layoutlint.kinds import (\n    a,\n)\nx = 1\n", False),
    ("from layoutlint.kinds import xy\n", False), ("from layoutlint.kinds.xy import x\n", False), ("from layoutlint import kinds\n", False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "imports"), IMPORTS)
def test_tests_that_import_a_module(tmp_path, text, imports):
    (tmp_path / "test_a.py").write_text(text)
    reach = Reach([], [TimedTest("test_a.py::a", 0.1, 0)])
    copy = object.__new__(Copy)
    copy.folder = tmp_path
    copy.reach = reach
    assert list(copy._importing_files("layoutlint/kinds/x.py")) == ["test_a.py"] * imports
