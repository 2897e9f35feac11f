"""Typedefs of structs in C sources: their names, and the tags of the structs."""

from __future__ import annotations

import re

_SHORT = re.compile(r"\btypedef\s+(?:struct|union)\s+(\w+)\s+(\w+)\s*;")
_HEAD = re.compile(r"^typedef\s+(?:struct|union)\b([^{};()]{0,200})\{", re.MULTILINE)
_BRACE = re.compile(r"[{}]")
_TAIL = re.compile(r"([^{};]{0,200});")
_LAST_WORD = re.compile(r"(\w+)\s*$")
_LONGEST = 1 << 16
"""The most characters between the braces of a struct."""


def struct_typedefs(text: str) -> dict[str, str]:
    """Return the typedefs of structs in a text, each with the tag of the struct; empty for a struct without.

    """
    if "typedef" not in text:
        return {}
    typedefs = {name: tag for tag, name in _SHORT.findall(text)}
    for head in _HEAD.finditer(text):
        tail = _TAIL.match(text, _closing_brace(text, head.end()))
        name = _LAST_WORD.search(tail[1]) if tail is not None else None
        tag = _LAST_WORD.search(head[1])
        if name is not None:
            typedefs[name[1]] = tag[1] if tag is not None else ""
    return typedefs


def _closing_brace(text: str, start: int) -> int:
    """Return the offset after the brace that closes the one before `start`, or `start` if it is far away."""
    depth = 1
    for brace in _BRACE.finditer(text, start, start + _LONGEST):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    return start
