"""Names of structs on the command line, as people type them."""

from __future__ import annotations

import os

import click

from layoutlint.errors import ReadError

_KEYWORDS = ("struct", "union")


def without_keyword(name: str) -> str:
    """Return a name without `struct` or `union` in front of it, which no name can contain."""
    first, _, rest = name.strip().partition(" ")
    return rest.strip() if first in _KEYWORDS and rest.strip() else name


def is_keyword(word: str) -> bool:
    """Return whether a word is `struct` or `union`, and no file of that name exists."""
    return word in _KEYWORDS and not os.path.exists(word)


def strip_keyword(ctx: click.Context, param: click.Parameter, name: str | None) -> str | None:
    """Return the value of an option without a keyword in front of it (a callback of click)."""
    return None if name is None else without_keyword(name)


def strip_keywords(ctx: click.Context, param: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the values of a repeated option without keywords in front of them (a callback of click)."""
    return tuple(map(without_keyword, names))


def without_keywords(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return names without keywords, which can be words of their own: `show ring.h struct ring`."""
    return tuple(
        without_keyword(word)
        for number, word in enumerate(words, 1)
        if number == len(words) or word not in _KEYWORDS
    )


def refuse_swapped(command: str, path: str, names: tuple[str, ...]) -> None:
    """Raise ReadError if the input is missing, and a file was given as the name of a struct.

    Only what could be a name is taken for one: `-`, URLs, build ids and members of archives are no paths.
    """
    files = [name for name in names if os.path.exists(name)]
    if files and path.replace(".", "_").isidentifier() and not os.path.lexists(path):
        raise ReadError(
            path, f"no such file or directory; INPUT is first: `layoutlint {command} {files[0]} {path}`"
        )
    if files and command == "show" and os.path.splitext(files[0])[1]:
        raise ReadError(files[0], "is a file, and `show` takes one INPUT: call it once for each")
