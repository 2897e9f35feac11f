"""Suppressions of one instance: until a day, as text to paste, and removed by `check --fix`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.commands.test_policy import git
from tests.harness.command import run

pytestmark = pytest.mark.usefixtures("whole_runs")

RULES = """
[[rule]]
id = "apart"
struct = "s"
kind = "separate"
fields = [["a"], ["z"]]
why = "w"
"""
CODE = "struct s {\n\tlong a; /* layoutlint: ignore[apart] until 2027-01-31 it is replaced */\n\tlong z;\n};\n"


def project(folder: Path, code: str = CODE) -> None:
    (folder / "s.h").write_text(code)
    (folder / "rules.toml").write_text(RULES)


def check(folder: Path, *words: str) -> Any:
    return run("check", "s.h", "--rules", "rules.toml", *words, cwd=folder)


DAYS = {
    "2027-01-30": (0, "it is replaced (s.h:2)", None),
    "2027-01-31": (0, "it is replaced (s.h:2)", None),
    "2027-02-01": (1, None, "it is replaced (s.h:2), until 2027-01-31"),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("day", DAYS)
def test_a_suppression_ends_behind_its_day(tmp_path, day):
    project(tmp_path)
    done = check(tmp_path, "--today", day, "--format", "json")
    found = json.loads(done.stdout)
    (finding,) = found["findings"]
    assert (done.returncode, finding["suppressed"], finding["expired"]) == DAYS[day]
    assert found["coverage"]["today"] == day
    text = check(tmp_path, "--today", day).stdout
    assert f"suppressions: judged on {day}" in text
    assert ("suppression expired: it is replaced (s.h:2), until 2027-01-31" in text) == (DAYS[day][0] == 1)


def test_without_an_end_the_day_is_not_in_the_report(tmp_path):
    project(tmp_path, CODE.replace("until 2027-01-31 ", ""))
    assert json.loads(check(tmp_path, "--format", "json").stdout)["coverage"]["today"] is None


def test_of_two_the_one_that_counts_suppresses(tmp_path):
    project(tmp_path, CODE.replace("long z;", "long z; /* layoutlint: ignore[apart] it stays */"))
    (finding,) = json.loads(check(tmp_path, "--today", "2028-01-01", "--format", "json").stdout)["findings"]
    assert (finding["suppressed"], finding["expired"]) == ("it stays (s.h:3)", None)


def test_the_texts_to_paste_accept_a_finding(tmp_path):
    code = CODE.replace(" /* layoutlint: ignore[apart] until 2027-01-31 it is replaced */", "")
    project(tmp_path, code)
    text = check(tmp_path).stdout
    (comment,) = (line.split("to accept it: ")[1] for line in text.splitlines() if "to accept it: " in line)
    comment, place = comment.split(" at ")
    assert place == "s.h:2"
    (row,) = (line for line in text.splitlines() if line.startswith("    { rule"))
    (tmp_path / "base.toml").write_text(f'schema = "layoutlint/baseline/1"\naccept = [\n{row}\n]\n')
    accepted = check(tmp_path, "--baseline", "base.toml")
    assert (accepted.returncode, "to accept it" in accepted.stdout) == (0, False)
    project(tmp_path, code.replace("long a;", f"long a; {comment}"))
    assert check(tmp_path).returncode == 0


HELD = "struct s {\n\tlong a; /* layoutlint: ignore[apart] once */\n\tlong pad[15];\n\tlong z;\n};\n"
"""A suppression that nothing needs."""
FIXED = HELD.replace(" /* layoutlint: ignore[apart] once */", "")


def repository(folder: Path, code: str = HELD) -> None:
    project(folder, code)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    os.utime(folder / "s.h", (1_700_000_000, 1_700_000_000))


def test_fix_removes_what_nothing_needs(tmp_path):
    repository(tmp_path)
    (tmp_path / "s.h").chmod(0o640)
    done = check(tmp_path, "--fix")
    assert (done.returncode, done.stderr) == (0, "layoutlint: removed `ignore[apart]` at s.h:2\n")
    assert (tmp_path / "s.h").read_text() == FIXED
    assert (tmp_path / "s.h").stat().st_mode & 0o777 == 0o640
    assert check(tmp_path, "--fix").stderr == ""


KEPT = {
    # what replaces parts of HELD; further arguments; what stderr says, if anything
    "it suppresses": ({"pad[15]": "pad[5]"}, (), ""),
    "it has expired, and something is found": ({"pad[15]": "pad[5]", "once": "until 2020-01-01 once"}, (), ""),
    "it names no rule": ({"[apart]": "[other]"}, (), "no rule of this run is called `other`; --unused --fix removes it"),
    "it names one with a slip": ({"[apart]": "[appart]"}, (), "is called `appart` (did you mean `apart`?)"),
    "one of its rules does not exist": ({"[apart]": "[apart, other]"}, (), "no rule of this run is called `other`"),
    "its rule is another struct's": (
        {"struct s": "struct t", "\n};": "\n};\nstruct s { long a, pad[16], z; };"}, (), "`apart` did not judge t"
    ),
    "its rule is shipped, and the run leaves it out": (
        {"[apart]": "[address-space-i-mmap-apart-from-rwsem]"}, ("--unused",), "is not among the rules of this run"
    ),
    "it is about snapshots": ({"[apart]": "[snapshot/s]"}, ("--unused",), "`snapshot/s` is not among the rules of this run"),
    "the comment says more": ({"/* layout": "/* the head. layout"}, (), "its comment says more than this"),
    "its struct could not be judged": ({"long z;": "gone_t z;"}, (), "`apart` could not be judged on s"),
    "a field of its rule is missing": ({"long z;": "long y;"}, (), "`apart` could not be judged on s"),
    "its comment is twice on its line": ({"*/": "*/ long b; /* layoutlint: ignore[apart] once */"}, (), "its line has it twice"),
    "it is in a macro": (
        {"long a; /* layoutlint: ignore[apart] once */": 'long a __attribute__((annotate("layoutlint:ignore[apart] once")));'},
        (), "its line has no comment with it",
    ),
    "an input could not be read": ({}, ("none.h",), "could not be read: none.h"),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", KEPT)
def test_fix_keeps(tmp_path, name):
    replaced, words, sentence = KEPT[name]
    code = HELD
    for old, new in replaced.items():
        code = code.replace(old, new)
    repository(tmp_path, code)
    done = check(tmp_path, "--fix", *words)
    assert (tmp_path / "s.h").read_text() == code
    assert (sentence in done.stderr) if sentence else not done.stderr


REMOVED = {
    # what replaces parts of HELD; further arguments; what replaces parts of FIXED
    "it has expired": ({"once": "until 2020-01-01 once"}, (), {}),
    "it has not expired": ({"once": "until 2999-01-01 once"}, (), {}),
    "it is a pattern": ({"[apart]": "[ap*]"}, (), {}),
    "it names a rule twice": ({"[apart]": "[apart, ap*]"}, (), {}),
    "it names no rule, and all rules are there": ({"[apart]": "[other]"}, ("--unused",), {}),
    "one of its rules does not exist": ({"[apart]": "[apart, other]"}, ("--unused",), {}),
    "two on a line": ({"once */": "once */ /* layoutlint: ignore[ap*] once */"}, (), {}),
    "a struct's and a field's": ({"struct s {": "/* layoutlint: ignore[apart] all */\nstruct s {"}, (), {}),
    "lines end as in DOS": ({"\n": "\r\n"}, (), {"\n": "\r\n"}),
    "no line end at the end": ({"};\n": "};"}, (), {"};\n": "};"}),
    "a mark of UTF-8 at the start": ({"struct s": "\ufeffstruct s"}, (), {"struct s": "\ufeffstruct s"}),
    "prose in Latin-1": ({"pad[15];": "pad[15]; /* f\udcfcr */"}, (), {"pad[15];": "pad[15]; /* f\udcfcr */"}),
    "another comment on its line": ({"once */": "once */ // the head"}, (), {"long a;": "long a; // the head"}),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", REMOVED)
def test_fix_removes(tmp_path, name):
    replaced, words, left = REMOVED[name]
    code, expected = HELD, FIXED
    for old, new in replaced.items():
        code = code.replace(old, new)
    for old, new in left.items():
        expected = expected.replace(old, new)
    repository(tmp_path)
    (tmp_path / "s.h").write_bytes(code.encode(errors="surrogateescape"))
    os.utime(tmp_path / "s.h", (1_700_000_000, 1_700_000_000))
    done = check(tmp_path, "--fix", *words)
    assert (tmp_path / "s.h").read_bytes() == expected.encode(errors="surrogateescape"), done.stderr
    assert "not removed" not in done.stderr


def test_fix_changes_each_file_once_by_whatever_name(tmp_path):
    repository(tmp_path, '#include "t.h"\n#include "own/u.h"\n')
    (tmp_path / "t.h").write_text("/* layoutlint: ignore[apart] all */\n" + HELD)
    (tmp_path / "u.h").write_text(HELD.replace("struct s", "struct u"))
    own = tmp_path / "own"
    own.symlink_to(".")
    for name in ("t.h", "u.h"):
        os.utime(tmp_path / name, (1_700_000_000, 1_700_000_000))
    git(tmp_path, "add", ".")
    rules = RULES.replace('struct = "s"', 'struct = "[su]"')
    (tmp_path / "rules.toml").write_text(rules)
    done = run("check", "s.h", "t.h", "u.h", "--rules", "rules.toml", "--fix", cwd=tmp_path)
    assert (tmp_path / "t.h").read_text() == FIXED, done.stderr
    assert (tmp_path / "u.h").read_text() == FIXED.replace("struct s", "struct u"), done.stderr


def test_a_comment_at_two_fields_of_which_one_needs_it_stays(tmp_path):
    code = "struct s { long a, b; /* layoutlint: ignore[apart] once */\n\tlong z; };\n"
    repository(tmp_path, code)
    assert (check(tmp_path, "--fix").returncode, (tmp_path / "s.h").read_text()) == (0, code)


def test_fix_refuses_files_that_are_not_its_own(tmp_path):
    repository(tmp_path, '#include "t.h"\n')
    (tmp_path / "t.h").write_text(HELD)
    os.utime(tmp_path / "t.h", (1_700_000_000, 1_700_000_000))
    done = check(tmp_path, "--fix")
    assert "not removed: `ignore[apart]` at t.h:2: the file is not among the inputs" in done.stderr
    done = run("check", "t.h", "--rules", "rules.toml", "--fix", cwd=tmp_path)
    assert "not removed: `ignore[apart]` at t.h:2: git does not track the file" in done.stderr
    git(tmp_path, "add", "t.h")
    os.utime(tmp_path / "t.h", (4_000_000_000, 4_000_000_000))
    done = run("check", "t.h", "--rules", "rules.toml", "--fix", cwd=tmp_path)
    assert "not removed: `ignore[apart]` at t.h:2: the file was changed meanwhile" in done.stderr
    os.utime(tmp_path / "t.h", (1_700_000_000, 1_700_000_000))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/link.h").symlink_to("../t.h")
    git(tmp_path, "add", "sub/link.h")
    done = run("check", "link.h", "--rules", "../rules.toml", "--fix", cwd=tmp_path / "sub")
    assert "not removed: `ignore[apart]` at link.h:2: cannot write link.h: it is a symbolic link" in done.stderr
    assert (tmp_path / "t.h").read_text() == HELD
    (tmp_path / "t.h").chmod(0o444)
    done = run("check", "t.h", "--rules", "rules.toml", "--fix", cwd=tmp_path)
    assert "not removed: `ignore[apart]` at t.h:2: the file is read-only" in done.stderr
    (tmp_path / "t.h").chmod(0o644)
    (tmp_path / "link.h").symlink_to("t.h")
    done = run("check", "link.h", "--rules", "rules.toml", "--fix", cwd=tmp_path)
    assert (done.stderr, (tmp_path / "t.h").read_text()) == ("layoutlint: removed `ignore[apart]` at t.h:2\n", FIXED)


def test_fix_needs_a_repository_and_all_suppressions(tmp_path):
    project(tmp_path, HELD)
    done = check(tmp_path, "--fix")
    assert (done.returncode, done.stdout) == (2, "")
    for words in (("--no-suppressions",), ("--staged",), ("--policy-from", "HEAD")):
        assert check(tmp_path, "--fix", *words).returncode == 2
    assert (tmp_path / "s.h").read_text() == HELD


@pytest.mark.parametrize("date", ["2027-1-31", "tomorrow", "2027-02-29", "20270131"])
def test_a_wrong_date_is_refused(tmp_path, date):
    project(tmp_path)
    done = check(tmp_path, "--today", date)
    assert (done.returncode, "expected a date, such as 2027-01-31" in done.stderr) == (2, True)
    (tmp_path / "s.h").write_text(CODE.replace("2027-01-31", "2027-1-31"))
    done = check(tmp_path)
    assert (done.returncode, done.stderr.startswith("s.h:2: annotation of `a` of struct s: `until 2027-1-31`")) == (2, True)


def test_the_cache_sees_another_day(tmp_path):
    project(tmp_path)
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    words = ("check", "s.h", "--rules", "rules.toml", "--today")
    assert [run(*words, day, cwd=tmp_path, **cache).returncode for day in ("2027-01-01", "2028-01-01")] == [0, 1]


def test_a_change_cannot_put_off_the_end(tmp_path):
    project(tmp_path)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "m")
    words = ("--policy-from", "HEAD", "--today", "2027-01-01")
    exits = []
    for until in ("until 2027-01-31 ", "until 2027-01-15 ", "until 2030-01-31 ", ""):
        (tmp_path / "s.h").write_text(CODE.replace("until 2027-01-31 ", until))
        exits.append(check(tmp_path, *words).returncode)
    assert exits == [0, 0, 1, 1]
