"""Annotations that libclang shows: `annotate` attributes of structs and fields, also from macros."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from layoutlint.model.structs import (
    ANNOTATION,
    Annotation,
    Field,
    Source,
    fields_in_braces,
    has_annotation_marks,
)
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.diagnostics import Diagnostic
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.libclang import Cursor

_MACRO = b"LAYOUTLINT"
"""The prefix of the macros in layoutlint.h."""
_WRITTEN = re.compile(rb'annotate(?:__)?\s*\(\s*"layoutlint:')
_DEFINE = re.compile(rb"[ \t]*#[ \t]*define[ \t]+(\w+)")
_DIRECTIVE = re.compile(rb"^[ \t]*#(?:[^\n\\]|\\.)*|//[^\n]*|/\*.*?(?:\*/|\Z)", re.M | re.S)
"""Directives and comments."""
_NAME = re.compile(rb"[A-Za-z_]\w*")
_RECORDS = (libclang.STRUCT, libclang.UNION)


class Annotations:
    """The annotations of one translation unit, collected while its declarations are visited."""

    def __init__(self, lib: Any, unit: int, places: Places) -> None:
        self._lib = lib
        self._unit = unit
        self._places = places
        self._mentioning: dict[int | None, bool] = {}
        self._texts: dict[tuple[Source | None, str], list[str]] = {}
        """By location and name of the declaration; the name of a struct is empty."""
        self._owners: set[int | None] = set()
        """The identities of structs with annotations, on themselves or on their members."""

    def take(self, child: Cursor, parent: Cursor) -> None:
        """Record an annotation. `parent` is the declaration that it belongs to."""
        if child.kind != libclang.ANNOTATE:
            return
        text = libclang.spelling(self._lib, child)
        if not text.startswith(ANNOTATION):
            return
        name = "" if parent.kind in _RECORDS else libclang.spelling(self._lib, parent)
        texts = self._texts.setdefault((self._places.source(parent), name), [])
        texts.append(text.removeprefix(ANNOTATION))
        while parent.kind in (*_RECORDS, libclang.FIELD):
            self._owners.add(parent.data[0])
            parent = self._lib.clang_getCursorSemanticParent(parent)

    def may_be_at(self, record: Cursor) -> bool:
        """Return whether a struct has annotations, on itself or inside, or its file has some in comments."""
        if record.data[0] in self._owners:
            return True
        return self._mentions(libclang.Spot(self._lib, self._lib.clang_getCursorLocation(record)).file)

    def possible_losses(self, diagnostics: Iterable[Diagnostic]) -> Iterator[str]:
        """Yield the diagnostics that can hide annotated structs: those of annotated files, and causes.

        A missing header can lack the macro that opens a struct.
        """
        for diagnostic in diagnostics:
            is_near = not diagnostic.is_global and (
                self._mentions(diagnostic.file) or self._uses_macros(diagnostic.file)
            )
            if diagnostic.is_cause or is_near:
                yield diagnostic.text

    def unseen(self, main: int | None) -> Iterator[str]:
        """Yield what annotates in the text of a unit of which libclang shows no annotation: the compiler does
        not see that text, or a macro is empty for it.
        """
        if self._texts:
            return
        files = _files(self._lib, self._unit, main)
        texts = [text for file in files if _WRITTEN.search(text := self._contents(file))]
        if not texts:
            return
        names = {name for text in texts for name in _annotating_macros(text)}
        every = (_DIRECTIVE.sub(b"", self._contents(file)) for file in files)
        used = {word for text in every for word in _NAME.findall(text)} if names else set[bytes]()
        yield from (f"`{name.decode()}`" for name in sorted(names & used))
        if any(_WRITTEN.search(_DIRECTIVE.sub(b"", text)) for text in texts):
            yield "`annotate`"

    def _mentions(self, file: int | None) -> bool:
        if file not in self._mentioning:
            self._mentioning[file] = has_annotation_marks(self._contents(file))
        return self._mentioning[file]

    def _uses_macros(self, file: int | None) -> bool:
        return _MACRO in self._contents(file)

    def _contents(self, file: int | None) -> bytes:
        return b"" if file is None else libclang.contents(self._lib, self._unit, file)

    def annotations_of(self, source: Source | None, fields: tuple[Field, ...]) -> Iterator[Annotation]:
        """Yield the annotations of a struct that is declared at `source`, and of its fields."""
        for text in self._texts.get((source, ""), ()):
            yield Annotation("", text, source)
        for path, field in fields_in_braces(fields):
            for text in self._texts.get((field.source, field.name or ""), ()):
                yield Annotation(path, text, field.source)


def mentions_annotations(lib: Any, unit: int, main: int | None) -> bool:
    """Return whether any file of a unit has annotations, or their macro: searching for them takes time."""
    files = _files(lib, unit, main)
    return any(has_annotation_marks(libclang.contents(lib, unit, file)) for file in files if file is not None)


def _annotating_macros(text: bytes) -> Iterator[bytes]:
    """Yield the names of the macros of a text that annotate."""
    for directive in _DIRECTIVE.finditer(text):
        if (define := _DEFINE.match(directive[0])) and _WRITTEN.search(directive[0]):
            yield define[1]


def _files(lib: Any, unit: int, main: int | None) -> list[int | None]:
    return list(dict.fromkeys((main, *libclang.included_files(lib, unit))))
