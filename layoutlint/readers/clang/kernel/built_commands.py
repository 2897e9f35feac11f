"""The commands with which kbuild compiled sources outside of a kernel tree: `.x.o.cmd` beside `x.c`.

Most of their flags are those of the tree. The others are what makefiles, and the command line of make, add.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from itertools import islice

from layoutlint import files
from layoutlint.model.record import Record
from layoutlint.readers.clang import flags, text_search
from layoutlint.readers.clang.kernel.makefile import Added, Makefiles

_COMMAND = re.compile(r"^(?:saved)?cmd_\S+\.o :=(.*)$", re.MULTILINE)
"""The first line of the file (scripts/basic/fixdep.c); `saved` since v6.2."""
_LARGEST = 1 << 22
"""The most bytes of such a file; those of Linux v7.2 have up to 100 thousand."""
_SUFFIX = ".o.cmd"
_FIRST = frozenset(("compiler-version.h", "kconfig.h", "compiler_types.h", "hidden.h"))
"""Headers of include/linux that are read first."""
_FOLDERS = ("-I", "-isystem", "-iquote", "-idirafter")
_MOST_FILES = 2_000
"""The most files of a module that are searched for the source that includes a header."""


class _Command(Record, frozen=True):
    """The command that compiled a source."""

    file: str
    """The file that states it."""
    words: tuple[str, ...]


def find_flags(path: str, module: str, makefiles: Makefiles) -> Added | None:
    """Return what the command of a source, or of one that includes a header, adds to the flags of the tree.

    `module` is the folder that `make M=` names. None if nothing was built, or for another kernel.
    """
    directory = module if makefiles.working_folder == makefiles.module else makefiles.working_folder
    if path.endswith(".c"):
        command = _read(f"{os.path.dirname(path)}/.{os.path.basename(path)[:-2]}{_SUFFIX}", makefiles, None)
    else:
        command = _of_includer(path, module, directory, makefiles)
    if command is None:
        return None
    words = flags.make_absolute(command.words, directory)
    headers = {files.real_path(header) for header in flags.headers_in_front(words)}
    if files.real_path(os.path.join(makefiles.tree.source, "include/linux/kconfig.h")) not in headers:
        return None
    parsed = flags.normalise(tuple(_own_words(words, makefiles)))
    problem = parsed.problem or parsed.refusal or next(_missing(command.words, makefiles), None)
    return Added(parsed.passed, problem and f"{os.path.relpath(command.file)}: {problem}", parsed.doubts)


def _own_words(words: tuple[str, ...], makefiles: Makefiles) -> Iterator[str]:
    """Yield the words of a command that can change layouts, and are not those of the tree."""
    tree = makefiles.tree
    folders = frozenset(map(files.real_path, tree.folders))
    first = os.path.join(files.real_path(tree.source), "include/linux")
    for option, value in flags.options_of(words):
        if value is None:
            is_own = option.startswith("-") and not makefiles.changes_nothing(option)
        elif option in _FOLDERS:
            is_own = files.real_path(value) not in folders
        elif option in flags.IN_FRONT:
            folder, name = os.path.split(files.real_path(value))
            is_own = folder != first or name not in _FIRST
        else:
            is_own = option in ("-D", "-U") and not makefiles.changes_nothing(option + value)
        if is_own:
            yield from (option,) if value is None else (option, value)


def _missing(words: tuple[str, ...], makefiles: Makefiles) -> Iterator[str]:
    """Yield the flags of the tree on types that a command lacks."""
    for flag in makefiles.tree.flags:
        if flag.startswith("-f") and flag not in words:
            yield f"compiled without {flag}, which may change layouts"


def _of_includer(header: str, module: str, directory: str, makefiles: Makefiles) -> _Command | None:
    """Return the first command of a module that read a header; None if there is none."""
    places = islice(text_search.files_below([module], (_SUFFIX,)), _MOST_FILES)
    commands = (_read(place, makefiles, (header, directory)) for place in places)
    return next(filter(None, commands), None)


def _read(place: str, makefiles: Makefiles, read: tuple[str, str] | None) -> _Command | None:
    """Return the command that a file states; None for another file, or if it did not read a header.

    `read` has the header, and the folder to which the names of files that were read are relative.
    """
    try:
        text = makefiles.flag_files.read_all(place, _LARGEST).decode(errors="surrogateescape")
    except OSError:
        return None
    match = _COMMAND.match(text)
    if match is None or (read is not None and not _has_read(text, *read)):
        return None
    command = match[1].replace("$(pound)", "#").replace("\\#", "#").replace("$$", "$").partition(" ; ")[0]
    try:
        return _Command(place, tuple(shlex.split(command)[1:]))
    except ValueError:
        return None


def _has_read(text: str, header: str, directory: str) -> bool:
    """Return whether a list of files that were read has a header."""
    names = re.findall(rf"^  (\S*{re.escape(os.path.basename(header))})(?: \\)?$", text, re.MULTILINE)
    real_path = files.real_path(header)
    return any(files.real_path(os.path.join(directory, name)) == real_path for name in names)
