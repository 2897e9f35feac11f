"""Searches the order of a struct's members that keeps its rules with the fewest moves."""

from layoutlint.lint.reordering.builds import Request
from layoutlint.lint.reordering.matrix import suggest_for_builds
from layoutlint.lint.reordering.run import suggest
from layoutlint.lint.reordering.series import suggest_series

__all__ = ["Request", "suggest", "suggest_for_builds", "suggest_series"]
