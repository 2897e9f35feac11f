"""All padding that `holes` counts, against `-Wpadded` of gcc and clang.

The compilers differ from the rule, and from one another, in this:

- neither reports the rest of the last byte of a union (`union { unsigned a : 30; }`);
- gcc reports no gap before a bit-field that does not fit behind the bit-field before it;
- both warn once for each definition, the rule counts each element of arrays, and bytes that members of a union share once.
"""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from layoutlint.geometry.layout import Layout
from layoutlint.geometry.padding import Gap, find_padding
from layoutlint.judgement.verdict import Outcome
from layoutlint.kinds.holes import Holes
from layoutlint.model.reading import ReadOptions
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch
from tests.geometry.test_inner_holes import Body
from tests.harness.build import context
from tests.harness.tools import need

ALL = Holes(count=("holes", "tail", "nested", "bits"))
WARNING = re.compile(r"s\.c:(\d+):\d+: warning: padding (?:.*? with (\d+) (bit|byte)s?)?")
COMPILERS = ("clang", "gcc")


def read(folder: Path, bodies: Sequence[str]) -> list[Struct]:
    """Write structs, each with a variable and on a line of its own, and return how layoutlint reads them."""
    lines = [f"struct s{number} {{ {body} }} v{number};\n" for number, body in enumerate(bodies)]
    (folder / "s.c").write_text("".join(lines))
    found = {struct.name: struct for struct in dispatch.read(str(folder / "s.c"), Wanted(everything=True), ReadOptions()).structs}
    return [found[f"s{number}"] for number in range(len(bodies))]


def warned_bits(folder: Path, compiler: str, count: int) -> list[int]:
    """Return the bits of padding for which a compiler warns, for each struct; gcc states none, and each warning counts as one."""
    command = [need(compiler, "-c"), "-Wpadded", "-c", "s.c", "-o", "s.o"]
    errors = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stderr
    bits: dict[int, int] = defaultdict(int)
    for line, size, unit in WARNING.findall(errors):
        bits[int(line) - 1] += int(size or 1) * (8 if unit == "byte" else 1)
    return [bits[number] for number in range(count)]


def is_reported(gap: Gap, body: str, compiler: str) -> bool:
    """Return whether a compiler surely warns for a gap."""
    following = re.fullmatch(r"before `(?:.*\.)?(\w+)`", gap.place)
    is_before_bits = following is not None and re.search(rf"\b{following[1]}:", body) is not None
    return (gap.is_whole or "union" not in body) and not (compiler == "gcc" and is_before_bits)


def mistakes(folder: Path, bodies: Sequence[str], compiler: str) -> tuple[list[str], int]:
    """Return the structs on which the rule and a compiler contradict each other, and how many only the rule breaks."""
    wrong, unreported = [], 0
    structs = read(folder, bodies)
    for body, struct, warned in zip(bodies, structs, warned_bits(folder, compiler, len(bodies)), strict=True):
        gaps = list(find_padding(Layout(struct)))
        is_broken = ALL.check(context(struct)).outcome is Outcome.BROKEN
        is_sure = any(is_reported(gap, body, compiler) for gap in gaps)
        own = sum(gap.bit_size for gap in gaps)
        if (warned and not is_broken) or (is_sure and not warned) or (compiler == "clang" and "union" not in body and own != warned):
            wrong.append(body)
        unreported += is_broken and not warned
    return wrong, unreported


ROWS = [
    # the members, and the bits of each gap in the order of findings
    ("long a; int b; int c;", []),
    ("char a; int b;", [24]),
    ("int a; char b;", [24]),
    ("int a; char b; char reserved[3];", []),
    ("unsigned a:3;", [5, 24]),
    ("unsigned a:3; unsigned :29;", []),
    ("unsigned a:3; unsigned :5; char b; short c;", []),
    ("unsigned a:3; char b; short c;", [5]),
    ("unsigned :4; unsigned a:28;", []),
    ("unsigned a:8; unsigned :0; unsigned b:32;", [24]),
    ("struct { char c; int x; short s; } in;", [24, 16]),
    ("struct { char c; int x; } in[3];", [24]),
    ("struct { struct { char c; int x; } deep; long y; } in;", [24]),
    ("struct { char c; int x; }; int y;", [24]),
    ("union { char c[5]; int x; } u;", [24]),
    ("union { struct { char c; int x; }; long y; };", [24]),
    ("union { struct { char c; int x; } in; long y; } u;", [24]),
    ("char a; int b __attribute__((packed)); char c; short d;", []),
    ("long a; char b; int rest[];", [24, 32]),
]  # fmt: skip


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_rule_counts_what_compilers_warn_for(tmp_path, compiler):
    assert mistakes(tmp_path, [body for body, _ in ROWS], compiler) == ([], 0)


def test_each_gap_has_its_bits(tmp_path):
    structs = read(tmp_path, [body for body, _ in ROWS])
    assert [(body, [gap.bit_size for gap in find_padding(Layout(struct))]) for (body, _), struct in zip(ROWS, structs, strict=True)] == ROWS


DIFFERENCES = [
    # the members, and the compilers that warn
    ("union { unsigned a:30; } u;", ()),
    ("int a:20; int b:32;", ("clang",)),
]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_compilers_differ(tmp_path, compiler):
    bodies = [body for body, _ in DIFFERENCES]
    assert [ALL.check(context(struct)).outcome for struct in read(tmp_path, bodies)] == [Outcome.BROKEN] * len(bodies)
    assert [bool(bits) for bits in warned_bits(tmp_path, compiler, len(bodies))] == [compiler in by for _, by in DIFFERENCES]


def random_bodies(count: int, seed: int) -> list[str]:
    chance = Random(seed)
    return [Body(chance).make("v", 3)[0] for _ in range(count)]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_of_random_structs(tmp_path, compiler):
    assert mistakes(tmp_path, random_bodies(100, 1), compiler)[0] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("compiler", COMPILERS)
def test_of_many_random_structs(tmp_path, compiler):
    wrong, unreported = mistakes(tmp_path, random_bodies(2000, 2), compiler)
    assert wrong == []
    assert unreported < 20
