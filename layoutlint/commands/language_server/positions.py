"""Places in texts: the columns of a client's encoding, and lines that move while a text is edited."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from operator import eq

from lsprotocol import types

_END = re.compile(r"\r\n|\r|\n")
_BYTES = {types.PositionEncodingKind.Utf8: ("utf-8", 1), types.PositionEncodingKind.Utf16: ("utf-16-le", 2)}
"""How many bytes of which encoding are one unit of a client; a character is one unit of UTF-32."""


def split_lines(text: str) -> list[str]:
    """Return the lines of a text without their ends, as compilers and the protocol count them."""
    return _END.split(text)


def units(line: str, column: int, encoding: str) -> int:
    """Return the units of an encoding before a character of a line."""
    if line.isascii() or encoding not in _BYTES:
        return min(column, len(line))
    name, size = _BYTES[types.PositionEncodingKind(encoding)]
    return len(line[:column].encode(name, "surrogatepass")) // size


def column(line: str, unit: int, encoding: str) -> int:
    """Return the character of a line after some units of an encoding."""
    if line.isascii() or encoding not in _BYTES:
        return min(unit, len(line))
    name, size = _BYTES[types.PositionEncodingKind(encoding)]
    return len(line.encode(name, "surrogatepass")[: unit * size].decode(name, "ignore"))


def span(lines: Sequence[str], line: int, name: str, encoding: str) -> types.Range:
    """Return the range of a word in a line, from 0; the whole line if the word is not there."""
    text = lines[line] if 0 <= line < len(lines) else ""
    match = re.search(rf"\b{re.escape(name)}\b", text) if name else None
    start = len(text) - len(text.lstrip())
    first, last = match.span() if match else (min(start, len(text.rstrip())), len(text.rstrip()))
    return types.Range(
        types.Position(max(line, 0), units(text, first, encoding)),
        types.Position(max(line, 0), units(text, last, encoding)),
    )


def end_of_code(line: str, name: str) -> int:
    """Return the column behind the declaration of a name in a line: after its `;`, or the `{` of a body."""
    match = re.search(rf"\b{re.escape(name)}\b", line) if name else None
    start = match.end() if match else 0
    for mark in (";", "{"):
        at = line.find(mark, start)
        if at >= 0:
            return at + 1
    return len(line.rstrip())


_MOST_COMPARED = 300
"""The most lines between equal starts and ends of two texts that are compared one by one."""


class LineMap:
    """Finds the lines of an older text in a newer one."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self._old, self._new = len(old), len(new)
        self._moved: dict[int, int] = {}
        if old is new:
            self._head = self._tail = len(old)
            return
        least = min(self._old, self._new)
        self._head = sum(1 for _ in takewhile(bool, map(eq, old, new)))
        tail = sum(1 for _ in takewhile(bool, map(eq, reversed(old), reversed(new))))
        self._tail = min(tail, least - self._head)
        middles = old[self._head : self._old - self._tail], new[self._head : self._new - self._tail]
        if all(0 < len(middle) <= _MOST_COMPARED for middle in middles):
            self._compare(*middles)

    def _compare(self, old: Sequence[str], new: Sequence[str]) -> None:
        """Find equal lines between the first and the last difference."""
        from difflib import SequenceMatcher  # most texts differ in one place

        for first, second, count in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
            for number in range(count):
                self._moved[self._head + first + number] = self._head + second + number

    def line(self, old: int) -> int | None:
        """Return the line, from 0, where a line is now; None if it was edited."""
        if old < self._head:
            return old
        if old in self._moved:
            return self._moved[old]
        if old >= self._old - self._tail:
            return old + self._new - self._old
        return None

    def nearest_line(self, old: int) -> int:
        """Return the line of the new text for an old line; for an edited line, the first line of the edit."""
        line = self.line(old)
        return max(0, min(self._head, self._new - 1)) if line is None else line
