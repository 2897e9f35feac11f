"""Translation units with the flags of a kernel tree: of its own files, and of files outside of it."""

from __future__ import annotations

import os
from functools import cached_property

from layoutlint.errors import ReadError
from layoutlint.files import project
from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.record import Record, field, replace
from layoutlint.readers.clang import c_units, copied_flags, flags, gcc_macros
from layoutlint.readers.clang.file_names import relative_to
from layoutlint.readers.clang.kernel import built_commands
from layoutlint.readers.clang.kernel.makefile import Added, Makefiles
from layoutlint.readers.clang.kernel.tree import Tree, find_named
from layoutlint.readers.clang.parse import Unit

_SHUFFLING = ("-DRANDSTRUCT", "-DRANDSTRUCT_PLUGIN")
"""With these, the macros of Linux (compiler_types.h; until 5.18 the second) expand to the attributes."""
NAMED = ("-UKBUILD_MODNAME", '-DKBUILD_MODNAME="layoutlint"', '-DKBUILD_MODFILE="layoutlint"')
"""Strings, as kbuild defines them: sources use them. Headers do not."""


def make(
    makefiles: Makefiles, options: ReadOptions, own: Added, main: str, origin: str, text: str | None = None
) -> Unit:
    """Return a unit with the flags of a tree, what makefiles add for it, and those that people give.

    Raises ReadError for flags of people that are refused.
    """
    tree, marks = makefiles.tree, options.with_marks
    user_flags = flags.normalise(options.flags)
    if user_flags.refusal is not None:
        raise ReadError(origin, user_flags.refusal)
    as_gcc = gcc_macros.flags_of(tree.compiler, tree.triple)
    shuffling = _SHUFFLING if marks else ()
    all_files = makefiles.of_tree
    unit_flags = (*all_files.flags, *own.flags, *user_flags.passed)
    words = (*as_gcc, "-xc", *tree.flags, *shuffling, *unit_flags)
    # If fields are reordered afterwards, the declared order is needed.
    shuffling_option = None if marks else tree.shuffling_option
    return Unit(
        main, words, tree.build, tree.roots, origin, text,
        user_flags.problem or all_files.problem or own.problem,
        (*user_flags.doubts, *all_files.doubts, *own.doubts),
        shuffling_option, marks, compiler=tree.compiler,
    )  # fmt: skip


class OutsideFiles(Record, dict=True):
    """C files outside of a kernel tree that are read with its flags, as `make -C TREE M=FOLDER` does."""

    tree: Tree
    options: ReadOptions
    _makefiles: dict[str | None, Makefiles] = field(default_factory=dict)
    """The makefiles of modules, by their folders."""

    def unit(self, path: str) -> Unit:
        """Return the unit of a file, by its absolute path; raises ReadError for what is no C."""
        folder = os.getcwd()
        name = relative_to((folder,), path)
        c_units.refuse_other_languages(name, path)
        top = self._module_folder(path)
        if top not in self._makefiles:
            self._makefiles[top] = Makefiles(self.tree, self.options.flag_files, top)
        makefiles = self._makefiles[top]
        own = built_commands.find_flags(self._original(path), self._original(top), makefiles)
        own = makefiles.of_source(path) if own is None else own
        copy = self.options.copy
        words = own.flags if copy is None else copied_flags.flags_for_copy(copy, own.flags, folder)
        words = ("-DMODULE", *NAMED, *words)
        unit = make(makefiles, self.options, replace(own, flags=words), path, name)
        return replace(unit, directory=folder, roots=(folder, *self.tree.roots), has_given_flags=True)

    def _original(self, path: str) -> str:
        """Return the path in the working tree, which has what was built, of a file or folder of a copy."""
        copy = self.options.copy
        return path if copy is None else copied_flags.path_in_working_tree(copy, path)

    def _module_folder(self, path: str) -> str:
        """Return the folder that `make M=` names for a file: the outermost around it that builds
        objects, within its project; its own folder if none does.
        """
        around = self._makefiles.setdefault(None, Makefiles(self.tree, self.options.flag_files))
        building = filter(around.builds_objects, project.folders_around(path))
        return [os.path.dirname(path), *building][-1]

    def describe(self, reading: Reading) -> Reading:
        """Return a reading of some of the files with the facts of the kernel; raises ReadError for another
        machine or configuration than was requested.
        """
        reading = replace(
            reading, is_kernel=True, config=self.tree.config, kernel=self.tree.version,
            notes=(*self.notes, *reading.notes),
        )  # fmt: skip
        self.options.refuse_other(reading)
        return reading

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """The notes on the tree."""
        version = ".".join(map(str, self.tree.version))
        note = f"read with the flags of the kernel {self.tree.build} ({version})"
        return (note,) if self.tree.note is None else (note, self.tree.note)


def outside_files(options: ReadOptions) -> OutsideFiles | None:
    """Return how C files are read with the flags of the kernel tree that `--kernel` names; None without one.

    Raises ReadError for a folder that is no configured kernel.
    """
    if options.kernel_tree is None:
        return None
    return OutsideFiles(find_named(options.kernel_tree, options.flag_files), options)
