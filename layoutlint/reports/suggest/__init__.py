"""Formats of `layoutlint suggest`: functions of a Suggestion."""
