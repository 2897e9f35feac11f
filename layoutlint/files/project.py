"""The project around a file: the folders in which its flags, missing headers and sources are searched."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from layoutlint import files

_MOST_LEVELS = 64
_LARGEST_LINK = 1 << 12
_OF_SUBMODULE = re.compile(rb"/\.git/modules/(?!.*/worktrees/)")
"""In the link of a submodule to its repository; work trees have links that end in /worktrees/NAME."""


def folders_around(path: str) -> tuple[str, ...]:
    """Return the folders around a file, or a folder and those around it, the innermost first.

    The search does not leave the git repository. Outside of one, it ends below the home folder, below `/`,
    and below folders that users share (`/tmp`), in which anybody could place a file for others.
    """
    start = os.path.abspath(path)
    start = start if files.is_folder(start) else os.path.dirname(start)
    folders = list(_ancestors(start))
    for number, folder in enumerate(folders):
        if is_repository(folder):
            return tuple(folders[: number + 1])
    return tuple(_private_folders(folders))


def folders_of_input(path: str) -> tuple[str, ...]:
    """Return the folders in which the flags and the rule files of an input are sought, the innermost first.

    In a git repository, they are those from the input up to its top. Outside of one, they are those up to the
    working folder or, if the input is not below it, its folder and the working folder; none that users share
    (`/tmp`), in which anybody could place a file for others.
    """
    start = os.path.abspath(path)
    start = start if files.is_folder(start) else os.path.dirname(start)
    around = list(_ancestors(start))
    for number, folder in enumerate(around):
        if is_repository(folder):
            return tuple(around[: number + 1])
    here = os.getcwd()
    near = around[: around.index(here) + 1] if here in around else [start, here]
    return tuple(folder for folder in near if not files.is_shared_folder(folder))


def searched_folders(path: str) -> tuple[str, ...]:
    """Return the folders around a file whose contents may be searched, the innermost first.

    Outside of a repository, these are its folder and the one around that: further out are other projects.
    """
    folders = folders_around(path)
    return folders if folders and is_repository(folders[-1]) else folders[:2]


def _ancestors(folder: str) -> Iterator[str]:
    for _ in range(_MOST_LEVELS):
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _private_folders(folders: list[str]) -> Iterator[str]:
    """Yield folders up to the home folder, `/`, or one that several users write to."""
    home = files.real_path(os.path.expanduser("~"))
    for folder in folders:
        real = files.real_path(folder)
        if real == os.path.dirname(real) or f"{home}{os.sep}".startswith(f"{real}{os.sep}"):
            return
        if files.is_shared_folder(real) or not files.is_folder(real):
            return
        yield folder


def is_repository(folder: str) -> bool:
    """Return whether a folder is the top of a git repository; a submodule belongs to the one around it."""
    at = os.path.join(folder, ".git")
    if not files.is_file(at):
        return files.is_folder(at)
    try:
        return not _OF_SUBMODULE.search(files.read_start(at, _LARGEST_LINK))
    except OSError:
        return True


def distance(start: str, folder: str) -> int:
    """Return the number of steps from one folder to another, up and down."""
    steps = os.path.relpath(folder, start)
    return 0 if steps == os.curdir else steps.count(os.sep) + 1
