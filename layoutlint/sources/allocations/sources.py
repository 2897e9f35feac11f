"""Search of C sources below folders for allocations, by several processes if there are many files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TypeVar

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import Progress, Unread
from layoutlint.model.record import replace
from layoutlint.model.storage import ANY, Allocator, Storage
from layoutlint.model.structs import Source
from layoutlint.model.wanted import Wanted
from layoutlint.readers.c_tokens import blank_out
from layoutlint.sources.allocations import allocators, definitions, user_space, wrappers
from layoutlint.sources.allocations.allocation import Allocation
from layoutlint.sources.allocations.allocators import Arguments, Maker, Making
from layoutlint.sources.allocations.declarations import DeclaredNames, Unclear
from layoutlint.sources.allocations.definitions import Definition
from layoutlint.sources.allocations.expressions import ObjectSize, Tokens, number, size, tokens
from layoutlint.sources.allocations.struct_definitions import struct_typedefs
from layoutlint.sources.allocations.wrappers import Wrapper
from layoutlint.sources.c_text import arguments
from layoutlint.workers.child import Lost
from layoutlint.workers.pool import map_ordered, processors

_MANY = 400
"""The number of files that is worth several processes."""
_CHUNK = 100
_DATABASE = "compile_commands.json"
_LARGEST = 1 << 27
"""The most bytes of a C file; the largest of Linux, a generated header of registers, has 22 million."""
_T = TypeVar("_T")
Results = tuple[list[Allocation], list[Unread]]
_Found = tuple[list[Allocation], list[Unread], dict[str, str], frozenset[tuple[str, str]]]
"""Allocations, failures, typedefs of structs with the tags of the structs, and the names of other calls with
a size, each with its file."""
_MAKERS = {**allocators.MAKERS, **user_space.MAKERS}
_HINTS = (
    *("alloc", "KMEM_CACHE", "kmem_cache_create", "PER_CPU", "kmemdup"),
    *("memalign", "g_new", "g_try_new", "g_renew", "g_slice_new", "Alloc", "ShmemInitStruct"),
)
"""The name of every call contains one of these, which `str.find` locates fast."""
_NO_FUNCTIONS = frozenset(("sizeof", "if", "while", "for", "switch", "return", "memset", "memcpy", "memcmp"))
_ALIGNED = "cacheline"
_WORD = re.compile(r"\w+")
_OPEN = re.compile(r"\s*\(")
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

    `declared` are functions of the project that allocate; others are those whose body shows that they return
    the result of one. Raises ReadError for a missing path.
    """
    unread: list[Unread] = []
    paths_found = _distinct(file for path in paths for file in _files(path, unread))
    search = partial(_search, jobs, progress, declared)
    allocations, failures, typedefs, other_calls = search(paths_found, wanted, ())
    if wanted is not None:
        aliases = {name for name, tag in typedefs.items() if wanted.matches(tag) and not wanted.matches(name)}
        if aliases:  # calls that name the struct by its typedef
            wanted = replace(wanted, names=wanted.names | aliases)
            allocations, failures, _, other_calls = search(paths_found, wanted, ())
    known = _wrappers(frozenset(name for name, _ in other_calls), paths, paths_found, jobs, declared)
    names = frozenset(each.name for each in known)
    calling = {file for name, file in other_calls if name in names}
    if calling:
        places = {path: number for number, path in enumerate(paths_found)}
        others = [each for each in allocations if each.source.file not in calling]
        found = search([path for path in paths_found if path in calling], wanted, known)[0]
        allocations = sorted((*others, *found), key=lambda each: places[each.source.file])
    return [_with_tag(allocation, typedefs) for allocation in allocations], unread + failures


def _search(
    jobs: int,
    progress: Progress,
    declared: tuple[Allocator, ...],
    paths_found: list[str],
    wanted: Wanted | None,
    known: tuple[Wrapper, ...],
) -> _Found:
    """Return what is found in some files; the files that could not be read among it."""
    work = partial(_search_files, wanted=wanted, declared=declared, known=known)
    allocations: list[Allocation] = []
    unread: list[Unread] = []
    typedefs: dict[str, str] = {}
    other_calls: set[tuple[str, str]] = set()
    for finished, chunk in enumerate(_in_chunks(work, paths_found, jobs), start=1):
        progress("sources", min(finished * _CHUNK, len(paths_found)), len(paths_found))
        allocations += chunk[0]
        unread += chunk[1]
        typedefs.update(chunk[2])
        other_calls |= chunk[3]
    return allocations, unread, typedefs, frozenset(other_calls)


def _wrappers(
    names: frozenset[str],
    paths: tuple[str, ...],
    paths_found: list[str],
    jobs: int,
    declared: tuple[Allocator, ...],
) -> tuple[Wrapper, ...]:
    """Return the functions and macros among some names that allocate.

    If conditions decide about one, its source is read as the database among the paths compiles it.
    """
    makers = _known_makers(declared)
    known = wrappers.find(names, makers, lambda sought: _definitions_of(paths_found, jobs, sought, {}))
    databases = [path for path in paths if os.path.basename(path) == _DATABASE]
    units = frozenset(os.path.abspath(file) for each in known if each.problem for file in each.definers)
    if not databases or not units:
        return known
    from layoutlint.sources.allocations.compiled_texts import compiled_texts

    own = frozenset(map(os.path.abspath, paths_found))
    texts = {path: text for each in databases for path, text in compiled_texts(each, units, own).items()}
    return wrappers.find(names, makers, lambda sought: _definitions_of(paths_found, jobs, sought, texts))


def _definitions_of(
    paths_found: list[str], jobs: int, names: frozenset[str], texts: Mapping[str, str]
) -> list[Definition]:
    """Return all definitions of some functions and macros in some files; `texts` replace those of files."""
    chunks = _in_chunks(partial(_definitions_in, names=names, texts=texts), paths_found, jobs)
    return [definition for chunk in chunks for definition in chunk]


def _definitions_in(paths: list[str], names: frozenset[str], texts: Mapping[str, str]) -> list[Definition]:
    found: list[Definition] = []
    for path in paths:
        compiled = texts.get(os.path.abspath(path))
        text = compiled or _read_text(path)
        if isinstance(text, str):
            found += definitions.definitions(text, path, names, is_compiled=compiled is not None)
    return found


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


def _in_chunks(work: Callable[[list[str]], _T], paths: list[str], jobs: int) -> Iterator[_T]:
    """Yield what `work` returns for each part of some files, in their order."""
    chunks = [paths[at : at + _CHUNK] for at in range(0, len(paths), _CHUNK)]
    number = jobs or (processors() if len(paths) >= _MANY else 1)
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
    known: tuple[Wrapper, ...] = (),
) -> list[Allocation]:
    """Return the allocations of a source in their order, limited to those of `wanted` structs if given.

    `declared` and `known` are functions of the project that allocate.
    """
    makers = _known_makers(declared)
    own = wrappers.makers_in(file, known, makers) if known else {}
    hints = _HINTS + tuple(
        name for name in (*own, *(f.name for f in declared)) if not any(hint in name for hint in _HINTS)
    )
    makers = {**own, **makers}
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
            allocations.append(allocation)
    return allocations


def _known_makers(declared: tuple[Allocator, ...]) -> Mapping[str, Maker]:
    return {**_MAKERS, **user_space.makers_of(declared)} if declared else _MAKERS


def _other_calls(text: str, wanted: Wanted | None, makers: Mapping[str, Maker]) -> Iterator[str]:
    """Yield the names of unknown functions and macros that a call gives the size or the type of a struct."""
    code = blank_out(text)
    names = DeclaredNames(code)
    seen: set[str] = {*_NO_FUNCTIONS}
    for at, name, given in wrappers.valued_calls(code, lambda name: name not in seen and name not in makers):
        for argument in map(tokens, given):
            making = _sized_or_typed(argument, wanted)
            found = making and _allocation(at, name, making, names, Source(""))
            if found and found.struct and (wanted is None or wanted.matches(found.struct)):
                seen.add(name)
                yield name
                break


def _sized_or_typed(argument: Tokens, wanted: Wanted | None) -> Making | None:
    object_size = size(argument) if "sizeof" in argument else None
    is_tag = argument[:1] == ("struct",) and len(argument) == 2
    is_typedef = wanted is not None and len(argument) == 1 and wanted.matches(argument[0])
    return Making(object_size or ObjectSize(argument)) if object_size or is_tag or is_typedef else None


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
    details, by = making.details, making.allocator
    return Allocation(meaning.name, call, source, storage, meaning.is_typedef, details, problem, by)


def _storage(making: Making, source: Source) -> Storage:
    return Storage(making.word, source, making.align, None, making.size.count, making.has_constructor)


def _search_files(
    paths: list[str], wanted: Wanted | None, declared: tuple[Allocator, ...], known: tuple[Wrapper, ...]
) -> _Found:
    allocations: list[Allocation] = []
    unread: list[Unread] = []
    typedefs: dict[str, str] = {}
    other_calls: set[tuple[str, str]] = set()
    names = wanted.names if wanted is not None and not wanted.patterns else frozenset()
    for path in paths:
        text = _read_text(path)
        if isinstance(text, Unread):
            unread.append(text)
            continue
        typedefs.update(struct_typedefs(text))
        if names and not any(name in text for name in names):
            continue
        in_file = find(text, path, None if wanted is None else wanted.matches, declared, known)
        if not in_file and "\0" in text:
            unread.append(Unread(path, "has bytes of value 0: it is not C text"))
        allocations += in_file
        unknown = () if known else _other_calls(text, wanted, _known_makers(declared))
        other_calls.update((name, path) for name in unknown)
    return allocations, unread, typedefs, frozenset(other_calls)


def _read_text(path: str) -> str | Unread:
    try:
        return files.read_all(path, _LARGEST).decode("latin-1")
    except OSError as error:
        return Unread(path, files.error_reason(error))


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
