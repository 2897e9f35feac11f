"""Search of C sources below folders for allocations, by several processes if there are many files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import Progress, Unread
from layoutlint.model.record import replace
from layoutlint.model.storage import Allocator
from layoutlint.model.wanted import Wanted
from layoutlint.sources.allocations.allocation import Allocation
from layoutlint.sources.allocations.calls import find
from layoutlint.sources.allocations.struct_definitions import struct_typedefs
from layoutlint.workers.child import Lost
from layoutlint.workers.pool import map_ordered, processors

_MANY = 400
"""The number of files that is worth several processes."""
_CHUNK = 100
_DATABASE = "compile_commands.json"
_LARGEST = 1 << 27
"""The most bytes of a C file; the largest of Linux, a generated header of registers, has 22 million."""
Results = tuple[list[Allocation], list[Unread]]
_Found = tuple[list[Allocation], list[Unread], dict[str, str]]
"""Allocations, failures, and typedefs of structs with the tags of the structs."""


def read(
    paths: tuple[str, ...],
    wanted: Wanted | None,
    jobs: int,
    progress: Progress,
    declared: tuple[Allocator, ...] = (),
) -> Results:
    """Return the allocations in some files and in all C sources below some folders, sorted by file name.

    `declared` are functions of the project that allocate. Raises ReadError for a missing path.
    """
    unread: list[Unread] = []
    paths_found = _distinct(file for path in paths for file in _files(path, unread))
    allocations, failures, typedefs = _search(paths_found, wanted, jobs, progress, declared)
    if wanted is not None:
        aliases = {name for name, tag in typedefs.items() if wanted.matches(tag) and not wanted.matches(name)}
        if aliases:  # calls that name the struct by its typedef
            wanted = replace(wanted, names=wanted.names | aliases)
            allocations, failures, _ = _search(paths_found, wanted, jobs, progress, declared)
    return [_with_tag(allocation, typedefs) for allocation in allocations], unread + failures


def _search(
    paths_found: list[str],
    wanted: Wanted | None,
    jobs: int,
    progress: Progress,
    declared: tuple[Allocator, ...],
) -> _Found:
    """Return the allocations in some files, the files that could not be read, and all typedefs of structs."""
    unread: list[Unread] = []
    chunks = [paths_found[at : at + _CHUNK] for at in range(0, len(paths_found), _CHUNK)]
    allocations: list[Allocation] = []
    typedefs: dict[str, str] = {}
    for number, (chunk_allocations, chunk_failures, chunk_typedefs) in enumerate(
        _search_chunks(
            partial(_search_files, wanted=wanted, declared=declared), chunks, jobs, len(paths_found)
        )
    ):
        progress("sources", min((number + 1) * _CHUNK, len(paths_found)), len(paths_found))
        allocations += chunk_allocations
        unread += chunk_failures
        typedefs.update(chunk_typedefs)
    return allocations, unread, typedefs


def source_files(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return some files and all C sources below some folders. Raises ReadError for a missing path."""
    return tuple(_distinct(file for path in paths for file in _files(path, [])))


def _distinct(paths: Iterable[str]) -> list[str]:
    """Return each file once: a database has the absolute name of what a folder has a relative one of."""
    names: dict[str, str] = {}
    for path in paths:
        names.setdefault(os.path.abspath(path), _shortest(path))
    return list(names.values())


def _with_tag(allocation: Allocation, typedefs: dict[str, str]) -> Allocation:
    """Return an allocation with the struct that its typedef refers to, if the sources show it."""
    name = allocation.struct
    if not allocation.is_typedef or name not in typedefs:
        return allocation
    return replace(allocation, struct=typedefs[name] or name, is_typedef=False)


def _search_chunks(
    work: Callable[[list[str]], _Found], chunks: list[list[str]], jobs: int, file_count: int
) -> Iterator[_Found]:
    number = jobs or (processors() if file_count >= _MANY else 1)
    try:
        yield from map_ordered(work, chunks, number)
    except Lost as lost:
        path = chunks[lost.part or 0][0]
        raise ReadError(path, f"the process that read it and files beside it {lost.how}") from lost


def _search_files(paths: list[str], wanted: Wanted | None, declared: tuple[Allocator, ...]) -> _Found:
    allocations: list[Allocation] = []
    unread: list[Unread] = []
    typedefs: dict[str, str] = {}
    names = wanted.names if wanted is not None and not wanted.patterns else frozenset()
    for path in paths:
        try:
            text = files.read_all(path, _LARGEST).decode("latin-1")
        except OSError as error:
            unread.append(Unread(path, files.error_reason(error)))
            continue
        typedefs.update(struct_typedefs(text))
        if names and not any(name in text for name in names):
            continue
        in_file = find(text, path, None if wanted is None else wanted.matches, declared)
        if not in_file and "\0" in text:
            unread.append(Unread(path, "has bytes of value 0: it is not C text"))
        allocations += in_file
    return allocations, unread, typedefs


def _files_of_database(path: str) -> Iterator[str]:
    """Yield the sources that a compile_commands.json names, and the headers beside them."""
    from layoutlint.readers.clang import compdb  # folders of sources need none of it

    units = (os.path.join(command.directory, command.file) for command in compdb.load(path))
    existing = [unit for unit in dict.fromkeys(units) if files.is_file(unit)]
    yield from existing
    for folder in dict.fromkeys(os.path.dirname(unit) for unit in existing):
        try:
            names = files.names_in(folder or ".")
        except OSError:
            continue
        yield from (os.path.join(folder, name) for name in names if name.endswith(".h"))


def _shortest(path: str) -> str:
    """Return the normal form of a path, relative to the working folder if it is inside."""
    if not os.path.isabs(path):
        return os.path.normpath(path)
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative


def _files(path: str, unread: list[Unread]) -> Iterator[str]:
    if not files.is_folder(path):
        if not files.exists(path):
            raise ReadError(path, "no such file or directory")
        yield from _files_of_database(path) if os.path.basename(path) == _DATABASE else (path,)
        return

    def add_failure(error: OSError) -> None:
        unread.append(Unread(error.filename, files.error_reason(error)))

    paths: list[str] = []
    for folder, folders, names in files.walk(path, onerror=add_failure):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths += (os.path.join(folder, name) for name in names if name.endswith((".c", ".h")))
    if not paths:
        unread.append(Unread(path, "holds no C headers or sources"))
    yield from sorted(paths)
