"""The units of an input whose function bodies are read.

They are those that a kernel's configuration builds, those of a compile_commands.json, or C files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import ReadOptions, Unread
from layoutlint.model.record import Record, field, replace
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import c_units, compdb, flag_search, response_files, text_search
from layoutlint.readers.clang.given_files import given_files
from layoutlint.readers.clang.kernel import built_sources, tree, units
from layoutlint.readers.clang.kernel import read as kernel
from layoutlint.readers.clang.parse import Unit
from layoutlint.sources.bodies import directives

_FLAGS = ("-w", "-D__builtin_has_attribute(what,attribute)=0")
"""No warnings, and a builtin of GCC that libclang lacks."""
_KERNEL_FLAGS = ("-D__typeof_unqual__=__typeof__", "-D__seg_gs=", "-D__seg_fs=")
"""A word of GCC that libclang may lack. Types keep their qualifiers then, so none may be an address space:
local variables cannot have one."""
_FOLDERS = ("init", "kernel", "mm", "fs", "ipc", "lib", "block", "io_uring", "net", "security")
"""What is read of a whole kernel tree; drivers are read if they are named."""
_ARCHITECTURES = "arch"
_IN_KERNEL = "-D__KERNEL__"


class Units(Record):
    """The units of all inputs, and what of them could not be read."""

    units: list[Unit] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def is_kernel(self) -> bool:
        """Whether there are sources of Linux."""
        return any(_IN_KERNEL in unit.flags for unit in self.units)


def find(paths: tuple[str, ...], options: ReadOptions) -> Units:
    """Return the units of inputs, each once; raises ReadError for an input without C sources."""
    build, words = kernel.build_folder(response_files.expand(options.flags, os.getcwd()))
    options = replace(options, flags=words)
    result = Units()
    for path in paths:
        if not files.exists(path):
            raise ReadError(path, "no such file or directory")
        before = len(result.units), len(result.unread)
        _add(result, path, build, options)
        if before == (len(result.units), len(result.unread)):
            raise ReadError(path, "has no C source that is built")
    result.units = list({(unit.main, unit.flags): unit for unit in result.units}.values())
    return result


def split_built(paths: Sequence[str], options: ReadOptions) -> tuple[list[str], list[str]]:
    """Return headers, and sources that their kernel's configuration builds or that are of none; the others.

    Raises ReadError for a kernel that is not configured.
    """
    build, _ = kernel.build_folder(response_files.expand(options.flags, os.getcwd()))
    parts: tuple[list[str], list[str]] = ([], [])
    trees: dict[str, tree.Tree | None] = {}
    built: dict[tuple[str, str], set[str]] = {}
    for path in paths:
        top = None if path.endswith(".h") else tree.enclosing_tree(path)
        if top is not None and top not in trees:
            trees[top] = tree.tree_at(top, build, options)
        kernel_tree = trees.get(top) if top is not None else None
        if kernel_tree is None:
            parts[0].append(path)
            continue
        place = os.path.relpath(os.path.abspath(path), kernel_tree.source)
        folders = place.split(os.sep)
        part = os.sep.join(folders[: 2 if folders[0] == _ARCHITECTURES else 1])
        if (kernel_tree.source, part) not in built:
            built[kernel_tree.source, part] = set(built_sources.sources(kernel_tree, part))
        is_built = os.path.join(kernel_tree.source, place) in built[kernel_tree.source, part]
        parts[not is_built].append(path)
    return parts


def _add(result: Units, path: str, build: str | None, options: ReadOptions) -> None:
    is_folder = files.is_folder(path)
    if is_folder:
        enclosing = tree.enclosing_tree(os.path.join(path, "Makefile"))
        kernel_tree = None if enclosing is None else tree.tree_at(enclosing, build, options)
    else:
        kernel_tree = tree.tree_of_file(path, build, options)
    database = os.path.join(path, compdb.NAME) if is_folder else path
    finds_flags = options.finds_flags and options.kernel_tree is None
    has_database = is_folder and finds_flags and files.is_file(database)
    if kernel_tree is not None:
        _add_kernel(result, kernel_tree, path, options)
    elif path.endswith(".json") or has_database:
        _add_database(result, database, options)
    else:
        if build is not None:
            tree.refuse_build_of_outside(path, build)
        _add_files(result, path, is_folder, options)


def _add_kernel(result: Units, kernel_tree: tree.Tree, path: str, options: ReadOptions) -> None:
    place = os.path.abspath(path)
    if not files.is_folder(place):
        sources = [place]
    elif place in kernel_tree.roots:
        sources = [file for name in _FOLDERS for file in built_sources.sources(kernel_tree, name)]
    else:
        sources = built_sources.sources(kernel_tree, os.path.relpath(place, kernel_tree.source))
    for unit in kernel.units_of(kernel_tree, sources, options):
        result.units.append(_for_bodies(replace(unit, flags=(*unit.flags, *units.NAMED))))


def _for_bodies(unit: Unit) -> Unit:
    of_kernel = _KERNEL_FLAGS if _IN_KERNEL in unit.flags else ()
    of_threads = directives.IGNORED if directives.is_asked_for(unit.flags) else ()
    return replace(unit, flags=(*unit.flags, *of_kernel, *of_threads, *_FLAGS))


def _add_database(result: Units, database: str, options: ReadOptions) -> None:
    roots = (os.path.dirname(os.path.abspath(database)), os.getcwd())
    for command in compdb.load(database):
        _add_unit(result, partial(_unit_of, database, command, options, roots))


def _unit_of(
    database: str, command: compdb.Command, options: ReadOptions, roots: tuple[str, ...]
) -> Unit:
    return compdb.unit_of(database, compdb.expand(command), options, roots)


def _add_files(result: Units, path: str, is_folder: bool, options: ReadOptions) -> None:
    given = given_files(Wanted(), options, flag_search.search(path, options))
    for source in text_search.files_below([path], c_units.SOURCES) if is_folder else (path,):
        _add_unit(result, partial(given.unit, source))


def _add_unit(result: Units, make: Callable[[], Unit]) -> None:
    try:
        result.units.append(_for_bodies(make()))
    except c_units.NotC as error:
        result.notes.append(str(error))
    except ReadError as error:
        result.unread.append(Unread.of_error(error))
