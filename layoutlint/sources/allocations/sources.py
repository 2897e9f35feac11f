"""Search of C sources below folders for allocations, by several processes if there are many files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import Progress, Unread
from layoutlint.model.record import replace
from layoutlint.model.storage import ANY, Allocator, Storage
from layoutlint.model.structs import Source
from layoutlint.model.wanted import Wanted
from layoutlint.readers.c_tokens import blank_out
from layoutlint.sources.allocations import allocators, user_space
from layoutlint.sources.allocations.allocation import Allocation
from layoutlint.sources.allocations.allocators import Arguments, Maker, Making
from layoutlint.sources.allocations.declarations import DeclaredNames, Unclear
from layoutlint.sources.allocations.expressions import ObjectSize, number, tokens
from layoutlint.sources.allocations.struct_definitions import struct_typedefs
from layoutlint.sources.c_text import arguments
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
_MAKERS = {**allocators.MAKERS, **user_space.MAKERS}
_HINTS = (
    *("alloc", "KMEM_CACHE", "kmem_cache_create", "PER_CPU", "kmemdup"),
    *("memalign", "g_new", "g_try_new", "g_renew", "g_slice_new", "Alloc", "ShmemInitStruct"),
)
"""The name of every call contains one of these, which `str.find` locates fast."""
_ALIGNED = "cacheline"
_WORD = re.compile(r"\w+")
_OPEN = re.compile(r"\s*\(")
_CACHE_CALLS = ("kmem_cache_create", "KMEM_CACHE")
# KMEM_CACHE names the cache like the struct (include/linux/slab.h).
_CACHE_NAME = re.compile(r"""\s*\(\s*(?:"([^"\\\n]{1,255})"|(\w+))\s*,""")
# A variable on lines of its own; attributes follow the name, or precede it.
_VARIABLE = re.compile(
    r"^(?:(?:static|const|volatile)\s+){0,9}(?:struct|union)\s+(\w+)\s+(\w++)\s*((?:\[[^\]\n]*\]\s*){0,9})"
    r"(?:__\w+\s+){0,9}"
    r"(____cacheline_aligned(?:_in_smp)?|__cacheline_aligned(?:_in_smp)?|____cacheline_internodealigned_in_smp)"
    r"\s*(?:__\w++\s*)*[;=]",
    re.MULTILINE,
)


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
    declared = (*_wrappers(paths, paths_found), *declared)
    allocations, failures, typedefs = _search(paths_found, wanted, jobs, progress, declared)
    if wanted is not None:
        aliases = {name for name, tag in typedefs.items() if wanted.matches(tag) and not wanted.matches(name)}
        if aliases:  # calls that name the struct by its typedef
            wanted = replace(wanted, names=wanted.names | aliases)
            allocations, failures, _ = _search(paths_found, wanted, jobs, progress, declared)
    return [_with_tag(allocation, typedefs) for allocation in allocations], unread + failures


def _wrappers(paths: tuple[str, ...], sources: list[str]) -> tuple[Allocator, ...]:
    """Return the functions that compilation databases show to return the memory of an allocator."""
    databases = [path for path in paths if os.path.basename(path) == _DATABASE and files.is_file(path)]
    if not databases:
        return ()
    from layoutlint.sources.allocations import wrappers  # folders of sources need none of it

    return wrappers.find(databases, sources)


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
    for finished, (chunk_allocations, chunk_failures, chunk_typedefs) in enumerate(
        _search_chunks(
            partial(_search_files, wanted=wanted, declared=declared), chunks, jobs, len(paths_found)
        ),
        start=1,
    ):
        progress("sources", min(finished * _CHUNK, len(paths_found)), len(paths_found))
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


