"""Rules on members that can have two sizes: atomic structs in DWARF up to 4, where DWARF 5 tells which it is."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import pytest

from layoutlint.model import possible_sizes
from layoutlint.model.record import replace
from tests.harness.build import member, struct
from tests.harness.command import run
from tests.harness.tools import need

KINDS = ("separate", "together", "no-straddle", "line-start", "isolated", "adjacent")


def text_of(chance: random.Random, count: int) -> str:
    """Structs with members of 3, 5 to 7 and 9 to 15 bytes, some of which clang rounds up to 4, 8 and 16."""
    parts = []
    for number in range(count):
        members = []
        for place in range(chance.randint(2, 5)):
            size = chance.choice([3, 5, 6, 7, 9, 11, 12, 15])
            kind = chance.choice([f"struct odd{size}", f"_Atomic struct odd{size}", "int", "long", "char", "short"])
            dims = chance.choice(["", "", "", "[2]"]) if "odd" not in kind else ""
            aligned = chance.choice(["", "", " __attribute__((aligned(16)))", " __attribute__((aligned(64)))"])
            members.append(f"{kind} m{place}{dims}{aligned};")
        parts.append(f"struct s{number} {{ {' '.join(members)} }} v{number};\n")
    odd = "".join(f"struct odd{size} {{ char c[{size}]; }};\n" for size in (3, 5, 6, 7, 9, 11, 12, 15))
    return odd + "".join(parts)


def rules_of(chance: random.Random, count: int) -> str:
    parts = ['[pack]\nname = "sizes"\n']
    for number in range(count):
        parts.append(f'[struct.s{number}]\nplacement = "{chance.choice(["line", "aligned:64", "aligned:8"])}"\n')
        for kind in KINDS:
            fields = {"separate": [["m0"], ["m1"]], "isolated": ["m0"], "line-start": ["m1"], "no-straddle": ["m0"]}.get(kind, ["m0", "m1"])
            parts.append(f'[[rule]]\nid = "{kind}-{number}"\nstruct = "s{number}"\nkind = "{kind}"\n'
                         f'fields = {json.dumps(fields)}\nwhy = "tries"\n')  # fmt: skip
    return "".join(parts)


def outcomes(folder: Path, name: str) -> dict[str, str]:
    done = run("check", name, "--rules", "rules.toml", "--format", "json", "--no-packs", cwd=folder)
    findings = {each["rule"]: each["outcome"] for each in json.loads(done.stdout)["findings"]}
    return {rule: findings.get(rule, "kept") for rule in rule_names(folder)}


def rule_names(folder: Path) -> list[str]:
    return [line.split('"')[1] for line in (folder / "rules.toml").read_text().splitlines() if line.startswith("id = ")]


def compare(folder: Path, clang: str, seed: int, count: int) -> tuple[int, int]:
    """Return the number of verdicts, and of those that only the older DWARF leaves open."""
    chance = random.Random(seed)
    (folder / "s.c").write_text(text_of(chance, count))
    (folder / "rules.toml").write_text(rules_of(chance, count))
    found = []
    for version in (4, 5):
        subprocess.run([clang, f"-gdwarf-{version}", "-c", "s.c", "-o", f"s{version}.o"], cwd=folder, check=True)
        found.append(outcomes(folder, f"s{version}.o"))
    old, new = found
    assert {rule: (old[rule], new[rule]) for rule in old if len({old[rule], new[rule]} - {"unknown"}) > 1} == {}
    return len(old), sum(old[rule] == "unknown" != new[rule] for rule in old)


@pytest.mark.parametrize("clang", ["clang-19"])
def test_verdicts_agree_with_those_of_dwarf_5(tmp_path, clang):
    total, unknown = compare(tmp_path, need(clang, "-c"), 1, 15)
    assert total == 15 * len(KINDS)
    assert unknown < total / 10  # without the two sizes a third


def test_each_combination_of_sizes():
    def odd(name: str, offset: int, *bits: int):
        return replace(member(name, offset, 3), bit_size=None, possible_bits=bits)

    inner = member("i", 8, 8, odd("c", 0, 24, 32), member("d", 4, 4))
    layouts = possible_sizes.layouts(struct("s", 16, odd("a", 0, 24, 32), member("b", 4, 4), inner))
    sizes = [(s.fields[0].bit_size, s.fields[2].members[0].bit_size) for s in layouts]
    assert sorted(sizes) == [(24, 24), (24, 32), (32, 24), (32, 32)]


@pytest.mark.parametrize(("fields", "count"), [((), 0), (((24, 32),), 2), (((),), 0), (((24, 32), ()), 0),
                                               (((24, 32),) * 6, 64), (((24, 32),) * 7, 0)])  # fmt: skip
def test_how_many(fields, count):
    """None where all sizes are known, where one is not known at all, and for too many."""
    open_fields = (replace(member(f"m{n}", 4 * n, 3), bit_size=None, possible_bits=bits) for n, bits in enumerate(fields))
    assert len(possible_sizes.layouts(struct("s", 64, *open_fields, member("z", 60, 4)))) == count
