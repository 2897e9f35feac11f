"""The randomisation of a build, from options of the command line and from the kernel build around
the inputs.
"""

from __future__ import annotations

import os

from layoutlint.errors import UsageError
from layoutlint.randstruct import gcc_plugin, kernel_tree, seed
from layoutlint.randstruct.build import of as build_of
from layoutlint.randstruct.marked import read as read_marked
from layoutlint.randstruct.randomisation import Randomisation


def randomisation(
    mode: str | None, given: str | None, kernel: str | None, marked: tuple[str, ...], paths: tuple[str, ...]
) -> Randomisation | None:
    """Return the randomisation from a mode, a seed (digits or a file), a version or source, names of structs,
    and inputs.

    None if layouts are not randomised. Raises UsageError, with the names of command-line options, and
    ReadError if the seed is from another build.
    """
    folder = kernel_tree.around(paths, kernel_tree.SEEDS)
    build = None if folder is None else build_of(folder)
    if mode is None and (build is None or not build.is_for(paths)):
        return None
    named = read_marked(marked) if marked else None
    read = None if given is None else seed.read(given)
    if build is None:
        return None if mode is None else Randomisation(mode, read, _plugin(kernel, paths), named)
    read = build.own_seed() if read is None else build.checked(read)
    plugin = _plugin(kernel, ()) if kernel else build.plugin
    note = (build.note,) if mode is None or given is None else ()
    return Randomisation(mode or build.mode, read, plugin, named, note)


def _plugin(text: str | None, paths: tuple[str, ...]) -> gcc_plugin.Plugin:
    """Return GCC's plugin of a given version or source, or of the source around the inputs."""
    if text is None:
        text = kernel_tree.around(paths, (kernel_tree.PLUGIN,))
        return gcc_plugin.ANY if text is None else gcc_plugin.of_source(text) or gcc_plugin.ANY
    found = gcc_plugin.of_source(text) if os.path.isdir(text) else gcc_plugin.of_version(text)
    if found is None:
        raise UsageError(f"--kernel-version {text}: has no {kernel_tree.PLUGIN}")
    return found
