"""What `layoutlint suggest` adds to a struct if no order of its members keeps the rules."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.tools import NEEDS_SOLVER, need

pytestmark = [NEEDS_SOLVER, pytest.mark.usefixtures("whole_runs")]

APART = """
[[rule]]
id = "apart"
struct = "ring"
kind = "separate"
fields = [["head"], ["tail"]]
why = "the producer writes head while all read tail"
"""
ALL_APART = APART.replace('[["head"], ["tail"]]', '[["head"], ["tail"], ["size"]]')
ALONE = APART.replace("separate", "isolated").replace('[["head"], ["tail"]]', '["head"]')
SIDES = APART.replace('[["head"], ["tail"]]', '[["head", "slot"], ["tail", "size"]]')
PAIR = "\tlong head;\t/* written */\n\tlong tail;\n"
USE = '#include "ring.h"\n'


def suggest(folder: Path, body: str, rules: str, *words: str, use: str = ""):
    (folder / "ring.h").write_text(f"struct ring {{\n{body}}};\n")
    (folder / "rules.toml").write_text(rules)
    (folder / "use.c").write_text(USE + use)
    given = ("suggest", "ring.h", "ring", "--rules", "rules.toml", "--no-packs", "--sources", "use.c")
    return run(*given, *words, cwd=folder)


def document(folder: Path, body: str, rules: str, *words: str, use: str = ""):
    return json.loads(suggest(folder, body, rules, *words, "--format", "json", use=use).stdout)


def describe(each: dict) -> tuple[str, int, int]:
    padding = each["padding"]
    if padding is not None:
        return f"{padding['size']} bytes", len(each["moves"]), each["size"]
    return " ".join(each["aligned"]) or "struct", len(each["moves"]), each["size"]


ALTERNATIVES = [
    # members, rules, the smallest addition: what is aligned or how many bytes are added, moves, size
    (PAIR, APART, ("56 bytes", 0, 72)),
    (PAIR + "\tchar name[40];\n", APART, ("16 bytes", 1, 72)),
    (PAIR, '[struct.ring]\nplacement = "line"\n' + APART, ("56 bytes", 0, 72)),
    (PAIR, APART + APART.replace('"apart"', '"even"').replace("separate", "size").replace(
        'fields = [["head"], ["tail"]]', "multiple_of = 64"), ("tail", 0, 128)),
    (PAIR + "\tlong size;\n", ALL_APART, ("tail size", 0, 192)),
    (PAIR + "\tlong size;\n\tlong slot;\n", SIDES, ("56 bytes", 1, 88)),
    ("\tlong more;\n" + PAIR, ALONE, ("head", 1, 128)),
    (PAIR + "\tint data[];\n", APART, ("56 bytes", 0, 72)),
]  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("body", "rules", "best"), ALTERNATIVES)
def test_additions_keep_the_rules(tmp_path, body, rules, best):
    need("git")
    need("gcc", "-c")
    found = document(tmp_path, body, rules)
    assert found["status"] == "infeasible"
    assert describe(found["alternatives"][0]) == best
    sizes = [each["size"] for each in found["alternatives"]]
    assert sizes == sorted(sizes)
    for number in {1, len(sizes)}:
        words = ("--alternative", str(number), "--patch", "--output", "json=made.json")
        made = suggest(tmp_path, body, rules, *words)
        assert made.returncode == 0, made.stderr
        (tmp_path / "p.patch").write_text(made.stdout)
        subprocess.run(["git", "apply", "p.patch"], cwd=tmp_path, check=True)
        assert run("check", "ring.h", "--rules", "rules.toml", "--no-packs", cwd=tmp_path).returncode == 0
        _compile_offsets(tmp_path, json.loads((tmp_path / "made.json").read_text()))
        written = re.sub(r"_Alignas\(64\) | __attribute__\(\(aligned\(64\)\)\)|\tchar _pad\[\d+\];\n", "", (tmp_path / "ring.h").read_text())
        assert sorted(written.splitlines()) == sorted(f"struct ring {{\n{body}}};\n".splitlines())


def _compile_offsets(folder: Path, made: dict) -> None:
    """Let gcc assert that the members are at the promised offsets."""
    promised = {
        f"__builtin_offsetof(struct ring, {name})": at
        for name, at in zip(made["order"], made["offsets"], strict=True)
    }
    promised["sizeof(struct ring)"] = made["chosen"]["size"]
    asserts = (f'_Static_assert({what} == {value}, "");\n' for what, value in promised.items())
    (folder / "offsets.c").write_text(USE + "".join(asserts))
    subprocess.run(["gcc", "-c", "-o", "offsets.o", "offsets.c"], cwd=folder, check=True)


FORBIDDEN = [
    # members, C text that depends on the order, the additions that are left
    (PAIR, "", {"56 bytes", "head", "tail"}),
    (PAIR, "struct ring r = { 1, 2 };\n", {"tail"}),
    (PAIR, '_Static_assert(__builtin_offsetof(struct ring, tail) == 8, "");\n', set()),
    (PAIR, '_Static_assert(__builtin_offsetof(struct ring, head) == 0, "");\n', {"56 bytes", "tail"}),
    (PAIR, "void f(void *p) { ((struct ring *)p)->tail = *(long *)p; }\n", {"56 bytes", "head", "tail"}),
    (PAIR, "int sizes[sizeof(struct ring)];\n", {"56 bytes", "head", "tail"}),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("body", "use", "left"), FORBIDDEN)
def test_additions_that_sources_forbid_are_left_out(tmp_path, body, use, left):
    made = document(tmp_path, body, APART, use=use)
    assert {describe(each)[0] for each in made["alternatives"]} == left
    forced = document(tmp_path, body, APART, "--force", use=use)
    assert len(forced["alternatives"]) == 3


def test_a_declared_placement_is_not_contradicted(tmp_path):
    placed = '[struct.ring]\nplacement = "percpu:32"\n' + APART
    made = document(tmp_path, PAIR, placed)
    assert [describe(each)[0] for each in made["alternatives"]] == ["56 bytes"]


LINES = [
    # the line of `tail`, why it cannot be aligned
    ("\tlong head, tail;\n", "cannot be added to `long head, tail;`"),
    ("#define TAIL long tail;\n\tlong head;\n\tTAIL\n", "cannot be added to `TAIL`"),
]


@pytest.mark.parametrize(("body", "reason"), LINES)
def test_text_that_takes_no_attribute(tmp_path, body, reason):
    made = document(tmp_path, body, APART)
    number = next(at for at, each in enumerate(made["alternatives"], 1) if each["aligned"] == ["tail"])
    result = suggest(tmp_path, body, APART, "--alternative", str(number), "--patch")
    assert (result.returncode, result.stdout) == (3, "")
    assert reason in " ".join(result.stderr.split())


USAGE = [
    # words, the message
    (("--alternative", "9"), "ring has 3 alternatives, and no number 9"),
    (("other", "--alternative", "1"), "--alternative is for one STRUCT"),
    (("--alternative", "0"), "0 is not in the range"),
]


@pytest.mark.parametrize(("words", "message"), USAGE)
def test_usage_errors(tmp_path, words, message):
    result = suggest(tmp_path, PAIR, APART, *words)
    assert result.returncode == 2
    assert message in result.stderr
