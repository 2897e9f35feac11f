"""Names in C text that are no structs, for messages: what a name that was taken for a struct is instead."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutlint.model.record import Record
from layoutlint.readers.c_tokens import blank_comments, blank_out

_TOKEN = re.compile(r"\w+|[^\s\w]")
_AGGREGATES = ("struct", "union")
_ENDS_DECLARATOR = frozenset(";,=[:")
_LONGEST = 12
"""The most words of a type in a message."""


class _Statement(Record, frozen=True):
    """A declaration outside of functions; its bodies are `{` and `}` without what is between."""

    words: tuple[str, ...]
    inner: tuple[tuple[str, str], ...]
    """What is declared in its bodies: enumerators and fields, each with what it is."""


def what_is(name: str, text: str) -> str | None:
    """Return what C text declares by a name: `an enum`, `a function` and the like; None if it does not."""
    if re.search(rf"^[ \t]*#[ \t]*define[ \t]+{re.escape(name)}\b", blank_comments(text), re.MULTILINE):
        return "a macro"
    for statement in _statements(_TOKEN.findall(blank_out(text))):
        found = _declared_as(name, statement.words) or dict(statement.inner).get(name)
        if found is not None:
            return found
    return None


def _statements(tokens: list[str]) -> Iterator[_Statement]:
    """Yield the declarations of some tokens."""
    words: list[str] = []
    inner: list[tuple[str, str]] = []
    depth = 0
    for number, token in enumerate(tokens):
        depth -= token == "}"
        if depth <= 0:
            depth = 0
            words.append(token)
        elif description := _describe_inner(words, tokens, number):
            inner.append((token, description))
        depth += token == "{"
        is_end = token == ";" or (token == "}" and "(" in words and "=" not in words)
        if depth == 0 and is_end:
            yield _Statement(tuple(words), tuple(inner))
            words, inner = [], []


def _describe_inner(words: list[str], tokens: list[str], number: int) -> str | None:
    """Return what a word in a body is: an enumerator, or a field; None for anything else."""
    following = tokens[number + 1] if number + 1 < len(tokens) else ";"
    if "enum" in words and tokens[number - 1] in "{,":
        return "an enumerator"
    tag = next((words[n + 1] for n, word in enumerate(words[:-1]) if word in _AGGREGATES), None)
    if tag is None or "(" in words or following not in _ENDS_DECLARATOR:
        return None
    return "a field" if tag == "{" else f"a field of {tag}"


def _declared_as(name: str, words: tuple[str, ...]) -> str | None:
    """Return what a declaration makes of a name; None if it declares another."""
    for number, word in enumerate(words):
        if word != name:
            continue
        before = words[number - 1] if number else ""
        after = words[number + 1] if number + 1 < len(words) else ";"
        if before == "enum":
            if after == "{":
                return "an enum"
        elif before not in _AGGREGATES and words[0] == "typedef" and after in (*_ENDS_DECLARATOR, ")", "("):
            return "a typedef of a function" if after == "(" else _typedef(words[1:number])
        elif before not in _AGGREGATES and after == "(":
            return "a function"
        elif before not in _AGGREGATES and number and after in _ENDS_DECLARATOR and "(" not in words[:number]:
            return "a variable"
    return None


def _typedef(words: tuple[str, ...]) -> str | None:
    """Return what a typedef of some words is; None for one of a struct with members."""
    if words[:1] == ("enum",):
        return "a typedef of an enum"
    if "(" in words:
        return "a typedef of a pointer to a function"
    if "{" in words or len(words) > _LONGEST:
        return None
    return f"a typedef of `{' '.join(words)}`"
