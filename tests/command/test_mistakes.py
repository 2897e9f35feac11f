"""Plausible mistakes of newcomers: each message says what is wrong, where, and how to mend it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.harness.command import run

RING = """struct slot { int id; };
struct ring {
    unsigned long head;
    unsigned long tail;
    struct slot slot;
};
"""
RULE = """[[rule]]
id = "sides"
struct = "ring"
kind = "separate"
fields = [["head"], ["tail"]]
why = "each side writes its own"
"""
FILES = {
    "ring.h": RING,
    "rules.toml": RULE,
    "struct.toml": RULE.replace('"ring"', '"rnig"'),
    "case.toml": RULE.replace('"ring"', '"Ring"'),
}

NAMES = [
    # the mistake, the arguments, the exit status, parts of the message
    ("a misspelt struct", "show ring.h rnig", 3, ["ring.h: no struct rnig", "did you mean `ring`?"]),
    ("another case", "show ring.h RING", 3, ["no struct RING", "did you mean `ring`?"]),
    ("a field behind the struct", "show ring.h ring.head", 3, ["no struct ring.head", "did you mean `ring`, without the field?"]),
    ("a field of a pointer", "show ring.h 'ring->head'", 3, ["no struct ring->head", "did you mean `ring`, without the field?"]),
    ("a misspelt embedded struct", "containers ring.h solt", 3, ["ring.h: no struct solt", "did you mean `slot`?"]),
    ("a misspelt --struct", "check ring.h --rules rules.toml --struct rnig", 3,
     ["--struct: nothing was judged: no input has a struct rnig", "did you mean `ring`?"]),
    ("--struct of a struct without rules", "check ring.h --rules rules.toml --struct slot", 3, ["no rule is about struct slot"]),
    ("a pattern without rules", "check ring.h --rules rules.toml --struct 'x*'", 3, ["no rule is about a struct that matches x*"]),
    ("a misspelt struct in a rule", "check ring.h --rules struct.toml", 3,
     ["struct.toml:1", "struct rnig is in none of the inputs", "did you mean `ring`?"]),
    ("another case in a rule", "check ring.h --rules case.toml", 3, ["struct Ring is in none of the inputs", "did you mean `ring`?"]),
    ("arguments of show swapped", "show ring ring.h", 3, ["ring: no such file or directory", "`layoutlint show ring.h ring`"]),
    ("arguments of containers swapped", "containers ring ring.h", 3, ["`layoutlint containers ring.h ring`"]),
]  # fmt: skip

USAGE = [
    ("no input", "check", 2, ["Missing argument 'INPUT...'", "For example: `layoutlint check ring.h --rules layoutlint.toml`"]),
    ("no struct", "show ring.h", 2, ["`layoutlint show ring.h NAME`", "--all"]),
    ("the input behind --", "check -- ring.h", 2, ["What follows `--` is for the compiler", "`layoutlint check ring.h`"]),
    ("flags and input behind --", "check -- -Iinc ring.h", 2, ["`layoutlint check ring.h -- -Iinc`"]),
    ("the input of show behind --", "show -- ring.h", 2, ["`layoutlint show ring.h`"]),
    ("init of nothing", "init", 2, ["Missing option '--header'", "`layoutlint init --header`"]),
    ("no rule file to check", "rules check", 2, ["`layoutlint rules check layoutlint.toml`"]),
    ("nothing to explain", "explain", 2, ["`layoutlint explain separate`"]),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All files of the mistakes, in a folder of their own."""
    path: Path = tmp_path_factory.mktemp("mistakes")
    (path / ".git").mkdir()
    for name, text in FILES.items():
        (path / name).write_text(text)
    return path


@pytest.mark.parametrize(("arguments", "status", "parts"), [pytest.param(*row[1:], id=row[0]) for row in (*NAMES, *USAGE)])
def test_a_mistake_has_a_message_that_helps(arguments, status, parts, folder):
    done = run(*shlex.split(arguments), cwd=folder)
    printed = " ".join((done.stdout + done.stderr).split())
    assert [part for part in parts if part not in printed] == [], printed
    assert done.returncode == status


ACCEPTED = [
    # what people type, and the plain form of it
    ("show ring.h 'struct ring'", "show ring.h ring"),
    ("show ring.h struct ring", "show ring.h ring"),
    ("show ring.h struct ring struct slot", "show ring.h ring slot"),
    ("containers ring.h 'struct slot'", "containers ring.h slot"),
    ("containers ring.h struct slot", "containers ring.h slot"),
    ("check ring.h --rules rules.toml --struct 'struct ring'", "check ring.h --rules rules.toml --struct ring"),
]


@pytest.mark.parametrize(("typed", "plain"), ACCEPTED)
def test_the_keyword_of_c_does_no_harm(typed, plain, folder):
    first, second = (run(*shlex.split(arguments), cwd=folder) for arguments in (typed, plain))
    assert (first.stdout, first.stderr, first.returncode) == (second.stdout, second.stderr, second.returncode)
    assert "ring" in first.stdout


def test_a_file_that_is_called_struct_is_an_input(tmp_path):
    (tmp_path / "struct").write_text(RING)
    assert run("containers", "struct", "slot", cwd=tmp_path).stdout == run("containers", "./struct", "slot", cwd=tmp_path).stdout
    assert "embeds" not in run("show", "struct", "ring", cwd=tmp_path).stderr
