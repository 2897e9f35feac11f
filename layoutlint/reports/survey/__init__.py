"""Formats of `layoutlint survey`."""
