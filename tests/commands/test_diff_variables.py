"""`layoutlint diff --variables`: which variables share lines with others than before, by `nm -S` of linked files."""

from __future__ import annotations

import json
import random
import subprocess
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.harness.command import run
from tests.harness.tools import need

pytestmark = pytest.mark.usefixtures("whole_runs")

LINE = 64
SIDES = ("old", "new")


def build(folder: Path, side: str, *units: str, link: bool = True) -> str:
    """Compile units of C text, and link them at a fixed address; return the name of the file."""
    need("gcc", "-c")
    objects = []
    for number, text in enumerate(units):
        source = folder / side / f"u{number}.c"
        source.parent.mkdir(exist_ok=True)
        source.write_text(text)
        objects.append(f"{side}/u{number}.o")
        # One section for .data and .bss alike, in declared order.
        flags = ("-fno-toplevel-reorder", "-fno-zero-initialized-in-bss", "-fno-pie", "-fno-common")
        subprocess.run(["gcc", "-c", *flags, "-o", objects[-1], f"{side}/u{number}.c"], cwd=folder, check=True)
    if not link:
        assert len(objects) == 1
        return objects[0]
    need("ld")
    subprocess.run(["ld", "-N", "-Tdata=0x10000", "-e0", "-o", f"{side}.elf", *objects], cwd=folder, check=True)
    return f"{side}.elf"


def diff(folder: Path, *words: str, old: str = "old.elf", new: str = "new.elf") -> dict[str, Any]:
    done = run("diff", "--variables", old, new, "--format", "json", *words, cwd=folder)
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    assert found["exit"] == done.returncode, done.stderr
    return found


