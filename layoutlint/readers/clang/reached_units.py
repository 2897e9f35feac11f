"""The units of a compilation database that can read a file which a change touches."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from layoutlint import files
from layoutlint.model.record import Record, field
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import include_graph, text_search
from layoutlint.readers.clang.include_graph import IncludeGraph

if TYPE_CHECKING:
    from layoutlint.readers.clang.compdb import Command

_OTHER_DIRECTIVES = (b"%:", b"??=")
"""Other signs for the `#` of directives, which are not followed."""
_OTHER_FOLDERS = ("-iwithprefix", "-iwithsysroot", "-iframework", "-F", "-I-")
"""Options with folders in which headers are not searched here."""
_MOST_TRIED = 5_000_000
"""The most paths at which headers are searched."""


class ReachedUnits(Record, frozen=True):
    """The commands whose units a change reaches, and the structs of the others."""

    commands: tuple[Command, ...]
    elsewhere: frozenset[str]
    """The names that files seem to define which only the other units read."""

    def has_missing(self, structs: Iterable[Struct], wanted: Wanted) -> bool:
        """Return whether a requested struct is neither among some nor seems to be elsewhere."""
        found = {name for struct in structs for name in (struct.name, *struct.aliases)} | self.elsewhere
        patterns = frozenset(wanted.patterns) - wanted.kernel
        is_unmatched = any(not any(fnmatchcase(name, each) for name in found) for each in patterns)
        return is_unmatched or not wanted.names - wanted.kernel <= found


def find(commands: Sequence[Command], touched: frozenset[str], wanted: Wanted) -> ReachedUnits | None:
    """Return the commands whose units can read one of the `touched` files, by their real paths.

    A text that has the name of one counts as one that includes it: what it includes can have another place,
    and `__has_include` asks for it. None if all of them can, or if it is not certain.
    """
    search = _TouchedSearch(touched, frozenset(os.fsencode(os.path.basename(path)) for path in touched))
    graph = IncludeGraph(lambda text: False, _MOST_TRIED)
    reached: list[Command] = []
    near, far = set[str](), set[str]()
    for command in commands:
        paths = [path for path, _ in graph.files(command.file, command.directory, command.words)]
        if graph.is_exhausted:
            return None
        is_reached = search.reaches(command.words, paths)
        reached += [command] if is_reached else []
        (near if is_reached else far).update(paths)
    if len(reached) == len(commands):
        return None
    return ReachedUnits(tuple(reached), frozenset(_names_in(far - near, wanted)))


def _names_in(paths: Iterable[str], wanted: Wanted) -> Iterable[str]:
    for path in paths:
        yield from text_search.names_in_text(text_search.content(path), wanted)


class _Includes(Record, frozen=True):
    """What a text includes."""

    is_touched: bool
    """Whether it is a touched file or has the name of one, or was not read to its end."""
    macros: tuple[bytes, ...]
    """The macros that write what it includes."""


class _TouchedSearch(Record):
    """Searches touched files among what units read."""

    touched: frozenset[str]
    names: frozenset[bytes]
    """Their names without folders."""
    _includes: dict[str, _Includes] = field(default_factory=dict)

    def reaches(self, words: Sequence[str], paths: Sequence[str]) -> bool:
        """Return whether a unit that has some flags, and reads some texts, can read a touched file."""
        names = tuple(map(os.fsdecode, self.names))
        if any(word.startswith(_OTHER_FOLDERS) or any(name in word for name in names) for word in words):
            return True
        found = [self._includes_of(path) for path in paths]
        macros = {macro for each in found for macro in each.macros}
        return any(each.is_touched for each in found) or (
            bool(macros) and self._can_name_files(macros, words, paths)
        )

    def _includes_of(self, path: str) -> _Includes:
        if path not in self._includes:
            text = text_search.content(path)
            is_unread = len(text) >= text_search.MOST_BYTES or any(sign in text for sign in _OTHER_DIRECTIVES)
            has_name = is_unread or any(name in text for name in self.names)
            is_touched = has_name or files.real_path(path) in self.touched
            macros = tuple(macro for macro, _ in include_graph.computed_includes(text))
            self._includes[path] = _Includes(is_touched, macros)
        return self._includes[path]

    def _can_name_files(self, macros: Collection[bytes], words: Sequence[str], paths: Sequence[str]) -> bool:
        """Return whether one of some macros can name a file: which one, only the preprocessor knows."""
        if any(os.fsdecode(macro) in word for macro in macros for word in words):
            return True
        texts = (text for text in map(text_search.content, paths) if any(macro in text for macro in macros))
        return any(macro in macros for text in texts for macro, _ in include_graph.names_in_macros(text))
