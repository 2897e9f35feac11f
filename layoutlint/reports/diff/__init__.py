"""Formats of `layoutlint diff`."""
