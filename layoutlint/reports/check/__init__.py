"""The formats of `check`."""
