"""Structs as C text declares them, and what they are called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from layoutlint.model.declared import Declared, Inner
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.libclang import Cursor

if TYPE_CHECKING:
    from layoutlint.readers.clang.types import Types


def declared(types: Types, typedefs: Iterable[Cursor]) -> frozenset[Declared]:
    """What decides of the layouts of all structs whose members were looked at, by the structs' names."""
    names = _Names(types, typedefs)
    return frozenset(
        replace(one, key=name) for record, one in types.declared.values() for name in names.of(record)
    )


class _Names:
    """How struct types are called: by tags, by typedefs, or by where they stand in another."""

    def __init__(self, types: Types, typedefs: Iterable[Cursor]) -> None:
        self._types = types
        self._typedefs: dict[int | None, list[str]] = {}
        lib = types.lib
        for typedef in typedefs:
            of = lib.clang_getTypeDeclaration(lib.clang_getCanonicalType(lib.clang_getCursorType(typedef)))
            if of.kind in (libclang.STRUCT, libclang.UNION):
                self._typedefs.setdefault(of.data[0], []).append(libclang.spelling(lib, typedef))

    def of(self, record: Cursor) -> list[str | Inner]:
        """The tag of a struct, or the typedefs of one without, or its place in what it stands in."""
        tag = self._types.tag(record)
        if tag:
            return [tag]
        typedefs = self._typedefs.get(record.data[0])
        return list(typedefs) if typedefs else list(self._inside(record))

    def _inside(self, record: Cursor) -> Iterator[Inner]:
        lib = self._types.lib
        outer = lib.clang_getCursorSemanticParent(record)
        if outer.kind not in (libclang.STRUCT, libclang.UNION):
            return
        for position, field in enumerate(self._fields(outer)):
            element, _ = self._types.element(lib, lib.clang_getCursorType(field))
            if lib.clang_getTypeDeclaration(element).data[0] == record.data[0]:
                for name in self.of(outer):
                    before = (name, ()) if isinstance(name, str) else name
                    yield before[0], (*before[1], position)

    def _fields(self, record: Cursor) -> list[Cursor]:
        """The members that `Types.members` gives, which leaves out bit-fields without a name."""
        lib = self._types.lib
        fields = libclang.fields_of(lib, lib.clang_getCursorType(record))
        return [f for f in fields if libclang.spelling(lib, f) or not lib.clang_Cursor_isBitField(f)]
