"""The randomisation of a kernel build: its configuration, its seed, and the hash of the seed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from layoutlint import files
from layoutlint.errors import ReadError, UsageError
from layoutlint.model.record import Record
from layoutlint.randstruct import gcc_plugin, seed
from layoutlint.randstruct.gcc_plugin import Plugin
from layoutlint.randstruct.kernel_tree import SEEDS
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


class Build(Record, frozen=True):
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


def find_build(folder: str) -> Build | None:
    """Return the build in a folder that contains a seed; None if its configuration does not randomise."""
    config = next((text for text in (_read_text(folder, name) for name in _CONFIGS) if text), "")
    on = set(_SET.findall(config))
    option = next((name for name in _OPTIONS if name in on), None)
    if option is None:
        return None
    mode = "gcc-performance" if option.endswith("PERFORMANCE") else "gcc-full"
    mode = "clang" if "CC_IS_CLANG" in on else mode
    file = next(path for path in (os.path.join(folder, name) for name in SEEDS) if files.is_file(path))
    return Build(folder, f"CONFIG_{option}", mode, file, _find_plugin(folder))


def _find_plugin(folder: str) -> Plugin:
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
