"""The files of a base commit in a temporary folder, and how inputs are read there."""

from __future__ import annotations

import os
from collections.abc import Iterable

from layoutlint import files
from layoutlint.judgement.rule import Pack
from layoutlint.model.reading import ReadOptions, TreeCopy, no_progress
from layoutlint.model.record import Record, replace
from layoutlint.readers.clang import copied_flags
from layoutlint.readers.clang.kernel.tree import enclosing_tree
from layoutlint.revisions import exported_tree, git_index, tree_copies
from layoutlint.revisions.git import Commit


class BaseTree(Record, frozen=True):
    """A copy of the tree of a commit."""

    top: str
    """The real path of the copy."""
    folder: str
    """The folder there that stands for the working folder; it is missing if the commit lacks it."""
    working_folder: str
    """The folder of the working tree that it stands for."""
    copy: TreeCopy | None
    """What the working tree has besides; None for a kernel and a bare repository."""
    is_kernel: bool

    def input_path(self, path: str) -> str | None:
        """Return the path of an input, relative to `folder`, where this process works; None if it is missing.

        A compilation database of the working tree names the units of the base too.
        """
        if files.exists(path) or self.copy is None or not path.endswith(".json"):
            return path if files.exists(path) else None
        database = copied_flags.path_in_working_tree(self.copy, path)
        return database if files.is_file(database) else None

    def options_of(self, read: ReadOptions) -> ReadOptions:
        """Return the options for reading in this copy, without texts of the change, cache and progress."""
        nearer = tuple(replace(each, flags=self._flags(each.flags)) for each in read.nearer)
        return replace(
            read,
            flags=self._flags(read.flags),
            nearer=nearer,
            copy=self.copy,
            texts=(),
            replaced=(),
            progress=no_progress,
            cache=False,
        )

    def _flags(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Return compiler flags for this copy."""
        if self.copy is None:
            return words
        return copied_flags.flags_for_copy(self.copy, words, self.working_folder)


def export(commit: Commit, packs: tuple[Pack, ...], root: str, inputs: Iterable[str] = ()) -> BaseTree:
    """Write the files of a commit that inputs of the working folder can need below `root`.

    `inputs` are the paths of some, whatever their names are. Raises UsageError if git fails, and ReadError if
    the files cannot be written.
    """
    place = commit.path_in_tree(os.curdir) or os.curdir
    others = tuple(os.path.normpath(os.path.join(place, path)) for path in inputs)
    wanted = exported_tree.wanted_files(commit, place, packs, others)
    tree = os.path.join(root, "tree")
    exported = exported_tree.export(commit, tree, wanted, index=git_index.read(commit.top))
    kernel = enclosing_tree(os.path.join(os.getcwd(), "_"))
    if kernel is not None:
        tree_copies.link_kernel_build(kernel, os.path.join(tree, place, os.path.relpath(kernel)))
    working_tree = tree_copies.working_tree(commit, root, wanted)
    copy = None if working_tree is None else working_tree.copy(tree, exported.files)
    working_folder = os.path.normpath(os.path.join(commit.top, place))
    folder = os.path.join(tree, place)
    return BaseTree(files.real_path(tree), folder, working_folder, copy, wanted.is_kernel)
