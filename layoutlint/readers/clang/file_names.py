"""File names in reports: relative to the tree or the working folder."""

from __future__ import annotations

import os
from typing import Any

from layoutlint import files
from layoutlint.model.record import Record, field
from layoutlint.model.structs import Source
from layoutlint.readers.clang import libclang

_MOST_LINKS = 40
"""The most links that Linux follows for one path."""


class Places(Record):
    """Converts libclang's locations to Sources; each file name is looked up once."""

    lib: Any
    directory: str
    """The folder to which relative file names refer while a unit is parsed."""
    roots: tuple[str, ...]
    """Absolute folders; the name of a file below one is relative to it."""
    renamed: dict[str, str] = field(default_factory=dict)
    """The names of files that have another one in reports than their path, by that path."""
    _names: dict[int | None, str] = field(default_factory=dict)

    def reported_name(self, file: int | None) -> str:
        """Return the reported name of a file by its libclang handle."""
        if file not in self._names:
            raw = libclang.file_name(self.lib, file) if file else ""
            self._names[file] = self.relative(raw) if raw else "<command line>"
        return self._names[file]

    def real_path(self, file: int) -> str:
        """Return the real path of a file by its libclang handle."""
        name = libclang.file_name(self.lib, file)
        return files.real_path(os.path.join(self.directory, name))

    def relative(self, name: str) -> str:
        """Return the name of a file in reports: relative to the first root that has it, else absolute."""
        path = os.path.join(self.directory, name)
        return self.renamed.get(path) or name_without_links(self.roots, path)

    def place(self, cursor: libclang.Cursor) -> tuple[str, int]:
        """Return the reported file and the line of a cursor."""
        file, line = libclang.spot(self.lib, cursor)
        return self.reported_name(file), line

    def source(self, cursor: libclang.Cursor) -> Source:
        """Return the location of a declaration's name."""
        file, line = self.place(cursor)
        return Source(file, line or None)


def name_without_links(roots: tuple[str, ...], path: str) -> str:
    """Return the name of a file as `relative_to` does; of a link the file in the same root to which it leads.

    So what is read through a link, too, has one place.
    """
    name = relative_to(roots, path)
    for _ in range(_MOST_LINKS):
        target = files.link_target(path)
        if target is None:
            break
        path = os.path.normpath(os.path.join(os.path.dirname(path), target))
        new_name = relative_to(roots, path)
        if os.path.isabs(new_name):
            break
        name = new_name
    return name


def relative_to(roots: tuple[str, ...], path: str) -> str:
    """Return the normal form of `path`, relative to the first root that contains it, else absolute."""
    path = os.path.abspath(path)
    for root in roots:
        if path.startswith(root.rstrip(os.sep) + os.sep):
            return path[len(root.rstrip(os.sep)) + 1 :]
    return path
