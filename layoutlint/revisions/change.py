"""The change of a commit: the files that differ from its parents."""

from __future__ import annotations

import os
from collections.abc import Iterable

from layoutlint import files
from layoutlint.errors import UsageError
from layoutlint.model.reading import Unread
from layoutlint.model.record import Record, field, replace
from layoutlint.revisions import git, submodules
from layoutlint.revisions.git import Blob, Commit

_FROM, _TO = "PRE_COMMIT_FROM_REF", "PRE_COMMIT_TO_REF"
"""pre-commit's names for the commits of `--from-ref` and `--to-ref`, also in a push."""
_INCLUDED = (".h", ".inc", ".def", ".tbl", ".c")
"""Suffixes of files that a build makes and C includes."""
_LARGEST = 1 << 24
"""The most bytes of an earlier file of a submodule."""


class Difference(Record, frozen=True):
    """The changes of a commit, compared with one of its parents."""

    parent: Commit | None
    """None for the first commit of a repository."""
    paths: frozenset[str]
    """Absolute paths of the files that are added, changed or deleted."""
    named: frozenset[str] = frozenset()
    """Those that count as changed only because the command line names them."""
    olds: dict[str, Blob] = field(default_factory=dict)
    """The parent's files of submodules whose commit differs, by their path below the top."""
    inner: frozenset[str] = frozenset()
    """Absolute paths of those that are in such submodules: file names on a command line never choose them."""
    unread: tuple[Unread, ...] = ()
    """The submodules of which a commit is missing."""

    def old_content(self, path: str) -> bytes | None:
        """Return a file of the parent by its absolute path; None if it is missing there, or no plain file."""
        inside = None if self.parent is None else self.parent.path_in_tree(path)
        if self.parent is None or inside is None:
            return None
        old = self.olds.get(inside)
        try:
            if old is not None:
                return next(submodules.contents(self.parent, {inside: old}, _LARGEST))[1]
            return self.parent.content(inside)
        except UsageError:  # a link, a submodule, or too large for C
            return None

    def had_link(self, path: str) -> bool:
        """Return whether the parent has a symbolic link at an absolute path."""
        inside = None if self.parent is None else self.parent.path_in_tree(path)
        blob = None if self.parent is None or inside is None else self.parent.blobs(inside).get(inside)
        return blob is not None and blob.is_link


class Change(Record, frozen=True):
    """A commit that is to be judged: a staged one, or those that pre-commit compares."""

    top: str
    """The real path of the top of the working tree."""
    differences: tuple[Difference, ...]
    """One for each parent: a merge can only break what differs from both."""
    tracked: frozenset[str]
    """Absolute paths of the files after the change, and of others that the command line names."""
    repositories: tuple[str, ...] = ()
    """The submodules that are read from their repository, with their commits."""
    untracked: frozenset[str] = frozenset()
    """Absolute paths of the files that git does not track: they can include files of the change."""

    @property
    def is_empty(self) -> bool:
        """Whether only the command line says that files differ."""
        return all(difference.paths <= difference.named for difference in self.differences)

    @property
    def paths(self) -> frozenset[str]:
        """Absolute paths of the files that differ from some parent."""
        return frozenset[str]().union(*(difference.paths for difference in self.differences))

    @property
    def inner_paths(self) -> frozenset[str]:
        """Absolute paths of the files that differ and are in submodules."""
        return frozenset[str]().union(*(difference.inner for difference in self.differences))

    @property
    def unread(self) -> tuple[Unread, ...]:
        """What the change does to submodules, as far as it cannot be known."""
        return tuple(dict.fromkeys(unread for difference in self.differences for unread in difference.unread))

    @property
    def missing_paths(self) -> frozenset[str]:
        """Absolute paths that the command line names, of no file before or after the change."""
        return frozenset[str]().union(*(each.named for each in self.differences)) - self.tracked

    @property
    def has_others(self) -> bool:
        """Whether the command line names files that are unchanged, as `--all-files` of pre-commit does."""
        return any(difference.named for difference in self.differences)

    @property
    def parents(self) -> tuple[Commit, ...]:
        """The commits with which it is compared; none for the first commit of a repository."""
        parents = (difference.parent for difference in self.differences)
        return tuple(parent for parent in parents if parent is not None)

    def with_paths(self, paths: Iterable[str]) -> Change:
        """Return the change with more files that count as changed, whatever git says of them."""
        more = frozenset(paths) - self.paths
        differences = (replace(each, paths=each.paths | more, named=more) for each in self.differences)
        tracked = self.tracked.union(filter(files.is_file, more))
        return replace(self, differences=tuple(differences), tracked=tracked)


def staged_change() -> Change:
    """Return the staged change, or that between the commits that pre-commit compares. Raises UsageError."""
    top = git.top_folder("--staged")
    compared = git.fork_point(top, os.environ.get(_FROM, ""), os.environ.get(_TO, ""))
    if compared is not None:
        old, new = compared
        return _change(top, (_difference(old, git.commit_differences(old, new)),))
    return _change(top, tuple(_difference(each, git.staged_differences(each)) for each in git.parents(top)))


def change_since(revision: str) -> Change:
    """Return what the index changes since a revision: since the last commit that it shares with HEAD.

    Raises UsageError.
    """
    base = git.commit(revision, "--since")
    forked = git.fork_point(base.top, base.id, "HEAD")
    parent = replace(base if forked is None else forked[0], name=revision)
    return _change(base.top, (_difference(parent, git.staged_differences(parent)),))


def _change(top: str, differences: tuple[Difference, ...]) -> Change:
    """Return a change to the index; without differences, it is the first commit. Raises UsageError."""
    blobs = git.indexed_blobs(top)
    whole = submodules.expand(top, blobs)
    tracked = _absolute(top, (path for path, blob in whole.items() if not blob.is_submodule))
    first = (Difference(None, tracked),)
    read = (f"{path} {blob.id}" for path, blob in blobs.items() if blob.is_submodule and path not in whole)
    untracked = _absolute(top, (path for path in git.untracked_files(top) if path.endswith(_INCLUDED)))
    return Change(top, differences or first, tracked, tuple(read), untracked)


def _difference(parent: Commit, rows: Iterable[tuple[str, Blob | None, Blob | None]]) -> Difference:
    edits = submodules.edits(parent.top, rows)
    paths, inner = (_absolute(parent.top, each) for each in (edits.paths, edits.inner))
    return Difference(parent, paths, frozenset(), edits.olds, inner, edits.unread)


def is_under_pre_commit() -> bool:
    """Return whether pre-commit runs this command: it has made the working tree like the index."""
    return "PRE_COMMIT" in os.environ


def _absolute(top: str, paths: Iterable[str]) -> frozenset[str]:
    return frozenset(os.path.join(top, path) for path in paths)
