"""Formats of `layoutlint bisect`."""
