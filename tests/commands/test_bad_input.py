"""Inputs that cannot be judged: each gives its exact message and status 3 (rule files: 2), never a traceback."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness.command import run
from tests.harness.damaged import ARRAY, INT, PTR, TYPEDEF, btf, btf_type, compile_object, patch, ring_of

pytestmark = pytest.mark.usefixtures("own_processes")

RULES = """
[[rule]]
id = "apart"
struct = "ring"
kind = "separate"
fields = [["head"], ["tail"]]
why = "a test"
"""
INT64 = btf_type(0, INT, 8, 64)


def raw(data: bytes | str) -> Callable[[Path], None]:
    """Makes a file called `input` with these contents."""
    content = data.encode() if isinstance(data, str) else data
    return lambda folder: (folder / "input").write_bytes(content) and None


def truncate(folder: Path) -> None:
    whole = compile_object(folder, "-g").read_bytes()
    (folder / "input").write_bytes(whole[: len(whole) // 2])


def short_header(folder: Path) -> None:
    (folder / "input").write_bytes(compile_object(folder, "-g").read_bytes()[:20])


def no_debug(folder: Path) -> None:
    compile_object(folder, "-g0").rename(folder / "input")


def bad_abbreviation(folder: Path) -> None:
    # In DWARF 5 the first entry of a compile unit starts at 12 (section 7.5.1.1): its code has no abbreviation.
    patch(compile_object(folder, "-gdwarf-5", "-gz=none"), ".debug_info", 12, b"\x7d").rename(folder / "input")


def bad_version(folder: Path) -> None:
    patch(compile_object(folder, "-gdwarf-5", "-gz=none"), ".debug_info", 4, b"\x63\0").rename(folder / "input")


def no_c(folder: Path) -> None:
    (folder / "input").mkdir()
    (folder / "input" / "notes.txt").write_text("nothing\n")


def pipe(folder: Path) -> None:
    os.mkfifo(folder / "input")


def empty_folder(folder: Path) -> None:
    (folder / "input").mkdir()


ADD_FOLDER = "; add its folder with `-I DIR`, or install the package that has it"
RING = "[unknown] the layout of ring is unreliable: "
CASES: list[tuple[str, Callable[[Path], object], list[str]]] = [
    # id, what makes the input, all that is said of it: what was not read, then the findings
    ("no such file", lambda folder: None, ["input: no such file or directory"]),
    ("empty file", raw(b""), ["input: the file is empty"]),
    ("bytes of no kind", raw(b"PG\3\4\0\0\0\0"),
     ["input: neither ELF, BTF nor C text (it starts with the bytes 50 47 03 04)"]),
    ("the start of an archive", raw(b"PK\3\4\0\0\0\0"), ["input: is damaged or truncated: Truncated ZIP file header"]),
    ("pipe", pipe, ["input: is a pipe or a device; readers need a file that they can read twice"]),
    ("directory without C", no_c,
     ["input: holds no C headers or sources, no compile_commands.json, and is not a configured kernel tree"]),
    ("empty directory", empty_folder,
     ["input: holds no C headers or sources, no compile_commands.json, and is not a configured kernel tree"]),
    ("ELF without debug info", no_debug,
     ["input: has no debug information (neither DWARF nor BTF); build it with `-g`, or give its vmlinux or debug file"]),
    ("truncated ELF", truncate, ["input: damaged or truncated ELF file: *"]),
    ("ELF header alone", short_header, ["input: damaged or truncated ELF file: *"]),
    ("DWARF with a wrong abbreviation", bad_abbreviation,
     ["input: .debug_info+0xc: abbreviation code 125 is not in the table", "[unknown] struct ring is in none of the inputs"]),
    ("DWARF of a version to come", bad_version,
     ["input: .debug_info+0x0: DWARF version 99 is not read; the rest of the section is not read"]),
    ("BTF with a bad magic", raw(btf(b"", magic=0xEB9E)),
     ["input: neither ELF, BTF nor C text (it starts with the bytes 9e eb 01 00)"]),
    ("BTF header cut off", raw(btf(b"")[:10]), ["input: damaged BTF: its header needs 24 bytes, and it has 10"]),
    ("BTF of a version to come", raw(btf(INT64, version=2)),
     ["input: damaged BTF: it is of version 2, and version 1 is known"]),
    ("BTF with types beyond its end", raw(btf(INT64, type_len=4096)),
     ["input: damaged BTF: its types end at 4120, behind the end of the data at 51"]),
    ("BTF with strings beyond its end", raw(btf(INT64, str_off=4096)),
     ["input: damaged BTF: its strings end at 4131, behind the end of the data at 51"]),
    ("BTF with a record cut off", raw(btf(ring_of(1)[:-4], type_len=20)),
     ["input: damaged BTF: the types end inside type 1"]),
    ("BTF with a kind to come", raw(btf(btf_type(1, 31, 8))),
     ["input: damaged BTF: type 1 has the unknown kind 31, so no known length"]),
    ("BTF with a type that is not there", raw(btf(ring_of(99))),
     ["input: damaged BTF: there is no type 99: the last is 1"]),
    ("BTF with a name that is not there", raw(btf(btf_type(999, INT, 8, 64) + ring_of(1))),
     ["input: damaged BTF: type 1 has a name at 999; the strings end at 11"]),
    ("BTF with a typedef of itself", raw(btf(ring_of(2) + btf_type(6, TYPEDEF, 2))),
     ["input: damaged BTF: type 2 contains itself"]),
    ("BTF with a struct inside itself", raw(btf(ring_of(1))), ["input: damaged BTF: type 1 contains itself"]),
    ("BTF with an array of itself", raw(btf(ring_of(2) + btf_type(0, ARRAY, 0, 2, 2, 1))),
     ["input: damaged BTF: type 2 is an array of more than 100 dimensions, or of itself"]),
    ("BTF with pointers in a circle", raw(btf(ring_of(2) + btf_type(0, PTR, 3) + btf_type(0, PTR, 2))),
     ["input: damaged BTF: type 3 and others refer to one another in a circle"]),
    ("BTF with a thousand typedefs",
     raw(btf(ring_of(2) + b"".join(btf_type(6, TYPEDEF, n + 3) for n in range(1000)) + INT64)),
     ["input: damaged BTF: type 102 is nested 100 types deep"]),
    ("header with an error", raw("struct ring { long head; lung tail; };\n"),
     [RING + "input:1:26: error: unknown type name 'lung'"]),
    ("undefined macro behind a field", raw("struct ring { long head; long tail ____cacheline_aligned; };\n"),
     [RING + "input:1:35: error: no macro `____cacheline_aligned` is defined here"]),
    ("undefined macro behind a brace", raw("struct ring { long head, tail; } ____cacheline_aligned_in_smp;\n"),
     [RING + "input:1:34: error: no macro `____cacheline_aligned_in_smp` is defined here: it declares a variable of type "
      "`struct ring`"]),
    ("header that includes a missing file", raw('#include "missing.h"\nstruct ring { long head, tail; };\n'),
     [RING + "input:1:10: error: 'missing.h' file not found" + ADD_FOLDER]),
    ("no struct that", raw("struct rung { long head, tail; };\n"),
     ["[unknown] struct ring is in none of the inputs (did you mean `rung`?)"]),
    ("struct not found, with errors", raw('#include "missing.h"\nstruct rung { long head, tail; };\n'),
     ["input: struct ring not found, with errors: input:1:10: error: 'missing.h' file not found" + ADD_FOLDER,
      "[unknown] struct ring is in none of the inputs (did you mean `rung`?)"]),
    ("struct that is declared, with errors", raw('#include "missing.h"\nstruct ring *all;\n'),
     ["input: struct ring not found, with errors: input:1:10: error: 'missing.h' file not found" + ADD_FOLDER,
      "[unknown] struct ring is declared but not defined"]),
    ("struct that is only declared", raw("struct ring;\n"), ["[unknown] struct ring is declared but not defined"]),
    ("field that is not there", raw("struct ring { long heads, tail; };\n"),
     ["[unknown] struct ring has no field `head` (did you mean `heads`?)"]),
]  # fmt: skip


def describe(report: dict[str, Any]) -> list[str]:
    """What a report in JSON says of what it could not tell."""
    unread = [f"{entry['origin']}: {entry['reason']}" for entry in report["unread"]]
    return unread + [f"[{f['outcome']}] {f['message']}" for f in report["findings"] + report["kept"]]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("make", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_check_tells_what_and_why(tmp_path, make, expected):
    make(tmp_path)
    (tmp_path / ".git").mkdir()  # missing headers are searched in no other test's folder
    (tmp_path / "layoutlint.toml").write_text(RULES)
    done = run("check", "input", "--format", "json", cwd=tmp_path)
    text_message = describe(json.loads(done.stdout))
    assert len(text_message) == len(expected), text_message
    assert [pair for pair in zip(text_message, expected, strict=True) if not is_like(*pair)] == []
    assert (done.returncode, done.stderr) == (3, "")


def is_like(text: str, expected: str) -> bool:
    """The same, up to a final star: what a library says of damaged bytes is its own affair."""
    return text.startswith(expected[:-1]) if expected.endswith(" *") else text == expected


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("make", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_show_tells_the_same_and_fails(tmp_path, make, expected):
    make(tmp_path)
    done = run("show", "input", "ring", cwd=tmp_path)
    if expected == ["[unknown] struct ring has no field `head` (did you mean `heads`?)"]:
        assert done.returncode == 0
        return
    assert "layoutlint: " in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 3


MISTAKEN = """\
[pack]
nmae = "mine"

