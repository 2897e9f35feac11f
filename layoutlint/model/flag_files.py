"""Where files with compiler flags are read: compilation databases, compile_flags.txt and response files."""

from __future__ import annotations

import os
from enum import Enum
from typing import Protocol

from layoutlint import files
from layoutlint.model.record import Record


class FlagUse(Enum):
    """How a file with flags differs from what a base commit has."""

    CHANGED = "changed"
    """The commit has another content, which is used."""
    ADDED = "added"
    """The commit lacks it, and it is not used."""
    UNTRACKED = "untracked"
    """git does not track it: it is used, and no part of the commit or of the change."""


class FlagFiles(Protocol):
    """The files with flags that count."""

    def __hash__(self) -> int: ...

    @property
    def uses(self) -> dict[str, FlagUse]:
        """The files that a base commit has otherwise, or that git does not track, by the path in reports."""
        ...

    def has_file(self, path: str) -> bool:
        """Return whether there is a file at a path."""
        ...

    def is_chosen(self, path: str) -> bool:
        """Return whether a change has a file at a path otherwise than the base commit."""
        ...

    def read_all(self, path: str, most: int) -> bytes:
        """Return the content of a file; raises OSError, also for more than `most` bytes."""
        ...

    def folder_of(self, path: str) -> str:
        """Return the real folder of a file, where a link leads to it."""
        ...


class FilesOnDisk(Record, frozen=True):
    """All files with flags that are on disk."""

    @property
    def uses(self) -> dict[str, FlagUse]:
        """Nothing: there is no base commit."""
        return {}

    def has_file(self, path: str) -> bool:
        """Return whether there is a file at a path."""
        return files.is_file(path)

    def is_chosen(self, path: str) -> bool:
        """Return False: without a base commit, everything counts."""
        return False

    def read_all(self, path: str, most: int) -> bytes:
        """Return the content of a file; raises OSError, also for more than `most` bytes."""
        return files.read_all(path, most)

    def folder_of(self, path: str) -> str:
        """Return the real folder of a file, where a link leads to it."""
        return os.path.dirname(files.real_path(path))


ON_DISK = FilesOnDisk()
