"""The build system of a project, by the files in its folder, and a bounded choice of its C files to read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.record import Record
from layoutlint.readers.clang import compdb, text_search
from layoutlint.readers.clang.kernel import tree as kernel_tree

_CENTRAL = ("linux/fs.h", "linux/netdevice.h", "linux/mm.h", "linux/blkdev.h", "net/sock.h")
"""Headers of Linux that lead to most others."""
_MOST_FILES = 12
"""The most C files that are read, within some ten seconds. Of Valkey, 60 give the same guesses."""
_SHARED = re.compile(rb"(?:[Ll]ock|[Mm]utex|atomic|_Atomic|refcount|kref|_ops\b|semaphore)\w*")
"""Words of declarations that several threads are likely to use."""
_STRUCT = re.compile(rb"\bstruct\s+\w+\s*\{|\btypedef\s+struct\b")


class BuildSystem(Record, frozen=True):
    """How a project is built, as far as its files show it."""

    name: str
    input: str
    """The INPUT for `check`, relative to the project."""
    prepare: str = ""
    """The command that makes the input; empty if nothing must be made."""
    is_ready: bool = True
    """Whether the input exists."""
    problem: str = ""
    """Why nothing can be read before `prepare` has run; empty if something can."""
    packages: str = ""
    """The packages of Debian and Ubuntu with the programs of `prepare`, without a compiler and make."""


_MARKERS = (
    # a file, the name, the input, the command that makes it, the packages with its programs
    (
        "CMakeLists.txt", "CMake", f"build/{compdb.NAME}",
        "cmake -B build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "cmake",
    ),
    ("meson.build", "Meson", f"build/{compdb.NAME}", "meson setup build", "meson"),
    ("configure", "autotools", compdb.NAME, "./configure && bear -- make", "bear"),
    (
        "configure.ac", "autotools", compdb.NAME, "autoreconf -i && ./configure && bear -- make",
        "autoconf automake libtool bear",
    ),
    ("GNUmakefile", "make", compdb.NAME, "bear -- make", "bear"),
    ("Makefile", "make", compdb.NAME, "bear -- make", "bear"),
    ("makefile", "make", compdb.NAME, "bear -- make", "bear"),
)  # fmt: skip
_OF_KERNEL = "make defconfig prepare", "bc bison flex libelf-dev libssl-dev"
"""The command that configures Linux, and the packages with what it runs."""


def find(folder: str) -> BuildSystem:
    """Return the build system of a project's folder: a kernel tree, a known one, or plain C files."""
    try:
        kernel = kernel_tree.find(folder)
    except ReadError as error:
        return BuildSystem("Linux tree", ".", _OF_KERNEL[0], False, error.reason, _OF_KERNEL[1])
    if kernel is not None:
        return BuildSystem("Linux tree", ".", _OF_KERNEL[0], packages=_OF_KERNEL[1])
    database = find_database(folder)
    for marker, name, made, command, packages in _MARKERS:
        if files.is_file(os.path.join(folder, marker)):
            return BuildSystem(name, database or made, command, database is not None, packages=packages)
    return BuildSystem("C files", database or ".")


def find_database(folder: str) -> str | None:
    """Return the compilation database of a project, relative to its folder; None if there is none inside."""
    for below in compdb.BUILD_FOLDERS:
        path = os.path.join(below, compdb.NAME)
        if files.is_file(os.path.join(folder, path)) and _is_inside(folder, path):
            return path
    return None


def include_folders(folder: str) -> tuple[str, ...]:
    """Return the folders, relative to a project's, in which compilers usually search its headers."""
    return tuple(name for name in ("include", "src", "lib") if _has_headers(os.path.join(folder, name)))


def _has_headers(folder: str) -> bool:
    return not files.is_link(folder) and any(
        True for _ in islice(text_search.files_below([folder], (".h",)), 1)
    )


def kernel_headers(folder: str) -> list[str]:
    """Return some headers of a kernel tree that lead to most of its structs."""
    paths = (os.path.join(folder, "include", name) for name in _CENTRAL)
    return [path for path in paths if files.is_file(path)]


class Choice(Record, frozen=True):
    """The C files of a project that are read, those with most locks and the like first."""

    paths: tuple[str, ...]
    count: int
    """The number of all C files."""
    has_all: bool
    """Whether no other file names a lock or the like."""


def part_of_database(path: str) -> tuple[str, Choice]:
    """Return a database of the C files with most locks and the like.

    A file that is compiled several times counts once. Raises ReadError.
    """
    commands: dict[tuple[str, str], compdb.Command] = {}
    for each in compdb.load(path):
        if each.file.endswith(".c"):
            commands.setdefault((each.directory, each.file), each)
    words = {key: _shared_words(command) for key, command in commands.items()}
    ranked = sorted(commands.values(), key=lambda each: words[each.directory, each.file], reverse=True)
    entries = [
        {"file": each.file, "directory": each.directory, "arguments": [each.compiler, *each.words]}
        for each in ranked[:_MOST_FILES]
    ]
    has_all = not any(words[each.directory, each.file] for each in ranked[_MOST_FILES:])
    names = tuple(each.file for each in ranked[:_MOST_FILES])
    return json.dumps(entries), Choice(names, len(commands), has_all)


def _shared_words(command: compdb.Command) -> int:
    path = os.path.join(command.directory, command.file)
    return len(_SHARED.findall(text_search.content(path))) if files.is_file(path) else 0


def files_with_shared_structs(folder: str) -> Choice:
    """Return the C files below a folder that define structs and have most words of locks and the like.

    Links are left out: they can lead out of the tree.
    """
    below = text_search.files_below([folder], (".h", ".c"))
    paths = list(islice((path for path in below if not files.is_link(path)), text_search.MOST_FILES))
    ranked = sorted(_rank_paths(paths))
    chosen = tuple(os.path.normpath(path) for _, _, path in ranked[:_MOST_FILES])
    return Choice(chosen, len(paths), len(ranked) <= _MOST_FILES)


def _rank_paths(paths: Iterable[str]) -> Iterator[tuple[int, bool, str]]:
    for path in paths:
        text = text_search.content(path)
        words = len(_SHARED.findall(text)) if _STRUCT.search(text) else 0
        if words:
            yield -words, not path.endswith(".h"), path


def _is_inside(folder: str, path: str) -> bool:
    top = files.real_path(folder)
    return files.real_path(os.path.join(folder, path)).startswith(f"{top}{os.sep}")
