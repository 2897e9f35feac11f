"""Format `svg` of `show`: valid XML, bytes to scale, what is cut, and names that are hostile."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from layoutlint.geometry.layout import Layout
from layoutlint.judgement.context import Access
from layoutlint.model.ctype import CType
from layoutlint.model.structs import Field
from layoutlint.reports.line_map import MOST_LANES, line_rows, strips
from layoutlint.reports.show import svg
from layoutlint.reports.show.options import ShowOptions
from tests.harness.build import bits, flexible, member, struct
from tests.harness.command import run

SVG = "{http://www.w3.org/2000/svg}"
UNION = member(None, 0, 8, *(member(f"u{n}", 0, 8) for n in range(MOST_LANES + 1)), aggregate="union")


def picture(*structs, **options):
    return ElementTree.fromstring("".join(svg.render(structs, ShowOptions(**options))))


def texts(root):
    return [element.text for element in root.iter(f"{SVG}text")]


def titles(root):
    return [element.text for element in root.iter(f"{SVG}title")]


ROWS = [
    # id, struct, base, (first line, last line, [(name, first bit, end bit)])
    ("at 0", struct("s", 16, member("a", 0, 8), member("b", 8, 8)), 0, [(0, 0, [("a", 0, 64), ("b", 64, 128)])]),
    ("at 56", struct("s", 16, member("a", 0, 8), member("b", 8, 8)), 56,
     [(0, 0, [("a", 448, 512)]), (1, 1, [("b", 0, 64)])]),
    ("straddle", struct("s", 80, member("a", 56, 16)), 0,
     [(0, 0, [(None, 0, 448), ("a", 448, 512)]), (1, 1, [("a", 0, 64), (None, 64, 128)])]),
    ("folded", struct("s", 1024, member("a", 0, 1024)), 0,
     [(0, 0, [("a", 0, 512)]), (1, 14, [("a", 0, 512)]), (15, 15, [("a", 0, 512)])]),
    ("bit-fields", struct("s", 4, bits("a", 0, 3), bits("b", 3, 29)), 0, [(0, 0, [("a", 0, 3), ("b", 3, 32)])]),
    ("flexible", struct("s", 8, member("a", 0, 4), flexible("b", 4)), 0, [(0, 0, [("a", 0, 32), ("b", 32, 512)])]),
    ("unknown size", struct("s", 16, Field("odd", CType("odd_t"), 0, None), member("b", 8, 8)), 0,
     [(0, 0, [("b", 64, 128)])]),
    ("no fields", struct("s", 0), 0, []),
]  # fmt: skip


@pytest.mark.parametrize(("of", "base", "expected"), [case[1:] for case in ROWS], ids=[case[0] for case in ROWS])
def test_rows(of, base, expected):
    rows = line_rows(strips(Layout(of)).drawn, base, 64)
    assert [
        (row.first, row.last, [(piece.strip.place and piece.strip.place.path, piece.bit_start, piece.bit_stop) for piece in row.pieces])
        for row in rows
    ] == expected  # fmt: skip


def test_overlapping_fields_have_lanes():
    chosen = strips(Layout(struct("s", 8, UNION)))
    assert [(strip.place.path, strip.lane, strip.lanes) for strip in chosen.drawn] == [
        (f"u{n}", n, MOST_LANES) for n in range(MOST_LANES)
    ]
    assert [place.path for place in chosen.crowded] == [f"u{MOST_LANES}"]
    assert "not drawn, because too many fields overlap: u4" in texts(picture(struct("s", 8, UNION)))


def test_a_picture_has_a_name_and_a_description():
    root = picture(struct("s", 16, member("a", 0, 4), member("b", 8, 8)))
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == root.find(f"{SVG}title").get("id")
    assert root.find(f"{SVG}title").text == "struct s, 16 bytes, on lines of 64 bytes"
    assert root.find(f"{SVG}desc").text == (
        "object at byte 0 of a line, 4 bytes in holes and padding, one of 8 possible places. line 0: a, b."
    )
    assert "hole of 4 bytes at 4" in titles(root)


def test_accesses_have_colours_dashes_and_words():
    accesses = (Access("a", "hot-write", contended=True), Access("b", "cold"), Access("gone", "cold"))
    root = picture(struct("s", 24, member("a", 0, 8), member("b", 8, 8), member("c", 16, 8)), accesses={"s": accesses})
    assert "a: 0..7; 8 bytes; long int a; hot-write, contended" in titles(root)
    assert texts(root)[-3:] == ["hot-write", "cold", "two bars: contended"]
    bars = [(bar.get("stroke"), bar.get("stroke-dasharray")) for bar in root.iter(f"{SVG}path") if bar.get("class") == "bar"]
    assert len(bars) == 5
    assert len(set(bars)) == 2


@pytest.mark.parametrize("lanes", [1, 2, MOST_LANES])
def test_names_lie_between_the_bars_and_borders_of_their_fields(lanes):
    """From the top of most letters to the bottom of an underscore."""
    union = member(None, 0, 8, *(member(f"u_{n}", 0, 8) for n in range(lanes)), aggregate="union")
    root = picture(struct("s", 8, union), accesses={"s": tuple(Access(f"u_{n}", "hot-write", contended=True) for n in range(lanes))})
    for field in root.iter(f"{SVG}g"):
        (text,), box = field.findall(f"{SVG}text"), field.find(f"{SVG}rect[@class='field']")
        bars = [float(bar.get("d").partition("h")[0].partition(" ")[2]) for bar in field.iter(f"{SVG}path")]
        half = 1 if lanes > 1 else 2
        bottom, top = min(max(bars) - half, float(box.get("y")) + float(box.get("height"))), min(bars) + half
        baseline = float(text.get("y"))
        assert top <= baseline - 7
        assert baseline + 2.5 <= bottom


@pytest.mark.parametrize("name", ["</title><script>", "a\x1b[2J", "\u202egnal", '"&<', "\udcff", "x" * 10_000, "]]>"])
def test_hostile_names(name):
    root = picture(struct(name, 8, member(name, 0, 8)))
    assert not list(root.iter(f"{SVG}script"))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]", "".join(root.itertext()))


def test_enormous_structs_are_bounded():
    fields = [member(f"f{n}", n * 64, 64) for n in range(3000)]
    text = "".join(svg.render((struct("s", 192_000, *fields),), ShowOptions()))
    assert len(text) < 300_000
    assert "not drawn: lines 200 to 2999" in text
    long = struct("s", 1 << 40, member("a", 0, 1 << 40))
    assert "1..17179869182" in texts(picture(long))


SOURCE = """
struct odd {
	unsigned long head; /* layoutlint: hot-write */
	unsigned long tail;
	char rest[52];
};
struct unknown { struct missing x; };
"""
RUNS = [
    # id, arguments, exit status, a part of the output
    ("svg", ("odd", "--format", "svg"), 0, "hot-write"),
    ("all bases", ("odd", "--format", "svg", "--base", "all"), 0, "object at byte 56"),
    ("a base", ("odd", "--format", "svg", "--base", "0x8"), 0, "object at byte 8 "),
    ("text", ("odd", "--base", "all"), 0, "  an object at byte 56 of a 64-byte line:\n"),
    ("text at a base", ("odd", "--base", "8"), 0, "  line 0  |        |AAAAAAAA|BBBBBBBB|CCCCCCCC|"),
    ("letters", ("odd", "--base", "8"), 0, "B        8       8  long unsigned int tail"),
    ("no such base", ("odd", "--base", "4"), 2, "--base 4: struct odd starts at byte 0, 8, 16, 24, 32, 40, 48, 56 of"),
    ("no number", ("odd", "--base", "some"), 2, "'some' is not a number of bytes"),
    ("other format", ("odd", "--base", "0", "--format", "c"), 2, "--base is for --format text and svg"),
    ("unknown layout", ("unknown", "--format", "svg"), 3, "unreliable"),
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("arguments", "status", "part"), [case[1:] for case in RUNS], ids=[case[0] for case in RUNS])
def test_command(arguments, status, part, tmp_path):
    (tmp_path / "odd.h").write_text(SOURCE)
    done = run("show", "odd.h", *arguments, cwd=tmp_path)
    assert done.returncode == status, done.stderr
    assert part in done.stdout + done.stderr
    if "svg" in arguments and status == 0:
        ElementTree.fromstring(done.stdout)
