"""What the text around a struct states that libclang does not: pragmas, and attributes that only gcc has."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

from layoutlint.model.record import Record, field
from layoutlint.readers.clang import diagnostics, libclang, pack_pragmas
from layoutlint.readers.clang.libclang import Cursor, Spot
from layoutlint.readers.clang.pack_pragmas import Pragma

PACKS = (1, 2, 4, 8, 16)
"""The values of `#pragma pack`, in bytes."""
_MS_PRAGMA = re.compile(rb"#[ \t]*pragma[ \t]+ms_struct[ \t]+(\w+)")

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
    is_blanked: bool = False
    """Whether libclang does not see it (gcc_texts)."""


class StructTexts(Record, dict=True):
    """The texts around the structs of one unit."""

    lib: Any
    unit: int
    blanked: dict[tuple[str, int], list[Attribute]] = field(default_factory=dict)
    """Attributes that libclang does not see (gcc_texts), by file and offset of the name."""
    _pragmas: dict[int, tuple[Pragma, ...]] = field(default_factory=dict)
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

        blanked = self._blanked_of(declaration) if self.blanked else []
        if not self.lib.clang_Cursor_hasAttrs(declaration):
            return blanked
        libclang.visit(self.lib, declaration, take)
        own = Spot(self.lib, self.lib.clang_getCursorLocation(declaration)).file
        return [*blanked, *(self._attribute(cursor, own) for cursor in cursors)]

    def has_attributes(self, declaration: Cursor) -> bool:
        """Return whether a declaration has attributes, also those that libclang does not see."""
        has_own = bool(self.lib.clang_Cursor_hasAttrs(declaration))
        return has_own or bool(self.blanked and self._blanked_of(declaration))

    def _blanked_of(self, declaration: Cursor) -> list[Attribute]:
        at = Spot(self.lib, self.lib.clang_getCursorLocation(declaration))
        name = "" if at.file is None else libclang.file_name(self.lib, at.file)
        return self.blanked.get((name, at.offset), [])

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
            argument = "" if aligned[1] is None else _argument(text, aligned.end() + 1)
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

    def ignored_attribute(self, definition: Cursor, name: str) -> int | None:
        """Return the offset of an attribute of a struct that libclang does not have; None without it."""
        whole = self.lib.clang_getCursorExtent(definition)
        start = Spot(self.lib, self.lib.clang_getRangeStart(whole))
        found = self._ignored.get(start.file)
        if not found or start.file is None:
            return None
        text = libclang.contents(self.lib, self.unit, start.file)
        end = Spot(self.lib, self.lib.clang_getRangeEnd(whole)).offset
        opening, closing = text.find(b"{", start.offset, end), text.find(b";", end)
        inside = (start.offset, max(opening, start.offset)), (end, max(closing, end))
        own = (at for at, word in found if word == name and any(low <= at <= high for low, high in inside))
        return min(own, default=None)

    @cached_property
    def _ignored(self) -> dict[int | None, list[tuple[int, str]]]:
        """By file, the offsets and names of attributes that libclang does not have."""
        by_file: dict[int | None, list[tuple[int, str]]] = {}
        for spot, name in diagnostics.ignored_attributes(self.lib, self.unit):
            by_file.setdefault(spot.file, []).append((spot.offset, name))
        return by_file


def end_of_parentheses(text: bytes, start: int) -> int:
    """Return the offset behind the closing parenthesis of an opening one that is right before `start`."""
    depth, end = 1, start
    while depth and end < len(text):
        depth += {0x28: 1, 0x29: -1}.get(text[end], 0)
        end += 1
    return end


def _argument(text: bytes, start: int) -> str:
    """Return the text from behind an opening parenthesis up to the closing one."""
    return text[start : end_of_parentheses(text, start) - 1].decode("utf-8", "replace").strip()
