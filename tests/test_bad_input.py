"""Inputs that cannot be judged: each gives its exact message and status 3 (rule files: 2), never a traceback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command import ROOT, run
from tests.damaged import ARRAY, INT, PTR, TYPEDEF, btf, btf_type, compiled, patched, ring_of

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


def truncated(folder: Path) -> None:
    whole = compiled(folder, "-g").read_bytes()
    (folder / "input").write_bytes(whole[: len(whole) // 2])


def short_header(folder: Path) -> None:
    (folder / "input").write_bytes(compiled(folder, "-g").read_bytes()[:20])


def no_debug(folder: Path) -> None:
    compiled(folder, "-g0").rename(folder / "input")


def bad_abbreviation(folder: Path) -> None:
    # In DWARF 5 the first entry of a compile unit starts at 12 (section 7.5.1.1): its code has no abbreviation.
    patched(compiled(folder, "-gdwarf-5", "-gz=none"), ".debug_info", 12, b"\x7d").rename(folder / "input")


def bad_version(folder: Path) -> None:
    patched(compiled(folder, "-gdwarf-5", "-gz=none"), ".debug_info", 4, b"\x63\0").rename(folder / "input")


def no_c(folder: Path) -> None:
    (folder / "input").mkdir()
    (folder / "input" / "notes.txt").write_text("nothing\n")


def unreadable_folder(folder: Path) -> None:
    (folder / "input").mkdir()


CASES: list[tuple[str, Callable[[Path], object], str]] = [
    # id, what makes the input, what is said of it
    ("no such file", lambda folder: None, "input: no such file or directory"),
    ("empty file", raw(b""), "input: the file is empty"),
    ("bytes of no kind", raw(b"PK\3\4\0\0\0\0"), "input: neither ELF, BTF nor C text (it starts with the bytes 50 4b 03 04)"),
    ("directory without C", no_c, "?"),
    ("empty directory", unreadable_folder, "?"),
    ("ELF without debug info", no_debug,
     "input: has no debug information (neither DWARF nor BTF); build it with `-g`, or give its vmlinux or debug file"),
    ("truncated ELF", truncated, "?"),
    ("ELF header alone", short_header, "?"),
    ("DWARF with a wrong abbreviation", bad_abbreviation, "?"),
    ("DWARF of a version to come", bad_version, "?"),
    ("BTF with a bad magic", raw(btf(b"", magic=0xEB9E)), "?"),
    ("BTF header cut off", raw(btf(b"")[:10]), "?"),
    ("BTF of a version to come", raw(btf(INT64, version=2)), "?"),
    ("BTF with types beyond its end", raw(btf(INT64, type_len=4096)), "?"),
    ("BTF with strings beyond its end", raw(btf(INT64, str_off=4096)), "?"),
    ("BTF with a record cut off", raw(btf(ring_of(1)[:-4], type_len=20)), "?"),
    ("BTF with a kind to come", raw(btf(btf_type(1, 31, 8))), "?"),
    ("BTF with a type that is not there", raw(btf(ring_of(99))), "?"),
    ("BTF with a name that is not there", raw(btf(btf_type(999, INT, 8, 64) + ring_of(1))), "?"),
    ("BTF with a typedef of itself", raw(btf(ring_of(2) + btf_type(6, TYPEDEF, 2))), "?"),
    ("BTF with a struct inside itself", raw(btf(ring_of(1))), "?"),
    ("BTF with an array of itself", raw(btf(ring_of(2) + btf_type(0, ARRAY, 0, 2, 2, 1))), "?"),
    ("BTF with pointers in a circle", raw(btf(ring_of(2) + btf_type(0, PTR, 3) + btf_type(0, PTR, 2))), "?"),
    ("BTF with a thousand typedefs",
     raw(btf(ring_of(2) + b"".join(btf_type(6, TYPEDEF, n + 3) for n in range(1000)) + INT64)), "?"),
    ("header with an error", raw("struct ring { long head; lung tail; };\n"), "?"),
    ("header with an undefined macro behind a field", raw("struct ring { long head; long tail ____cacheline_aligned; };\n"), "?"),
    ("header with an undefined macro behind a brace",
     raw("struct ring { long head, tail; } ____cacheline_aligned_in_smp;\n"), "?"),
    ("header that includes a missing file", raw('#include "missing.h"\nstruct ring { long head, tail; };\n'), "?"),
    ("struct that is not there", raw("struct rung { long head, tail; };\n"), "?"),
    ("struct that is only declared", raw("struct ring;\n"), "?"),
    ("field that is not there", raw("struct ring { long heads, tail; };\n"), "?"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_bad_input_is_3(tmp_path, make, message):
    make(tmp_path)
    (tmp_path / "layoutlint.toml").write_text(RULES)
    done = run("check", "input", cwd=tmp_path)
    assert message in done.stdout + done.stderr
    assert done.returncode == 3
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("make", [case[1] for case in CASES], ids=[case[0] for case in CASES])
def test_show_does_not_believe_it_either(tmp_path, make):
    make(tmp_path)
    done = run("show", "input", "ring", cwd=tmp_path)
    assert "Traceback" not in done.stdout + done.stderr
    assert done.returncode in (0, 3)
