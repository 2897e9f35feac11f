"""Random edits of structs: `diff` says what two runs of `check` and of `show` say, pair by pair and base by base."""

from __future__ import annotations

import json
import random
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.harness.command import run

LINE, ALIGN = 64, 8
SHAPES = ((1, 1), (2, 2), (4, 4), (8, 8), (8, 8), (8, 8), (16, 8), (32, 8), (40, 8), (48, 8), (24, 8), (64, 64))
"""Sizes and alignments of fields, as structs of Linux have them: numbers, pointers, lists, locks."""


class Shape(NamedTuple):
    """A field without its name."""

    size: int
    align: int


def shapes(chance: random.Random) -> list[Shape]:
    return [Shape(*chance.choice(SHAPES[:-1] if chance.random() < 0.98 else SHAPES)) for _ in range(chance.randint(3, 24))]


def declare(name: str, fields: dict[str, Shape]) -> str:
    rows = [f"  char {path}[{shape.size}] __attribute__((aligned({shape.align})));" for path, shape in fields.items()]
    return "\n".join([f"struct {name} {{", *rows, f"}} __attribute__((aligned({ALIGN})));"])


def edit_fields(fields: dict[str, Shape], chance: random.Random) -> dict[str, Shape]:
    """One to three edits; the fields of the rule stay."""
    rows = list(fields.items())
    for number in range(chance.randint(1, 3)):
        edit = chance.choice(("insert", "remove", "swap", "resize"))
        at = chance.randrange(len(rows))
        if edit == "insert":
            rows.insert(at, (f"new{number}", shapes(chance)[0]))
        elif edit == "remove" and rows[at][0] not in ("f0", "f1", "f2"):
            del rows[at]
        elif edit == "swap":
            other = chance.randrange(len(rows))
            rows[at], rows[other] = rows[other], rows[at]
        else:
            rows[at] = (rows[at][0], shapes(chance)[0])
    return dict(rows)


def rules(names: list[str]) -> str:
    return "".join(
        f'[[rule]]\nid = "{name}"\nstruct = "{name}"\nkind = "separate"\nfields = [["f0"], ["f1"], ["f2"]]\nwhy = "w"\n'
        for name in names
    )


def show(folder: Path, side: str) -> dict[str, dict[str, Any]]:
    found = json.loads(run("show", f"{side}.h", "--all", "--format", "json", cwd=folder).stdout)
    return {each["name"]: each for each in found["structs"]}


def judge(folder: Path, side: str) -> dict[str, dict[str, Any]]:
    report = json.loads(run("check", f"{side}.h", "--rules", "r.toml", "--format", "json", cwd=folder).stdout)
    return {each["rule"]: each for each in (*report["findings"], *report["kept"])}


def offsets(struct: dict[str, Any]) -> dict[str, int]:
    return {field["path"]: field["offset"] for field in struct["fields"]}


def sharing_bases(struct: dict[str, Any], first: str, second: str) -> list[int]:
    """The bases at which two fields touch a common line, by the definition."""
    places = {field["path"]: (field["offset"], field["offset"] + field["size"] - 1) for field in struct["fields"]}
    align = struct["align"] or ALIGN
    lines = [
        [{(base + byte) // LINE for byte in range(places[path][0], places[path][1] + 1)} for path in (first, second)]
        for base in range(0, LINE, min(align, LINE))
    ]
    return [base for base, (a, b) in zip(range(0, LINE, min(align, LINE)), lines, strict=True) if a & b]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(3))
def test_diff_says_what_two_runs_say(tmp_path, seed):
    chance = random.Random(seed)
    compare(tmp_path, {f"s{n}": {f"f{k}": shape for k, shape in enumerate(shapes(chance))} for n in range(40)}, chance)


def compare(tmp_path: Path, old: dict[str, dict[str, Shape]], chance: random.Random) -> None:
    """Edit structs, and hold what `diff` says against `show` and `check` of both."""
    new = {name: edit_fields(fields, chance) for name, fields in old.items()}
    for side, structs in (("old", old), ("new", new)):
        (tmp_path / f"{side}.h").write_text("\n".join(declare(name, fields) for name, fields in structs.items()) + "\n")
    (tmp_path / "r.toml").write_text(rules(list(old)))
    found = json.loads(run("diff", "old.h", "new.h", "--rules", "r.toml", "--format", "json", cwd=tmp_path).stdout)
    before, after = show(tmp_path, "old"), show(tmp_path, "new")
    checks = judge(tmp_path, "old"), judge(tmp_path, "new")
    changed = {each["name"]: each for each in found["structs"]}
    statuses = {each["rule"]: each for each in found["rules"]}
    assert found["not_compared"] == []
    for name in old:
        places = offsets(before[name]), offsets(after[name])
        same = all(before[name][key] == after[name][key] for key in ("fields", "size"))
        assert (name in changed) == (not same or before[name]["align"] != after[name]["align"])
        assert (statuses[name]["before"], statuses[name]["after"]) == tuple(check[name]["outcome"] for check in checks)
        if same:
            continue
        assert changed[name]["size"] == [before[name]["size"], after[name]["size"]]
        moved = {path: (places[0][path], places[1][path]) for path in places[0].keys() & places[1].keys()}
        assert {each["path"]: (each["old"], each["new"]) for each in changed[name]["moved"]} == {
            path: pair for path, pair in moved.items() if pair[0] != pair[1]
        }
        assert all(each["cause"] for each in changed[name]["moved"])
        pairs = {frozenset(each["fields"]): each["bases"] for each in changed[name]["pairs"]}
        for first, second in combinations(("f0", "f1", "f2"), 2):
            bases = [sharing_bases(side[name], first, second) for side in (before, after)]
            assert pairs.get(frozenset((first, second)), bases) == bases
            share = [len(each) / (LINE // min(side[name]["align"], LINE)) for each, side in zip(bases, (before, after), strict=True)]
            assert (frozenset((first, second)) in pairs) == (share[0] != share[1])
