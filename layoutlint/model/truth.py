"""Conditions of which not every part is known."""

from __future__ import annotations

from collections.abc import Iterable

Truth = bool | None
"""None if it is not known."""


def negate(truth: Truth) -> Truth:
    """Return the opposite."""
    return None if truth is None else not truth


def conjoin(truths: Iterable[Truth]) -> Truth:
    """Return whether all hold."""
    values = set(truths)
    return False if False in values else None if None in values else True


def disjoin(truths: Iterable[Truth]) -> Truth:
    """Return whether one holds."""
    values = set(truths)
    return True if True in values else None if None in values else False
