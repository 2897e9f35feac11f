"""C text through libclang: a file, a folder, a compile_commands.json, or a kernel tree (docs/readers.md)."""

from __future__ import annotations

import os
from dataclasses import replace

from layoutlint.errors import ReadError
from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import compdb, response_files, text_inputs, text_search
from layoutlint.readers.clang.kernel import read as kernel
from layoutlint.readers.clang.kernel import tree

_JSON = ".json"


def read(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """The wanted structs of a C header or source, a folder, a compilation database, or a kernel tree.

    Flags in `options` are the compiler's; `O=FOLDER` among them names the build folder of a kernel source
    tree. Raises ReadError when there is no C, the kernel is not configured, or nothing can be parsed.
    """
    build, flags = kernel.build_folder(response_files.expanded(options.flags, os.getcwd()))
    options = replace(options, flags=flags)
    if os.path.isdir(path):
        told = _read_folder(path, build, wanted, options)
        return replace(told, names=_names_below(path)) if wanted.names_only else told
    if path.endswith(_JSON):
        return compdb.read(path, wanted.outside_kernels(), options)
    if not os.path.isfile(path):
        raise ReadError(path, "no such file or directory")
    enclosing = tree.enclosing(path)
    if enclosing is not None and not flags:
        found = tree.find(enclosing, build)
        if found is not None:
            return kernel.read_file(found, path, path, wanted, options)
    return text_inputs.read_file(path, wanted.outside_kernels(), options)


def _names_below(path: str) -> frozenset[str]:
    """What the C text of a folder seems to define; it takes too long to parse all of it."""
    folders = [folder for _, below in tree.text_below(path) for folder in below]
    return text_search.names(text_search.files(folders, text_inputs.HEADERS + text_inputs.SOURCES))


def _read_folder(path: str, build: str | None, wanted: Wanted, options: ReadOptions) -> Reading:
    found = tree.find(path, build)
    if found is not None:
        return kernel.read(found, path, wanted, options)
    database = os.path.join(path, compdb.NAME)
    if os.path.isfile(database):
        return replace(compdb.read(database, wanted.outside_kernels(), options), path=path)
    return text_inputs.read_folder(path, wanted.outside_kernels(), options)
