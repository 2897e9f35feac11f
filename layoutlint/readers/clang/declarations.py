"""Structs as C source declares them, with their names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from layoutlint.model.declared import Inner, StructDeclaration
from layoutlint.model.record import replace
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.libclang import Cursor

if TYPE_CHECKING:
    from layoutlint.readers.clang.types import Types


def declarations_by_name(types: Types, typedefs: Iterable[Cursor]) -> frozenset[StructDeclaration]:
    """Return the declarations of all structs whose members were read, by the names of the structs."""
    names = _Names(types, typedefs)
    return frozenset(
        replace(declaration, key=name)
        for record, declaration in types.declared.values()
        for name in names.names_of(record)
    )


class _Names:
    """The names of struct types: tags, typedefs, or their position in another struct."""

    def __init__(self, types: Types, typedefs: Iterable[Cursor]) -> None:
        self._types = types
        self._typedefs: dict[int | None, list[str]] = {}
        lib = types.lib
        for typedef in typedefs:
            target = lib.clang_getTypeDeclaration(
                lib.clang_getCanonicalType(lib.clang_getCursorType(typedef))
            )
            if target.kind in (libclang.STRUCT, libclang.UNION):
                self._typedefs.setdefault(target.data[0], []).append(libclang.spelling(lib, typedef))

    def names_of(self, record: Cursor) -> list[str | Inner]:
        """Return the tag of a struct, its typedefs if it has no tag, or its position in the outer struct."""
        tag = self._types.tag(record)
        if tag:
            return [tag]
        typedefs = self._typedefs.get(record.data[0])
        return list(typedefs) if typedefs else list(self._positions(record))

    def _positions(self, record: Cursor) -> Iterator[Inner]:
        lib = self._types.lib
        outer = lib.clang_getCursorSemanticParent(record)
        if outer.kind not in (libclang.STRUCT, libclang.UNION):
            return
        for position, field in enumerate(self._fields(outer)):
            element, _ = self._types.element(lib, lib.clang_getCursorType(field))
            if lib.clang_getTypeDeclaration(element).data[0] == record.data[0]:
                for name in self.names_of(outer):
                    outer_key = (name, ()) if isinstance(name, str) else name
                    yield outer_key[0], (*outer_key[1], position)

    def _fields(self, record: Cursor) -> list[Cursor]:
        """Return the members as `Types.members` does, without unnamed bit-fields."""
        lib = self._types.lib
        fields = libclang.fields_of(lib, lib.clang_getCursorType(record))
        return [f for f in fields if libclang.spelling(lib, f) or not lib.clang_Cursor_isBitField(f)]
