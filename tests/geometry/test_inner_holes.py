"""The holes inside members: the bits of each named struct that a compiled program leaves zero when it writes its innermost
members.

    python -m tests.geometry.test_inner_holes --cases 1000 --seed 1
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path
from random import Random

import pytest

from layoutlint.geometry.layout import Layout
from layoutlint.geometry.padding import inner_holes
from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch
from layoutlint.reports import SHOW_FORMATS
from layoutlint.reports.show.options import ShowOptions
from tests.harness.tools import need

SCALARS = ("char", "short", "int", "long", "long double", "void *")
HEAD = """\
#include <stdio.h>
#include <string.h>
static void holes(const char *name, const unsigned char *bytes, long start, long size) {
	printf("%s", name);
	for (long bit = start * 8; bit < (start + size) * 8; bit++) if (!(bytes[bit / 8] >> bit % 8 & 1)) printf(" %ld", bit);
	puts("");
}
"""


class Body:
    """The members of a random struct, and statements that write each innermost one."""

    def __init__(self, chance: Random) -> None:
        self.chance, self.count = chance, 0
        self.inside: list[tuple[str, list[str]]] = []
        """The structs and unions inside it that have a name, with the statements that write their members."""

    def make(self, path: str, depth: int, most: int = 5, *, is_union: bool = False) -> tuple[str, list[str]]:
        parts = [self._make_member(path, depth, is_union) for _ in range(self.chance.randint(1, most))]
        while not any(lines for _, lines in parts):  # without a named member, it is shown as a whole
            parts.append(self._make_member(path, 0, is_union))
        return " ".join(text for text, _ in parts), [line for _, lines in parts for line in lines]

    def _make_member(self, path: str, depth: int, is_union: bool) -> tuple[str, list[str]]:
        name = f"m{self.count}"
        self.count += 1
        at, roll = f"{path}.{name}", self.chance.random()
        if depth and roll < 0.35:
            return self._make_nested(path, name, depth, is_union)
        if roll < 0.5:
            width = self.chance.randint(1, 31)
            return f"unsigned {name}:{width};", [f"{at} = ~0u;"]
        if roll < 0.55:
            return f"unsigned :{self.chance.randint(0, 9)};", []
        dims = f"[{self.chance.randint(1, 3)}]" if roll > 0.8 else ""
        align = f" __attribute__((aligned({self.chance.choice((8, 32))})))" if roll > 0.95 else ""
        scalar = self.chance.choice(SCALARS)
        return f"{scalar} {name}{dims}{align};", [f"memset(&{at}, 255, sizeof {at});"]

    def _make_nested(self, path: str, name: str, depth: int, is_in_union: bool) -> tuple[str, list[str]]:
        kind, packed = self.chance.choice(("struct", "struct", "union")), self.chance.choice(("", "", "__attribute__((packed))"))
        form = self.chance.choice(("plain", "array", *(() if is_in_union else ("anonymous",))))
        inner = {"plain": f"{path}.{name}", "array": f"{path}.{name}[0]", "anonymous": path}[form]
        text, lines = self.make(inner, depth - 1, 4, is_union=kind == "union")
        if form != "anonymous":
            self.inside.append((inner, lines))
        if form == "anonymous":
            return f"{kind} {{ {text} }} {packed};", lines
        length = self.chance.randint(1, 3)
        rest = [f"memset(&{path}.{name}[1], 255, sizeof {inner} * {length - 1});"] if form == "array" and length > 1 else []
        return f"{kind} {{ {text} }} {packed} {name}{f'[{length}]' if form == 'array' else ''};", lines + rest


def program(count: int, seed: int) -> str:
    """A program that prints the bits of each struct, and of those inside it, that no innermost member of it covers."""
    chance, definitions, calls = Random(seed), [], []
    for number in range(count):
        body, whole = Body(chance), f"v{number}"
        text, lines = body.make(whole, 3)
        definitions.append(f"struct s{number} {{ {text} }} v{number};")
        for part, written in [(whole, lines), *body.inside]:
            place = f"(char *)&{part} - (char *)&{whole}, sizeof {part}"
            calls.append(f'memset(&{whole}, 0, sizeof {whole}); {" ".join(written)} holes("s{number}", (void *)&{whole}, {place});')
    return HEAD + "\n".join(definitions) + "\nint main(void) {\n" + "\n".join(calls) + "\n}\n"


def mistakes(folder: Path, count: int, seed: int) -> list[str]:
    """Return the structs whose holes and padding are not the bits that the program found."""
    (folder / "s.c").write_text(program(count, seed))
    subprocess.run([need("gcc", "-c"), "-g", "-w", "s.c", "-o", "s"], cwd=folder, check=True)
    printed = subprocess.run(["./s"], cwd=folder, check=True, capture_output=True, text=True).stdout
    found = {struct.name: struct for struct in dispatch.read(str(folder / "s"), Wanted(everything=True), ReadOptions()).structs}
    wrong, zero = [], defaultdict[str, set[int]](set)
    for line in printed.splitlines():
        name, *bits = line.split()
        zero[name] |= set(map(int, bits))
    for name, expected in zero.items():
        layout = Layout(found[name])
        own = {bit for hole in inner_holes(layout) for bit in range(hole.bit_offset, hole.bit_offset + hole.bit_size)}
        padding = set(range(layout.bit_size - layout.bit_padding, layout.bit_size))
        if own | padding != expected:
            wrong.append(name)
    return wrong


def test_no_hole_is_another_than_the_program_finds(tmp_path):
    assert mistakes(tmp_path, 60, 1) == []


@pytest.mark.exhaustive
def test_no_hole_of_many_is_another(tmp_path):
    assert mistakes(tmp_path, 1000, 2) == []


SHOWN = [
    # members of a struct, and the rows of text that are holes
    ("char q; struct { char c; long x; char d; } in; char z;", ["1 7", "9 7", "25 7 (padding)", "33 7 (padding)"]),
    ("struct { char c; long x; char d; } in;", ["1 7", "17 7 (padding)"]),
    ("char q; struct { char c; int x; }; char z;", ["1 3", "5 3", "13 3 (padding)"]),
    ("union { struct { char c; int x; }; long y; };", ["1 3"]),
    ("struct { char c; int x; } in[3];", ["1 3"]),
    ("union { struct { char c; long x; } in; short s[2]; } u;", ["1 7"]),
    ("int n; struct { char c; int x; } rest[];", []),
    ("char a; int b;", ["1 3"]),
]


@pytest.mark.parametrize(("members", "rows"), SHOWN, ids=[row[0] for row in SHOWN])
def test_text_and_json_show_them(tmp_path, members, rows):
    (tmp_path / "s.h").write_text(f"struct s {{ {members} }};\n")
    structs = dispatch.read(str(tmp_path / "s.h"), Wanted(everything=True), ReadOptions()).structs
    shown = "".join(SHOW_FORMATS["text"](structs, ShowOptions(expand=True)))
    gaps = [row.split() for row in shown.splitlines() if row.endswith(("(hole)", "(padding)"))]
    assert [" ".join(words).replace(" (hole)", "") for words in gaps] == rows
    listed = json.loads("".join(SHOW_FORMATS["json"](structs, ShowOptions(expand=True))))["structs"][0]
    own_padding = [[str(listed["size"] - listed["padding"]), str(listed["padding"]), "(padding)"]]
    inside = [words for words in gaps if [words] != own_padding]
    assert [[str(hole["offset"]), str(hole["size"])] for hole in listed["holes"]] == [words[:2] for words in inside]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(mistakes(Path(folder), given.cases, given.seed) or f"{given.cases} structs, no mistake")
