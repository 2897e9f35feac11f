"""The files that units seem to read, by their `#include` lines, without a preprocessor."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

from layoutlint import files
from layoutlint.model.record import Record, field
from layoutlint.readers.clang import flags, text_search

_GAP = rb"(?:[ \t]|\\\r?\n|(?>/\*[^\n]{0,200}?\*/))*+"
"""What can be between the words of a directive: a line that goes on in the next, and comments.

It matches in one way only: many comments took exponential time.
"""
_DIRECTIVE = rb"#" + _GAP + rb"(?:include(?:_next)?|import)" + _GAP
"""It begins with a literal, which `re` searches for quickly."""
_INCLUDE = re.compile(_DIRECTIVE + rb'([<"])([^>"\n]+)[>"]')
_COMPUTED_INCLUDE = re.compile(_DIRECTIVE + rb"([A-Za-z_]\w*)([^\n]*)")
_DEFINITION = re.compile(rb"#" + _GAP + rb"define" + _GAP + rb"(\w+)((?:\\\r?\n|[^\n])*)")
_FILE_NAME = re.compile(rb"(?<![\w./+-])[\w./+-]*\w\.[A-Za-z]\w*")


def included_names(text: bytes) -> tuple[tuple[bool, str], ...]:
    """Return the headers that a text includes: whether in quotes, and the name."""
    lines = (match for match in _INCLUDE.finditer(text) if _begins_line(text, match.start()))
    return tuple((match[1] == b'"', os.fsdecode(match[2])) for match in lines)


def computed_includes(text: bytes) -> tuple[tuple[bytes, tuple[str, ...]], ...]:
    """Return the `#include` lines whose name a macro writes: the macro, and the file names behind it."""
    lines = (match for match in _COMPUTED_INCLUDE.finditer(text) if _begins_line(text, match.start()))
    return tuple((match[1], _file_names(match[2])) for match in lines)


def names_in_macros(text: bytes) -> Iterator[tuple[bytes, tuple[str, ...]]]:
    """Yield the macros that a text defines, with the file names that each contains."""
    for match in _DEFINITION.finditer(text):
        yield match[1], _file_names(match[2])


def _file_names(text: bytes) -> tuple[str, ...]:
    return tuple(map(os.fsdecode, _FILE_NAME.findall(text)))


def _begins_line(text: bytes, offset: int) -> bool:
    """Return whether only spaces and comments are before an offset in its line."""
    before = text[text.rfind(b"\n", 0, offset) + 1 : offset].strip(b" \t")
    return not before or before.endswith(b"*/")


class IncludeGraph(Record):
    """Follows the `#include` lines of units; each file is read once."""

    examine: Callable[[bytes], bool]
    """Is called with the text of each file."""
    most_tried: int
    """The most paths at which headers are searched."""
    tried: int = 0
    _texts: dict[str, tuple[bool, tuple[tuple[bool, str], ...]]] = field(default_factory=dict)
    _resolved: dict[tuple[str, bool, str, int], str | None] = field(default_factory=dict)
    _numbers: dict[tuple[str, ...], int] = field(default_factory=dict)
    """Numbers of lists of folders, which can be long."""

    @property
    def is_exhausted(self) -> bool:
        """Whether the search took too long, so that files can be missing."""
        return self.tried > self.most_tried

    def files(self, file: str, directory: str, words: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
        """Yield the files that a unit with some flags seems to read, its own first, with what `examine` says.

        Ends early if the search takes too long.
        """
        parsed_flags = flags.normalise(words)
        folders = tuple(os.path.join(directory, folder) for folder in parsed_flags.folders)
        names = (file, *parsed_flags.includes)
        pending = [os.path.normpath(os.path.join(directory, name)) for name in reversed(names)]
        visited = set(pending)
        number = self._numbers.setdefault(folders, len(self._numbers))
        while pending:
            path = pending.pop()
            examined, includes = self._text(path)
            yield path, examined
            for is_quoted, name in includes:
                if self.is_exhausted:
                    return
                header = self._resolve(os.path.dirname(path), is_quoted, name, folders, number)
                if header is not None and header not in visited:
                    visited.add(header)
                    pending.append(header)

    def _text(self, path: str) -> tuple[bool, tuple[tuple[bool, str], ...]]:
        if path not in self._texts:
            text = text_search.content(path)
            self._texts[path] = (self.examine(text), included_names(text))
        return self._texts[path]

    def _resolve(
        self, folder: str, is_quoted: bool, name: str, folders: tuple[str, ...], number: int
    ) -> str | None:
        key = (folder if is_quoted else "", is_quoted, name, number)
        if key not in self._resolved:
            places = (folder, *folders) if is_quoted else folders
            self.tried += len(places)
            candidates = (os.path.normpath(os.path.join(place, name)) for place in places)
            self._resolved[key] = next((at for at in candidates if files.is_file(at)), None)
        return self._resolved[key]
