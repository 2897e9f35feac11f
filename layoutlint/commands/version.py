"""Which modules run compiled: those with a `.pxd` beside them, where installing could compile them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.machinery import ExtensionFileLoader, PathFinder
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


def state(package: Path = _PACKAGE) -> str:
    """`compiled`, `interpreted`, or `partly compiled`: as importing would find the modules."""
    found = {_is_compiled(folder, name) for folder, name in _modules(package)}
    if found == {True, False}:
        return "partly compiled"
    return "compiled" if found == {True} else "interpreted"


def _modules(package: Path) -> Iterator[tuple[str, str]]:
    for folder, _, files in os.walk(package):
        yield from ((folder, file.removesuffix(".pxd")) for file in files if file.endswith(".pxd"))


def _is_compiled(folder: str, name: str) -> bool:
    # Asked by the module's own name, of its folder: a dotted name would import the packages above it.
    spec = PathFinder.find_spec(name, [folder])
    return spec is not None and isinstance(spec.loader, ExtensionFileLoader)
