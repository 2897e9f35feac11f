"""Formats of `layoutlint infer`."""
