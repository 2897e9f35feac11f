"""The files that C files of a repository seem to include, by their `#include` lines, without a preprocessor.

Too many rather than too few: conditions are ignored, and a name that no known folder has can refer to every
file that ends with it. Where a macro writes the name, it can be any that a macro contains. If no macro with
its name is defined there, it can be any file of the repository that C includes; so can it where a line is
written in a way that this module does not read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property

from layoutlint import files
from layoutlint.model.record import Record, field
from layoutlint.readers.clang import text_search
from layoutlint.readers.clang.include_graph import computed_includes, names_in_macros

_INCLUDED = re.compile(r"\.(?:h|hh|hpp|hxx|H|inc|inl|def|tbl|x)$")
_SPLICE = re.compile(rb"(?:\\|\?\?/)[ \t\v\f]*+\r?\n")
"""The end of a line that goes on in the next; a trigraph can write it."""
_DIRECTIVE = re.compile(rb"(#|%:|\?\?=|\*/)[ \t\v\f]*+(?:include|include_next|import|embed)\b([^\n\r]*+)")
"""A directive: after its sign, in all ways to write that, or after a comment."""
_NAME = re.compile(rb"""[ \t\v\f]*+(?:(")([^"]++)"|<([^>]++)>|([A-Za-z_])|/\*|[$\x80-\xff])""")
"""What can follow it: a name, a macro, or a comment."""


def _included_names(text: bytes) -> tuple[list[tuple[bool, str]], bool]:
    """Return the headers that a text can include, and whether it can include others.

    A line in a comment or a string counts as well.
    """
    names, has_others = [], False
    for match in _DIRECTIVE.finditer(_SPLICE.sub(b"", text)):
        name = _NAME.match(match[2])
        if name is None:
            continue
        if name[2] or name[3]:
            names.append((name[1] is not None, os.fsdecode(name[2] or name[3])))
        else:  # `computed_includes` reads the names of macros behind the usual sign
            has_others = has_others or name[4] is None or match[1] != b"#"
    return names, has_others


class Inclusion(Record, dict=True):
    """Follows `#include` lines from file to file; all paths are absolute. Each file is read once."""

    known: frozenset[str]
    """The files of the repository before and after a change: deleted files can still be included."""
    folders: tuple[str, ...] = ()
    """Include folders, in order."""
    forced: tuple[str, ...] = ()
    """Headers that every unit reads first (`-include`)."""
    searches_disk: bool = False
    """Whether the folders also have files that are not of the repository, such as generated headers."""
    _computed: dict[str, tuple[tuple[bytes, tuple[str, ...]], ...]] = field(default_factory=dict)
    _included: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _resolved: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    _closures: dict[str, frozenset[str]] = field(default_factory=dict)
    _real_folders: dict[str, str] = field(default_factory=dict)

    def closure(self, file: str) -> frozenset[str]:
        """Return the files that a file seems to include, also through others, and itself."""
        if file not in self._closures:
            visited = {file, *self.forced}
            pending = list(visited)
            while pending:
                while pending:
                    for included in self.includes(pending.pop()):
                        if included in self._closures:
                            visited |= self._closures[included]
                        elif included not in visited:
                            visited.add(included)
                            pending.append(included)
                pending = [path for path in self._written_by_macros(visited) if path not in visited]
                visited.update(pending)
            self._closures[file] = frozenset(visited)
        return self._closures[file]

    def _written_by_macros(self, visited: Collection[str]) -> Iterator[str]:
        """Yield the files that some files can include by names that macros write."""
        computed = {path: self._computed[path] for path in visited if self._computed.get(path)}
        if not computed:
            return
        macros: set[bytes] = set()
        written: dict[str, None] = {}
        for path in visited:
            for macro, names in names_in_macros(text_search.content(path)):
                macros.add(macro)
                written.update(dict.fromkeys(names))
        for path, lines in computed.items():
            own = dict.fromkeys(name for _, names in lines for name in names)
            for name in {**own, **written}:
                yield from self._resolve(path, True, name)
            # The flags or the file that includes this one define it; of a tree, they are too many.
            if not self.searches_disk and any(macro not in macros for macro, _ in lines):
                yield from self._all_included

    def includes(self, file: str) -> tuple[str, ...]:
        """Return the files that a file seems to include itself; for a link, also the file it leads to."""
        if file not in self._included:
            targets: list[str] = []
            text = text_search.content(file)
            names, has_others = _included_names(text)
            for is_quoted, name in names:
                targets += self._resolve(file, is_quoted, name)
            if has_others or len(text) >= text_search.MOST_BYTES:
                targets += self._all_included
            self._computed[file] = computed_includes(text)
            real = self._real_path(file)
            targets += [real] if real != file else []
            self._included[file] = tuple(dict.fromkeys(targets))
        return self._included[file]

    def _resolve(self, file: str, is_quoted: bool, name: str) -> tuple[str, ...]:
        folder = os.path.dirname(file) if is_quoted else ""
        key = folder, name
        if key not in self._resolved:
            self._resolved[key] = self._search((folder, *self.folders) if is_quoted else self.folders, name)
        return self._resolved[key]

    def _real_path(self, file: str) -> str:
        folder, name = os.path.split(file)
        if folder not in self._real_folders:
            self._real_folders[folder] = files.real_path(folder)
        at = os.path.join(self._real_folders[folder], name)
        return files.real_path(at) if files.is_link(at) else at

    def _search(self, folders: Iterable[str], name: str) -> tuple[str, ...]:
        """Return the file of a name in the first folder that has it; else the files that end with it."""
        for folder in folders:
            at = os.path.normpath(os.path.join(folder, name))
            if at in self.known or (self.searches_disk and files.is_file(at)):
                return (at,)
        return tuple(self._paths_ending_with(name))

    def _paths_ending_with(self, name: str) -> Iterator[str]:
        tail = os.sep.join(part for part in name.split("/") if part not in ("", ".", ".."))
        for path in self._paths_by_name.get(os.path.basename(tail), ()):
            if path.endswith(f"{os.sep}{tail}"):
                yield path

    @cached_property
    def _all_included(self) -> list[str]:
        """The files of the repository that C includes by their names."""
        return [path for path in self.known if _INCLUDED.search(path)]

    @cached_property
    def _paths_by_name(self) -> dict[str, list[str]]:
        paths: dict[str, list[str]] = {}
        for path in sorted(self.known):
            paths.setdefault(path.rpartition(os.sep)[2], []).append(path)
        return paths
