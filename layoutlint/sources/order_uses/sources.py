"""The files in which uses of a struct are searched."""

from __future__ import annotations

import os
from collections.abc import Sequence

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.record import Record, field
from layoutlint.phrases import first_few
from layoutlint.sources.allocations.sources import source_files

_C = (".c", ".h", ".inc", ".def", ".inl", ".tbl", ".y", ".l", ".h.in", ".c.in", ".inc.in")
"""Files with C, or parts of it."""
CPLUSPLUS = (
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
ASSEMBLY = (".S", ".s", ".asm")
_OTHERS = (*CPLUSPLUS, *ASSEMBLY, ".rs")
_DATABASE = "compile_commands.json"
MOST_FILES = 200_000


class Corpus(Record):
    """The files to search, and what of the inputs is none."""

    files: list[str] = field(default_factory=list)
    other_language: list[str] = field(default_factory=list)
    """Files in C++, Objective-C, assembly and Rust, which are searched for the name and initial values."""
    missing: list[str] = field(default_factory=list)
    """Sentences on what could not be listed or is no C."""


def find(paths: Sequence[str]) -> Corpus:
    """Return the C files among some paths and below folders, each once and in order of their paths."""
    sources = Corpus()
    for path in paths:
        if files.is_folder(path):
            _add_folder(sources, path)
        elif os.path.basename(path) == _DATABASE:
            _add_database(sources, path)
        elif path.endswith(_OTHERS):
            sources.other_language.append(path)
        elif path.endswith(_C):
            sources.files.append(path)
        else:
            sources.missing.append(f"{path} is not a C source: it does not show what depends on the order")
    sources.files = list(dict.fromkeys(map(os.path.normpath, sources.files)))
    sources.other_language = list(dict.fromkeys(map(os.path.normpath, sources.other_language)))
    if len(sources.files) > MOST_FILES:
        sources.missing.append(
            f"{len(sources.files) - MOST_FILES:,} of {len(sources.files):,} files were not searched: "
            f"at most {MOST_FILES:,} are"
        )
        del sources.files[MOST_FILES:]
    return sources


def _add_folder(sources: Corpus, path: str) -> None:
    unlisted: list[str] = []
    for folder, below, names in files.walk(path, onerror=lambda error: unlisted.append(str(error.filename))):
        below[:] = sorted(name for name in below if not name.startswith("."))
        sources.files += (os.path.join(folder, name) for name in sorted(names) if name.endswith(_C))
        sources.other_language += (os.path.join(folder, name) for name in names if name.endswith(_OTHERS))
    if unlisted:
        sources.missing.append(f"folders that cannot be listed: {first_few(unlisted)}")


def _add_database(sources: Corpus, path: str) -> None:
    try:
        units = source_files((path,))
    except ReadError as error:
        sources.missing.append(f"{error.path} {error.reason}")
        return
    for unit in units:
        (sources.other_language if unit.endswith(_OTHERS) else sources.files).append(unit)
