"""Which modules run compiled: installing compiles those with a `.pxd` file, if it can."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.machinery import ExtensionFileLoader, PathFinder
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


def state(package: Path = _PACKAGE) -> str:
    """Return `compiled`, `interpreted` or `partly compiled`, as an import would find the modules."""
    states = {_is_compiled(folder, name) for folder, name in _modules(package)}
    if states == {True, False}:
        return "partly compiled"
    return "compiled" if states == {True} else "interpreted"


def _modules(package: Path) -> Iterator[tuple[str, str]]:
    for folder, _, files in os.walk(package):
        yield from ((folder, file.removesuffix(".pxd")) for file in files if file.endswith(".pxd"))


def _is_compiled(folder: str, name: str) -> bool:
    # By the module's own name, in its folder: a dotted name would import the packages above it.
    spec = PathFinder.find_spec(name, [folder])
    return spec is not None and isinstance(spec.loader, ExtensionFileLoader)
