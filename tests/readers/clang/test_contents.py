"""The texts that libclang read: from disk only if they are sure to be the same."""

from __future__ import annotations

import os
import time

import pytest

from layoutlint.model.reading import InputText
from layoutlint.readers.clang import libclang, parse
from layoutlint.readers.clang.parse import Unit
from tests.harness.repository import write

HOUR = 3600 * 10**9
READ = b"struct s { int x; };\n"


def other_text(path):
    """Another text of the same size, times and inode."""
    times = os.stat(path)
    with open(path, "r+b") as file:
        file.write(READ.replace(b"x", b"y"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def other_file(path):
    """Another file in its place, of the same size and times."""
    times = os.stat(path)
    path.rename(path.with_suffix(".old"))
    path.write_bytes(READ.replace(b"x", b"y"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def pipe(path):
    path.unlink()
    os.mkfifo(path)


def nothing(path):
    path.unlink()


@pytest.mark.parametrize("change", [other_text, other_file, pipe, nothing])
def test_a_file_that_changed_has_the_text_that_libclang_read(change, tmp_path, monkeypatch):
    write(tmp_path, {"x.h": READ.decode(), "x.c": '#include "x.h"\n'})
    os.utime(tmp_path / "x.h", ns=(time.time_ns() - HOUR,) * 2)
    monkeypatch.setattr(libclang, "_LOADED", time.time_ns())
    lib = libclang.library()
    unit = Unit(str(tmp_path / "x.c"), ("-xc",), str(tmp_path), (), "x.c")
    with parse.parse_unit(lib, unit, None, libclang.PREFERRED_OPTIONS) as handle:
        (header,) = [file for file, _ in libclang.inclusions(lib, handle)]
        change(tmp_path / "x.h")
        assert libclang.contents(lib, handle, header) == READ
    (tmp_path / "x.h").unlink(missing_ok=True)  # later tests look for sources of their headers beside them, and would read the pipe


def test_an_unchanged_file_is_not_searched_for_in_the_unit(tmp_path, monkeypatch):
    write(tmp_path, {"x.h": READ.decode(), "x.c": '#include "x.h"\n'})
    lib = libclang.library()
    unit = Unit(str(tmp_path / "x.c"), ("-xc",), str(tmp_path), (), "x.c")
    monkeypatch.setattr(libclang, "_LOADED", time.time_ns() + HOUR)
    with parse.parse_unit(lib, unit, None, libclang.PREFERRED_OPTIONS) as handle:
        (header,) = [file for file, _ in libclang.inclusions(lib, handle)]
        monkeypatch.setattr(lib, "clang_getFileContents", None)
        assert libclang.contents(lib, handle, header) == READ


def test_a_text_in_place_of_a_file_counts(tmp_path, monkeypatch):
    write(tmp_path, {"x.h": "int disk;\n", "x.c": '#include "x.h"\n'})
    monkeypatch.setattr(libclang, "_LOADED", time.time_ns() + HOUR)
    lib = libclang.library()
    given = InputText(str(tmp_path / "x.h"), READ.decode())
    unit = Unit(str(tmp_path / "x.c"), ("-xc",), str(tmp_path), (), "x.c", replaced=(given,))
    with parse.parse_unit(lib, unit, None, libclang.PREFERRED_OPTIONS) as handle:
        (header,) = [file for file, _ in libclang.inclusions(lib, handle)]
        assert libclang.contents(lib, handle, header) == READ
