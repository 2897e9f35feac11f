"""Collects the structs that `show` and `containers` list."""
