"""Paths of the working tree in a base commit, whatever links the working tree has by now.

A change can put a link in the place of a folder: what a path names there must stay what the base has there.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Final

from layoutlint import files
from layoutlint.errors import UsageError
from layoutlint.revisions.git import Commit

_MOST_LINKS: Final = 40
"""The most links that a path leads through (MAXSYMLINKS of Linux)."""


def path_in_base(commit: Commit, path: str) -> str | None:
    """Return the path that a file of the working tree, or of a copy that is read instead, has in a commit.

    None for a file outside. Below the top, links of the commit count, and none of the working tree. The last
    part is not followed. Raises UsageError if a link of the commit leads out of its tree.
    """
    path = os.path.abspath(path)
    for top in dict.fromkeys((commit.tree_folder or commit.top, commit.top)):
        inside = _part_in_tree(path, top)
        if inside is not None:
            folder, name = os.path.split(inside)
            return os.path.join(_without_links(commit, folder), name)
    return None


def _part_in_tree(path: str, top: str) -> str | None:
    """Return a path below the top of a working tree; None if it is outside.

    Links outside of the tree are followed: no change makes them.
    """
    at, left = os.sep, _parts(path)
    for _ in range(_MOST_LINKS * 100):
        if at == top:
            inside = os.path.normpath(os.path.join(*reversed(left))) if left else ""
            if inside.split(os.sep)[0] != os.pardir:
                return "" if inside == os.curdir else inside
            at, left = os.path.dirname(top), _parts(inside)[:-1]
        if not left:
            return None
        part = left.pop()
        if part == os.pardir:
            at = os.path.dirname(at)
            continue
        target = files.link_target(os.path.join(at, part))
        if target is None:
            at = os.path.join(at, part)
        else:
            at = os.sep if os.path.isabs(target) else at
            left += _parts(target)
    return None


def _parts(path: str) -> list[str]:
    """Return the parts of a path, the last one first."""
    return [part for part in reversed(path.split(os.sep)) if part not in ("", os.curdir)]


@lru_cache(maxsize=4096)
def _without_links(commit: Commit, folder: str) -> str:
    """Return a folder of a commit without the links of the commit that lead to it. Raises UsageError."""
    for _ in range(_MOST_LINKS):
        link = commit.link_above(folder) if folder else None
        if link is None:
            return folder
        path, target = link
        rest = folder[len(path) + 1 :]
        folder = os.path.normpath(os.path.join(os.path.dirname(path), target, rest))
        if os.path.isabs(target) or folder.split(os.sep)[0] == os.pardir:
            raise UsageError(f"{path} is a link out of the tree in {commit.name}: name the rule file itself")
        folder = "" if folder == os.curdir else folder
    raise UsageError(f"{folder} leads through too many links in {commit.name}")
