"""The files of a commit, written to a temporary folder, so that they can be read like any others.

Only `ls-tree` and `cat-file` are called: unlike a checkout or `git archive`, they run no filter, hook or
monitor that a repository can name, and write nothing into the repository. The names of files in a tree can be
anything: those that would lead out of the folder are refused.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator

from layoutlint import files
from layoutlint.errors import ReadError, UsageError
from layoutlint.judgement.rule import Pack
from layoutlint.model.record import Record
from layoutlint.revisions import submodules
from layoutlint.revisions.git import Blob, Commit
from layoutlint.revisions.git_index import Index

_LARGEST_TREE = 1 << 31
"""The most bytes that are written for a commit; the headers of Linux v7.2 have 0.4 GB."""
_MOST_FILES = 300_000
_LARGEST_FILE = 1 << 24


_C_TEXT = (".h", ".hh", ".hpp", ".hxx", ".inc", ".def", ".tbl", ".H", ".toml", ".config", ".conf")
"""Suffixes of files that C text includes, or that decide how it is read."""
_SOURCES = (".c", ".cc", ".cpp", ".cxx")
_DATABASE = "compile_commands.json"
_NOT_C = (
    ".a", ".avi", ".bmp", ".bz2", ".css", ".dll", ".dylib", ".eps", ".exe", ".gif", ".gz", ".html", ".ico",
    ".jar", ".jpeg", ".jpg", ".js", ".ko", ".md", ".mp3", ".mp4", ".o", ".obj", ".pdf", ".png", ".py", ".rst",
    ".sh", ".so", ".svg", ".tar", ".tgz", ".ttf", ".wav", ".webp", ".woff", ".woff2", ".xz",
    ".yaml", ".yml", ".zip", ".zst",
)  # fmt: skip
"""Suffixes of files that no C text includes."""
KERNEL_MARK = "include/linux/kconfig.h"
"""A file that every Linux source tree has."""


class WantedFiles:
    """Decides which files of a tree are read. Of a kernel, sources count only where rules name them.

    `others` are more paths that are read. If they are given, so are files with other names that C can
    include, but not of a kernel, which has many.
    """

    def __init__(
        self, is_kernel: bool, path: str, packs: tuple[Pack, ...], others: tuple[str, ...] | None = None
    ) -> None:
        self._is_kernel = is_kernel
        self._has_others = others is not None and not is_kernel
        self._path, self._others = path, tuple(f"{other}/" for other in others or ())
        self._headers = tuple(i.header for pack in packs for i in pack.structs if i.header is not None)

    @property
    def is_kernel(self) -> bool:
        """Whether the tree is that of Linux, whose flags come from its configuration."""
        return self._is_kernel

    def __call__(self, path: str) -> bool:
        """Return whether a file of the tree is read."""
        name = path.rpartition("/")[2]
        if name == _DATABASE and not self._is_kernel:
            return True
        if path.endswith(_C_TEXT) or "." not in name or path == self._path:
            return True
        if not path.endswith(_SOURCES):
            return self._has_others and not path.endswith(_NOT_C)
        if not self._is_kernel or f"{path}/".startswith(self._others):
            return True
        return path.startswith(f"{self._path}/") or path.endswith(self._headers)


def wanted_files(
    commit: Commit, path: str, packs: tuple[Pack, ...], others: tuple[str, ...] | None = None
) -> WantedFiles:
    """Return which files of a commit are read, if an input is at a path below its top."""
    return WantedFiles(KERNEL_MARK in commit.files(KERNEL_MARK), path, packs, others)


class ExportedTree(Record, frozen=True):
    """A folder with files of a commit."""

    folder: str
    files: dict[str, Blob]
    """The files by their path in the tree."""
    left_out: tuple[str, ...] = ()
    """Paths that were not written: submodules without their commit, links out of the tree, huge files."""

    def has(self, path: str) -> bool:
        """Return whether the commit has a file at a path, or files below it; `.` is all of it."""
        paths = (*self.files, *self.left_out)
        return path == "." or any(each == path or each.startswith(f"{path}/") for each in paths)


def export(
    commit: Commit,
    folder: str,
    is_wanted: Callable[[str], bool],
    earlier: ExportedTree | None = None,
    index: Index | None = None,
) -> ExportedTree:
    """Write the wanted files of a commit below an empty folder.

    Files that an earlier export has too are linked. With `index`, links lead to files of the working tree
    that are as the commit has them. Raises UsageError for a tree with names that lead out of
    it, or with more than 300,000 wanted files or 2 GB, and if git fails; ReadError if the files cannot be
    written, as in a tree with a file and a folder of one name.
    """
    blobs = {path: blob for path, blob in submodules.files_of(commit).items() if is_wanted(path)}
    return export_blobs(commit, blobs, folder, earlier, _unchanged_files(blobs, index))


def _unchanged_files(blobs: dict[str, Blob], index: Index | None) -> frozenset[str]:
    """Return the files of a commit that the working tree has, as far as the index knows them."""
    if index is None:
        return frozenset()
    entries = index.entries
    return index.unchanged_paths(
        path for path, blob in blobs.items() if path in entries and entries[path].blob == blob
    )


def export_blobs(
    commit: Commit,
    blobs: dict[str, Blob],
    folder: str,
    earlier: ExportedTree | None = None,
    unchanged: frozenset[str] = frozenset(),
) -> ExportedTree:
    """Write files below an empty folder, as `export` does; `commit` names them in messages.

    For `unchanged` paths, links lead to the files of the working tree.
    """
    _refuse_names(blobs, commit)
    if len(blobs) > _MOST_FILES:
        raise UsageError(
            f"{commit.name} has {len(blobs):,} files to read, more than the {_MOST_FILES:,} allowed"
        )
    plain = {path: blob for path, blob in blobs.items() if blob.is_plain}
    try:
        _make_folders(folder, blobs)
        for path in unchanged:
            os.symlink(os.path.join(commit.top, path), os.path.join(folder, path))
        missing = [
            path
            for path, blob in plain.items()
            if path not in unchanged and not _link(path, blob, folder, earlier)
        ]
        left_out = set(_write(commit, folder, missing, plain))
        left_out.update(_write_links(commit, folder, {p: b for p, b in blobs.items() if not b.is_plain}))
    except OSError as error:
        reason = f"its files cannot be written: {files.error_reason(error)}"
        raise ReadError(commit.name, reason) from error
    written = {path: blob for path, blob in blobs.items() if path not in left_out}
    return ExportedTree(folder, written, tuple(sorted(left_out)))


def _refuse_names(paths: Iterable[str], commit: Commit) -> None:
    """Raise UsageError for names that git itself never checks out: they could name a file elsewhere."""
    for path in paths:
        parts = path.split("/")
        if path.startswith("/") or any(part in ("", ".", "..") or part.lower() == ".git" for part in parts):
            raise UsageError(f"{commit.name} has a file named {path!r}, which leads out of its tree")


def _make_folders(folder: str, paths: Iterable[str]) -> None:
    for parent in sorted({os.path.dirname(path) for path in paths}):
        os.makedirs(os.path.join(folder, parent), exist_ok=True)


def _link(path: str, blob: Blob, folder: str, earlier: ExportedTree | None) -> bool:
    """Link a file to that of an earlier export; return whether it has the same."""
    if earlier is None or earlier.files.get(path) != blob:
        return False
    try:
        os.link(os.path.join(earlier.folder, path), os.path.join(folder, path), follow_symlinks=False)
    except OSError:  # a file system without links
        return False
    return True


def _write(commit: Commit, folder: str, paths: list[str], blobs: dict[str, Blob]) -> Iterator[str]:
    """Write the contents of files; yield those that are too large. Raises UsageError for too much."""
    total = 0
    for path, content in submodules.contents(commit, {path: blobs[path] for path in paths}, _LARGEST_FILE):
        if content is None:
            yield path
            continue
        total += len(content)
        if total > _LARGEST_TREE:
            raise UsageError(f"the files of {commit.name} have more than the {_LARGEST_TREE:,} bytes allowed")
        descriptor = os.open(
            os.path.join(folder, path), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600
        )
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)


def _write_links(commit: Commit, folder: str, blobs: dict[str, Blob]) -> Iterator[str]:
    """Write the symbolic links that stay inside the tree; yield the others, and submodules whose commit is
    not there.
    """
    links = {path: blob for path, blob in blobs.items() if blob.is_link}
    yield from (path for path, blob in blobs.items() if not blob.is_link)
    written = []
    for path, content in submodules.contents(commit, links, os.pathconf("/", "PC_PATH_MAX")):
        target = os.fsdecode(content or b"/")
        if target.startswith("/") or "\0" in target:
            yield path
        else:
            os.symlink(target, os.path.join(folder, path))
            written.append(path)
    top = files.real_path(folder)
    for path in written:  # where one leads can depend on others
        link = os.path.join(folder, path)
        if not f"{files.real_path(link)}/".startswith(f"{top}/"):
            os.unlink(link)
            yield path


def remove(folder: str) -> None:
    """Remove a temporary folder, as far as it can be removed."""
    shutil.rmtree(folder, ignore_errors=True)
