"""`-`: C text on standard input."""

from __future__ import annotations

import json
import os

import pytest

from tests.harness.command import run

RULES = """[[rule]]
id = "apart"
struct = "q"
kind = "separate"
fields = [["a"], ["b"]]
why = "two processors write them"
"""
TEXT = '#include "pad.h"\nstruct q { long a; char pad[PAD]; long b; };\n'
MARKED = "struct q { long a; /* layoutlint: hot-write */ long b; /* layoutlint: hot-read */ };\n"
LATIN = b"/* \xe9 */ struct q { long a; char \x70ad[64]; long b; };\n"

CASES = {
    # the text, the arguments after `check`, exit status, what is said
    "broken": (TEXT, ["-", "--rules", "r.toml"], 1, "<stdin>:2: error: struct q: `a` and `b` share a line [apart]"),
    "kept by a flag": (TEXT, ["-", "--rules", "r.toml", "--", "-UX", "-DPAD=64"], 0, "1 kept"),
    "kept by an option": (TEXT, ["-", "-DPAD=64", "--rules", "r.toml"], 0, "1 kept"),
    "a folder of headers": (TEXT.replace("pad.h", "other.h"), ["-", "-Isub", "--rules", "r.toml"], 0, "1 kept"),
    "a missing header": (TEXT.replace("pad.h", "other.h"), ["-", "--rules", "r.toml"], 3, "<stdin>:1:10: error: 'other.h' file not found"),
    "beside a file": (TEXT, ["q.h", "-", "--rules", "r.toml"], 1, "<stdin>: 1 struct"),
    "annotations in comments": (MARKED, ["-"], 1, "q/access"),
    "bytes that are no UTF-8": (LATIN, ["-", "--rules", "r.toml"], 0, "1 kept"),
    "lines that end as in DOS": (TEXT.replace("\n", "\r\n"), ["-", "--rules", "r.toml"], 1, "<stdin>:2"),
    "another machine": (TEXT, ["-", "--rules", "r.toml", "--", "--target=s390x-linux-gnu"], 1, "s390x"),
    "a struct of Linux": ("struct file { int f; };\nstruct q { long a; char pad[64]; long b; };\n", ["-", "--rules", "r.toml"], 0, "1 kept"),
    "nothing": ("", ["-", "--rules", "r.toml"], 3, "<stdin>: the file is empty"),
    "an object": (b"\x7fELF" + bytes(60), ["-", "--rules", "r.toml"], 2, "standard input is binary; give the file by its name"),
    "binary behind text": (b"int x;\n" * 1000 + bytes(8), ["-", "--rules", "r.toml"], 2, "standard input is binary"),
    "UTF-16": (TEXT.encode("utf-16"), ["-", "--rules", "r.toml"], 2, "standard input: is text in UTF-16"),
    "too much": ((1 << 25) + 1, ["-", "--rules", "r.toml"], 3, "has more than the 33,554,432 bytes"),
    "also the rules": (TEXT, ["-", "--rules", "-"], 2, "as INPUT, or as the rules of `--rules -`"),
    "twice": (TEXT, ["-", "-", "--rules", "r.toml"], 2, "give `-` once"),
    "a staged change": (TEXT, ["--staged", "-"], 2, "--staged judges files of a git repository"),
    "with C sources asked for": (TEXT, ["-", "--comments", "--rules", "r.toml"], 2, "--comments needs C sources"),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    files = {"r.toml": RULES, "pad.h": "#ifndef PAD\n#define PAD 8\n#endif\n", "sub/other.h": "#define PAD 64\n"}
    files["q.h"] = TEXT.replace("8", "64")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("text", "words", "status", "message"), CASES.values(), ids=CASES)
def test_check(folder, text, words, status, message):
    given = b"/" * text if isinstance(text, int) else text if isinstance(text, bytes) else text.encode()
    ended = run("check", *words, cwd=folder, given=given)
    printed = ended.stdout + ended.stderr
    assert (ended.returncode, message in printed) == (status, True), printed
    assert os.listdir(folder / "sub") == ["other.h"]


def test_it_is_judged_like_a_file(folder):
    """In every format, the file and the text differ in their names alone."""
    for name in ("json", "sarif", "github", "concise"):
        words = ("--rules", "r.toml", "--format", name)
        by_name = run("check", "q.h", *words, cwd=folder).stdout
        by_text = run("check", "-", *words, cwd=folder, given=(folder / "q.h").read_bytes()).stdout
        assert by_text.replace("%3Cstdin%3E", "q.h").replace("<stdin>", "q.h") == by_name


def test_lists(folder):
    shown = run("show", "-", "q", "--format", "json", cwd=folder, given=TEXT.encode())
    assert [struct["size"] for struct in json.loads(shown.stdout)["structs"]] == [24]
    text = b"struct in { int i; };\nstruct out { long l; struct in in; };\n"
    listed = run("containers", "-", "in", cwd=folder, given=text)
    assert (listed.returncode, "out.in" in listed.stdout) == (0, True), listed


def test_another_text_is_judged_anew(folder, tmp_path_factory):
    kept = {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("kept")), "LAYOUTLINT_NO_CACHE": ""}
    texts = [TEXT, TEXT, TEXT.replace("PAD", "64"), TEXT]
    ended = [run("check", "-", "--rules", "r.toml", cwd=folder, given=text.encode(), **kept) for text in texts]
    assert [each.returncode for each in ended] == [1, 1, 0, 1]


def test_a_file_of_that_name(folder):
    (folder / "-").write_text(TEXT)
    ended = run("check", "-", "--rules", "r.toml", cwd=folder, given=TEXT.encode())
    assert (ended.returncode, "write './-' for the file" in ended.stderr) == (2, True)
    assert run("check", "./-", "--rules", "r.toml", cwd=folder).returncode == 1
