"""The index of a repository, and the files of the working tree that are as the index has them.

To compare a file with the index, git would run filters that a repository can name (`git diff-files`,
`git status`). So files are compared here: by the times and the size that the index has, else by their hash.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable
from stat import S_ISLNK, S_ISREG
from typing import Final

from layoutlint import files
from layoutlint.model.record import Record, replace
from layoutlint.revisions import git, submodules
from layoutlint.revisions.git import Blob

_ENTRY: Final = re.compile(
    rb"([0-7]{6}) ([0-9a-f]{40,64}) ([0-3])\t([^\0]*)\0  ctime: (\d+):(\d+)\n  mtime: (\d+):(\d+)\n"
    rb"  dev: \d+\tino: \d+\n  uid: \d+\tgid: \d+\n  size: (\d+)\tflags: ([0-9a-f]+)\n"
)
"""An entry as `git ls-files --stage --debug -z` prints it, since git 1.7."""
_IS_INTENDED: Final = 0x20000000
"""The flag of files that are to be added later, whose content is in no commit (CE_INTENT_TO_ADD)."""
_IS_KEPT_OUT: Final = 0x40000000
"""The flag of entries that a sparse checkout leaves out of the working tree (CE_SKIP_WORKTREE)."""
_LARGEST: Final = 1 << 24
_NO_TIMES: Final = (0, 0)


class IndexEntry(Record, frozen=True):
    """A file in the index."""

    blob: Blob
    times: tuple[int, int]
    """The last changes of the inode and of the content in nanoseconds, when git compared the file; zeros if
    that says nothing of the file now.
    """
    size: int
    """Bytes; of the last 32 bits alone."""
    is_kept_out: bool
    """Whether a sparse checkout leaves it out of the working tree."""


_UNKNOWN: Final = IndexEntry(Blob("", ""), _NO_TIMES, 0, False)


class Index(Record, frozen=True):
    """The files in the index of a repository."""

    top: str
    entries: dict[str, IndexEntry]
    """By the path below the top. Those of submodules are the files of their commit, if that is there."""
    others: frozenset[str]
    """Paths of which the index has no content, or several: files to be added later, and with conflicts."""

    @property
    def blobs(self) -> dict[str, Blob]:
        """The files as blobs."""
        return {path: entry.blob for path, entry in self.entries.items()}

    def differing_paths(self, is_wanted: Callable[[str], bool]) -> frozenset[str]:
        """Return the wanted files that the working tree lacks, or has with another content."""
        return frozenset(
            path
            for path, entry in self.entries.items()
            if not entry.is_kept_out and is_wanted(path) and not self._is_same(path, entry)
        )

    def unchanged_paths(self, paths: Iterable[str]) -> frozenset[str]:
        """Return those of some paths that are files of the working tree with the content of the index."""
        return frozenset(
            path
            for path in paths
            if (entry := self.entries.get(path)) and entry.blob.is_plain and self._is_same(path, entry)
        )

    def _is_same(self, path: str, entry: IndexEntry) -> bool:
        at = os.path.join(self.top, path)
        try:
            status = os.lstat(at)
        except (OSError, ValueError):
            return False
        if entry.blob.is_link:
            return (
                S_ISLNK(status.st_mode) and _id(os.fsencode(os.readlink(at)), entry.blob.id) == entry.blob.id
            )
        if not entry.blob.is_plain:  # a submodule
            return True
        if not S_ISREG(status.st_mode):
            return False
        times = status.st_ctime_ns, status.st_mtime_ns
        if times == entry.times and status.st_size & 0xFFFFFFFF == entry.size:
            return True
        return status.st_size <= _LARGEST and _has_content(at, entry.blob.id)


def read(top: str, is_own: bool = True) -> Index:
    """Return the index of a repository, or that of the commit which git is making. Raises UsageError.

    `is_own` is false for a submodule of the repository that gets the commit.
    """
    listing, path = git.index_listing(top, is_own)
    try:
        written = os.stat(path).st_mtime_ns
    except OSError:
        written = 0
    entries, others = {}, set()
    for match in _ENTRY.finditer(listing):
        mode, blob, stage, name, *times, size, flags = match.groups()
        bits = int(flags, 16)
        if stage != b"0" or bits & _IS_INTENDED:
            others.add(os.fsdecode(name))
            continue
        changed, changed_part, modified, modified_part = map(int, times)
        known = changed * 10**9 + changed_part, modified * 10**9 + modified_part
        entries[os.fsdecode(name)] = IndexEntry(
            Blob(mode.decode(), blob.decode()),
            known if known[1] < written else _NO_TIMES,  # else it can have changed in the same instant
            int(size),
            bool(bits & _IS_KEPT_OUT),
        )
    return Index(top, _with_submodules(top, entries), frozenset(others))


def _with_submodules(top: str, entries: dict[str, IndexEntry]) -> dict[str, IndexEntry]:
    """Return entries with the files of submodules, as their commits have them. Raises UsageError."""
    whole = {path: entry for path, entry in entries.items() if not entry.blob.is_submodule}
    for path, entry in entries.items():
        commit = submodules.find(top, path, entry.blob.id) if entry.blob.is_submodule else None
        if commit is None:
            whole[path] = entry
            continue
        known = {} if git.is_bare(commit.top) else read(commit.top, is_own=False).entries
        for below, blob in submodules.expand(top, {path: entry.blob}).items():
            inner = known.get(below[len(path) + 1 :], _UNKNOWN)
            is_same = (inner.blob.mode, inner.blob.id) == (blob.mode, blob.id)
            whole[below] = replace(inner if is_same else _UNKNOWN, blob=blob)
    return whole


def _has_content(path: str, blob: str) -> bool:
    """Return whether a file is a blob, apart from the ends of its lines, which git may convert."""
    try:
        data = files.read_all(path, _LARGEST)
    except OSError:
        return False
    return _id(data, blob) == blob or (b"\r\n" in data and _id(data.replace(b"\r\n", b"\n"), blob) == blob)


def _id(data: bytes, like: str) -> str:
    """Return the id of a blob with some content, by the hash that another id was made with."""
    make = hashlib.sha1 if len(like) == 40 else hashlib.sha256
    return make(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
