"""What the text around a struct states that libclang does not: pragmas, and attributes that only gcc has."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

from layoutlint.model.record import Record, field
from layoutlint.model.target import Target
from layoutlint.readers.clang import diagnostics, libclang, pack_pragmas
from layoutlint.readers.clang.libclang import Cursor, Spot
from layoutlint.readers.clang.pack_pragmas import Pragma

PACKS = (1, 2, 4, 8, 16)
"""The values of `#pragma pack`, in bytes."""
_MS_PRAGMA = re.compile(rb"#[ \t]*pragma[ \t]+ms_struct[ \t]+(\w+)")
_ORDER = re.compile(rb"#[ \t]*pragma[ \t]+scalar_storage_order[ \t]+([\w-]+)")

_ALIGNED = re.compile(rb"(?:aligned|__aligned__|_Alignas|alignas)\b[ \t]*(?=(\()?)")


class Attribute(Record, frozen=True):
    """An attribute of a declaration, with the text that states it."""

    kind: int
    """libclang's kind of cursor."""
    offset: int
    """In the file of the declaration; -1 in another file."""
    text: str
    """The attribute, or the use of the macro that has it; empty for one of a pragma."""
    argument: str | None = None
    """What is in the parentheses of `aligned`, empty without any; None if a macro hides it."""


