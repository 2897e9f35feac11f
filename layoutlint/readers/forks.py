"""How many processes reading is divided among."""

from __future__ import annotations

from layoutlint import processes

_UNIT_OF_WORK = 1 << 24
"""Bytes that are worth a process."""


def number_for(size: int, jobs: int) -> int:
    """Return how many processes so many bytes are worth; 0 jobs mean as many as there are processors."""
    free = jobs or processes.processors() if processes.HAS_PROCESSES else 1
    return max(1, min(free, size // _UNIT_OF_WORK))