def changes(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    (file,) = found["variables"]["files"]
    return {each["name"]: each for each in file["changes"]}


def names(neighbours: list[dict[str, Any]]) -> set[str]:
    return {each["name"] for each in neighbours}


BASE = "long a = 1, b = 1, c = 1, d = 1; char big[200] = {1}; long tail = 1; static long hidden = 1;\n"
ROWS = {
    # what is replaced, by what; the status, and the old and new values of each variable that changed itself
    "same": ("", "", {}),
    "a comment": ("long a", "/* hot */ long a", {}),
    "grows": ("b = 1", "b = 1, b2[8] = {1}", {"b2": "added"}),
    "resized": ("char big[200]", "char big[201]", {"big": "changed"}),
    "moves to another line": ("c = 1", "c __attribute__((aligned(64))) = 1", {"a": "changed", "b": "changed", "c": "changed", "d": "changed", "big": "changed"}),
    "aligned, where it already is": ("long a = 1,", "long a __attribute__((aligned(64))) = 1,", {}),
    "removed": (", d = 1", "", {"d": "removed"}),
    "renamed": ("long a = 1", "long first_a = 1", {"a": "removed", "first_a": "added"}),
    "renamed, with a word in common": ("long tail", "long tail_end", {"tail_end": "renamed"}),
    "another section": ("d = 1", 'd __attribute__((section(".data..read_mostly"))) = 1', {"d": "changed"}),
    "constant": ("long tail = 1", "const long tail = 1", {"tail": "removed"}),
    "no longer static": ("static long hidden", "long hidden", {}),
    "whole lines before it": ("long a = 1", "char lines[128] __attribute__((aligned(64))) = {1}; long a __attribute__((aligned(64))) = 1", {"lines": "added"}),
}  # fmt: skip


@pytest.mark.one_in(7)
@pytest.mark.parametrize("name", ROWS)
def test_changes(tmp_path, name):
    before, after, expected = ROWS[name]
    build(tmp_path, "old", f"{BASE}long *keep = &hidden;")
    build(tmp_path, "new", f"{BASE.replace(before, after, 1) if before else BASE}long *keep = &hidden;")
    found = diff(tmp_path)
    own = {name: each["status"] for name, each in changes(found).items() if name in expected or each["status"] != "changed"}
    assert own == expected
    compare_with_nm(tmp_path, found, renamed={"tail": "tail_end"} if "tail_end" in expected else {})


def places(path: Path) -> dict[str, tuple[int, int]]:
    """Return the first and last byte of each variable, from nm."""
    table = subprocess.run(["nm", "-S", path], capture_output=True, text=True, check=True).stdout
    rows = [row.split() for row in table.splitlines()]
    found = {row[3]: (int(row[0], 16), int(row[1], 16)) for row in rows if len(row) == 4 and row[2] in "dDbB"}
    return {name: (start, start + size - 1) for name, (start, size) in found.items()}


def sharing_pairs(path: Path, renamed: dict[str, str]) -> set[frozenset[str]]:
    """Return the pairs of variables on one line, by brute force."""
    table = {renamed.get(name, name): place for name, place in places(path).items()}
    lines = {name: set(range(first // LINE, last // LINE + 1)) for name, (first, last) in table.items()}
    return {frozenset(pair) for pair in combinations(table, 2) if lines[pair[0]] & lines[pair[1]]}


def compare_with_nm(folder: Path, found: dict[str, Any], renamed: dict[str, str]) -> None:
    old, new = sharing_pairs(folder / "old.elf", renamed), sharing_pairs(folder / "new.elf", {})
    expected: dict[str, tuple[set[str], set[str]]] = {}
    for number, pairs in enumerate((new - old, old - new)):
        for pair in pairs:
            for name in pair:
                (other,) = pair - {name}
                expected.setdefault(name, (set(), set()))[number].add(other)
    reported = {name: (names(each["gained"]), names(each["ceased"])) for name, each in changes(found).items()}
    assert {name: pair for name, pair in reported.items() if any(pair)} == expected
    both = places(folder / "old.elf").keys() & places(folder / "new.elf").keys()
    assert found["variables"]["compared"] == len(both) + len(renamed)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(3))
def test_random_edits_by_nm(tmp_path, seed):
    """Variables of any size and alignment: added, removed, resized, swapped."""
    draw = random.Random(seed)
    rows = [(f"v{n}", draw.choice((1, 2, 4, 8, 24, 63, 64, 200)), draw.choice((1, 1, 8, 64))) for n in range(14)]
    edited = [row for row in rows if draw.random() > 0.15]
    edited = [(name, draw.choice((size, size, size, 8)), align) for name, size, align in edited]
    edited.insert(draw.randrange(len(edited)), ("extra", draw.choice((1, 40, 64)), 1))
    for side, variables in (("old", rows), ("new", edited)):
        text = "".join(f"char {name}[{size}] __attribute__((aligned({align}))) = {{1}};\n" for name, size, align in variables)
        build(tmp_path, side, text)
    compare_with_nm(tmp_path, diff(tmp_path), {})


def test_root_cause_once(tmp_path):
    many = "".join(f"long v{n} = 1;\n" for n in range(100))
    build(tmp_path, "old", f"long foo = 1;\n{many}")
    build(tmp_path, "new", f"long foo[2] = {{1}};\n{many}")
    (file,) = diff(tmp_path)["variables"]["files"]
    (cause,) = file["causes"]
    assert (cause["kind"], cause["variable"], cause["size"], cause["shift"], cause["moved"]) == ("resized", "foo", [8, 16], 8, 100)
    assert [each["name"] for each in file["changes"]] == ["foo"]  # the others only moved
    text = run("diff", "--variables", "old.elf", "new.elf", cwd=tmp_path).stdout
    assert "`foo` (.data) 8 -> 16 bytes: moved 100 variables by +8 bytes" in text
    assert max(map(len, text.splitlines())) <= 75


def test_silent_for_the_same_build_at_another_address(tmp_path):
    for side, address in (("old", "0x10000"), ("new", "0x20080")):
        build(tmp_path, side, f"{BASE}long *keep = &hidden;")
        objects = [f"{side}/u0.o"]
        subprocess.run(["ld", "-N", f"-Tdata={address}", "-e0", "-o", f"{side}.elf", *objects], cwd=tmp_path, check=True)
    done = run("diff", "--variables", "old.elf", "new.elf", cwd=tmp_path)
    assert (done.returncode, done.stdout.startswith("nothing differs: compared ")) == (0, True)


def test_statics_of_one_name_in_several_units(tmp_path):
    """Units tell them apart; in one unit only the section does, else they are refused, not guessed."""
    unit = "static long count = 1; long *{0} = &count;\n"
    twice = "long *{0}(void) {{ static long n = 1; return &n; }} long *{0}2(void) {{ static long n = 1; return &n; }}\n"
    build(tmp_path, "old", unit.format("p"), unit.format("q"), twice.format("f"))
    build(tmp_path, "new", unit.format("p"), "static char more[64] = {1}; char *r = more;" + unit.format("q"), twice.format("f") + "long *f3(void) { static long n = 1; return &n; }\n")
    found = diff(tmp_path)
    (file,) = found["variables"]["files"]
    assert file["ambiguous"] == [{"name": "n", "variables": 5}]
    assert (found["exit"], found["not_compared"]) == (0, [])
    assert any("not matched: n" in note for note in found["notes"])
    named = diff(tmp_path, "--variable", "n")
    assert (named["exit"], [each["name"] for each in named["not_compared"]]) == (3, ["variable n"])
    absent = diff(tmp_path, "--variable", "count", "--variable", "absent*")
    assert (absent["exit"], [each["name"] for each in absent["not_compared"]]) == (3, ["absent*"])
    counts = diff(tmp_path, "--variable", "count")["variables"]["files"][0]
    assert (counts["compared"], counts["ambiguous"]) == (2, [])


def test_offsets_in_sections_of_an_object(tmp_path):
    """Of two longs in a section aligned to 8, 16 bytes apart, 5 of 8 bases have both on one line, then 4."""
    build(tmp_path, "old", "long a = 1; char gap[16] = {1}; long b = 1;", link=False)
    build(tmp_path, "new", "long a = 1; char gap[24] = {1}; long b = 1;", link=False)
    for side in SIDES:  # gcc aligns large arrays further
        subprocess.run(["objcopy", "--set-section-alignment", ".data=8", f"{side}/u0.o"], cwd=tmp_path, check=True)
    found = diff(tmp_path, old="old/u0.o", new="new/u0.o")
    ceased = {each["name"]: each["placements"] for each in changes(found)["a"]["ceased"]}
    offsets = {name: row[0] for name, row in places(tmp_path / "old/u0.o").items()}
    later = {name: row[0] for name, row in places(tmp_path / "new/u0.o").items()}
    by_hand = [sum((base + 7) // LINE == (base + at["b"]) // LINE for base in range(0, LINE, 8)) for at in (offsets, later)]
    assert ceased["b"] == by_hand


def test_a_rule_names_what_is_described(tmp_path):
    """Among many that moved, those that rules name are described; --fail-on share counts their pairs."""
    many = "".join(f"long v{n} = 1;\n" for n in range(60))
    build(tmp_path, "old", f"{many}long limit __attribute__((aligned(64))) = 1; long packets __attribute__((aligned(64))) = 1;\n")
    build(tmp_path, "new", f"long w = 1;{many}long limit __attribute__((aligned(64))) = 1; long packets = 1;\n")
    (tmp_path / "rules.toml").write_text(
        '[variables]\nlimit = { access = "hot-read" }\npackets = { access = "hot-write" }\n'
        '[[rule]]\nid = "apart"\nkind = "neighbours"\nwhy = "w"\n'
    )
    done = run("diff", "--variables", "old.elf", "new.elf", "--rules", "rules.toml", "--format", "json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (done.returncode, [each["status"] for each in found["rules"]]) == (1, ["worse"])
    described = {name: each for name, each in changes(found).items() if each["is_named"]}
    assert names(described["limit"]["gained"]) == {"packets"}
    assert described["packets"]["alone"] == [True, False]
    share = run("diff", "--variables", "old.elf", "new.elf", "--rules", "rules.toml", "--fail-on", "share", cwd=tmp_path)
    assert (share.returncode, "fields that rules keep apart share more lines" in share.stdout) == (1, True)


def test_inputs_without_addresses(tmp_path):
    (tmp_path / "x.h").write_text("struct s { int a; };\n")
    build(tmp_path, "old", "long a = 1;")
    build(tmp_path, "new", "long a = 1;")
    subprocess.run(["strip", "new.elf"], cwd=tmp_path, check=True)
    for old, new, reason in (
        ("x.h", "x.h", "states no addresses of variables"),
        ("old.elf", "new.elf", "has no symbol table"),
        ("old.elf", "old/u0.o", "only offsets in sections"),
    ):
        done = run("diff", "--variables", old, new, cwd=tmp_path)
        assert (done.returncode, reason in " ".join(done.stdout.split())) == (3, True), done.stdout


def test_folders_of_modules(tmp_path):
    """Modules are paired by name; what only one folder has is a note."""
    for side, size in (("old", 8), ("new", 72)):
        (tmp_path / side).mkdir()
        for module in ("same", "grows", f"only_{side}"):
            text = f"char first[{size if module == 'grows' else 8}] = {{1}}; long next = 1;\n"
            (tmp_path / "m.c").write_text(text)
            subprocess.run(["gcc", "-g", "-c", "-fno-toplevel-reorder", "-o", f"{side}/{module}.ko", "m.c"], cwd=tmp_path, check=True)
    found = diff(tmp_path, old="old", new="new")
    files = {each["label"]: each["regrouped"] for each in found["variables"]["files"]}
    assert files == {"same": 0, "grows": 2}
    assert any("only_old only before" in note for note in found["notes"])


def test_a_variable_that_no_line_can_hold_is_not_on_one_line(tmp_path):
    """48 bytes from 32 on are on two lines, and so are 72: neither began nor ceased to be on one."""
    text = "char first[32] = {1}; char grown[%d] = {1}; char last[200] = {1};\n"
    for side, size in (("old", 48), ("new", 72)):
        build(tmp_path, side, text % size)
    for sides in (("old.elf", "new.elf"), ("new.elf", "old.elf")):
        shown = run("diff", "--variables", *sides, cwd=tmp_path).stdout
        assert "`grown`" in shown
        assert "on two lines" not in shown
        assert "on one line" not in shown