class StructTexts(Record, dict=True):
    """The texts around the structs of one unit."""

    lib: Any
    unit: int
    target: Target
    _pragmas: dict[int, tuple[Pragma, ...]] = field(default_factory=dict)
    _orders: dict[int | None, list[tuple[int, bytes]]] = field(default_factory=dict)
    """By file, the offsets and values of `#pragma scalar_storage_order`."""
    _below: dict[int, tuple[Pragma, ...]] = field(default_factory=dict)

    def attributes(self, declaration: Cursor) -> list[Attribute]:
        """Return the attributes of a declaration, in libclang's order; also those of earlier declarations.

        libclang can print a declaration with them, but crashes on some.
        """
        cursors: list[Cursor] = []

        def take(child: Cursor, _: Cursor) -> int:
            if child.kind in (libclang.ALIGNED, libclang.PACKED, libclang.UNEXPOSED_ATTRIBUTE):
                cursors.append(child)
            return libclang.CONTINUE

        if not self.lib.clang_Cursor_hasAttrs(declaration):
            return []
        libclang.visit(self.lib, declaration, take)
        own = Spot(self.lib, self.lib.clang_getCursorLocation(declaration)).file
        return [self._attribute(cursor, own) for cursor in cursors]

    def _attribute(self, cursor: Cursor, own_file: int | None) -> Attribute:
        whole = self.lib.clang_getCursorExtent(cursor)
        start = Spot(self.lib, self.lib.clang_getRangeStart(whole))
        if start.file is None:
            return Attribute(cursor.kind, -1, "")
        text = libclang.contents(self.lib, self.unit, start.file)
        end = Spot(self.lib, self.lib.clang_getRangeEnd(whole)).offset
        aligned = _ALIGNED.match(text, start.offset) if cursor.kind == libclang.ALIGNED else None
        argument = None
        if aligned is not None:
            argument = "" if aligned[1] is None else _in_parentheses(text, aligned.end() + 1)
        offset = start.offset if start.file == own_file else -1
        return Attribute(cursor.kind, offset, text[start.offset : end].decode("utf-8", "replace"), argument)

    def pragmas_of(self, definition: Cursor) -> list[tuple[int, bool]]:
        """Return what pragmas can be in force at the start of a struct: the pack in bytes, and `ms_struct`.

        What the text states comes first.
        """
        count = sum(not each.text for each in self.attributes(definition))
        start = Spot(self.lib, self.lib.clang_getRangeStart(self.lib.clang_getCursorExtent(definition)))
        text = b"" if start.file is None or not count else libclang.contents(self.lib, self.unit, start.file)
        is_ms = _MS_PRAGMA.findall(text, 0, start.offset)[-1:] == [b"on"]
        if count <= is_ms:
            return [(0, is_ms)]
        stated = self.stated_pack(definition, self.lib.clang_getRangeStart)
        packs = [] if stated is None else [(stated, is_ms)]
        return [*packs, *((pack, is_ms) for pack in PACKS)]

    def stated_pack(self, definition: Cursor, end_of: Callable[[Any], Any]) -> int | None:
        """Return the value of `#pragma pack` at an end of a struct, if its text states it; else None."""
        spot = Spot(self.lib, end_of(self.lib.clang_getCursorExtent(definition)))
        if spot.file is None:
            return None
        text = libclang.contents(self.lib, self.unit, spot.file)
        return pack_pragmas.stated_before(self._pragmas_in(spot.file), text, spot.offset)

    def is_cut_by_pragma(self, definition: Cursor) -> bool:
        """Return whether a `#pragma pack` begins or ends inside the braces of a struct."""
        whole = self.lib.clang_getCursorExtent(definition)
        start = Spot(self.lib, self.lib.clang_getRangeStart(whole))
        pragmas = () if start.file is None else self._pragmas_below(start.file)
        if not pragmas:
            return False
        end = Spot(self.lib, self.lib.clang_getRangeEnd(whole)).offset
        return not pack_pragmas.is_balanced([each for each in pragmas if start.offset < each[0] < end])

    def _pragmas_below(self, file: int) -> tuple[Pragma, ...]:
        """Return the pragmas of a file and of those that it includes, at the places of the directives."""
        if file not in self._below:
            included = (
                (at, text)
                for inner, at in self._included.get(file, ())
                for _, text in self._pragmas_in(inner)
            )
            self._below[file] = tuple(
                sorted((*self._pragmas_in(file), *included), key=lambda pragma: pragma[0])
            )
        return self._below[file]

    def _pragmas_in(self, file: int) -> tuple[Pragma, ...]:
        if file not in self._pragmas:
            self._pragmas[file] = pack_pragmas.pragmas(libclang.contents(self.lib, self.unit, file))
        return self._pragmas[file]

    @cached_property
    def _included(self) -> dict[int | None, list[tuple[int, int]]]:
        """By file, the files that it includes, with the offsets of the directives."""
        included: dict[int | None, list[tuple[int, int]]] = {}
        for file, directive in libclang.inclusions(self.lib, self.unit):
            included.setdefault(directive.file, []).append((file, directive.offset))
        return included

    def is_gcc_struct(self, definition: Cursor) -> bool:
        """Return whether a struct has the attribute `gcc_struct`."""
        return "gcc_struct" in self._ignored_in(definition)

    def _ignored_in(self, definition: Cursor) -> frozenset[str]:
        """Return the attributes of a struct that libclang does not have."""
        whole = self.lib.clang_getCursorExtent(definition)
        start = Spot(self.lib, self.lib.clang_getRangeStart(whole))
        found = self._ignored.get(start.file)
        if not found or start.file is None:
            return frozenset()
        text = libclang.contents(self.lib, self.unit, start.file)
        end = Spot(self.lib, self.lib.clang_getRangeEnd(whole)).offset
        opening, closing = text.find(b"{", start.offset, end), text.find(b";", end)
        inside = (start.offset, max(opening, start.offset)), (end, max(closing, end))
        return frozenset(name for at, name in found if any(low <= at <= high for low, high in inside))

    @cached_property
    def _ignored(self) -> dict[int | None, list[tuple[int, str]]]:
        """By file, the offsets and names of attributes that libclang does not have."""
        by_file: dict[int | None, list[tuple[int, str]]] = {}
        for spot, name in diagnostics.ignored_attributes(self.lib, self.unit):
            by_file.setdefault(spot.file, []).append((spot.offset, name))
        return by_file

    def order_problem(self, definition: Cursor) -> str | None:
        """Return the problem of bit-fields that gcc may store in another order than the machine's; else None.

        `scalar_storage_order` moves no whole byte.
        """
        spot = Spot(self.lib, self.lib.clang_getRangeEnd(self.lib.clang_getCursorExtent(definition)))
        if spot.file not in self._orders:
            text = b"" if spot.file is None else libclang.contents(self.lib, self.unit, spot.file)
            found = _ORDER.finditer(text) if b"scalar_storage_order" in text else ()
            self._orders[spot.file] = [(each.start(), each[1]) for each in found]
        stated = [order for at, order in self._orders[spot.file] if at < spot.offset]
        native = b"little-endian" if self.target.little_endian else b"big-endian"
        is_other = bool(stated) and stated[-1] not in (b"default", native)
        if is_other or "scalar_storage_order" in self._ignored_in(definition):
            return "its bit-fields may be in another order than the machine's (scalar_storage_order)"
        return None


def _in_parentheses(text: bytes, start: int) -> str:
    """Return the text from behind an opening parenthesis up to the closing one."""
    depth, end = 1, start
    while depth and end < len(text):
        depth += {0x28: 1, 0x29: -1}.get(text[end], 0)
        end += 1
    return text[start : end - 1].decode("utf-8", "replace").strip()
