"""Readers: inputs to facts; a reader judges nothing."""
