"""Submodules: the files that a tree has through the commits of other repositories.

A tree names a submodule's commit. Where the submodule's repository has this commit, its files are read from
there, and never from the submodule's working tree, which can be at another commit. No program that the
submodule's configuration names is run, as in `intent.git`.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping

from layoutlint import files
from layoutlint.model.reading import Unread
from layoutlint.model.record import Record, replace
from layoutlint.revisions import git
from layoutlint.revisions.git import Blob, Commit


class Edits(Record, frozen=True):
    """What differs between two trees, submodules included."""

    paths: frozenset[str]
    """The files that are added, changed or deleted, below the top."""
    olds: dict[str, Blob]
    """The earlier files of the submodules whose commit differs."""
    inner: frozenset[str]
    """The paths of files in such submodules."""
    unread: tuple[Unread, ...]
    """The submodules of which a commit is missing."""


def find(top: str, path: str, commit_id: str) -> Commit | None:
    """Return the commit of a submodule at a path; None if no repository has it.

    The repository is that in the working tree, else the one that git keeps of a submodule that is not checked
    out. Its top is real: through a link, it could be any other.
    """
    folder = os.path.join(top, path)
    if files.real_path(folder) == folder and files.exists(os.path.join(folder, ".git")):
        return git.commit_in(folder, commit_id)
    kept = git.kept_submodule(top, path)
    return None if kept is None else git.commit_in(kept, commit_id)


def files_of(commit: Commit) -> dict[str, Blob]:
    """Return the files of a commit, and those of its submodules as far as their commits are there.

    The others have the mode of a submodule. Raises UsageError.
    """
    return expand(commit.top, commit.blobs())


def expand(top: str, blobs: Mapping[str, Blob]) -> dict[str, Blob]:
    """Return files of a tree with the files of submodules in their place. Raises UsageError."""
    whole: dict[str, Blob] = {}
    for path, blob in blobs.items():
        inner = find(top, path, blob.id) if blob.is_submodule else None
        if inner is None:
            whole[path] = blob
            continue
        for below, each in files_of(inner).items():
            whole[f"{path}/{below}"] = replace(each, repository=each.repository or inner.top)
    return whole


def contents(commit: Commit, blobs: Mapping[str, Blob], most: int) -> Iterator[tuple[str, bytes | None]]:
    """Yield the content of files of a commit and its submodules; None for one with more than `most` bytes.

    Raises UsageError if git fails.
    """
    for top in sorted({blob.repository for blob in blobs.values()}):
        own = [(path, blob.id) for path, blob in blobs.items() if blob.repository == top]
        yield from git.contents(replace(commit, top=top or commit.top), own, most)


def edits(top: str, differences: Iterable[tuple[str, Blob | None, Blob | None]]) -> Edits:
    """Return what differs, given the paths that do with what the older and the newer tree have there.

    Raises UsageError.
    """
    paths: set[str] = set()
    inner: set[str] = set()
    olds: dict[str, Blob] = {}
    unread: list[Unread] = []
    for path, *sides in differences:
        if not any(blob is not None and blob.is_submodule for blob in sides):
            paths.add(path)
            continue
        old, new = ({} if blob is None else expand(top, {path: blob}) for blob in sides)
        changed = {each for each in {*old, *new} if _content(old.get(each)) != _content(new.get(each))}
        gaps = {each: blob for each, blob in {**old, **new}.items() if each in changed and blob.is_submodule}
        unread += [Unread(each, _missing_reason(each, blob)) for each, blob in sorted(gaps.items())]
        if path not in gaps:
            inner |= changed
            olds.update((each, blob) for each, blob in old.items() if each in changed)
    return Edits(frozenset(paths | inner), olds, frozenset(inner), tuple(unread))


def _content(blob: Blob | None) -> tuple[str, str] | None:
    """Return what a file is, whichever repository has it."""
    return None if blob is None else (blob.mode, blob.id)


def _missing_reason(path: str, blob: Blob) -> str:
    commit, word = blob.id[:12], shlex.quote(path)
    return (
        f"this submodule's commit {commit} is not in its repository, so what the change does to it was not "
        f"judged; fetch it: `git submodule update --init {word}`, or `git -C {word} fetch origin {blob.id}`"
    )


def paths_in_all(
    top: str, blobs: Mapping[str, Blob], list_paths: Callable[[str, bool], Iterable[str]]
) -> Iterator[str]:
    """Yield the paths that a function lists in a repository and in its submodules, all below the top.

    The function also gets whether it is the repository itself.

    `blobs` are the files of the repository, those of submodules among them. Raises UsageError.
    """
    yield from list_paths(top, True)
    for repository in sorted({blob.repository for blob in blobs.values()} - {""}):
        if repository.startswith(f"{top}{os.sep}") and not git.is_bare(repository):
            place = os.path.relpath(repository, top)
            yield from (os.path.join(place, path) for path in list_paths(repository, False))
