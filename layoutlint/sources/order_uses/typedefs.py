"""Typedefs in C text that lead to a struct: of pointers to it, of arrays of it, by `typeof`."""

from __future__ import annotations

import re

from layoutlint.sources.allocations.struct_definitions import blank_attributes
from layoutlint.sources.order_uses.expansion import MacroText
from layoutlint.sources.order_uses.subject import Subject

_DECLARATOR = re.compile(r"\s*((?:\*\s*(?:const\s+)?)*)(\w+)\s*((?:\[[^\]]*\]\s*)*)")
_BACKWARDS = re.compile(r"typedef(?<=\btypedef)\b([^;{}()]{1,400});")
"""A typedef that can stand behind its type; `re` searches for a literal at the beginning quickly."""
_NEAR = 200
_TYPEOF = re.compile(
    r"typedef(?<=\btypedef)\s+((?:__)?typeof\w*\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))([^;{}()]{1,200});"
)


def _declarators(text: str, subject: Subject) -> list[tuple[str, str, int]]:
    """Return the stars, the name and the dimensions of each typedef of the type itself."""
    text = blank_attributes(text)
    types = "|".join((subject.type_pattern, *(rf"\b{name}\b" for name, _ in subject.arrays)))
    pattern = rf"typedef(?<=\btypedef)\s+(?:const\s+)?({types})(?:\s+const)?([^;{{}}()]{{1,400}});"
    inner = dict(subject.arrays)
    tag = re.escape(subject.tag or "")
    body = rf"typedef(?<=\btypedef)\s+struct\s+{tag}\s*\{{[^{{}}]*\}}([^;{{}}()]{{1,400}});"
    before = re.compile(rf"(?:{types})\s+\Z")
    heads = [
        (match[1], 0)
        for match in _BACKWARDS.finditer(text)
        if before.search(text[max(0, match.start() - _NEAR) : match.start()])
    ]
    heads += [(match[2], inner.get(match[1], 0)) for match in re.finditer(pattern, text)]
    heads += [(match[1], 0) for match in re.finditer(body, text)] if subject.tag else []
    return [
        (" ".join(declarator[1].split()), declarator[2], declarator[3].count("[") + dims)
        for names, dims in heads
        for part in names.split(",")
        if (declarator := _DECLARATOR.fullmatch(part.rstrip())) is not None
    ]


def pointers(text: str, subject: Subject) -> dict[str, tuple[MacroText, ...]]:
    """Return the typedefs of pointers, and those by `typeof`, as macros that stand for their types."""
    if "typedef" not in text:
        return {}
    spelled = f"{subject.struct.aggregate} {subject.tag}" if subject.tag else next(iter(subject.aliases))
    made: dict[str, tuple[MacroText, ...]] = {
        name: (MacroText(None, f"{spelled} {stars}"),)
        for stars, name, dims in _declarators(text, subject)
        if stars and not dims
    }
    for match in _TYPEOF.finditer(text):
        for part in match[2].split(","):
            declarator = _DECLARATOR.fullmatch(part.rstrip())
            if declarator is not None and not declarator[3]:
                made[declarator[2]] = (MacroText(None, f"{match[1]} {declarator[1]}"),)
    return made


def aliases(text: str, subject: Subject) -> frozenset[str]:
    """Return the typedefs of the type itself, also of other typedefs of it."""
    if "typedef" not in text:
        return frozenset()
    declarators = _declarators(text, subject)
    return frozenset(name for stars, name, dims in declarators if not stars and not dims) - set(subject.names)


def arrays(text: str, subject: Subject) -> frozenset[tuple[str, int]]:
    """Return the typedefs of arrays, with their dimensions."""
    if "typedef" not in text:
        return frozenset()
    return frozenset((name, dims) for stars, name, dims in _declarators(text, subject) if dims and not stars)
