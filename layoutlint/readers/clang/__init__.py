"""The reader of C source through libclang: a file, a folder, a compile_commands.json, or a kernel tree
(docs/readers.md).
"""

from __future__ import annotations

import os
from functools import partial

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.flag_files import ON_DISK
from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import (
    c_units,
    changed_flags,
    compdb,
    flag_search,
    response_files,
    text_inputs,
    text_search,
)
from layoutlint.readers.clang.kernel import read as kernel
from layoutlint.readers.clang.kernel import tree

_JSON = ".json"


def read(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """Return the requested structs of a C header or source, a folder, a compilation database, or a kernel
    tree.

    `options` has compiler flags; `O=FOLDER` among them names the build folder: of a kernel source tree, or of
    another project, whose compile_commands.json can be there. Raises ReadError if there is no C, the kernel
    is not configured, or nothing can be parsed.
    """
    if options.flag_files is ON_DISK:
        return _read(path, wanted, options)
    return changed_flags.read(partial(_read, path, wanted), options)


def _read(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    words = response_files.expand(options.flags, os.getcwd(), options.flag_files)
    build, flags = kernel.build_folder(words)
    options = replace(options, flags=flags)
    if build is not None and options.compile_commands is None:
        database = os.path.join(build, compdb.NAME)
        is_there = options.flag_files.has_file(database)
        options = replace(options, compile_commands=database if is_there else None)
    if files.is_folder(path):
        reading = _read_folder(path, build, wanted, options)
        return replace(reading, names=_names_below(path)) if wanted.names_only else reading
    if path.endswith(_JSON):
        return compdb.read(path, wanted.narrow(is_kernel=False), options)
    if not files.is_file(path):
        raise ReadError(path, "no such file or directory")
    enclosing = tree.enclosing_tree(path)
    if enclosing is not None and not flags:
        kernel_tree = tree.find(enclosing, build, options.flag_files)
        if kernel_tree is not None:
            return kernel.read_file(kernel_tree, path, path, wanted, options)
    return text_inputs.read_file(path, wanted.narrow(is_kernel=False), options)


def _names_below(path: str) -> frozenset[str]:
    """Return the names that the C source of a folder seems to define; parsing all of it takes too long."""
    folders = [folder for _, below in tree.source_folders(path) for folder in below]
    return text_search.names(text_search.files_below(folders, c_units.HEADERS + c_units.SOURCES))


def _read_folder(path: str, build: str | None, wanted: Wanted, options: ReadOptions) -> Reading:
    kernel_tree = tree.find(path, build, options.flag_files)
    if kernel_tree is not None:
        return kernel.read(kernel_tree, path, wanted, options)
    database = flag_search.database_in(path, options)
    if database is not None:
        return replace(compdb.read(database, wanted.narrow(is_kernel=False), options), path=path)
    return text_inputs.read_folder(path, wanted.narrow(is_kernel=False), options)
