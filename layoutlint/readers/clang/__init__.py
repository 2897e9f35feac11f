"""The reader of C source through libclang: a file, a folder, a compile_commands.json, or a kernel tree
(docs/inputs.md).

If a base commit decides on flags, C text is read with those that the commit has, and where a change has
others, with these too. A struct that differs then, or that only these find, is reported as not read: which
flags a build really has, the base alone cannot say.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.flag_files import ON_DISK, FlagUse
from layoutlint.model.reading import Reading, ReadOptions, Unread
from layoutlint.model.record import replace
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.phrases import first_few
from layoutlint.readers.clang import c_units, compdb, flag_search, response_files, text_inputs, text_search
from layoutlint.readers.clang.kernel import read as kernel
from layoutlint.readers.clang.kernel import tree

_JSON = ".json"
_REMEDY = "give the flags on the command line (`-- FLAGS`), or merge them first"


def _read_as_base(read_with: Callable[[ReadOptions], Reading], options: ReadOptions) -> Reading:
    """Return the reading with the flags that count, and what a change's own flags would alter.

    `read_with` reads with the given options. Raises ReadError as it does.
    """
    reading = read_with(options)
    uses = options.flag_files.uses
    reading = replace(reading, flag_uses=tuple(sorted(uses.items(), key=lambda use: use[0])))
    changed = [path for path, use in sorted(uses.items()) if use is not FlagUse.UNTRACKED]
    if not changed:
        return reading
    try:
        own = read_with(replace(options, flag_files=ON_DISK))
    except ReadError as error:
        return replace(reading, unread=(*reading.unread, _unread(reading, changed, f"its own: {error}")))
    altered = sorted(_altered_names(reading, own))
    if not altered:
        return reading
    unread = _unread(reading, changed, f"struct {first_few(altered)}")
    return replace(reading, unread=(*reading.unread, unread))


def _unread(reading: Reading, changed: list[str], what: str) -> Unread:
    files = f"{changed[0]}{f' and {len(changed) - 1} more' if changed[1:] else ''}"
    return Unread(reading.path, f"the change chose flags ({files}), which alter {what}; {_REMEDY}")


def _altered_names(reading: Reading, own: Reading) -> set[str]:
    """Return the structs that two readings of the same text have otherwise."""
    definitions, others = _definitions(reading.structs), _definitions(own.structs)
    names = {struct.name for struct in definitions ^ others}
    gaps = {omission.reason for omission in own.omissions} - {each.reason for each in reading.omissions}
    return names if not gaps else names | {f"that only they reach ({first_few(sorted(gaps))})"}


def _definitions(structs: Iterable[Struct]) -> set[Struct]:
    return {replace(struct, origin="", files=()) for struct in structs}


def read(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """Return the requested structs of a C header or source, a folder, a compilation database, or a kernel
    tree.

    `options` has compiler flags; `O=FOLDER` among them names the build folder: of a kernel source tree, or of
    another project, whose compile_commands.json can be there. Raises ReadError if there is no C, the kernel
    is not configured, `O=` names a kernel of which the file is no part, or nothing can be parsed.
    """
    if options.flag_files is ON_DISK:
        return _read(path, wanted, options)
    return _read_as_base(partial(_read, path, wanted), options)


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
        return _with_own_flags(compdb.read(path, wanted.narrow(is_kernel=False), options), options)
    if not files.is_file(path):
        raise ReadError(path, "no such file or directory")
    kernel_tree = tree.tree_of_file(path, build, options)
    if kernel_tree is not None:
        return kernel.read_file(kernel_tree, path, path, wanted, options)
    if build is not None and options.compile_commands is None:
        tree.refuse_build_of_outside(path, build)
    return text_inputs.read_file(path, wanted, options)


def _with_own_flags(reading: Reading, options: ReadOptions) -> Reading:
    """Return the reading of an input that states its flags, with a note if a kernel tree is named as well."""
    if options.kernel_tree is None:
        return reading
    note = f"it has flags of its own, not those of {options.kernel_tree}"
    return replace(reading, notes=(note, *reading.notes))


def _names_below(path: str) -> frozenset[str]:
    """Return the names that the C source of a folder seems to define; parsing all of it takes too long."""
    folders = [folder for _, below in tree.source_folders(path) for folder in below]
    return text_search.names(text_search.files_below(folders, c_units.HEADERS + c_units.SOURCES))


def _read_folder(path: str, build: str | None, wanted: Wanted, options: ReadOptions) -> Reading:
    kernel_tree = tree.tree_at(path, build, options)
    if kernel_tree is not None:
        return kernel.read(kernel_tree, path, wanted, options)
    if options.kernel_tree is not None and tree.is_kernel(path):
        other = replace(options, kernel_tree=None)
        return _with_own_flags(_read_folder(path, build, wanted, other), options)
    database = flag_search.database_in(path, options)
    if database is not None:
        return replace(compdb.read(database, wanted.narrow(is_kernel=False), options), path=path)
    if build is not None and options.compile_commands is None:
        tree.refuse_build_of_outside(path, build)
    return text_inputs.read_folder(path, wanted, options)
