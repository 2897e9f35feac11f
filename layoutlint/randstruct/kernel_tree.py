"""The ways in which kernels randomise the order of fields, and the folders of such builds.

Finding the folder of an input reads no file. The command line imports this module to start, so it needs no
records.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from layoutlint import files

MODES = ("gcc-full", "gcc-performance", "clang", "clang-libc++")
"""The modes of randomisation. Clang's order depends on the C++ library that it was built with: libstdc++ or
libc++."""
SEEDS = ("scripts/basic/randstruct.seed", "scripts/gcc-plugins/randomize_layout_seed.h")
"""Files with the seed of a build: since Linux 5.19, and for GCC's plugin."""
PLUGIN = "scripts/gcc-plugins/randomize_layout_plugin.c"
"""The source of GCC's plugin."""


def find_folder(paths: Iterable[str], names: tuple[str, ...]) -> str | None:
    """Return the one folder around all inputs that contains one of some files; None for none or several."""
    folders = {_find_folder(os.path.abspath(path), names) for path in paths}
    return folders.pop() if len(folders) == 1 else None


def _find_folder(path: str, names: tuple[str, ...]) -> str | None:
    folder = path if files.is_folder(path) else os.path.dirname(path)
    while not any(files.is_file(os.path.join(folder, name)) for name in names):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder
