"""The files in which uses of a struct are searched."""

from __future__ import annotations

import os
from collections.abc import Sequence

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.record import Record, field
from layoutlint.phrases import first_few
from layoutlint.readers.allocations.sources import source_files

_C = (".c", ".h", ".inc", ".def", ".inl", ".tbl", ".y", ".l", ".h.in", ".c.in", ".inc.in")
"""Files with C, or parts of it."""
_CPLUSPLUS = (
    ".cc",
    ".cpp",
    ".cxx",
    ".c++",
    ".C",
    ".hpp",
    ".hh",
    ".hxx",
    ".h++",
    ".H",
    ".ipp",
    ".tcc",
    ".cu",
    ".cuh",
    ".m",
    ".mm",
)
"""C++ demands designated values in declared order, and so depends on the order."""
_DATABASE = "compile_commands.json"
MOST_FILES = 200_000


class Sources(Record):
    """The files to search, and what of the inputs is none."""

    files: list[str] = field(default_factory=list)
    other_language: list[str] = field(default_factory=list)
    """C++ and Objective-C files, which are searched for the name alone."""
    missing: list[str] = field(default_factory=list)
    """Sentences on what could not be listed or is no C."""


def find(paths: Sequence[str]) -> Sources:
    """Return the C files among some paths and below folders, each once and in order of their paths."""
    found = Sources()
    for path in paths:
        if files.is_folder(path):
            _add_folder(found, path)
        elif os.path.basename(path) == _DATABASE:
            _add_database(found, path)
        elif path.endswith(_CPLUSPLUS):
            found.other_language.append(path)
        elif path.endswith(_C):
            found.files.append(path)
        else:
            found.missing.append(f"{path} is no C source: what depends on the order cannot be seen in it")
    found.files = list(dict.fromkeys(map(os.path.normpath, found.files)))
    found.other_language = list(dict.fromkeys(map(os.path.normpath, found.other_language)))
    if len(found.files) > MOST_FILES:
        found.missing.append(
            f"{len(found.files) - MOST_FILES:,} of {len(found.files):,} files were not searched: "
            f"at most {MOST_FILES:,} are"
        )
        del found.files[MOST_FILES:]
    return found


def _add_folder(found: Sources, path: str) -> None:
    unlisted: list[str] = []
    hidden = 0
    for folder, below, names in files.walk(path, onerror=lambda error: unlisted.append(str(error.filename))):
        hidden += sum(name.startswith(".") for name in below)
        below[:] = sorted(name for name in below if not name.startswith("."))
        found.files += (os.path.join(folder, name) for name in sorted(names) if name.endswith(_C))
        found.other_language += (os.path.join(folder, name) for name in names if name.endswith(_CPLUSPLUS))
    if unlisted:
        found.missing.append(f"folders that cannot be listed: {first_few(unlisted)}")


def _add_database(found: Sources, path: str) -> None:
    try:
        units = source_files((path,))
    except ReadError as error:
        found.missing.append(f"{error.path} {error.reason}")
        return
    for unit in units:
        (found.other_language if unit.endswith(_CPLUSPLUS) else found.files).append(unit)
