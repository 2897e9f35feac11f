"""Which variables a comparison describes: those that rules name, and those of the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import translate

from layoutlint.comparison.variables import VariableQuery
from layoutlint.judgement.rule import Pack
from layoutlint.lint.variables import add_variables
from layoutlint.model.wanted import Wanted


def variable_query(
    packs: Iterable[Pack], patterns: tuple[str, ...], line_size: int | None = None
) -> VariableQuery:
    """Return what a comparison of variables is about. `patterns` select variables; empty for all.

    `line_size` is in bytes, None for the target's.
    """
    paths = add_variables(Wanted(), packs).variables
    named = patterns or tuple(path.partition(".")[0].partition("[")[0] for path in paths)
    selects = _matcher(patterns) if patterns else _accept_all
    return VariableQuery(_matcher(named), selects, line_size, patterns)


def _accept_all(name: str) -> bool:
    return True


def _matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Return whether a name matches one of some names and patterns, as a function."""
    pattern = re.compile("|".join(map(translate, sorted(set(patterns)))) or r"(?!)")
    return lambda name: pattern.match(name) is not None
