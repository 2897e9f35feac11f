"""Differences of two inputs: the command, what only it compares, and its formats."""
