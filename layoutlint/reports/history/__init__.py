"""Formats of `layoutlint history`."""
