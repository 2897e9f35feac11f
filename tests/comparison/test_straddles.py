"""Each kind of change alone is in every format of `diff`: straddles, size, lines, holes, alignment, allocation, edits."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.harness.command import run

PAIR = "struct pair { long x, y; };\n"
PLACEMENT = '[struct.s]\nplacement = "kmalloc"\n'
CHANGES: dict[str, tuple[str, str, list[str], dict[str, Any]]] = {
    # the fields before and now; words of the text; values of the JSON
    "a field begins to straddle": (
        "long a[6]; struct pair p; long b[2];", "long a[7]; struct pair p; long b;",
        ["fields across two lines 0 -> 1", "now across two lines: `p` at 56..71, lines 0 and 1"],
        {"straddles": [{"path": "p", "offset": [48, 56], "lines": [1, 2]}], "size": [80, 80]}),
    "a field ceases to straddle": (
        "long a[7]; struct pair p; long b;", "long a[6]; struct pair p; long b[2];",
        ["fields across two lines 1 -> 0", "no longer across two lines: `p`, at 48..63 now"],
        {"straddles": [{"path": "p", "offset": [56, 48], "lines": [2, 1]}]}),
    "an added field straddles": (
        "long a[7]; long b[2];", "long a[7]; struct pair p;",
        ["now across two lines: `p` at 56..71, lines 0 and 1"],
        {"straddles": [{"path": "p", "offset": [None, 56], "lines": [0, 2]}, {"path": "b", "offset": [56, None], "lines": [2, 0]}]}),
    "a field of a large embedded struct": (
        "long a[5]; struct { long c; struct pair p; long d[9]; } in; long b;",
        "long a[6]; struct { long c; struct pair p; long d[9]; } in;",
        ["now across two lines: `in.p` at 56..71, lines 0 and 1"],
        {"straddles": [{"path": "in.p", "offset": [48, 56], "lines": [1, 2]}], "size": [144, 144]}),
    "a field that no line can hold any more": (
        "long a[5]; char b[40];", "long a[5]; char b[72];", ["80 -> 112 bytes, fields across two lines 1 -> 0"], {"straddles": []}),
    "a part of a struct that no line can hold any more": (
        "long a[7]; struct { struct pair p; long d[5]; } in;", "long a[7]; struct { struct pair p; long d[9]; } in;",
        ["112 -> 144 bytes, 2 -> 3 lines"], {"straddles": []}),
    "an array that may have any length now": (
        "long a[7]; char b[16];", "long a[7]; char b[];", ["72 -> 56 bytes"], {"straddles": []}),
    "other names, of a field that straddles and of a large struct with one": (
        "long a[7]; struct pair p; struct { long c[6]; struct pair q; long d[9]; } in;",
        "long a[7]; struct pair r; struct { long c[6]; struct pair q; long d[9]; } other;",
        ["`r`, 16 bytes at 56", "`other`, 136 bytes at 72"], {"straddles": []}),
    "the size": ("long a; char b[8];", "long a; char b[9];", ["16 -> 24 bytes"], {"size": [16, 24], "straddles": []}),
    "the lines": ("long a[8];", "long a[9];", ["64 -> 72 bytes, 1 -> 2 lines"], {"lines": [1, 2]}),
    "the holes": ("int a; int b; long c;", "int a; long c;", ["0 -> 4 bytes of holes"], {"hole_bits": [0, 32], "size": [16, 16]}),
    "the alignment": ("long a, b;", "_Alignas(16) long a; long b;", ["alignment 8 -> 16"], {"align": [8, 16], "size": [16, 16]}),
    "the class of its allocator": (
        "char a[96];", "char a[97];", ["allocated by kmalloc: kmalloc-96 -> kmalloc-128, 31 bytes left"],
        {"allocations": [{"allocator": "kmalloc", "is_assumed": False, "class": [96, 128], "slack": [0, 31], "slabs": []}]}),
    "a field on another line": (
        "long a[7]; long b; long c;", "long a[8]; long b;", ["`b` 56 -> 64, line 0 -> 1, pushed by `a`"],
        {"size": [72, 72], "straddles": []}),
}  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", CHANGES)
def test_each_change_is_in_every_format(tmp_path, name):
    before, after, words, values = CHANGES[name]
    (tmp_path / "r.toml").write_text(PLACEMENT)
    for side, fields in (("old", before), ("new", after)):
        (tmp_path / f"{side}.h").write_text(f"{PAIR}struct s {{ {fields} }};\n")
    outputs = {
        format_: run("diff", "old.h", "new.h", "--rules", "r.toml", "--format", format_, cwd=tmp_path).stdout
        for format_ in ("text", "markdown", "json")
    }
    (struct,) = (each for each in json.loads(outputs["json"])["structs"] if each["name"] == "s")
    assert {key: struct[key] for key in values} == values
    for word in words:
        assert word in " ".join(outputs["text"].split())
        assert word.replace(">", "&#62;") in outputs["markdown"].replace("\\", "")


def test_straddles_are_those_of_offsetof(tmp_path):
    """The compiler says where fields are: those with their ends on two lines, by offsetof and sizeof."""
    names = [f"f{n}" for n in range(24)]
    sizes = [8, 16, 24, 40, 64, 12, 20, 32] * 3
    sides = {"old": (names, sizes), "new": (names, sizes[3:] + sizes[:3])}
    offsets = {}
    for side, (fields, lengths) in sides.items():
        text = f"struct s {{ {' '.join(f'int {f}[{n // 4}];' for f, n in zip(fields, lengths, strict=True))} }};\n"
        (tmp_path / f"{side}.h").write_text(text)
        prints = "".join(f'printf("%zu %zu\\n", offsetof(struct s, {f}), sizeof ((struct s *)0)->{f});' for f in fields)
        source = f'#include <stddef.h>\n#include <stdio.h>\n#include "{side}.h"\nint main(void) {{ {prints} }}\n'
        (tmp_path / f"{side}.c").write_text(source)
        subprocess.run(["gcc", f"{side}.c", "-o", side], cwd=tmp_path, check=True)
        output = subprocess.run([tmp_path / side], capture_output=True, text=True, check=True).stdout
        offsets[side] = [tuple(map(int, row.split())) for row in output.splitlines()]
    crosses = {
        side: {name for name, (at, size) in zip(names, rows, strict=True) if at // 64 != (at + size - 1) // 64}
        for side, rows in offsets.items()
    }
    found = json.loads(run("diff", "old.h", "new.h", "--format", "json", cwd=tmp_path).stdout)["structs"][0]["straddles"]
    assert {each["path"] for each in found} == crosses["old"] ^ crosses["new"] != set()
