"""The fields of the structs that a source defines itself, as far as they are structs or pointers to some."""

from __future__ import annotations

import re
from collections.abc import Iterator

_BRACE = re.compile(r"\b(?:struct|union)\s+(\w+)\s*\{|[{}]")
_INNER = re.compile(r"\{[^{}]*\}")
_WORDS = re.compile(r"\b(?:const|volatile|__\w+)\b")
_DECLARED = re.compile(r"\s*(?:struct|union)\s+(\w+)\s*([*\s]\s*[^()]*)")
_DECLARATOR = re.compile(r"\s*([*\s]*)(\w+)\s*(?:(\[)[^,]*)?")
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
    for _ in range(body.count("{")):
        body, more = _INNER.subn(" ", body)
        if not more:
            break
    for declaration in _WORDS.sub(" ", body).split(";"):
        declared = _DECLARED.fullmatch(declaration)
        for part in declared[2].split(",") if declared is not None else ():
            declarator = _DECLARATOR.fullmatch(part)
            if declared is not None and declarator is not None:
                yield declarator[2], declared[1], declarator[1].count("*") + (1 if declarator[3] else 0)
