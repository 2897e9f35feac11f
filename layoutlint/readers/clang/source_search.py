"""Sources that include a header, without a compilation database: by the `#include` lines around it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from layoutlint.model.record import Record, field
from layoutlint.readers.clang import project, text_search
from layoutlint.readers.clang.include_graph import included_names

_MOST_FILES = 5_000
"""The most files whose `#include` lines are read."""
_MOST_SOURCES = 3
"""The most sources through which a header is read, until one of them is without errors."""


class Includers(Record):
    """The files around headers, by the headers that they include; each is read once."""

    _by_name: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """By the last part of a header's name, the files that include it, and the name there."""
    _searched: list[str] = field(default_factory=list)
    _files: int = 0

    def sources(self, header: str) -> list[str]:
        """Return sources that seem to include a header, also through other headers, the nearest first."""
        header = os.path.abspath(header)
        for folder in project.searched_folders(header):
            self._search(folder)
            sources = self._reached_sources(header)
            if sources:
                return sources[:_MOST_SOURCES]
        return []

    def _search(self, folder: str) -> None:
        """Read the `#include` lines of the C files below a folder."""
        if any(folder == done or folder.startswith(f"{done}{os.sep}") for done in self._searched):
            return
        self._searched.append(folder)
        for file in text_search.files_below([folder], (".c", ".h")):
            if any(file.startswith(f"{done}{os.sep}") for done in self._searched[:-1]):
                continue
            self._files += 1
            if self._files > _MOST_FILES:
                return
            for _, name in included_names(text_search.content(file)):
                self._by_name.setdefault(os.path.basename(name), []).append((file, name))

    def _reached_sources(self, header: str) -> list[str]:
        """Return the sources that include a header, by the number of steps, then by nearness."""
        sources: list[tuple[int, int, str]] = []
        visited, front, steps = {header}, [header], 0
        folder = os.path.dirname(header)
        while front:
            steps += 1
            front = [file for included in front for file in self._includers(included) if file not in visited]
            front = list(dict.fromkeys(front))
            visited.update(front)
            found = [file for file in front if file.endswith(".c")]
            sources += [(steps, project.distance(folder, os.path.dirname(file)), file) for file in found]
        return [file for _, _, file in sorted(sources)]

    def _includers(self, file: str) -> Iterator[str]:
        for includer, name in self._by_name.get(os.path.basename(file), ()):
            tail = [part for part in name.split("/") if part not in ("", ".", "..")]
            if file.endswith(f"{os.sep}{os.sep.join(tail)}"):
                yield includer
