"""Copies of a repository's tree, and what its working tree adds to them: generated headers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import TreeCopy
from layoutlint.model.record import Record
from layoutlint.revisions import git, submodules
from layoutlint.revisions.exported_tree import WantedFiles
from layoutlint.revisions.git import Blob, Commit

_MOST_GENERATED = 100_000
"""The most files that git does not track and that are linked."""


class WorkingTree(Record, frozen=True):
    """The files that the working tree has besides those of a revision."""

    top: str
    working_folder: str
    tracked_folders: frozenset[str]
    """The folders below the top, `.` for itself, with files that the index has."""
    generated: str
    """A folder with links to the files that git does not track."""
    tracked_links: frozenset[str] = frozenset()
    """The symbolic links below the top that the index has."""

    def copy(self, folder: str, blobs: Mapping[str, Blob]) -> TreeCopy:
        """Return the copy in a folder, which has some files, by their paths below the top."""
        tracked, links = self.tracked_folders | _folders(blobs), self.tracked_links | _links(blobs)
        real, own = files.real_path(folder), self.working_folder
        return TreeCopy(self.top, real, own, tracked, self.generated, links)


def working_tree(commit: Commit, root: str, wanted: WantedFiles) -> WorkingTree | None:
    """Return the working tree of a commit's repository; None for a kernel, whose flags need none, and for a
    bare repository, which has none.

    Links to its untracked files are made in a new folder below `root`. Raises UsageError if git fails, and
    ReadError if the links cannot be made.
    """
    if wanted.is_kernel or git.is_bare(commit.top):
        return None
    folder = os.path.join(root, "generated")
    tracked = submodules.expand(commit.top, git.indexed_blobs(commit.top))
    untracked = sorted(filter(wanted, submodules.paths_in_all(commit.top, tracked, git.untracked_files)))
    try:
        os.mkdir(folder)
        for path in untracked[:_MOST_GENERATED]:
            target = os.path.join(folder, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.symlink(os.path.join(commit.top, path), target)
    except OSError as error:
        reason = f"generated files cannot be linked: {files.error_reason(error)}"
        raise ReadError(commit.name, reason) from error
    here, generated = files.real_path(os.curdir), files.real_path(folder)
    return WorkingTree(commit.top, here, _folders(tracked), generated, _links(tracked))


def link_kernel_build(kernel: str, copy: str) -> None:
    """Give the copy of a kernel's tree what kbuild made inside the tree, or in `build` there, as links.

    Other headers of the tree can be those of a later commit. Raises ReadError if the links cannot be made.
    """
    try:
        for path in filter(files.is_file, _kernel_build(kernel)):
            target = os.path.join(copy, os.path.relpath(path, kernel))
            if not os.path.lexists(target):
                files.content_state(path)  # what is kept of the run depends on it, and not on the link
                os.makedirs(os.path.dirname(target), exist_ok=True)
                os.symlink(path, target)
    except OSError as error:
        raise ReadError(kernel, f"generated files cannot be linked: {files.error_reason(error)}") from error


def _kernel_build(kernel: str) -> Iterator[str]:
    """Yield the configuration and the generated headers of a tree that is built in place or in `build`."""
    for top in (kernel, os.path.join(kernel, "build")):
        yield from (os.path.join(top, name) for name in (".config", "include/config/auto.conf"))
        folders = files.expand(os.path.join(top, "arch/*/include/generated"))
        for root in (os.path.join(top, "include/generated"), *folders):
            for folder, _, names in files.walk(root):
                yield from (os.path.join(folder, name) for name in names)


def _links(blobs: Mapping[str, Blob]) -> frozenset[str]:
    return frozenset(path for path, blob in blobs.items() if blob.is_link)


def _folders(paths: Iterable[str]) -> frozenset[str]:
    """Return the folders around some paths, and the top as `.`."""
    folders: set[str] = set()
    for path in paths:
        folder = os.path.dirname(path)
        while folder and folder not in folders:
            folders.add(folder)
            folder = os.path.dirname(folder)
    return frozenset((*folders, "."))
