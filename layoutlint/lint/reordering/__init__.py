"""Searches the order of a struct's members that keeps its rules with the fewest moves."""

from layoutlint.lint.reordering.builds import Request
from layoutlint.lint.reordering.run import suggest

__all__ = ["Request", "suggest"]
