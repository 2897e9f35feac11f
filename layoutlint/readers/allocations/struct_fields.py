"""The fields of the structs that a source defines itself, as far as they are structs or pointers to some."""

from __future__ import annotations

import re
from collections.abc import Iterator

_BRACE = re.compile(r"\b(?:struct|union)\s+(\w+)\s*\{|[{}]")
_NO_WORDS = re.compile(r"\b(?:const|volatile|__\w+)\b|\s+")
_DECLARED = re.compile(r" *(?:struct|union) +(\w+)((?: |\*)[^()]*)")
_DECLARATOR = re.compile(r"([ *]*)(\w+) *(?:(\[)[^,]*)?")
_LONGEST = 1 << 16

Fields = dict[str, set[tuple[str, int]]]
"""By name: the tags that definitions give a field, each with the dereferences that lead to it."""


def of(text: str) -> dict[str, Fields]:
    """The fields of every struct that blanked text defines outside of others, by its tag."""
    found: dict[str, Fields] = {}
    for tag, body in _bodies(text):
        fields = found.setdefault(tag, {})
        for name, kind, depth in _fields(body):
            fields.setdefault(name, set()).add((kind, depth))
    return found


def _bodies(text: str) -> Iterator[tuple[str, str]]:
    """The tags of structs, and what stands between their braces."""
    opened: list[tuple[str | None, int]] = []
    for brace in _BRACE.finditer(text):
        if brace[0] != "}":
            opened.append((brace[1], brace.end()))
        elif opened:
            tag, start = opened.pop()
            if tag is not None and not opened and brace.start() - start < _LONGEST:
                yield tag, text[start : brace.start()]


def _fields(body: str) -> Iterator[tuple[str, str, int]]:
    """The fields of a struct that are structs: name, tag and dereferences; without those of inner structs."""
    for declaration in _NO_WORDS.sub(" ", _outermost(body)).split(";"):
        declared = _DECLARED.fullmatch(declaration)
        for part in declared[2].split(",") if declared is not None else ():
            declarator = _DECLARATOR.fullmatch(part)
            if declared is not None and declarator is not None:
                yield declarator[2], declared[1], declarator[1].count("*") + (1 if declarator[3] else 0)


def _outermost(body: str) -> str:
    """What stands outside of all braces, with a space for each pair of them."""
    parts: list[str] = []
    depth, at = 0, 0
    for brace in re.finditer(r"[{}]", body):
        if depth == 0:
            parts.append(body[at : brace.start()])
        depth += 1 if brace[0] == "{" else -1
        at = brace.end()
    return " ".join((*parts, body[at:]))
