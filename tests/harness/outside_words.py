"""The words of Python's own errors, which change from version to version: tests ask for them instead of holding them."""

from __future__ import annotations

import errno
import os
import re
import tomllib
from collections.abc import Callable

import pytest


def words_of(function: Callable[..., object], *arguments: object) -> str:
    """Return the words of the error that a call raises."""
    with pytest.raises((ValueError, OSError)) as raised:
        function(*arguments)
    return str(raised.value)


def toml_words(text: str, table: str = "") -> str:
    """Return tomllib's words about a text as messages have them: in lower case, without its place, with the name of a table."""
    words = re.sub(r" \(at [^()]*\)$", "", words_of(tomllib.loads, text))
    words = re.sub(r"\(['\"].*\)", table, words) if table else words
    return f"{words[:1].lower()}{words[1:]}"


def system_words(number: int = errno.ENOENT) -> str:
    """Return the words of the C library about an error of the system, as messages have them."""
    return os.strerror(number).lower()