[struct.ring]
headers = "ring.h"
[struct.ring.fields]
head = { access = "hot-wirte" }

[[rule]]
id = "one"
struct = "ring"
kind = "seperate"
why = "a test"

[[rule]]
id = "two"
struct = "ring"
kind = "separate"
fields = ["head", "tail"]
severity = "fatal"
why = "a test"

[[rule]]
id = "one"
kind = "size"
max = "64"
tolerate = 2
why = "a test"

[[rules]]
"""
TEN = """\
mine.toml:2: unknown key `nmae` in [pack] (did you mean `name`?)
mine.toml:5: unknown key `headers` in [struct.ring] (did you mean `header`?)
mine.toml:7: `access` cannot be `hot-wirte` (did you mean `hot-write`?)
mine.toml:12: `kind` cannot be `seperate` (did you mean `separate`?)
mine.toml:19: `fields`[0] must be a list of field paths, not a string (write ["head"])
mine.toml:20: `severity` cannot be `fatal` (known: error, warning, note)
mine.toml:23: rule `one` has no `struct`
mine.toml:24: `id` `one` is already used by the rule at mine.toml:9
mine.toml:26: `max` must be an integer, not a string (write 64)
mine.toml:27: `tolerate` must be from 0 to 1 (a share of the placements), not 2
mine.toml:30: unknown key `rules` in a rule file (rules are `[[rule]]`)
"""


def test_ten_mistakes_of_a_rule_file_are_told_at_once(tmp_path):
    (tmp_path / "mine.toml").write_text(MISTAKEN)
    (tmp_path / "ring.h").write_text("struct ring { long head, tail; };\n")
    for words in (("rules", "check", "mine.toml"), ("check", "ring.h", "--rules", "mine.toml")):
        done = run(*words, cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", TEN)
    assert len(TEN.splitlines()) >= 10


RULE_FILES = [
    # id, what the rule file holds, what is said of it
    ("no such file", None, "mine.toml: no such file or directory"),
    ("no TOML", "[[rule]\n", "mine.toml:1: not TOML: *"),
    ("not UTF-8", b"# \xff\n", "mine.toml:1: not UTF-8 (byte 0xff)"),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("content", "message"), [case[1:] for case in RULE_FILES], ids=[case[0] for case in RULE_FILES])
def test_a_rule_file_that_is_none(tmp_path, content, message):
    if content is not None:
        (tmp_path / "mine.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
    done = run("rules", "check", "mine.toml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert is_like(done.stderr.rstrip("\n"), message)
