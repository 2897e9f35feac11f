"""Formats of `layoutlint accesses`."""
