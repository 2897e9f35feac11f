"""Reading a struct again from a text that a file would have."""

from __future__ import annotations

import os
from collections.abc import Iterator

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import InputText, ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers import clang
from layoutlint.readers.clang.kernel import read as kernel
from layoutlint.readers.clang.kernel import tree
from layoutlint.readers.clang.members.pieces import CannotMove
from layoutlint.readers.clang.members.reorder import parse_body


def verify(path: str, struct: Struct, file: str, text: str, options: ReadOptions) -> Struct:
    """Return a struct of an input as libclang reads it if one of its files has another text.

    `path` is the input from which `struct` was read with the same options, `file` the path of the file. The
    units and their flags are those of the input. Raises CannotMove if the struct cannot be read any more.
    """
    wanted = Wanted(frozenset((struct.realigned_from or struct.name, *struct.aliases, struct.name)))
    # libclang finds the file by any of its names, and calls it by this one: a link stays a link.
    real_path = files.real_path(file)
    others = (given for given in options.replaced if files.real_path(given.path) != real_path)
    replaced = (*others, InputText(os.path.abspath(file), text))
    changed = replace(options, replaced=replaced, cache=False, jobs=1)
    line = None if struct.source is None else struct.source.line
    try:
        reading = clang.read(path, wanted, changed)
    except ReadError as error:
        raise CannotMove(f"the changed text cannot be read: {error}", line) from error
    same = [each for each in reading.structs if (each.name, each.source) == (struct.name, struct.source)]
    sound = [each for each in same if each.problem is None and each.bit_size is not None]
    if not same or len(sound) < len(same):
        problem = next((each.problem for each in same if each.problem), "it no longer has the struct")
        raise CannotMove(f"the changed text cannot be read: {problem}", line)
    if len(sound) > 1:
        raise CannotMove("sources of the input see different layouts of the struct", line)
    return sound[0]


_PROBE = "layoutlint_probe"
_WIDEST = 16
"""Bytes: larger arguments of `#pragma pack` reduce no alignment."""
_PROBE_TEXT = f"struct {{ char c; char v __attribute__((__aligned__({_WIDEST}))); }} {_PROBE};"


def find_pragma(path: str, struct: Struct, file: str, text: str, options: ReadOptions) -> int | None:
    """Return the argument of `#pragma pack` in force where a struct begins, in bytes; None for none.

    libclang does not tell it, so the struct is read again with a member on which it shows. The arguments are
    those of `verify`, with the text of the file. Raises CannotMove if that cannot be read.
    """
    start = parse_body(text, struct).body.start
    read = verify(path, struct, file, text[:start] + _PROBE_TEXT + text[start:], options)
    probe = next((field for field in read.fields if field.name == _PROBE), None)
    if probe is None:
        raise CannotMove("the text of the struct does not show its members")
    argument = probe.members[1].bit_offset // 8
    return argument if argument < _WIDEST else None


def source_path(path: str, struct: Struct, options: ReadOptions) -> str | None:
    """Return the path of the file in which a struct of an input is defined; None if it is not found."""
    if struct.source is None:
        return None
    name = struct.source.file
    return next(
        (at for folder in _roots(path, options) if files.is_file(at := os.path.join(folder, name))), None
    )


def kernel_roots(path: str, options: ReadOptions) -> tuple[str, ...]:
    """Return the folders of the kernel tree that a path is, or is in: its sources and its build."""
    build, _ = kernel.build_folder(options.flags)
    top = path if files.is_folder(path) else tree.enclosing_tree(path)
    if top is None:
        return ()
    try:
        kernel_tree = tree.tree_at(top, build, options)
    except ReadError:
        return ()
    return () if kernel_tree is None else tuple(kernel_tree.roots)


def _roots(path: str, options: ReadOptions) -> Iterator[str]:
    """Yield the folders to which the names of files in reports can be relative."""
    roots = kernel_roots(path, options)
    yield from roots
    if not roots and not files.is_folder(path):
        yield from (os.curdir, os.path.dirname(path))
    yield os.curdir
    yield path
