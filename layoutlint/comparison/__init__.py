"""Comparison of two runs: what changed in layouts and verdicts, and which edit caused it."""
