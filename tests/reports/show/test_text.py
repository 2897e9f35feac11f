"""Format `text` of `show`: goldens, and the marks for what people look for."""

from __future__ import annotations

import re

import pytest

from layoutlint.model.ctype import CType
from layoutlint.model.record import replace
from layoutlint.model.structs import Field
from layoutlint.reports import SHOW_FORMATS
from layoutlint.reports.show.options import ShowOptions
from tests.harness.build import bits, flexible, member, struct

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
MIXED = struct(
    "mixed", 192, member("a", 0, 4), bits("flag", 32, 3), member("b", 8, 8),
    member(None, 16, 16, member("left", 0, 8), member("right", 0, 16), aggregate="union"),
    member("crossing", 56, 16), member("inner", 72, 16, member("x", 0, 8), member("y", 8, 4)),
    member("table", 88, 80), flexible("tail", 168), align=64,
)  # fmt: skip


def show(*structs, **options):
    return "".join(SHOW_FORMATS["text"](structs, ShowOptions(**options)))


@pytest.mark.parametrize(
    ("name", "options"), [("mixed.txt", {}), ("mixed-expanded.txt", {"expand": True}), ("mixed-32.txt", {"line_size": 32})]
)
def test_text(name, options, golden):
    golden(name, show(MIXED, **options))


INNER = (member("c", 0, 1), member("x", 4, 4), member("s", 8, 2))
MARKS = [
    # id, struct, options, a line of the table
    ("hole", struct("s", 16, member("a", 0, 4), member("b", 8, 8)), {}, "       4       4  (hole)"),
    ("padding", struct("s", 16, member("a", 0, 8)), {}, "       8       8  (padding)"),
    ("bits of a hole", struct("s", 8, bits("a", 0, 3), member("b", 1, 7)), {}, "     0:3          (hole of 5 bits)"),
    ("bit-field", struct("s", 8, bits("a", 33, 2)), {}, "     4:1       1  unsigned int a:2"),
    ("straddle", struct("s", 80, member("a", 56, 16)), {},
     "      56      16  long int a  <-- straddles lines 0 and 1"),
    ("several lines", struct("s", 256, member("a", 0, 256)), {}, "       0     256  long int a  (lines 0..3)"),
    ("unknown size", struct("s", 8, Field("odd", CType("odd_t"), 0, None)), {}, "       0      ??  odd_t odd"),
    ("line", struct("s", 72, member("a", 0, 64), member("b", 64, 8)), {},
     "  -- line 1, from 64 -----------------------------------------------------"),
    ("8 bases", struct("s", 8, member("a", 0, 8)), {},
     "  can start at 8 places of a line: aligned to 8 (stated by the input)"),
    ("1 base", struct("s", 64, member("a", 0, 64), align=64), {},
     "  starts at the start of a line: aligned to 64 (stated by the input)"),
    ("figures", struct("s", 16, member("a", 0, 4), member("b", 8, 1)), {},
     "  1 hole, 4 bytes; 7 bytes of padding; 48 bytes free on its last line"),
    ("padding inside members", struct("s", 24, Field("in", CType("struct in", "[2]"), 0, 192, aggregate="struct", dims=(2,), members=INNER)), {},
     "  no holes; 10 bytes of padding inside members; 40 bytes free on its last line"),
    ("a flexible array held by value", struct("s", 16, member("in", 0, 8, member("n", 0, 8), flexible("rest", 8)), member("z", 8, 8)), {},
     "       0       8  long int in  (ends in the flexible array rest)"),
    ("a flexible array of its own", struct("s", 8, member("n", 0, 8), flexible("rest", 8)), {}, "       8       0  long int rest[]"),
    ("incomplete", replace(struct("s", 0), bit_size=None), {}, "struct s  size ??: declared but not defined  example.h:1"),
    ("not believed", replace(struct("s", 8), problem="s.h:3: no type"), {}, "  layout unreliable: s.h:3: no type"),
]  # fmt: skip


@pytest.mark.parametrize(("of", "options", "line"), [case[1:] for case in MARKS], ids=[case[0] for case in MARKS])
def test_marks(of, options, line):
    assert line in show(of, **options).splitlines()


def test_colour_changes_no_character():
    colored = show(MIXED, MIXED, color=True)
    assert "\x1b[" in colored
    assert ESCAPE.sub("", colored) == show(MIXED, MIXED)
