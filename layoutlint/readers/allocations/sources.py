"""C sources below some folders, read by several processes where there are many."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial

from layoutlint import files as bounded
from layoutlint.errors import ReadError
from layoutlint.model.reading import Progress, Unread
from layoutlint.model.wanted import Wanted
from layoutlint.readers.allocations.allocation import Allocation
from layoutlint.readers.allocations.calls import find
from layoutlint.readers.processes.child import Lost
from layoutlint.readers.processes.pool import ordered, processors

_MANY = 400
"""Files from which on processes are worth their start."""
_CHUNK = 100
_LARGEST = 1 << 27
"""Bytes of a C file; the largest of Linux, a generated header of registers, has 22 million."""
Found = tuple[list[Allocation], list[Unread]]


def read(paths: tuple[str, ...], wanted: Wanted | None, jobs: int, progress: Progress) -> Found:
    """The allocations in some files and in all C sources below some folders, in the order of their names.

    Raises ReadError for a path that is not there.
    """
    unread: list[Unread] = []
    files = list(dict.fromkeys(file for path in paths for file in _files(path, unread)))
    chunks = [files[at : at + _CHUNK] for at in range(0, len(files), _CHUNK)]
    found: list[Allocation] = []
    for number, (told, failed) in enumerate(_each(partial(_chunk, wanted=wanted), chunks, jobs, len(files))):
        progress("sources", min((number + 1) * _CHUNK, len(files)), len(files))
        found += told
        unread += failed
    return found, unread


def _each(
    work: Callable[[list[str]], Found], chunks: list[list[str]], jobs: int, files: int
) -> Iterator[Found]:
    number = jobs or (processors() if files >= _MANY else 1)
    try:
        yield from ordered(work, chunks, number)
    except Lost as lost:
        path = chunks[lost.part or 0][0]
        raise ReadError(path, f"the process that read it and files beside it {lost.how}") from lost


def _chunk(files: list[str], wanted: Wanted | None) -> Found:
    found: list[Allocation] = []
    unread: list[Unread] = []
    names = wanted.names if wanted is not None and not wanted.patterns else frozenset()
    for file in files:
        try:
            text = bounded.content(file, _LARGEST).decode("latin-1")
        except OSError as error:
            unread.append(Unread(file, bounded.why(error)))
            continue
        if names and not any(name in text for name in names):
            continue
        told = find(text, file, None if wanted is None else wanted.matches)
        if not told and "\0" in text:
            unread.append(Unread(file, "has bytes of value 0, and so is no C text"))
        found += told
    return found, unread


def _files(path: str, unread: list[Unread]) -> Iterator[str]:
    if not os.path.isdir(path):
        if not os.path.exists(path):
            raise ReadError(path, "no such file or directory")
        yield path
        return

    def failed(error: OSError) -> None:
        unread.append(Unread(error.filename, bounded.why(error)))

    found: list[str] = []
    for folder, folders, names in os.walk(path, onerror=failed):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += (os.path.join(folder, name) for name in names if name.endswith((".c", ".h")))
    if not found:
        unread.append(Unread(path, "holds no C headers or sources"))
    yield from sorted(found)
