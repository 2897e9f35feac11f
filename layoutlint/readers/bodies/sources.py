"""The units of an input whose function bodies are read.

They are those that a kernel's configuration builds, those of a compile_commands.json, or C files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import ReadOptions, Unread
from layoutlint.model.record import Record, field, replace
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import c_units, compdb, flag_search, flags, response_files, text_search
from layoutlint.readers.clang.kernel import built, tree
from layoutlint.readers.clang.kernel import read as kernel
from layoutlint.readers.clang.parse import Unit

_KERNEL_FLAGS = ("-UKBUILD_MODNAME", '-DKBUILD_MODNAME="layoutlint"', '-DKBUILD_MODFILE="layoutlint"', "-w")
"""Strings, as kbuild defines them: sources use them. Headers do not."""
_FOLDERS = ("init", "kernel", "mm", "fs", "ipc", "lib", "block", "io_uring", "net", "security")
"""What is read of a whole kernel tree; drivers are read if they are named."""


class Sources(Record):
    """The units of all inputs, and what of them could not be read."""

    units: list[Unit] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_kernel: bool = False


def find(paths: tuple[str, ...], options: ReadOptions) -> Sources:
    """Return the units of inputs, each once; raises ReadError for an input without C sources."""
    build, words = kernel.build_folder(response_files.expand(options.flags, os.getcwd()))
    options = replace(options, flags=words)
    found = Sources()
    for path in paths:
        before = len(found.units), len(found.unread)
        _add(found, path, build, options)
        if before == (len(found.units), len(found.unread)):
            raise ReadError(path, "has no C source that is built")
    found.units = list({(unit.main, unit.flags): unit for unit in found.units}.values())
    return found


def _add(found: Sources, path: str, build: str | None, options: ReadOptions) -> None:
    if not files.exists(path):
        raise ReadError(path, "no such file or directory")
    is_folder = files.is_folder(path)
    inside = os.path.join(path, "Makefile") if is_folder else path
    enclosing = tree.enclosing_tree(inside)
    if enclosing is not None and (is_folder or not options.flags):
        kernel_tree = tree.find(enclosing, build)
        if kernel_tree is not None:
            found.is_kernel = True
            _add_kernel(found, kernel_tree, path, options)
            return
    has_database = options.finds_flags and files.is_file(os.path.join(path, compdb.NAME))
    if path.endswith(".json") or has_database:
        database = os.path.join(path, compdb.NAME) if is_folder else path
        _add_database(found, database, options)
        return
    sources = list(text_search.files_below([path], (".c",))) if is_folder else [path]
    search = flag_search.search(path, options)
    for source in sources:
        match = None if search is None else search.match(source)
        folder, words = os.getcwd(), c_units.command_line_flags(options)
        directory = folder
        if match is not None:
            directory = match.command.directory
            words = (*match.command.words, *flags.make_absolute(words, folder))
        _add_unit(found, os.path.abspath(source), words, directory, (folder,))


def _add_kernel(found: Sources, kernel_tree: tree.Tree, path: str, options: ReadOptions) -> None:
    reader = kernel._KernelReader(kernel_tree, Wanted(), options)
    folder = os.path.abspath(path)
    if not files.is_folder(folder):
        sources = [folder]
    elif folder in kernel_tree.roots:
        sources = [file for name in _FOLDERS for file in built.sources(kernel_tree, name)]
    else:
        sources = built.sources(kernel_tree, os.path.relpath(folder, kernel_tree.source))
    for source in sources:
        unit = reader.unit_of(source)
        found.units.append(replace(unit, flags=(*unit.flags, *_KERNEL_FLAGS)))


def _add_database(found: Sources, database: str, options: ReadOptions) -> None:
    folder = os.getcwd()
    roots = (os.path.dirname(os.path.abspath(database)), folder)
    for command in compdb.load(database):
        words = (*command.words, *flags.make_absolute(c_units.command_line_flags(options), folder))
        _add_unit(found, command.file, words, command.directory, roots)


def _add_unit(
    found: Sources, file: str, words: tuple[str, ...], directory: str, roots: tuple[str, ...]
) -> None:
    try:
        unit = c_units.unit(file, response_files.expand(words, directory), directory, roots)
        found.units.append(replace(unit, flags=(*unit.flags, "-w")))
    except c_units.NotC as error:
        found.notes.append(str(error))
    except ReadError as error:
        found.unread.append(Unread(error.path, error.reason))


def origins(units: list[Unit]) -> Iterator[str]:
    """Yield the names of units in reports."""
    return (unit.origin for unit in units)
