"""A change of one file as a unified diff that `git apply` accepts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from difflib import SequenceMatcher

_CONTEXT = 3
_Change = tuple[str, int, int, int, int]
"""An opcode of SequenceMatcher, with lines of the whole texts."""
_NO_END = "\n\\ No newline at end of file\n"
_UNQUOTED = re.compile(rb'[^\x00-\x1f"\\\x7f-\xff]+')
_ESCAPES = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}
"""Escapes of git's quoted paths (git-config(1), `core.quotePath`); others are octal."""


def unified_diff(old: str, new: str, path: str) -> str:
    """Return the change of a file as a unified diff; empty if there is none.

    `path` is relative to the folder in which the diff is applied with `-p1`. Bytes that are no UTF-8 are
    surrogates in the texts, and in the diff.
    """
    hunks = "".join(_hunks(split_lines(old), split_lines(new)))
    if not hunks:
        return ""
    names = _quote_path(f"a/{path}"), _quote_path(f"b/{path}")
    # A tab ends a name with spaces, which would otherwise end at the first of them (git's diff.c).
    end = "\t" if " " in path and not names[0].startswith('"') else ""
    return f"diff --git {names[0]} {names[1]}\n--- {names[0]}{end}\n+++ {names[1]}{end}\n{hunks}"


def split_lines(text: str) -> list[str]:
    """Return the lines with their ends: only `\\n` ends one for git, as for a compiler."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    """Yield the parts of a diff; what both texts begin and end with is not compared line by line."""
    least = min(len(old), len(new))
    first = next((at for at in range(least) if old[at] != new[at]), least)
    if first == len(old) == len(new):
        return
    last = next((at for at in range(least - first) if old[-1 - at] != new[-1 - at]), least - first)
    for group in _groups(old, new, first, last):
        sides = (group[0][1], group[-1][2]), (group[0][3], group[-1][4])
        yield f"@@ -{_range(*sides[0])} +{_range(*sides[1])} @@\n"
        for tag, old_first, old_last, new_first, new_last in group:
            if tag == "equal":
                yield from (_line(" ", line) for line in old[old_first:old_last])
            else:
                yield from (_line("-", line) for line in old[old_first:old_last])
                yield from (_line("+", line) for line in new[new_first:new_last])


def _groups(old: list[str], new: list[str], first: int, last: int) -> Iterator[list[_Change]]:
    """Yield the changes in groups with their context, of texts with equal lines at both ends.

    git places a hunk with less context at its end than at its start only at the end of a file.
    """
    old_end, new_end = len(old) - last, len(new) - last
    before, behind = min(first, _CONTEXT), min(last, _CONTEXT)
    group: list[_Change] = [("equal", first - before, first, first - before, first)]
    for tag, *places in SequenceMatcher(None, old[first:old_end], new[first:new_end]).get_opcodes():
        old_first, old_last, new_first, new_last = (place + first for place in places)
        if tag == "equal" and old_last - old_first > 2 * _CONTEXT:
            yield [*group, (tag, old_first, old_first + _CONTEXT, new_first, new_first + _CONTEXT)]
            group, old_first, new_first = [], old_last - _CONTEXT, new_last - _CONTEXT
        group.append((tag, old_first, old_last, new_first, new_last))
    yield [*group, ("equal", old_end, old_end + behind, new_end, new_end + behind)]


def _range(start: int, end: int) -> str:
    count = end - start
    return f"{start + 1 if count else start},{count}"


def _line(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}{_NO_END}"


def _quote_path(path: str) -> str:
    """Return a path as git writes it in a diff: quoted if it has quotes, or characters outside of ASCII."""
    raw = os.fsencode(path)
    if _UNQUOTED.fullmatch(raw):
        return path
    return '"' + "".join(_escape_byte(byte) for byte in raw) + '"'


def _escape_byte(byte: int) -> str:
    if byte in _ESCAPES:
        return f"\\{_ESCAPES[byte]}"
    return chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"
