"""A folder with a patch applied, beside the original: what a patch series makes of a source tree."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.intent import git

_MOST_FILES = 300_000
_LARGEST_FILE = 1 << 24
_LARGEST_PATCH = 1 << 26
_UNPACKED_SIZE = re.compile(rb"^(?:literal|delta) ([0-9]+)\r?$", re.MULTILINE)
"""The size to which a part of a binary patch unpacks (git-apply(1), `--binary`)."""
_MOVED = re.compile(rb"^(?:rename|copy) from (.+?)\r?$", re.MULTILINE)
"""A path whose content a patch takes, of which `git apply --numstat` gives the new path alone."""


def apply(patch: str, shown: str, original: str, folder: str, is_wanted: Callable[[str], bool]) -> None:
    """Fill an empty folder with the wanted files of another one, and apply a patch to them.

    `patch` is the path of the patch, `shown` its name in messages. Unchanged files are linked if the file
    system can. Raises ReadError for a patch that does not apply, or a folder with too many files.
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
    git.apply_patch(patch, shown, folder)


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
