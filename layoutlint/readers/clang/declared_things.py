"""Names in C text that are no structs, for messages: what a name that was taken for a struct is instead."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from layoutlint import files
from layoutlint.files import project
from layoutlint.model.record import Record
from layoutlint.readers.c_tokens import blank_comments, blank_out
from layoutlint.readers.clang import c_units, text_search
from layoutlint.readers.clang.kernel import tree

_TOKEN = re.compile(r"\w+|[^\s\w]")
_AGGREGATES = ("struct", "union")
_ENDS_DECLARATOR = frozenset(";,=[:")
_LONGEST = 12
"""The most words of a type in a message."""
_MOST_WORDS = 200
"""The most words of a declaration that are read: a hint is not worth the square of a long one."""
_MOST_TEXTS = 40
"""The most files with a name that are divided into declarations."""


class _Statement(Record, frozen=True):
    """A declaration outside of functions; its bodies are `{` and `}` without what is between."""

    words: tuple[str, ...]
    inner: tuple[tuple[str, str], ...]
    """What is declared in its bodies: enumerators and fields, each with what it is."""


def what_is_around(path: str, name: str) -> str | None:
    """Return what the C text of an input declares by a name, and the file if that is another one.

    The text of a file is searched first, then that of its project. A field counts if it is nothing else.
    """
    field = None
    for file in _likely_files(path, name):
        thing = what_is(name, text_search.content(file).decode(errors="replace"))
        if thing is None:
            continue
        thing = thing if file == path else f"{thing} ({min(os.path.relpath(file), file, key=len)})"
        if file == path or not thing.startswith("a field"):
            return thing
        field = field or thing
    return field


def _likely_files(path: str, name: str) -> Iterator[str]:
    """Yield files of an input, and of its project, that have a name: first those that seem to declare it."""
    word = rb"\b%s\b" % re.escape(name.encode(errors="surrogateescape"))
    is_there = re.compile(word)
    is_declared = re.compile(rb"(?:#[ \t]*define[ \t]+|\benum\s+|\btypedef\b[^;{}]{0,200}|\}\s*)" + word)
    others: list[str] = []
    for file in islice(dict.fromkeys(_project_files(path)), text_search.MOST_FILES):
        text = text_search.content(file)
        if is_there.search(text) is None:
            continue
        if file == path or is_declared.search(text) is not None:
            yield file
        else:
            others.append(file)
    yield from others[:_MOST_TEXTS]


def _project_files(path: str) -> Iterable[str]:
    suffixes = c_units.HEADERS + c_units.SOURCES
    folders = [folder for _, below in tree.source_folders(path) for folder in below]
    if folders and files.is_folder(path):
        return text_search.files_below(folders, suffixes)
    around = project.folders_around(path)
    is_project = bool(around) and project.is_repository(around[-1])
    return (path, *text_search.files_below(around[-1:] if is_project else around[:1], suffixes))


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
            if len(words) < _MOST_WORDS:
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
    before, following = tokens[number - 1], tokens[number + 1] if number + 1 < len(tokens) else ";"
    if "=" in words or before == ":":
        return None  # an initial value, or a width
    if "enum" in words and before in "{,":
        return "an enumerator"
    tag = next((words[n + 1] for n, word in enumerate(words[:-1]) if word in _AGGREGATES), None)
    if tag is None or "(" in words or following not in _ENDS_DECLARATOR:
        return None
    return "a field" if tag == "{" else f"a field of {tag}"


def _declared_as(name: str, words: tuple[str, ...]) -> str | None:
    """Return what a declaration makes of a name; None if it declares another."""
    for number, word in enumerate(words):
        if word != name or _is_in_value(words, number):
            continue
        before = words[number - 1] if number else ""
        after = words[number + 1] if number + 1 < len(words) else ";"
        if before == "enum":
            if after == "{":
                return "an enum"
        elif words[0] == "typedef":
            if before not in _AGGREGATES and _is_declarator(words, number):
                return "a typedef of a function" if after == "(" else _typedef(words[1:number])
        elif before not in _AGGREGATES and after == "(":
            return "a function"
        elif before not in _AGGREGATES and number and after in _ENDS_DECLARATOR and "(" not in words[:number]:
            return "a variable"
    return None


def _is_in_value(words: tuple[str, ...], number: int) -> bool:
    """Return whether a word is part of the initial value of a variable."""
    commas = [at for at, word in enumerate(words[:number]) if word == ","]
    return "=" in words[commas[-1] if commas else 0 : number]


def _is_declarator(words: tuple[str, ...], number: int) -> bool:
    """Return whether a word of a typedef is the name that it declares, not a parameter's type."""
    after = words[number + 1 : number + 3]
    if words[:number].count("(") == words[:number].count(")"):
        return not after or after[0] in _ENDS_DECLARATOR or after[0] == "("
    return ")" not in words[:number] and after[:1] == (")",) and after[1:] in (("(",), ("[",))


def _typedef(words: tuple[str, ...]) -> str | None:
    """Return what a typedef of some words is; None for one of a struct with members."""
    if words[:1] == ("enum",):
        return "a typedef of an enum"
    if "(" in words:
        return "a typedef of a pointer to a function"
    if "{" in words or len(words) > _LONGEST:
        return None
    return f"a typedef of `{' '.join(words)}`"
