"""Builds that many rows of a table want alike: the first one builds, the others get copies. Debug information names the folder of the first."""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

_FOLDER = tempfile.TemporaryDirectory(prefix="layoutlint-built-")
_MOST = 300
"""Builds that are kept: random programs have no end."""
_kept: dict[tuple[Any, ...], tuple[Path, Any]] = {}
Result = TypeVar("Result", Path, tuple[Path, ...])


def built_once(build: Callable[..., Result]) -> Callable[..., Result]:
    """Make of `build(folder, *words)`, which returns paths in the folder, one that builds once for the same words."""

    @functools.wraps(build)
    def copy(folder: Path, *words: Any, **options: Any) -> Result:
        key = (build, words, *options.items())
        if key not in _kept:
            first = Path(tempfile.mkdtemp(dir=_FOLDER.name))
            _kept[key] = (first, build(first, *words, **options))
        first, made = _kept[key]
        shutil.copytree(first, folder, dirs_exist_ok=True)
        if len(_kept) > _MOST:
            shutil.rmtree(_kept.pop(next(iter(_kept)))[0])
        return tuple(folder / each.relative_to(first) for each in made) if isinstance(made, tuple) else folder / made.relative_to(first)

    return copy
