"""Inputs to facts; a reader judges nothing."""
