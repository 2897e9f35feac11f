"""Searches the order of a struct's members that keeps its rules with the fewest moves."""

from layoutlint.lint.reordering.run import Request, suggest

__all__ = ["Request", "suggest"]
