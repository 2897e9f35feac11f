"""The project around a file: the folders in which its flags, missing headers and sources are searched."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from layoutlint import files

_MOST_LEVELS = 64
_LARGEST_LINK = 1 << 12
_MODULES = re.compile(r"/modules(?=/)")


def folders_around(path: str) -> tuple[str, ...]:
    """Return the folders around a file, or a folder and those around it, the innermost first.

    The search does not leave the git repository. Outside of one, it ends below the home folder, below `/`,
    and below folders that users share (`/tmp`), in which anybody could place a file for others.
    """
    around = _ancestors(path)
    return _folders_in_repository(around) or tuple(_private_folders(around))


def folders_of_input(path: str) -> tuple[str, ...]:
    """Return the folders in which the flags and the rule files of an input are sought, the innermost first.

    In a git repository, they are those from the input up to its top. Outside of one, they are those up to the
    working folder or, if the input is not below it, its folder and the working folder; none that users share
    (`/tmp`), in which anybody could place a file for others.
    """
    around, here = _ancestors(path), os.getcwd()
    near = around[: around.index(here) + 1] if here in around else [around[0], here]
    return _folders_in_repository(around) or tuple(each for each in near if not files.is_shared_folder(each))


def searched_folders(path: str) -> tuple[str, ...]:
    """Return the folders around a file whose contents may be searched, the innermost first.

    Outside of a repository, these are its folder and the one around that: further out are other projects.
    """
    folders = folders_around(path)
    return folders if folders and is_repository(folders[-1]) else folders[:2]


def _ancestors(path: str) -> list[str]:
    """Return the folder of a path, or the folder that it is, and those around it, the innermost first."""
    start = os.path.abspath(path)
    folders = [start if files.is_folder(start) else os.path.dirname(start)]
    while len(folders) < _MOST_LEVELS and (parent := os.path.dirname(folders[-1])) != folders[-1]:
        folders.append(parent)
    return folders


def _folders_in_repository(folders: list[str]) -> tuple[str, ...]:
    """Return folders up to the top of a git repository; none outside of one."""
    for number, folder in enumerate(folders):
        if is_repository(folder):
            return tuple(folders[: number + 1])
    return ()


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
        link = os.fsdecode(files.read_start(at, _LARGEST_LINK)).removeprefix("gitdir:").strip()
    except OSError:
        return True
    return not _is_of_submodule(os.path.join(folder, link))


def _is_of_submodule(link: str) -> bool:
    """Return whether a link leads to the repository of a submodule: below `modules` of another repository.

    A work tree has a link that ends in `worktrees/NAME`, of a submodule too.
    """
    return any(
        "/worktrees/" not in link[match.end() :] and files.is_file(f"{link[: match.start()]}/HEAD")
        for match in _MODULES.finditer(link)
    )


def distance(start: str, folder: str) -> int:
    """Return the number of steps from one folder to another, up and down."""
    steps = os.path.relpath(folder, start)
    return 0 if steps == os.curdir else steps.count(os.sep) + 1
