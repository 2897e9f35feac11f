"""A folder with a patch applied, beside the original: what a patch series makes of a source tree."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from itertools import pairwise

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.intent import git

_MOST_FILES = 300_000
_LARGEST_FILE = 1 << 24
_LARGEST_PATCH = 1 << 26
_UNPACKED_SIZE = re.compile(rb"^(?:literal|delta) ([0-9]+)\r?$", re.MULTILINE)
"""The size to which a part of a binary patch unpacks (git-apply(1), `--binary`)."""
_MOST_PARTS = 2_000
_HEADER = re.compile(
    rb"^diff --git (.+?)\r?\n"
    rb"(?=index |old mode |new mode |new file |deleted file |similarity |dissimilarity |rename |copy |--- )",
    re.MULTILINE,
)
"""The first line of a file's patch; the next line tells it from text of a mail."""
_MOVED = re.compile(rb"^(?:rename|copy) from (.+?)\r?$", re.MULTILINE)
"""A path whose content a patch takes, of which `git apply --numstat` gives the new path alone."""


def apply(patch: str, shown: str, original: str, folder: str, is_wanted: Callable[[str], bool]) -> None:
    """Fill an empty folder with the wanted files of another one, and apply a patch to them.

    `patch` is the path of a copy of the patch, which is overwritten, `shown` its name in messages. Unchanged
    files are linked if the file system can. Raises ReadError for a patch that does not apply, or a folder
    with too many files.
    """
    text = files.read_all(patch, _LARGEST_PATCH)
    _refuse_large_parts(text, shown)
    touched = {*git.patched_paths(patch, shown), *map(os.fsdecode, _MOVED.findall(text))}

    def is_needed(path: str) -> bool:
        return path in touched or is_wanted(path)

    try:
        for number, path in enumerate(_paths(original, is_needed)):
            if number == _MOST_FILES:
                raise ReadError(original, f"has more than the {_MOST_FILES:,} files to read that are allowed")
            source, target = os.path.join(original, path), os.path.join(folder, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if files.is_link(source):
                os.symlink(_link_target(source, original, is_needed), target)
            elif path in touched or not _link(source, target):
                shutil.copyfile(source, target)
    except OSError as error:
        raise ReadError(original, f"cannot be copied: {files.error_reason(error)}") from error
    parts = _parts(text)
    if len(parts) > _MOST_PARTS:
        raise ReadError(shown, f"changes files again more than the {_MOST_PARTS:,} times that are allowed")
    for part in parts:
        with open(patch, "wb") as file:
            file.write(part)
        git.apply_patch(patch, shown, folder)


def _parts(text: bytes) -> list[bytes]:
    """Divide a series so that no part changes a file twice.

    `git apply` removes the old files of all its patches before it writes the new ones, so a file that one
    patch changes and a later one renames or deletes would stay.
    """
    starts = [0]
    changed: set[bytes] = set()
    for header in _HEADER.finditer(text):
        names = _header_names(header[1])
        if not changed.isdisjoint(names):
            starts.append(header.start())
            changed.clear()
        changed |= names
    return [text[start:end] for start, end in pairwise((*starts, len(text)))]


def _header_names(text: bytes) -> set[bytes]:
    """Return the old and the new path of `a/OLD b/NEW`, as they are spelled, and further ones if in doubt."""
    half = len(text) // 2
    pairs = [(text[:half], text[half + 1 :])]
    if pairs[0][0].strip(b'"')[2:] != pairs[0][1].strip(b'"')[2:]:
        divider = next((each for each in (b" b/", b' "b/') if each in text), b" ")
        pairs = [text.partition(divider)[::2], text.rpartition(divider)[::2]]
    return {name.strip(b'"').removeprefix(b"a/").removeprefix(b"b/") for pair in pairs for name in pair}


def _refuse_large_parts(text: bytes, shown: str) -> None:
    """Raise ReadError for a binary patch that unpacks to more than a C file may have."""
    for size in _UNPACKED_SIZE.findall(text):
        if len(size) > 9 or int(size) > _LARGEST_FILE:
            raise ReadError(shown, f"has a binary part that unpacks to more than {_LARGEST_FILE:,} bytes")


def _paths(original: str, is_needed: Callable[[str], bool]) -> Iterator[str]:
    """Yield the paths of the files to copy, and of the links."""
    for at, folders, names in files.walk(original):
        folders[:] = [name for name in folders if name != ".git"]
        for name in (*names, *folders):
            whole = os.path.join(at, name)
            path = os.path.relpath(whole, original)
            if files.is_link(whole) or (is_needed(path) and files.is_file(whole)):
                yield path


def _link_target(link: str, top: str, is_needed: Callable[[str], bool]) -> str:
    """Return where the copy of a link leads: to the copy of what it leads to, or to the original."""
    real, real_top = files.real_path(link), files.real_path(top)
    path = os.path.relpath(real, real_top)
    is_copied = not path.startswith("../") and (files.is_folder(real) or is_needed(path))
    return os.path.relpath(real, files.real_path(os.path.dirname(link))) if is_copied else real


def _link(source: str, target: str) -> bool:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        return False
    return True
