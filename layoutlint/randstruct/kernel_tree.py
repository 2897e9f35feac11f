"""Ways in which kernels are built with fields in a random order, and folders of such builds.

That an input stands in one is seen without reading a file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

MODES = ("gcc-full", "gcc-performance", "clang", "clang-libc++")
"""Clang's order depends on the C++ library that it was built with: libstdc++, or libc++."""
SEEDS = ("scripts/basic/randstruct.seed", "scripts/gcc-plugins/randomize_layout_seed.h")
"""Where a build that randomises layouts keeps its seed: since Linux 5.19, and for GCC's plugin."""
PLUGIN = "scripts/gcc-plugins/randomize_layout_plugin.c"
"""The source of that plugin."""


def around(paths: Iterable[str], files: tuple[str, ...]) -> str | None:
    """The one folder with one of some files that all inputs stand in, or are; None where there is none."""
    folders = {_around(os.path.abspath(path), files) for path in paths}
    return folders.pop() if len(folders) == 1 else None


def _around(path: str, files: tuple[str, ...]) -> str | None:
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    while not any(os.path.isfile(os.path.join(folder, file)) for file in files):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder
