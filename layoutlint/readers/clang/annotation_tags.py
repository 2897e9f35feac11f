"""Annotations that libclang shows: `annotate` attributes of structs and fields, also those from macros."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from layoutlint.model.structs import ANNOTATION, Annotation, Field, Source, written
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.diagnostics import Diagnostic
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.libclang import Cursor

_NEEDLE = ANNOTATION.encode()
_MACRO = b"LAYOUTLINT"
"""What the macros of layoutlint.h begin with."""
_RECORDS = (libclang.STRUCT, libclang.UNION)


class Annotations:
    """Those of one translation unit, gathered while its declarations are visited."""

    def __init__(self, lib: Any, unit: int, places: Places) -> None:
        self._lib = lib
        self._unit = unit
        self._places = places
        self._mentioning: dict[int | None, bool] = {}
        self._texts: dict[tuple[Source | None, str], list[str]] = {}
        """By the place and the name of what is declared there; the name of a struct is empty."""
        self._owners: set[int | None] = set()
        """The identities of the structs that have annotations, at themselves or at what they hold."""

    def take(self, child: Cursor, parent: Cursor) -> None:
        """Keeps an annotation. `parent` is what it is at."""
        if child.kind != libclang.ANNOTATE:
            return
        text = libclang.spelling(self._lib, child)
        if not text.startswith(ANNOTATION):
            return
        name = "" if parent.kind in _RECORDS else libclang.spelling(self._lib, parent)
        at = self._texts.setdefault((self._places.source(parent), name), [])
        at.append(text.removeprefix(ANNOTATION))
        while parent.kind in (*_RECORDS, libclang.FIELD):
            self._owners.add(parent.data[0])
            parent = self._lib.clang_getCursorSemanticParent(parent)

    def may_be_at(self, record: Cursor) -> bool:
        """Whether a struct has annotations, at or in itself, or its file has some in comments."""
        if record.data[0] in self._owners:
            return True
        return self._mentions(libclang.Spot(self._lib, self._lib.clang_getCursorLocation(record)).file)

    def lost(self, complaints: Iterable[Diagnostic]) -> Iterator[str]:
        """The complaints about files with annotations, which can hide structs that have some.

        A missing header hides none that stand here: it makes those behind it unbelievable.
        """
        for complaint in complaints:
            if not complaint.is_global and (
                self._mentions(complaint.file) or self._uses_macros(complaint.file)
            ):
                yield complaint.text

    def _mentions(self, file: int | None) -> bool:
        if file not in self._mentioning:
            self._mentioning[file] = _NEEDLE in self._contents(file)
        return self._mentioning[file]

    def _uses_macros(self, file: int | None) -> bool:
        return _MACRO in self._contents(file)

    def _contents(self, file: int | None) -> bytes:
        return b"" if file is None else libclang.contents(self._lib, self._unit, file)

    def of(self, source: Source | None, fields: tuple[Field, ...]) -> Iterator[Annotation]:
        """Those of a struct, which is declared at a place, and of its fields."""
        for text in self._texts.get((source, ""), ()):
            yield Annotation("", text, source)
        for path, field in written(fields):
            for text in self._texts.get((field.source, field.name or ""), ()):
                yield Annotation(path, text, field.source)


def mentioned(lib: Any, unit: int, main: int | None) -> bool:
    """Whether any file of a unit has annotations, or their macro: finding them takes time."""
    files = dict.fromkeys((main, *(file for file, _ in libclang.inclusions(lib, unit))))
    return any(_NEEDLE in libclang.contents(lib, unit, file) for file in files if file is not None)
