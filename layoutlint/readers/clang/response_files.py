"""Response files: flags in a file, to which `@file` on a compiler's command line refers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.flag_files import ON_DISK, FlagFiles
from layoutlint.model.record import Record

_DEEPEST = 16
"""The most levels of nested response files."""
_MOST_BYTES = 1 << 22
"""The most bytes of all response files of one command, each counted as often as it is named."""
_MOST_OF_ALL = 1 << 28
"""The most bytes of the response files of all commands in a database."""
_PIECES = re.compile(r"""(\s+)|\\(.)|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(.)""", re.DOTALL)


def expand(words: Iterable[str], directory: str, flag_files: FlagFiles = ON_DISK) -> tuple[str, ...]:
    """Return the words with response files expanded, from a folder; a missing one stays as it is.

    Raises ReadError for files that include themselves, or are too large.
    """
    return Expansion(flag_files).expand(words, directory)


class Expansion(Record):
    """Expands the response files of commands, with limits for each command and for all of them."""

    flag_files: FlagFiles = ON_DISK
    directory: str = ""
    read: int = 0
    """Bytes read for this command."""
    read_before: int = 0
    """Bytes read for earlier commands."""

    def expand(self, words: Iterable[str], directory: str) -> tuple[str, ...]:
        """Return the words with response files expanded, from a folder. Raises ReadError."""
        words = tuple(words)
        if not any(word.startswith("@") for word in words):
            return words
        self.directory, self.read_before, self.read = directory, self.read_before + self.read, 0
        return tuple(self._words(words, ()))

    def _words(self, words: Iterable[str], inside: tuple[str, ...]) -> Iterator[str]:
        """Yield the words of a command line, or of a response file inside others."""
        for word in words:
            path = os.path.join(self.directory, word[1:]) if word.startswith("@") else ""
            text = self._text(path, inside) if path else None
            if text is None:
                yield word
            else:
                yield from self._words(split(text), (*inside, files.real_path(path)))

    def _text(self, path: str, inside: tuple[str, ...]) -> str | None:
        if files.real_path(path) in inside:
            raise ReadError(path, "is a response file that includes itself")
        if len(inside) >= _DEEPEST:
            raise ReadError(
                path, f"is a response file inside {_DEEPEST} others, which is the most that are read"
            )
        try:
            text = self.flag_files.read_all(path, _MOST_BYTES)
        except FileNotFoundError:
            return None  # GCC then treats the word as a file
        except OSError as error:
            raise ReadError(path, f"{files.error_reason(error)}, and is named as a response file") from error
        self.read += len(text)
        for size, most in ((self.read, _MOST_BYTES), (self.read_before + self.read, _MOST_OF_ALL)):
            if size > most:
                raise ReadError(path, f"makes response files of more than {most:,} bytes, which are not read")
        return os.fsdecode(text)


def split(text: str) -> list[str]:
    """Split a response file into words: quotes of both kinds, backslash before any character (libiberty,
    buildargv).
    """
    words: list[str] = []
    word: str | None = None
    for blank, escaped, double, single, character in _PIECES.findall(text):
        if blank:
            words += () if word is None else (word,)
            word = None
        else:
            quoted = re.sub(r"\\(.)", r"\1", double or single, flags=re.DOTALL)
            word = (word or "") + (escaped or quoted or character)
    return words if word is None else [*words, word]
