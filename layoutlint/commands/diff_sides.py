"""The two sides of `diff`: inputs, revisions of a git repository, or a tree without and with a patch."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import click

from layoutlint.errors import ReadError
from layoutlint.model.reading import TreeCopy

if TYPE_CHECKING:
    from layoutlint.judgement.rule import Pack
    from layoutlint.lint.sides import SideInput
    from layoutlint.revisions.git import Commit

_LARGEST_PATCH = 1 << 26


@contextmanager
def sides_of_revisions(
    text: str, path: str | None, packs: tuple[Pack, ...], flags: tuple[str, ...]
) -> Iterator[tuple[SideInput, SideInput]]:
    """Write the files of two revisions to temporary folders, removed afterwards.

    Raises UsageError, and ReadError for a kernel for which neither the tree nor `flags` have a build.
    """
    from layoutlint.lint.sides import SideInput
    from layoutlint.revisions import exported_tree, git, tree_copies
    from layoutlint.revisions.exported_tree import ExportedTree
    from layoutlint.workers.temporary_folder import temporary_folder

    old, new = git.revision_range(text, "--git")
    inside = path_in_tree(new, path)
    wanted = exported_tree.wanted_files(new, inside, packs)
    kernel = _configured_kernel(new.top, flags) if wanted.is_kernel else None
    with temporary_folder() as root:
        trees: list[ExportedTree] = []
        for number, commit in enumerate((old, new)):
            folder = os.path.join(root, str(number))
            os.mkdir(folder)
            trees.append(exported_tree.export(commit, folder, wanted, trees[0] if trees else None))
            if kernel is not None:
                tree_copies.link_kernel_build(kernel, folder)
        working_tree = tree_copies.working_tree(new, root, wanted)
        database = () if any(tree.has(inside) for tree in trees) else _database(new, inside)
        copy = partial(_copy, new.top) if working_tree is None else working_tree.copy
        copies = [copy(tree.folder, tree.files) for tree in trees]
        sides = [
            SideInput(commit.name, (inside,) if tree.has(inside) else database, tree.folder, tree_copy)
            for commit, tree, tree_copy in zip((old, new), trees, copies, strict=True)
        ]
        if not any(side.paths for side in sides):
            raise click.UsageError(f"{path!r} is neither in {old.name} nor in {new.name}")
        yield sides[0], sides[1]


def _configured_kernel(folder: str, flags: tuple[str, ...]) -> str | None:
    """Return the folder of a kernel if it is built there, None if `flags` name its build.

    It is asked before anything is copied. Raises ReadError for a kernel without a configuration.
    """
    from layoutlint.readers.clang.kernel import tree

    build = next((flag[2:] for flag in reversed(flags) if flag.startswith("O=")), None)
    tree.find(folder, build)
    return folder if build is None else None


def _copy(top: str, folder: str, _: object = None) -> TreeCopy:
    """Return the copy of a tree that has all that the tree has."""
    return TreeCopy(os.path.realpath(top), os.path.realpath(folder), os.getcwd())


def _database(commit: Commit, inside: str) -> tuple[str, ...]:
    """Return the path of a compilation database of the working tree, which names units of each revision."""
    path = os.path.join(commit.top, inside)
    return (path,) if inside.endswith(".json") and os.path.isfile(path) else ()


@contextmanager
def sides_of_patch(
    patch: str, folder: str, packs: tuple[Pack, ...], flags: tuple[str, ...]
) -> Iterator[tuple[SideInput, SideInput]]:
    """Apply a patch to a copy of a tree, which is removed afterwards. Raises ReadError and UsageError."""
    from layoutlint.lint.sides import SideInput
    from layoutlint.revisions import exported_tree, patched_tree
    from layoutlint.workers.temporary_folder import temporary_folder

    if not os.path.isdir(folder):
        raise click.UsageError(f"--patch needs the folder of a source tree; {folder!r} is not a folder")
    root = os.path.realpath(folder)
    is_kernel = os.path.exists(os.path.join(root, exported_tree.KERNEL_MARK))
    if is_kernel:
        _configured_kernel(root, flags)
    wanted = exported_tree.WantedFiles(is_kernel, ".", packs)
    shown = "(standard input)" if patch == "-" else patch
    with temporary_folder() as temporary:
        copy, text = os.path.join(temporary, "tree"), os.path.join(temporary, "patch")
        os.mkdir(copy)
        with open(text, "wb") as file:
            file.write(_read_patch(patch))
        patched_tree.apply(text, shown, root, copy, wanted)
        patched = SideInput(f"{folder} with {shown}", (".",), copy, _copy(root, copy))
        yield SideInput(folder, (".",), root), patched


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
