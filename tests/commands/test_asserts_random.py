"""`rules asserts --c11` for random structs of all types: gcc and clang reject an assertion exactly where `check` does not keep its
rule, in the build that it was made for, in the next versions of the structs, and in a build for another machine.
"""

from __future__ import annotations

import json
import random
import re
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.commands.test_asserts_c11 import EVERY_ERROR, failures, rule
from tests.harness.command import run

PRELUDE = "enum e { E };\nstruct in { char c; long l; short s[3]; };\nunion un { int i; char b[24]; };\n"
INNER = "struct in"
TYPES = ("char", "short", "int", "long", "long long", "void *", "double", "long double", INNER, "union un", "float", "_Bool", "enum e")
ATTRIBUTES = ("", "", "", "", "", *(f" __attribute__((aligned({number})))" for number in (4, 16, 64)), " __attribute__((packed))")
OF_STRUCTS = ("", "", "", *(f" __attribute__((aligned({number})))" for number in (32, 64)), " __attribute__((packed))")
LOOSE = ("slab", "kmalloc")
"""Placements with which the assertions also hold the size of the struct, so that they can fail where the rule is kept."""
PLACEMENTS = ("", "", "line", "aligned:128", "static", "malloc", *LOOSE)
BITS = ("-m64", "-m32")


class Member(NamedTuple):
    type: str
    behind: str
    """What is behind the name: an array, the width of a bit-field, an attribute."""


Fields = dict[str, Member]


def member(chance: random.Random) -> Member:
    sort = chance.random()
    if sort < 0.1:
        return Member(chance.choice(("int", "unsigned", "long")), f" : {chance.randint(1, 17)}")
    array = f"[{chance.choice((1, 2, 3, 7, 40, 64))}]" if sort < 0.3 else ""
    return Member(chance.choice(TYPES), array + chance.choice(ATTRIBUTES))


def is_bit_field(row: Member) -> bool:
    return row.behind.startswith(" :")


def edit(fields: Fields, chance: random.Random) -> Fields:
    """One to three edits; fields of rules keep their names, and members that rules can name."""
    rows = list(fields.items())
    for _ in range(chance.randint(1, 3)):
        at, other = chance.randrange(len(rows)), chance.randrange(len(rows))
        (name, old), new = rows[at], member(chance)
        match chance.choice(("insert", "swap", "retype", "remove")):
            case "insert":
                rows.insert(at, (f"new{chance.randrange(10**6)}", new))
            case "swap":
                rows[at], rows[other] = rows[other], rows[at]
            case "retype" if old.type != INNER and is_bit_field(old) == is_bit_field(new):
                rows[at] = (name, new)
            case "remove" if name.startswith("new"):
                del rows[at]
    return dict(rows)


def declare(structs: dict[str, tuple[Fields, str]]) -> str:
    return PRELUDE + "".join(
        f"struct {name} {{\n{''.join(f'{row.type} {path}{row.behind};' for path, row in fields.items())}\n}}{attribute};\n"
        for name, (fields, attribute) in structs.items()
    )


def random_rule(fields: Fields, chance: random.Random) -> tuple[str, str]:
    """Its kind and keys."""
    chosen = [
        f"{path}.l" if fields[path].type == INNER and "[" not in fields[path].behind and chance.random() < 0.5 else path
        for path in chance.sample(sorted(fields), 4)
    ]
    cut = chance.randint(1, 3)
    first, some = f"fields = {json.dumps(chosen[:1])}\n", f"fields = {json.dumps(chosen[:cut])}\n"
    several = f"fields = {json.dumps(chosen[: max(cut, 2)])}\n"
    return chance.choice((
        ("separate", f"fields = {json.dumps([chosen[:cut], chosen[cut:]])}"),
        ("together", several), ("order", several), ("no-straddle", some), ("line-start", some),
        ("distance", several + chance.choice(("min = 16", "max = 64", "min = 8\nmax = 120"))),
        ("offset", f"{first}at = {chance.choice((0, 8, 16, 32, 64))}"), ("offset", f'at = {{ "{chosen[0]}" = 0, "{chosen[1]}" = "{chance.choice((0, 8, 16))}:0" }}'), ("offset", f"{first}line = {chance.choice((0, 0, 1, 1, 2))}"),
        ("size", chance.choice(("max = 128", "exact = 64", "multiple_of = 64", "max = 256\nmultiple_of = 16"))),
    ))  # fmt: skip


def outcomes(folder: Path, header: str, bits: str) -> dict[str, str]:
    report = json.loads(run("check", header, "--rules", "r.toml", "--format", "json", "--", bits, cwd=folder).stdout)
    return {f"{each['rule']}": each["outcome"] for each in (*report["findings"], *report["kept"])}


def prepare(folder: Path, chance: random.Random, count: int) -> dict[str, str]:
    """Write three versions of some structs, and rules on them; return how objects of each are placed."""
    versions = [
        {f"s{n}": ({f"f{k}": member(chance) for k in range(chance.randint(4, 14))}, chance.choice(OF_STRUCTS)) for n in range(count)}
    ]
    for _ in range(2):
        edited = {name: (edit(fields, chance), attribute) for name, (fields, attribute) in versions[0].items()}
        versions.append({n: (f, a if chance.random() < 0.8 else chance.choice(OF_STRUCTS)) for n, (f, a) in edited.items()})
    for number, version in enumerate(versions):
        (folder / f"{number}.h").write_text(declare(version))
    placed = {name: chance.choice(PLACEMENTS) for name in versions[0]}
    text = "".join(f'[struct.{name}]\nplacement = "{words}"\n' for name, words in placed.items() if words)
    for name, (fields, _) in versions[0].items():
        rules = dict(random_rule(fields, chance) for _ in range(5))
        text += "".join(rule(kind, name, keys) for kind, keys in rules.items())
    (folder / "r.toml").write_text(text)
    return placed


@pytest.mark.parametrize(("seed", "count"), [
    (0, 8), *(pytest.param(seed, 40, marks=pytest.mark.exhaustive) for seed in range(1, 4)),
])  # fmt: skip
def test_assertions_fail_where_rules_do(tmp_path, seed, count):
    placed = prepare(tmp_path, random.Random(seed), count)
    failed = 0
    for made_for, bits in product(BITS, BITS) if count > 8 else zip(BITS, BITS, strict=True):
        text = run("rules", "asserts", "--c11", "r.toml", "--in", "0.h", "--", made_for, cwd=tmp_path).stdout
        asserted = set(re.findall(r'"layoutlint ([\w-]+):', text))
        for header in ("0.h", "1.h", "2.h"):
            judged = outcomes(tmp_path, header, bits)
            broken = {each for each in asserted if judged[each] in ("broken", "at-risk")}
            assert {judged[each] for each in asserted} <= {"broken", "at-risk", "kept"}
            for compiler in EVERY_ERROR:
                failing = failures(tmp_path, header, text, compiler, bits)
                assert failing >= broken, (header, compiler, made_for, bits)
                extra = {placed[each.rpartition("-")[2]] for each in failing - broken}
                assert extra <= (set() if (header, made_for) == ("0.h", bits) else {*LOOSE}), (header, compiler, made_for, bits)
                failed += len(failing)
    assert failed > count
