"""One definition with two layouts in one program: every verdict says so and names a unit of each, and a snapshot does."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.tools import need

HEADER = "struct s { char c; long a; int b; };\nstruct other { int x; };\n"
LEAK = '#pragma pack(push, 1)\n#include "s.h"\nstruct s sb; struct other ob; int f(void) { return sb.b + ob.x; }\n'
PLAIN = '#include "s.h"\nstruct s s%s; struct other o%s; int f%s(void) { return s%s.b + o%s.x; }\n'
RULES = "".join(
    f'[[rule]]\nid = "{id_}"\nstruct = "{struct}"\nkind = "no-straddle"\nfields = ["{field}"]\nwhy = "a test"\n'
    for id_, struct, field in (("r-a", "s", "a"), ("r-b", "s", "b"), ("r-x", "other", "x"))
)
ANOTHER = "it has another layout in "


@pytest.fixture
def program(tmp_path) -> Path:
    texts = {"s.h": HEADER, "a.c": PLAIN.replace("%s", "a"), "b.c": LEAK, "c.c": PLAIN.replace("%s", "c"), "rules.toml": RULES}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    subprocess.run([need("gcc"), "-g", "-shared", "-fPIC", "a.c", "b.c", "c.c", "-o", "out"], cwd=tmp_path, check=True)
    return tmp_path


def messages(folder: Path, *words: str) -> dict[tuple[str, str], str]:
    """The messages of all verdicts, by rule and unit."""
    report = json.loads(run("check", *words, "--rules", "rules.toml", "--no-packs", "--format", "json", cwd=folder).stdout)
    every = (*report["findings"], *report["kept"])
    return {(each["rule"], (each["definition"] or {}).get("origin", "")): each["message"] for each in every}


def test_every_verdict_names_the_other_unit(program):
    found = messages(program, "out")
    others = {key: message.partition(ANOTHER)[2].rstrip(")") for key, message in found.items()}
    assert others == {
        ("r-a", "a.c"): "b.c", ("r-a", "b.c"): "a.c", ("r-b", "a.c"): "b.c", ("r-b", "b.c"): "a.c", ("r-x", "a.c"): "",
    }  # fmt: skip


def test_kept_rules_say_it_as_text(program):
    text = run("check", "out", "--rules", "rules.toml", "--no-packs", cwd=program).stdout
    kept = [line.strip() for line in text.partition("kept:")[2].splitlines()[:4]]
    assert kept == [
        f"r-a (no-straddle) struct s (at s.h:1 in a.c; {ANOTHER}b.c)",
        f"r-b (no-straddle) struct s (at s.h:1 in a.c; {ANOTHER}b.c)",
        f"r-b (no-straddle) struct s (at s.h:1 in b.c; {ANOTHER}a.c)",
        "r-x (no-straddle) struct other",
    ]


def test_in_an_archive(program):
    subprocess.run([need("gcc"), "-g", "-c", "a.c", "b.c", "c.c"], cwd=program, check=True)
    subprocess.run([need("ar"), "rc", "lib.a", "a.o", "b.o", "c.o"], cwd=program, check=True)
    found = messages(program, "lib.a")
    assert {ANOTHER in message for (rule, _), message in found.items() if rule != "r-x"} == {True}


def test_in_btf_the_size_tells(program):
    need("pahole")
    subprocess.run(["pahole", "-J", "out"], cwd=program, check=True, capture_output=True)
    report = json.loads(run("check", "out", "--reader", "btf", "--rules", "rules.toml", "--no-packs", "--format", "json", cwd=program).stdout)
    said = {each["message"].partition(ANOTHER)[2] for each in (*report["findings"], *report["kept"])}
    assert said == {"out (13 bytes))", "out (24 bytes))", ""}


def test_two_definitions_of_a_name_are_no_such_case(tmp_path):
    for name, text in {"a.c": "struct s { long a; int b; } sa;\n", "b.c": "\nstruct s { int b; long a; } sb;\n", "rules.toml": RULES}.items():
        (tmp_path / name).write_text(text)
    subprocess.run([need("gcc"), "-g", "-shared", "a.c", "b.c", "-o", "out"], cwd=tmp_path, check=True)
    found = messages(tmp_path, "out")
    assert [ANOTHER in message for message in found.values()] == [False] * len(found)


@pytest.mark.parametrize("struct", ["s", "other"])
def test_a_snapshot_says_it(program, struct):
    done = run("snapshot", "out", "--struct", struct, "--output", "s.json", cwd=program)
    said = "struct s at s.h:1 has 2 layouts: 24 bytes in a.c, 13 bytes in b.c; all are recorded"
    assert (said in done.stderr, done.returncode) == (struct == "s", 0)
    assert run("check", "out", "--snapshot", "s.json", "--rules", "rules.toml", "--no-packs", "--struct", "other", cwd=program).returncode == 0
