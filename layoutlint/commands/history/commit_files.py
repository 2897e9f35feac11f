"""What a verdict on the files of a commit was read from, and which other commits answer the same."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cached_property

from layoutlint import files
from layoutlint.files.accesses import Log
from layoutlint.model.record import Record
from layoutlint.revisions.exported_tree import ExportedTree
from layoutlint.revisions.git import Blob

_ADDED_OR_DELETED = frozenset("AD")


class Questions(Record, frozen=True, dict=True):
    """The questions about files that a run asked, as paths below the top of the tree."""

    paths: frozenset[str] = frozenset()
    """Files that were read, and paths that were looked for."""
    folders: frozenset[str] = frozenset()
    """Folders whose entries were listed; the top is empty."""
    is_complete: bool = True
    """Whether the result depends on nothing else that can change."""

    @cached_property
    def _folders_around(self) -> frozenset[str]:
        """The folders around the paths."""
        return frozenset(folder for path in self.paths for folder in _prefixes(os.path.dirname(path)))

    def lie_below(self, path: str) -> bool:
        """Return whether a file below a path was read: the path of an edit is then that of a submodule."""
        return path in self._folders_around

    def concern(self, path: str, letters: str) -> bool:
        """Return whether an edit of a file can change an answer; `letters` are its status in git."""
        if path in self.paths:
            return True
        if not is_new_or_gone(letters):
            return False
        return any(each in self.paths or os.path.dirname(each) in self.folders for each in _prefixes(path))


class CommitFiles(Record, dict=True):
    """The files of a commit that can be read, by their path."""

    blobs: dict[str, Blob]

    @cached_property
    def entries(self) -> dict[str, frozenset[tuple[str, bool]]]:
        """The entries of each folder, with whether they are folders."""
        entries: dict[str, set[tuple[str, bool]]] = {}
        for path in self.blobs:
            is_folder = False
            for each in _prefixes(path):
                folder, name = os.path.split(each)
                known = entries.setdefault(folder, set())
                if (name, is_folder) in known:
                    break
                known.add((name, is_folder))
                is_folder = True
        return {folder: frozenset(each) for folder, each in entries.items()}

    def answers(self, questions: Questions) -> tuple[object, ...]:
        """Return the answers of this commit."""
        paths = tuple(self.blobs.get(path, path in self.entries) for path in sorted(questions.paths))
        return paths, tuple(self.entries.get(folder) for folder in sorted(questions.folders))


def is_new_or_gone(letters: str) -> bool:
    """Return whether an edit adds or deletes a file, by its status in git."""
    return bool(_ADDED_OR_DELETED & frozenset(letters))


def collect_questions(log: Log, tree: ExportedTree) -> Questions:
    """Return what a log asked about the files of a commit, which were exported to a folder."""
    asked = {*log.contents, *log.kinds, *log.real_paths, *log.states}
    links = (path for path, blob in tree.files.items() if blob.is_link)
    return Questions(
        frozenset((*_relative_paths(asked, tree.folder), *links)),
        frozenset(_relative_paths(log.listings, tree.folder)),
        log.obstacle is None,
    )


def _relative_paths(paths: Iterable[str], folder: str) -> Iterator[str]:
    """Yield paths below a folder, relative to it, also those that they lead to through links."""
    top = f"{folder}{os.sep}"
    for path in {os.path.normpath(path) for path in paths}:
        for each in {path, files.real_path(path)} if f"{path}{os.sep}".startswith(top) else ():
            if f"{each}{os.sep}".startswith(top):
                yield each[len(top) :]


def _prefixes(path: str) -> Iterator[str]:
    """Yield a path and the folders around it, without the top."""
    while path:
        yield path
        path = os.path.dirname(path)
