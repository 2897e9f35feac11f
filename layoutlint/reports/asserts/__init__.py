"""Formats of `layoutlint rules asserts`."""
