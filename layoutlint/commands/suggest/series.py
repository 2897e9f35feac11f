"""Orders of several structs, each found with the changes of those before it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from layoutlint import files
from layoutlint.lint.options import Options
from layoutlint.model.reading import InputText
from layoutlint.model.record import replace
from layoutlint.suggestion.builds import Request
from layoutlint.suggestion.orders.result import Patch, Suggestion

SuggestOne = Callable[[Request, Options], Suggestion]
"""Finds the order of one struct. Raises ReadError."""


def suggest_series(
    names: Sequence[str], request: Request, options: Options, suggest_one: SuggestOne
) -> tuple[Suggestion, ...]:
    """Return the best order of each struct, in the order of their names.

    Each struct is read from text with the changes before it, so the patches apply one after the other, and
    offsets count what embedded structs have become. Raises ReadError.
    """
    results: list[Suggestion] = []
    for name in names:
        result = suggest_one(replace(request, struct=name), options)
        if result.patch is not None and result.patch.diff:
            options = _with_change(options, result.patch)
        results.append(result)
    return tuple(results)


def _with_change(options: Options, patch: Patch) -> Options:
    """Return options by which the file of a patch is read as the patch leaves it."""
    real_path = files.real_path(patch.file)
    others = (given for given in options.read.replaced if files.real_path(given.path) != real_path)
    changed = InputText(os.path.abspath(patch.file), patch.text)
    return replace(options, read=replace(options.read, replaced=(*others, changed), cache=False))
