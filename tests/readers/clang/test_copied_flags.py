"""The flags of a database of the working tree for a copy of it: what is the copy's, what stays, and where generated headers are."""

from __future__ import annotations

import re

import pytest

from layoutlint.model.reading import TreeCopy
from layoutlint.readers.clang import copied_flags
from layoutlint.readers.clang.compdb import Command
from tests.harness.repository import write

FILES = {
    # the working tree, the copy of what git tracks, and the links to what it does not track
    "top/inc/a.h": "", "top/inc/made.h": "", "top/build/made.h": "", "top/src/a.c": "", "top/src/made.c": "", "top/top.h": "", "topmost/x.h": "",
    "top/new.h": "",
    "copy/inc/a.h": "", "copy/src/a.c": "", "copy/top.h": "", "copy/src/rsp": "",
    "made/inc/made.h": "", "made/build/made.h": "", "made/src/made.c": "",
}  # fmt: skip
TRACKED = frozenset((".", "inc", "src"))
FLAGS = [
    # flags of the tree in its folder `src`, for a copy, and for one that itself has the generated files
    ("-I../inc", "-ICOPY/inc -IMADE/inc", "-ICOPY/inc"),
    ("-I ../inc", "-I COPY/inc -I MADE/inc", "-I COPY/inc"),
    ("-isystem ../inc", "-isystem COPY/inc -isystem MADE/inc", "-isystem COPY/inc"),
    ("-iquote TOP/inc/", "-iquote COPY/inc -iquote MADE/inc", "-iquote COPY/inc"),
    ("-idirafter TOP/inc/../inc", "-idirafter COPY/inc -idirafter MADE/inc", "-idirafter COPY/inc"),
    ("-ITOP", "-ICOPY -IMADE", "-ICOPY"),
    ("-ITOP/build", "-ITOP/build", "-ICOPY/build"),
    ("-ITOP/gone", "-ITOP/gone", "-ICOPY/gone"),
    ("-ICOPY/inc", "-ICOPY/inc -IMADE/inc", "-ICOPY/inc"),
    ("-ICOPY/build", "-ITOP/build", "-ICOPY/build"),
    ("-ITOPmost", "-ITOPmost", "-ITOPmost"),
    ("-I/usr/include", "-I/usr/include", "-I/usr/include"),
    ("-include ../inc/a.h", "-include COPY/inc/a.h", "-include COPY/inc/a.h"),
    ("-include ../inc/made.h", "-include TOP/inc/made.h", "-include COPY/inc/made.h"),
    ("-include ../build/made.h", "-include TOP/build/made.h", "-include COPY/build/made.h"),
    ("-imacros ../new.h", "-imacros COPY/new.h", "-imacros COPY/new.h"),
    ("-imacros COPY/inc/made.h", "-imacros TOP/inc/made.h", "-imacros COPY/inc/made.h"),
    ("-isysroot ../inc", "-isysroot COPY/inc", "-isysroot COPY/inc"),
    ("--sysroot=TOP/build", "--sysroot=TOP/build", "--sysroot=COPY/build"),
    ("--sysroot=/", "--sysroot=/", "--sysroot=/"),
    ("-IOUT/inc", "-ICOPY/inc -IMADE/inc", "-ICOPY/inc"),
    ("-include OUT/inc/a.h", "-include COPY/inc/a.h", "-include COPY/inc/a.h"),
    ("-ITOP/lnk", "-ICOPY/lnk", "-ICOPY/lnk"),
    ("-IOUT/lnk/below", "-ICOPY/lnk/below", "-ICOPY/lnk/below"),
    ("-DX=../inc -w", "-DX=../inc -w", "-DX=../inc -w"),
]  # fmt: skip
PATHS = [
    # a path, that in the working tree, in the copy, in one with generated files
    ("COPY/inc/a.h", "TOP/inc/a.h", "COPY/inc/a.h", "COPY/inc/a.h"),
    ("TOP/inc/a.h", "TOP/inc/a.h", "COPY/inc/a.h", "COPY/inc/a.h"),
    ("TOP/inc/../inc//a.h", "TOP/inc/a.h", "COPY/inc/a.h", "COPY/inc/a.h"),
    ("TOP/inc/made.h", "TOP/inc/made.h", "TOP/inc/made.h", "COPY/inc/made.h"),
    ("COPY/inc/made.h", "TOP/inc/made.h", "TOP/inc/made.h", "COPY/inc/made.h"),
    ("TOP/new.h", "TOP/new.h", "COPY/new.h", "COPY/new.h"),
    ("TOP", "TOP", "COPY", "COPY"),
    ("COPY", "TOP", "COPY", "COPY"),
    ("TOPmost/x.h", "TOPmost/x.h", "TOPmost/x.h", "TOPmost/x.h"),
    ("COPY2/x.h", "COPY2/x.h", "COPY2/x.h", "COPY2/x.h"),
    ("OUT/inc/a.h", "OUT/inc/a.h", "COPY/inc/a.h", "COPY/inc/a.h"),
    ("/usr/x.h", "/usr/x.h", "/usr/x.h", "/usr/x.h"),
]  # fmt: skip
COMMANDS = [
    # the folder and the file of a command, files nearby, the file of the copy, folders in which quoted headers are also searched
    ("TOP/src", "a.c", (), "COPY/src/a.c", ["MADE/src"]),
    ("TOP", "src/a.c", (), "COPY/src/a.c", ["MADE/src"]),
    ("COPY/src", "a.c", (), "COPY/src/a.c", ["MADE/src"]),
    ("TOP/src", "made.c", (), "TOP/src/made.c", ["MADE/src"]),
    ("TOP/src", "TOP/src/a.c", ("TOP/inc/a.h", "TOP/src/b.h", "COPY/inc/b.h", "TOP/build/x.h"), "COPY/src/a.c", ["MADE/src", "MADE/inc", "MADE/build"]),
    ("/elsewhere", "a.c", ("TOP/gone/x.h", "/usr/x.h", "TOPmost/x.h"), "/elsewhere/a.c", []),
    ("TOP", "top.h", (), "COPY/top.h", ["MADE"]),
]  # fmt: skip


