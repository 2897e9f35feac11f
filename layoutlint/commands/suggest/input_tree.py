"""The tree of an input, outside of which no source is changed: a repository names files anywhere."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from layoutlint.errors import UsageError
from layoutlint.files.project import is_repository


def refuse_outside(paths: Iterable[str], inputs: Iterable[str]) -> None:
    """Raise UsageError for a file that is in the tree of none of some inputs."""
    trees = tuple(dict.fromkeys(map(_tree, inputs)))
    for path in paths:
        real = os.path.realpath(path)
        if not any(_is_below(real, os.path.realpath(tree)) for tree in trees):
            raise UsageError(
                f"cannot write {real}: it is not below {' or '.join(trees)}, the tree of the input; "
                "give the file itself as INPUT, or print the change with --patch"
            )


def _tree(path: str) -> str:
    """Return the top of the repository around an input, or else the working folder or the input's.

    A link in a repository does not lead into another one.
    """
    start = os.path.abspath(path)
    start = start if os.path.isdir(start) and not os.path.islink(start) else os.path.dirname(start)
    top = None
    for folder in reversed(list(_ancestors(start))):
        if top is not None and os.path.islink(folder):
            break
        top = folder if is_repository(folder) else top
    working_folder = os.getcwd()
    return top or (working_folder if _is_below(start, working_folder) else start)


def _ancestors(folder: str) -> Iterator[str]:
    while folder != os.path.dirname(folder):
        yield folder
        folder = os.path.dirname(folder)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip(os.sep)}{os.sep}")
