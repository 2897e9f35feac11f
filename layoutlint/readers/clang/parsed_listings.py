"""The listing of a unit that libclang has parsed: its structs, and the files that it reads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from layoutlint.files import accesses
from layoutlint.model.reading import Unread
from layoutlint.model.structs import has_annotation_marks
from layoutlint.readers.clang import compiler_macros, diagnostics, libclang, lookups, unit_layouts
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.kept_listings import UnitListing
from layoutlint.readers.clang.lookups import Messages
from layoutlint.readers.clang.parse import Unit
from layoutlint.readers.clang.unit_layouts import Main

Logged = tuple[UnitListing | Unread, accesses.Log | None]
"""The listing of a unit, and what the file system answered if that is logged."""
_NOTHING = UnitListing(frozenset(), frozenset(), frozenset())


@contextmanager
def logging(printed: Messages | None) -> Iterator[accesses.Log | None]:
    """Log what the file system answers about one unit, if `printed` collects what libclang prints."""
    if printed is None:
        yield None
        return
    printed.begin_unit()
    with accesses.log_answers() as log:
        yield log


def read(
    lib: Any,
    handle: int,
    unit: Unit,
    printed: Messages | None,
    main: Main | None = None,
    before: UnitListing = _NOTHING,
) -> UnitListing:
    """Return the listing of a parsed unit.

    `main` says where a part of a unit is in what was parsed; `before` is the listing of the part before it.
    """
    if printed is not None:
        lookups.log_unit(lib, handle, unit, printed)
    root, own = lib.clang_getTranslationUnitCursor(handle), lib.clang_getFile(handle, os.fsencode(unit.main))
    defined = unit_layouts.definitions(lib, root, unit.directory, main)
    paths = {own: unit.main if main is None else main.path}
    for file in libclang.included_files(lib, handle):
        paths[file] = os.path.join(unit.directory, libclang.file_name(lib, file))
    texts = ((path, libclang.contents(lib, handle, file)) for file, path in paths.items())
    marked = (path for path, text in texts if has_annotation_marks(text))
    return UnitListing(
        before.definitions | defined,
        before.annotated.union(marked),
        before.files.union(map(os.path.normpath, paths.values())),
    )


def has_errors(lib: Any, handle: int, unit: Unit) -> bool:
    """Return whether anything in a parsed unit may hide structs."""
    places = Places(lib, unit.directory, unit.roots, {})
    if any(
        not each.is_warning for each in diagnostics.read_diagnostics(lib, handle, places, None, unit.is_gcc)
    ):
        return True
    doubts = compiler_macros.find_doubtful_mentions(lib, handle, unit.main, unit.flags, unit.doubts, places)
    return bool(unit.doubts) and any(each.is_global for each in doubts)
