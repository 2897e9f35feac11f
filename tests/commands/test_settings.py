"""The table [settings] of layoutlint.toml: what commands take from it, and what wins over it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.repository import git

RULE = '[[rule]]\nid = "x"\nstruct = "ring"\nkind = "separate"\nfields = [["head[3]"], ["tail"]]\nwhy = "w"\n'
TEXT = "struct ring { long head[4]; long tail;\n#ifdef WIDE\n\tlong pad[8];\n#endif\n};\n"


def project(folder: Path, settings: str, rules: str = RULE) -> Path:
    (folder / "sub").mkdir(exist_ok=True)
    (folder / ".git").mkdir(exist_ok=True)
    (folder / "ring.h").write_text(TEXT)
    (folder / "other.h").write_text(TEXT.replace("ring", "other"))
    (folder / "layoutlint.toml").write_text(f"[settings]\n{settings}\n{rules}")
    return folder


USED = [
    # settings, folder, words, and parts of what is printed
    ("line-size = 32", ".", "show ring.h ring", ["40 bytes, 2 lines of 32"]),
    ("line-size = 32", "sub", "show ../ring.h ring", ["40 bytes, 2 lines of 32"]),
    ("line-size = 32", ".", "show ring.h ring --line-size 128", ["40 bytes, 1 line of 128"]),
    ("min-align = 32", ".", "show ring.h ring", ["objects are aligned to 32"]),
    ('flags = ["-DWIDE"]', ".", "show ring.h ring", ["104 bytes"]),
    ('flags = ["-DWIDE"]', ".", "show ring.h ring --flags -DX", ["40 bytes"]),
    ('flags = ["-DWIDE"]', ".", "show ring.h ring -- -UWIDE", ["40 bytes"]),
    ('flags = ["-include", "wide.h"]', "sub", "show ../ring.h ring", ["104 bytes"]),
    ('fail-on = "broken"', ".", "check ring.h", ["exit 0: nothing broken that counts"]),
    ('fail-on = "broken"', ".", "check ring.h --fail-on at-risk", ["exit 1: rules are broken or at risk"]),
    ('fail-on = "broken"', ".", "check ring.h", ["settings: fail-on = broken in layoutlint.toml"]),
    ('flags = ["-DWIDE", "-DX"]', "sub", "check ../ring.h", ["settings: flags = -DWIDE -DX in ../layoutlint.toml"]),
    ('inputs = ["ring.h"]', ".", "check", ["ring.h: 1 struct by clang"]),
    ('inputs = ["ring.h"]', "sub", "check", ["../ring.h: 1 struct by clang"]),
    ('inputs = ["*.h"]', ".", "check", ["1 at-risk"]),
    ('inputs = ["ring.h"]', ".", "check other.h", ["exit 3"]),
    ('pack = ["generic"]', ".", "check ring.h", ["guessed: generic"]),
    ("line-size = 32", ".", "check ring.h --rules own.toml", ["7 of 8 placements"]),
    ('inputs = ["**/*.h"]', ".", "check", ["sub/deep/in.h: 0 structs by clang"]),
    ('flags = ["-DWIDE"]', "sub", "show ../ring.h ring --flags=-DX", ["40 bytes"]),
    ("line-size = 8", ".", "check --matrix matrix.toml", ["1 at-risk"]),
    ("line-size = 32", ".", "diff ring.h ring.h", ["compared 1 struct"]),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "folder", "words", "parts"), USED)
def test_what_is_used(tmp_path, settings, folder, words, parts):
    project(tmp_path, settings)
    (tmp_path / "own.toml").write_text(RULE)
    (tmp_path / "matrix.toml").write_text('[build.one]\ninput = "ring.h"\nline_size = 64\n')
    (tmp_path / "sub/deep").mkdir()
    (tmp_path / "sub/deep/in.h").write_text(TEXT.replace("ring", "in"))
    (tmp_path / "wide.h").write_text("#define WIDE\n")
    done = run(*words.split(), cwd=tmp_path / folder)
    assert done.stderr == ""
    assert [part for part in parts if part not in " ".join(done.stdout.split())] == [], done.stdout


WRONG = [
    # settings, and the message
    ("line-size = 48", "layoutlint.toml:2: `line-size` must be a power of two, up to 1,048,576, not 48"),
    ('line-size = "64"', "layoutlint.toml:2: `line-size` must be an integer, not a string"),
    ('fail-on = "warning"', "layoutlint.toml:2: `fail-on` cannot be `warning`"),
    ("flags = '-DX'", "layoutlint.toml:2: `flags` must be a list of strings, not a string"),
    ('query-driver = "gcc"', "unknown key `query-driver` in [settings] (it runs or trusts something: give it on the command line)"),
    ("debuginfod = true", "(it runs or trusts something: give it on the command line)"),
    ("line_size = 32", "unknown key `line_size` in [settings] (write `line-size`)"),
    ("lin-size = 32", "unknown key `lin-size` in [settings] (did you mean `line-size`?)"),
]


@pytest.mark.parametrize(("settings", "message"), WRONG)
@pytest.mark.parametrize("words", ["check ring.h", "show ring.h ring", "rules check layoutlint.toml"])
def test_what_is_wrong(tmp_path, settings, message, words):
    done = run(*words.split(), cwd=project(tmp_path, settings))
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_two_files_that_set_one_key(tmp_path):
    project(tmp_path, "line-size = 32")
    (tmp_path / "other.toml").write_text("[settings]\nline-size = 64\n")
    done = run("check", "ring.h", "--rules", "layoutlint.toml", "--rules", "other.toml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "other.toml: [settings] `line-size` is set in layoutlint.toml too\n")


def test_standard_input_has_no_settings(tmp_path):
    done = run("check", "ring.h", "--rules", "-", cwd=project(tmp_path, "line-size = 32"), given=b"[settings]\nline-size = 8\n" + RULE.encode())
    assert (done.returncode, done.stderr) == (2, "/dev/stdin:1: [settings] is read from files only: a pipe can be read once\n")


@pytest.mark.parametrize("rules", [(), ("--rules", "layoutlint.toml"), ("--rules", "FOLDER/layoutlint.toml")])
@pytest.mark.parametrize("folder", [".", "sub"])
def test_flags_name_the_files_of_each_revision(tmp_path, rules, folder):
    project(tmp_path, 'flags = ["-Iinc"]').joinpath(".git").rmdir()
    git(tmp_path, "init", "-q", ".")
    (tmp_path / "ring.h").write_text("#include <pad.h>\nstruct ring { long head[4]; char pad[PAD]; long tail; };\n")
    (tmp_path / "inc").mkdir()
    (tmp_path / "sub/kept").write_text("")
    for pad in (120, 8):
        (tmp_path / "inc/pad.h").write_text(f"#define PAD {pad}\n")
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-qm", str(pad))
    words = [word.replace("FOLDER", str(tmp_path)) for word in rules]
    if folder == "sub" and words[1:] == ["layoutlint.toml"]:
        words[1] = "../layoutlint.toml"
    done = run("check", "--since", "HEAD~1", *words, cwd=tmp_path / folder)
    assert done.stdout.splitlines()[-1] == "exit 1: rules are broken or at risk, and were not, or less so, in HEAD~1"


def test_a_policy_has_the_settings_of_its_commit(tmp_path):
    folder = project(tmp_path, 'fail-on = "broken"')
    (folder / ".git").rmdir()
    git(folder, "init", "-q", ".")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "base")
    project(folder, 'fail-on = "at-risk"')
    assert run("check", "ring.h", cwd=folder).returncode == 1
    assert run("check", "ring.h", "--policy-from", "HEAD", cwd=folder).returncode == 0
