"""The files as the index has them, where the working tree has them otherwise: that is what gets committed.

Mostly the working tree is like the index, as under pre-commit, which puts other changes aside, and is read
itself. Else a temporary folder has what the index has: links to the files that are the same, and to what git
does not track, such as generated headers; and the others as files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import TreeCopy
from layoutlint.model.record import Record, replace
from layoutlint.revisions import exported_tree, git, git_index, submodules
from layoutlint.revisions.change import Change, Difference, is_under_pre_commit
from layoutlint.revisions.git import Commit
from layoutlint.revisions.git_index import Index
from layoutlint.workers.temporary_folder import temporary_folder

_NAME = "the index"


class StagedTree(Record, frozen=True):
    """Where the staged files are read."""

    change: Change
    """The change, with paths of that place."""
    top: str
    """The top of the working tree."""
    folder: str
    """The folder that has the staged files: the top, or a temporary folder."""
    unstaged: frozenset[str] = frozenset()
    """The files that the working tree has otherwise, relative to the top."""

    @property
    def is_other(self) -> bool:
        """Whether the working tree has other files than the index."""
        return self.folder != self.top

    @property
    def copy(self) -> TreeCopy | None:
        """The copy that is read; None if the working tree is."""
        working_folder = os.path.join(self.top, os.path.relpath(os.curdir, self.folder))
        return TreeCopy(self.top, self.folder, os.path.normpath(working_folder)) if self.is_other else None

    def path(self, name: str) -> str:
        """Return a path of the command line in this tree: absolute ones can name files of the repository."""
        is_inside = os.path.isabs(name) and f"{name}/".startswith(f"{self.top}/")
        return os.path.relpath(self.folder + name[len(self.top) :]) if is_inside else name


@contextmanager
def enter(change: Change) -> Iterator[StagedTree]:
    """Go to where the staged files are for the body of a `with`, and come back.

    Raises UsageError, and ReadError if the files cannot be written.
    """
    index = git_index.read(change.top) if change.repositories or not is_under_pre_commit() else None
    wanted = exported_tree.WantedFiles(_is_kernel(index), ".", (), others=())
    differing = (
        frozenset[str]() if index is None else index.differing_paths(partial(_can_differ, index, wanted))
    )
    if index is None or not differing:
        yield StagedTree(change, change.top, change.top)
        return
    before = os.getcwd()
    place = Commit(_NAME, "", change.top).path_in_tree(before) or ""
    with temporary_folder() as root:
        changed = frozenset(os.path.relpath(path, change.top) for path in change.paths)
        _write(root, index, wanted, differing | changed)
        os.makedirs(os.path.join(root, place), exist_ok=True)
        os.chdir(os.path.join(root, place))
        try:
            yield StagedTree(_rebase(change, root), change.top, root, differing)
        finally:
            os.chdir(before)


def _can_differ(index: Index, wanted: exported_tree.WantedFiles, path: str) -> bool:
    """Return whether a file is read that the working tree may have otherwise.

    pre-commit puts the changes of the working tree aside, but none of submodules.
    """
    return wanted(path) and (bool(index.entries[path].blob.repository) or not is_under_pre_commit())


def _is_kernel(index: Index | None) -> bool:
    return index is not None and exported_tree.KERNEL_MARK in index.entries


def _write(root: str, index: Index, wanted: exported_tree.WantedFiles, own: frozenset[str]) -> None:
    """Fill a folder with what the index has, and with what git does not track.

    Raises UsageError and ReadError.
    """
    commit = Commit(_NAME, "", index.top)
    blobs = {
        path: entry.blob
        for path, entry in index.entries.items()
        if wanted(path) and not (entry.is_kept_out and path not in own)
    }
    unchanged = frozenset(path for path, blob in blobs.items() if blob.is_plain and path not in own)
    tree = exported_tree.export_blobs(commit, blobs, root, unchanged=unchanged)
    os.mkdir(os.path.join(root, ".git"))  # searches for rules and flags end here
    rest = (path for path in index.entries if path not in tree.files and not path.endswith(".c"))
    try:
        untracked = submodules.paths_in_all(index.top, index.blobs, git.untracked_paths)
        for path in (*rest, *index.others, *untracked):
            _link(os.path.join(index.top, path.rstrip("/")), os.path.join(root, path.rstrip("/")))
    except OSError as error:
        raise ReadError(_NAME, f"its files cannot be written: {files.error_reason(error)}") from error


def _link(path: str, target: str) -> None:
    """Link to a file or folder of the working tree, unless the index has one in its place."""
    if os.path.lexists(path) and not os.path.lexists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.symlink(path, target)


def _rebase(change: Change, root: str) -> Change:
    """Return a change whose paths are below another folder."""

    def move_below_root(paths: frozenset[str]) -> frozenset[str]:
        return frozenset(root + path[len(change.top) :] for path in paths)

    def rebase(difference: Difference) -> Difference:
        parent = difference.parent and replace(difference.parent, tree_folder=root)
        paths, inner = map(move_below_root, (difference.paths, difference.inner))
        return replace(difference, parent=parent, paths=paths, inner=inner)

    differences = tuple(map(rebase, change.differences))
    tracked, untracked = map(move_below_root, (change.tracked, change.untracked))
    return replace(change, top=root, differences=differences, tracked=tracked, untracked=untracked)
