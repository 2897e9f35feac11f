"""The randomisation of a build, from options of the command line and from the kernel build around
the inputs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from layoutlint import files
from layoutlint.errors import ReadError, UsageError
from layoutlint.model.record import Record
from layoutlint.randstruct import gcc_plugin, kernel_tree, seed
from layoutlint.randstruct.gcc_plugin import Plugin
from layoutlint.randstruct.kernel_tree import SEEDS
from layoutlint.randstruct.marked import read_names
from layoutlint.randstruct.randomisation import Randomisation
from layoutlint.randstruct.seed import Seed

_CONFIGS = ("include/config/auto.conf", ".config")
_OPTIONS = (
    "GCC_PLUGIN_RANDSTRUCT_PERFORMANCE", "RANDSTRUCT_PERFORMANCE", "RANDSTRUCT_FULL", "GCC_PLUGIN_RANDSTRUCT",
)  # fmt: skip
_SET = re.compile(r"^CONFIG_(\w+)=y$", re.M)
_HASHES = ("include/generated/randstruct_hash.h", "include/generated/randomize_layout_hash.h")
_HASH = re.compile(r"\b[0-9a-f]{64}\b")
_INCLUDE = re.compile(r"^include\s+(\S+)/Makefile\s*$", re.M)
_LARGEST = 1 << 22


class OptionNames(Record, frozen=True):
    """How messages spell the options of randomised layouts: as on the command line, or as in a file."""

    seed: str = "--seed"
    kernel: str = "--kernel-version"
    marked: str = "--randomized"


COMMAND_LINE = OptionNames()


class _Build(Record, frozen=True):
    """One build folder."""

    folder: str
    option: str
    """The configuration option that is on: CONFIG_RANDSTRUCT_FULL or a similar one."""
    mode: str
    seed_file: str
    plugin: Plugin

    @property
    def note(self) -> str:
        """A sentence on what was taken from the build."""
        return f"{self.folder} was built with {self.option}: fields are in the order of {self.seed_file}"

    def check_seed(self, seed: Seed) -> Seed:
        """Return a seed. Raises ReadError if the folder was built with another."""
        for name in _HASHES:
            match = _HASH.search(_read_text(self.folder, name))
            if match is not None and match[0] != seed.hash:
                raise ReadError(os.path.join(self.folder, name), seed.describe_mismatch(match[0]))
        return seed

    def own_seed(self) -> Seed:
        """Return the seed in the folder.

        Raises UsageError for different seeds, and ReadError if the folder was built with another.
        """
        own = self.check_seed(seed.read_seed(self.seed_file))
        of_plugin = os.path.join(self.folder, SEEDS[1])
        if (
            self.mode != "clang"
            and files.is_file(of_plugin)
            and seed.read_seed(of_plugin).words != own.words
        ):
            raise UsageError(
                f"{self.seed_file} and {of_plugin} have different seeds: give the build's seed with --seed"
            )
        return own

    def is_for(self, paths: Iterable[str]) -> bool:
        """Return whether inputs contain declared orders: clang's debug information has the order of the
        build.
        """
        return self.mode != "clang" or not any(map(_is_compiled, paths))


def _is_compiled(path: str) -> bool:
    try:
        return files.read_start(path, 4) in (b"\x7fELF", b"\x9f\xeb\x01\x00", b"\xeb\x9f\x00\x01")
    except OSError:
        return False


def _find_build(folder: str) -> _Build | None:
    """Return the build in a folder that contains a seed; None if its configuration does not randomise."""
    config = next((text for text in (_read_text(folder, name) for name in _CONFIGS) if text), "")
    on = set(_SET.findall(config))
    option = next((name for name in _OPTIONS if name in on), None)
    if option is None:
        return None
    mode = "gcc-performance" if option.endswith("PERFORMANCE") else "gcc-full"
    mode = "clang" if "CC_IS_CLANG" in on else mode
    file = next(path for path in (os.path.join(folder, name) for name in SEEDS) if files.is_file(path))
    return _Build(folder, f"CONFIG_{option}", mode, file, _plugin_of_build(folder))


def _plugin_of_build(folder: str) -> Plugin:
    """Return the plugin of the source that a folder was built from, as far as it is known."""
    included = _INCLUDE.search(_read_text(folder, "Makefile"))
    sources = [folder, os.path.join(folder, "source"), *([included[1]] if included else ())]
    for source in sources:
        plugin = gcc_plugin.plugin_of_source(os.path.join(folder, source))
        if plugin is not None:
            return plugin
    release = _read_text(folder, "include/config/kernel.release").strip()
    return gcc_plugin.plugin_of_version(release) if re.match(r"\d+\.\d+", release) else gcc_plugin.ANY


def _read_text(folder: str, name: str) -> str:
    path = os.path.join(folder, name)
    try:
        return files.read_start(path, _LARGEST).decode("latin-1")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise UsageError(files.error_reason(error), path) from error


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
    build = None if folder is None else _find_build(folder)
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
    is_tree = files.is_folder(text)
    plugin = _plugin_of_build(text) if is_tree else gcc_plugin.plugin_of_version(text, option)
    if plugin is gcc_plugin.ANY:
        raise UsageError(f"{option} {text}: has no {kernel_tree.PLUGIN}")
    return plugin
