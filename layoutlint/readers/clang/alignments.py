"""Alignments that members state by types or other constant expressions, evaluated by libclang."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from layoutlint.model.record import Record, field
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.libclang import Cursor

_PROBE = "layoutlint_alignment_probe"
_MOST = 32
"""The most arguments of a unit that are evaluated: each takes the time of parsing the unit."""


class Alignments(Record):
    """The values of arguments of `aligned` and `_Alignas` at the end of a unit."""

    lib: Any
    parse: Callable[[str], AbstractContextManager[int]]
    """Parses the unit with a text behind it."""
    _known: dict[str, int | None] = field(default_factory=dict)

    def value(self, argument: str) -> int | None:
        """Return the alignment that an argument states, in bytes; None if it cannot be told.

        An empty one is that of `aligned` alone.
        """
        if argument not in self._known:
            self._known[argument] = None if len(self._known) >= _MOST else self._evaluate(argument)
        return self._known[argument]

    def _evaluate(self, argument: str) -> int | None:
        """Return the alignment of a struct whose member has it; None also for 1, which errors leave."""
        attribute = f"_Alignas({argument})" if argument else "__attribute__((aligned))"
        text = f"\nstruct {_PROBE} {{ {attribute} char c; }};\n"
        with self.parse(text) as handle:
            probe = _last_struct(self.lib, handle)
            if probe is None:
                return None
            align = int(self.lib.clang_Type_getAlignOf(self.lib.clang_getCursorType(probe)))
            return align if align > 1 else None


def _last_struct(lib: Any, handle: int) -> Cursor | None:
    """Return the struct of a probe; None if the end of the unit is not compiled."""
    found: list[Cursor] = []

    def take(child: Cursor, _: Cursor) -> int:
        if child.kind == libclang.STRUCT and libclang.spelling(lib, child) == _PROBE:
            found.append(child)
        return libclang.CONTINUE

    libclang.visit(lib, lib.clang_getTranslationUnitCursor(handle), take)
    return found[-1] if found else None