@pytest.fixture
def copies(tmp_path):
    """A copy with links to generated files, and one that has these itself; names of the folders, and of a link to the tree."""
    write(tmp_path, FILES)
    top, folder, made = (str(tmp_path / name) for name in ("top", "copy", "made"))
    (tmp_path / "out").symlink_to("top")
    copy = TreeCopy(top, folder, top, TRACKED, made, frozenset(["lnk"]))
    return copy, TreeCopy(top, folder, top, TRACKED), {"TOP": top, "COPY": folder, "MADE": made, "OUT": str(tmp_path / "out")}


def fill(text, names):
    return re.sub("|".join(names), lambda match: names[match[0]], text)


def show(text, names):
    for name, folder in names.items():
        text = text.replace(folder, name)
    return text


@pytest.mark.parametrize(("path", "in_tree", "in_copy", "in_other"), PATHS, ids=[row[0] for row in PATHS])
def test_paths(path, in_tree, in_copy, in_other, copies):
    copy, other, names = copies
    path = fill(path, names)
    found = copied_flags.path_in_working_tree(copy, path), copied_flags.path_in_copy(copy, path), copied_flags.path_in_copy(other, path)
    assert tuple(show(each, names) for each in found) == (in_tree, in_copy, in_other)


def test_a_path_in_the_working_folder(copies, monkeypatch):
    copy, _, names = copies
    monkeypatch.chdir(fill("COPY/inc", names))
    assert show(copied_flags.path_in_working_tree(copy, "a.h"), names) == "TOP/inc/a.h"


@pytest.mark.parametrize(("words", "in_copy", "in_other"), FLAGS, ids=[row[0] for row in FLAGS])
def test_flags(words, in_copy, in_other, copies):
    copy, other, names = copies
    command = Command(fill("TOP/src/a.c", names), fill("TOP/src", names), tuple(fill(words, names).split()), "gcc")
    found, found_other = (copied_flags.command_for_copy(each, command) for each in (copy, other))
    assert show(" ".join(found.words), names) == f"{in_copy} -iquote MADE/src"
    assert show(" ".join(found_other.words), names) == in_other
    assert {(show(each.file, names), show(each.directory, names), each.compiler) for each in (found, found_other)} == {("COPY/src/a.c", "TOP/src", "gcc")}


@pytest.mark.parametrize(("folder", "file", "near", "in_copy", "quoted"), COMMANDS, ids=[f"{row[0]} {row[1]}" for row in COMMANDS])
def test_commands(folder, file, near, in_copy, quoted, copies):
    copy, _, names = copies
    command = Command(fill(file, names), fill(folder, names), ("-w",))
    found = copied_flags.command_for_copy(copy, command, tuple(fill(each, names) for each in near))
    assert show(found.file, names) == in_copy
    assert [show(word, names) for word in found.words] == ["-w", *(word for each in quoted for word in ("-iquote", each))]
