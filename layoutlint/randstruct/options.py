"""The randomisation of a build, from options of the command line and from the kernel build around
the inputs.
"""

from __future__ import annotations

from layoutlint import files
from layoutlint.errors import UsageError
from layoutlint.model.record import Record
from layoutlint.randstruct import gcc_plugin, kernel_tree, seed
from layoutlint.randstruct.build import find_build
from layoutlint.randstruct.marked import read_names
from layoutlint.randstruct.randomisation import Randomisation


class OptionNames(Record, frozen=True):
    """How messages spell the options of randomised layouts: as on the command line, or as in a file."""

    seed: str = "--seed"
    kernel: str = "--kernel-version"
    marked: str = "--randomized"


COMMAND_LINE = OptionNames()


def read_randomisation(
    mode: str | None,
    seed_text: str | None,
    kernel: str | None,
    marked: tuple[str, ...],
    paths: tuple[str, ...],
    options: OptionNames = COMMAND_LINE,
) -> Randomisation | None:
    """Return the randomisation from a mode, a seed (digits or a file), a version or source, names of structs,
    and inputs.

    None if layouts are not randomised. Raises UsageError, with the names of `options`, and ReadError
    if the seed is from another build.
    """
    folder = kernel_tree.find_folder(paths, kernel_tree.SEEDS)
    build = None if folder is None else find_build(folder)
    if mode is None and (build is None or not build.is_for(paths)):
        return None
    names = read_names(marked, options.marked) if marked else None
    seed_given = None if seed_text is None else seed.read_seed(seed_text, options.seed)
    if build is None:
        if mode is None:
            return None
        return Randomisation(mode, seed_given, _find_plugin(kernel, paths, options.kernel), names)
    seed_given = build.own_seed() if seed_given is None else build.check_seed(seed_given)
    plugin = _find_plugin(kernel, (), options.kernel) if kernel else build.plugin
    note = (build.note,) if mode is None or seed_text is None else ()
    return Randomisation(mode or build.mode, seed_given, plugin, names, note)


def _find_plugin(text: str | None, paths: tuple[str, ...], option: str) -> gcc_plugin.Plugin:
    """Return GCC's plugin of a given version or source, or of the source around the inputs."""
    if text is None:
        text = kernel_tree.find_folder(paths, (kernel_tree.PLUGIN,))
        return gcc_plugin.ANY if text is None else gcc_plugin.plugin_of_source(text) or gcc_plugin.ANY
    is_source = files.is_folder(text)
    plugin = gcc_plugin.plugin_of_source(text) if is_source else gcc_plugin.plugin_of_version(text, option)
    if plugin is None:
        raise UsageError(f"{option} {text}: has no {kernel_tree.PLUGIN}")
    return plugin
