"""Damaged inputs by the hundred thousand, through the real command: see docs/contributing/fuzzing.md."""
