"""`diff --randstruct --seed`: both sides in the order of a seed, as `show` and `check` have them."""

from __future__ import annotations

import json

import pytest

from tests.harness.command import run

OLD = "struct s { long a; long b; long c[8]; long d; long e; long z; };\nstruct t { long a, b; };\nstruct holder { int n; struct s s; };\n"
NEW = OLD.replace("long d;", "long d; long more;")
RULE = '[[rule]]\nid = "apart"\nstruct = "s"\nkind = "separate"\nfields = [["a"], ["z"]]\nwhy = "w"\n'
SEEDS = ["ab" * 32, "0123456789abcdef" * 4, "7f" * 32]


def words(seed: str) -> tuple[str, ...]:
    return ("--randstruct", "gcc-full", "--seed", seed, "--kernel-version", "6.12", "--randomized", "s")


@pytest.fixture
def folder(tmp_path):
    for name, text in (("old.h", OLD), ("new.h", NEW), ("layoutlint.toml", RULE)):
        (tmp_path / name).write_text(text)
    return tmp_path


def output(folder, *arguments):
    return json.loads(run(*arguments, "--format", "json", cwd=folder).stdout)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_it_compares_what_show_and_check_have(folder, seed):
    found = output(folder, "diff", "old.h", "new.h", *words(seed))
    changed = {each["name"]: each for each in found["structs"]}
    assert set(changed) == {"s", "holder"}
    offsets = [
        {each["path"]: each["offset"] for each in output(folder, "show", name, "s", *words(seed))["structs"][0]["fields"]}
        for name in ("old.h", "new.h")
    ]
    moved = {each["path"]: (each["old"], each["new"]) for each in changed["s"]["moved"]}
    assert moved == {path: (at, offsets[1][path]) for path, at in offsets[0].items() if offsets[1][path] != at}
    (rule,) = found["rules"]
    reports = [output(folder, "check", name, *words(seed)) for name in ("old.h", "new.h")]
    judged = [next(iter((*report["findings"], *report["kept"]))) for report in reports]
    assert [rule["before"], rule["after"]] == [each.get("outcome", "kept") for each in judged]


def test_equal_inputs_are_silent(folder):
    done = run("diff", "old.h", "old.h", *words(SEEDS[0]), cwd=folder)
    assert (done.returncode, done.stdout.startswith("nothing differs: compared ")) == (0, True)


@pytest.mark.parametrize(("given", "message"), [
    (("--randstruct", "gcc-full"), "--randstruct gcc-full needs the seed for both sides"),
    (("--seed", SEEDS[0]), "--seed needs --randstruct"),
])  # fmt: skip
def test_what_is_refused(folder, given, message):
    done = run("diff", "old.h", "new.h", *given, cwd=folder)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