def find(
    text: str,
    file: str,
    wanted: Callable[[str], bool] | None = None,
    declared: tuple[Allocator, ...] = (),
) -> list[Allocation]:
    """Return the allocations of a source in their order, limited to those of `wanted` structs if given.

    `declared` are functions of the project that allocate.
    """
    makers = {**_MAKERS, **user_space.makers_of(declared)} if declared else _MAKERS
    hints = _HINTS + tuple(f.name for f in declared if not any(hint in f.name for hint in _HINTS))
    if not _call_names(text, makers, hints) and _ALIGNED not in text:
        return []
    code = blank_out(text)
    allocations: list[Allocation] = []
    names = DeclaredNames(code)
    line, previous = 1, 0
    candidates = (*_calls(code, makers, hints), *_variables(code))
    for at, call, making in sorted(candidates, key=lambda candidate: candidate[0]):
        line, previous = line + text.count("\n", previous, at), at
        allocation = _allocation(at, call, making, names, Source(file, line))
        if allocation is not None and (wanted is None or wanted(allocation.struct)):
            allocations.append(replace(allocation, cache=_cache_name(text, at, call)))
    return allocations


def _cache_name(text: str, at: int, call: str) -> str:
    """Return the name of the slab cache that a call makes; empty if it makes none, or does not show it."""
    named = _CACHE_NAME.match(text, at + len(call)) if call.startswith(_CACHE_CALLS) else None
    if named is None:
        return ""
    return (named[2] if call.startswith("KMEM_CACHE") else named[1]) or ""


def read_cache_names(paths: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return the names of the slab caches that calls in C files, and those below folders, make for structs.

    Files that cannot be read are left out. Raises ReadError for a missing path.
    """
    names: dict[str, dict[str, None]] = {}
    for path in source_files(paths):
        try:
            text = files.read_all(path, _LARGEST).decode("latin-1")
        except OSError:
            continue
        for call in find(text, path) if any(word in text for word in _CACHE_CALLS) else ():
            if call.cache and call.struct:
                names.setdefault(call.struct, {})[call.cache] = None
    return {struct: tuple(own) for struct, own in names.items()}


_Candidate = tuple[int, str, Making]
"""Offset of a call, its name, and what it makes."""


def _call_names(text: str, makers: Mapping[str, Maker], hints: tuple[str, ...]) -> list[tuple[int, str]]:
    """Return offsets and names of calls that can allocate."""
    names: dict[int, str] = {}
    for hint in hints:
        at = text.find(hint)
        while at >= 0:
            start, end = at, at + len(hint)
            while start and (text[start - 1].isalnum() or text[start - 1] == "_"):
                start -= 1
            word = _WORD.match(text, start)
            end = word.end() if word is not None else end
            if text[start:end] in makers:
                names[start] = text[start:end]
            at = text.find(hint, end)
    return list(names.items())


def _calls(code: str, makers: Mapping[str, Maker], hints: tuple[str, ...]) -> Iterator[_Candidate]:
    for at, name in _call_names(code, makers, hints):
        parenthesis = _OPEN.match(code, at + len(name))
        parsed = arguments(code, parenthesis.end() - 1) if parenthesis is not None else None
        making = makers[name](Arguments(parsed[0], code, at)) if parsed is not None else None
        if making is not None:
            yield at, name, making


def _variables(code: str) -> Iterator[_Candidate]:
    for variable in _VARIABLE.finditer(code) if _ALIGNED in code else ():
        dims = re.findall(r"\[([^\][]*+)\]", variable[3])
        count = None if not dims else number(tokens(dims[0])) or ANY if len(dims) == 1 else ANY
        yield variable.start(), variable[4], Making(ObjectSize(("struct", variable[1]), count), "line")


def _allocation(
    at: int, call: str, making: Making, names: DeclaredNames, source: Source
) -> Allocation | None:
    """Return the allocation that a call makes; None if its size is no struct's."""
    size = making.size
    if not size.operand:
        return Allocation("", call, source, None, problem=size.problem) if size.problem else None
    meaning = names.meaning(size.operand, at)
    problem = size.problem or making.problem
    if meaning is None:
        return None
    if isinstance(meaning, Unclear):
        return Allocation("", call, source, None, problem=meaning.reason)
    storage = None if problem else _storage(making, source)
    return Allocation(meaning.name, call, source, storage, meaning.is_typedef, making.details, problem)


def _storage(making: Making, source: Source) -> Storage:
    return Storage(making.word, source, making.align, None, making.size.count, making.has_constructor)


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
