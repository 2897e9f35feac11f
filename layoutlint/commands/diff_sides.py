"""The two sides of `diff`: inputs, revisions of a git repository, or a tree without and with a patch."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from layoutlint.errors import ReadError

if TYPE_CHECKING:
    from layoutlint.judgement.rule import Pack
    from layoutlint.lint.sides import SideInput
    from layoutlint.revisions.git import Commit

_LARGEST_PATCH = 1 << 26


@contextmanager
def sides_of_revisions(
    text: str, path: str | None, packs: tuple[Pack, ...]
) -> Iterator[tuple[SideInput, SideInput]]:
    """Write the files of two revisions to temporary folders, removed afterwards. Raises UsageError."""
    from layoutlint.lint.sides import SideInput
    from layoutlint.revisions import exported_tree, git, tree_copies
    from layoutlint.revisions.exported_tree import ExportedTree
    from layoutlint.workers.temporary_folder import temporary_folder

    old, new = git.revision_range(text, "--git")
    inside = path_in_tree(new, path)
    wanted = exported_tree.wanted_files(new, inside, packs)
    with temporary_folder() as root:
        trees: list[ExportedTree] = []
        for number, commit in enumerate((old, new)):
            folder = os.path.join(root, str(number))
            os.mkdir(folder)
            trees.append(exported_tree.export(commit, folder, wanted, trees[0] if trees else None))
        working_tree = tree_copies.working_tree(new, root, wanted)
        database = () if any(tree.has(inside) for tree in trees) else _database(new, inside)
        sides = [
            SideInput(
                commit.name,
                (inside,) if tree.has(inside) else database,
                tree.folder,
                None if working_tree is None else working_tree.copy(tree.folder, tree.files),
            )
            for commit, tree in zip((old, new), trees, strict=True)
        ]
        if not any(side.paths for side in sides):
            raise click.UsageError(f"{path!r} is neither in {old.name} nor in {new.name}")
        yield sides[0], sides[1]


def _database(commit: Commit, inside: str) -> tuple[str, ...]:
    """Return the path of a compilation database of the working tree, which names units of each revision."""
    path = os.path.join(commit.top, inside)
    return (path,) if inside.endswith(".json") and os.path.isfile(path) else ()


@contextmanager
def sides_of_patch(patch: str, folder: str, packs: tuple[Pack, ...]) -> Iterator[tuple[SideInput, SideInput]]:
    """Apply a patch to a copy of a tree, which is removed afterwards. Raises ReadError and UsageError."""
    from layoutlint.lint.sides import SideInput
    from layoutlint.revisions import exported_tree, patched_tree
    from layoutlint.workers.temporary_folder import temporary_folder

    if not os.path.isdir(folder):
        raise click.UsageError(f"--patch needs the folder of a source tree; {folder!r} is not a folder")
    root = os.path.realpath(folder)
    is_kernel = os.path.exists(os.path.join(root, exported_tree.KERNEL_MARK))
    wanted = exported_tree.WantedFiles(is_kernel, ".", packs)
    shown = "(standard input)" if patch == "-" else patch
    with temporary_folder() as temporary:
        copy, text = os.path.join(temporary, "tree"), os.path.join(temporary, "patch")
        os.mkdir(copy)
        with open(text, "wb") as file:
            file.write(_read_patch(patch))
        patched_tree.apply(text, shown, root, copy, wanted)
        yield SideInput(folder, (".",), root), SideInput(f"{folder} with {shown}", (".",), copy)


def _read_patch(patch: str) -> bytes:
    """Return a patch, from standard input for `-`; raises ReadError."""
    try:
        if patch == "-":
            content = sys.stdin.buffer.read(_LARGEST_PATCH + 1)
        else:
            with open(patch, "rb") as file:
                content = file.read(_LARGEST_PATCH + 1)
    except OSError as error:
        raise ReadError(patch, (error.strerror or str(error)).lower()) from error
    if len(content) > _LARGEST_PATCH:
        raise ReadError(patch, f"has more than the {_LARGEST_PATCH:,} bytes that are allowed")
    return content


def path_in_tree(commit: Commit, path: str | None) -> str:
    """Return the path of an input below the top of the repository, `.` for all of it; raises UsageError."""
    if path is None:
        return "."
    inside = commit.path_in_tree(path)
    if inside is None:
        raise click.UsageError(f"{path!r} is outside of the repository {commit.top}")
    return inside or "."
