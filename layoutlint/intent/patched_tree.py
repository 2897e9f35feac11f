"""A folder with a patch applied, beside the original: what a patch series makes of a source tree."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator

from layoutlint.errors import ReadError
from layoutlint.intent import git

_MOST_FILES = 300_000


def apply(patch: str, shown: str, original: str, folder: str, is_wanted: Callable[[str], bool]) -> None:
    """Fill an empty folder with the wanted files of another one, and apply a patch to them.

    `patch` is the path of the patch, `shown` its name in messages. Unchanged files are linked if the file
    system can. Raises ReadError for a patch that does not apply, or a folder with too many files.
    """
    touched = git.patched_paths(patch, shown)
    for number, path in enumerate(_paths(original, is_wanted, frozenset(touched))):
        if number == _MOST_FILES:
            raise ReadError(original, f"has more than the {_MOST_FILES:,} files to read that are allowed")
        source, target = os.path.join(original, path), os.path.join(folder, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if path in touched or not _link(source, target):
            shutil.copyfile(source, target)
    git.apply_patch(patch, shown, folder)


def _paths(original: str, is_wanted: Callable[[str], bool], touched: frozenset[str]) -> Iterator[str]:
    """Yield the paths of files to copy: what a patch changes, and what C text can include."""
    for at, folders, names in os.walk(original):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            path = os.path.relpath(os.path.join(at, name), original)
            if (is_wanted(path) or path in touched) and os.path.isfile(os.path.join(at, name)):
                yield path


def _link(source: str, target: str) -> bool:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        return False
    return True
