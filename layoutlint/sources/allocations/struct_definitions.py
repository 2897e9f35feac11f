"""Structs that a C source defines: their fields that lead to other structs, and their typedefs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import reduce

_BRACE = re.compile(r"\b(?:struct|union)\s+(?:__\w+\s+)?(\w+)\s*\{|[{}]")
_ANY_BRACE = re.compile(r"[{}]")
_NO_WORDS = re.compile(r"\b(?:const|volatile|__\w+)\b|\s+")
_DECLARED = re.compile(r" *(?:struct|union) +(\w+)((?: |\*)[^()]*)")
_DECLARATOR = re.compile(r"([ *]*)(\w+) *(?:(\[)[^,]*)?")
_SHORT_TYPEDEF = re.compile(r"\btypedef\s+(?:const\s+)?(?:struct|union)\s+(\w+)\s+([^;{}]{1,200});")
_PARENTHESES = reduce(lambda inner, _: rf"\((?:[^()]|{inner})*+\)", range(5), r"\([^()]*+\)")
"""Parentheses with up to five more inside: expressions in attributes are short."""
_ATTRIBUTE = re.compile(rf"__(?:attribute(?:__)?|declspec)\s*{_PARENTHESES}|\[\[[^\[\]]*+\]\]")
_OWN_NAME = re.compile(r"\s*(?:__\w+\s+)*(\w+)\s*")
_TYPEDEF = re.compile(r"^typedef\s+(?:struct|union)\b([^{};()]{0,200})\{", re.MULTILINE)
_TAIL = re.compile(r"([^{};]{0,200}+);")
_LAST_WORD = re.compile(r"(?<!\w)(\w++)\s*+$")
_LONGEST = 1 << 16
"""The most characters between the braces of a struct."""

Fields = dict[str, set[tuple[str, int]]]
"""By name: the tags of a field in the definitions, each with the dereferences from the field to it."""


def fields_by_tag(text: str) -> dict[str, Fields]:
    """Return the fields of every top-level struct that blanked text defines, by its tag."""
    structs: dict[str, Fields] = {}
    for tag, body in _bodies(blank_attributes(text)):
        fields = structs.setdefault(tag, {})
        for name, kind, depth in _fields(body):
            fields.setdefault(name, set()).add((kind, depth))
    return structs


def _bodies(text: str) -> Iterator[tuple[str, str]]:
    """Yield the tags of structs, with the text between their braces."""
    open_braces: list[tuple[str | None, int]] = []
    for brace in _BRACE.finditer(text):
        if brace[0] != "}":
            open_braces.append((brace[1], brace.end()))
        elif open_braces:
            tag, start = open_braces.pop()
            if tag is not None and not open_braces and brace.start() - start < _LONGEST:
                yield tag, text[start : brace.start()]


def _fields(body: str) -> Iterator[tuple[str, str, int]]:
    """Yield name, tag and dereferences of a struct's fields that are structs, without inner structs."""
    for declaration in _NO_WORDS.sub(" ", _outermost(body)).split(";"):
        struct_type = _DECLARED.fullmatch(declaration)
        for part in struct_type[2].split(",") if struct_type is not None else ():
            declarator = _DECLARATOR.fullmatch(part)
            if struct_type is not None and declarator is not None:
                yield declarator[2], struct_type[1], declarator[1].count("*") + (1 if declarator[3] else 0)


def _outermost(body: str) -> str:
    """Return the text outside of all braces, with a space for each pair of braces."""
    parts: list[str] = []
    depth, at = 0, 0
    for brace in _ANY_BRACE.finditer(body):
        if depth == 0:
            parts.append(body[at : brace.start()])
        depth += 1 if brace[0] == "{" else -1
        at = brace.end()
    return " ".join((*parts, body[at:]))


def struct_typedefs(text: str) -> dict[str, str]:
    """Return the typedefs of structs in a text, each with the tag of the struct; empty for one without."""
    if "typedef" not in text:
        return {}
    text = blank_attributes(text)
    typedefs = {
        name: tag for tag, declarators in _SHORT_TYPEDEF.findall(text) for name in _own_names(declarators)
    }
    for head in _TYPEDEF.finditer(text):
        tail = _TAIL.match(text, _closing_brace(text, head.end()))
        tag = _LAST_WORD.search(head[1])
        for name in _own_names(tail[1]) if tail is not None else ():
            typedefs[name] = tag[1] if tag is not None else ""
    return typedefs


def blank_attributes(text: str) -> str:
    """Return a text without attributes, which can be between `struct` and the tag or the brace."""
    return _ATTRIBUTE.sub(" ", text)


def _own_names(declarators: str) -> Iterator[str]:
    """Yield the names that a typedef gives to its type itself, and not to pointers or arrays of it."""
    for part in declarators.split(","):
        if (name := _OWN_NAME.fullmatch(part)) is not None:
            yield name[1]


def _closing_brace(text: str, start: int) -> int:
    """Return the offset after the brace that closes the one before `start`, or `start` if it is far away."""
    depth = 1
    for brace in _ANY_BRACE.finditer(text, start, start + _LONGEST):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    return start
