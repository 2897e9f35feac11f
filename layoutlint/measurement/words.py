"""The words by which a program accesses fields, at any of some bases."""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from layoutlint.geometry.layout import Place
from layoutlint.measurement.experiment import FieldAccess, Operation, Word

_WIDEST = 8
"""Bytes of the widest access."""
MOST_WORDS = 64
"""Maximum number of words of one field: of a larger one, the first and the last are accessed."""
MOST_REACH = 1 << 20
"""Bytes of the largest struct that is measured."""


def field_access(
    place: Place, operation: Operation, is_assumed: bool, bases: Iterable[int], line_size: int
) -> FieldAccess:
    """Return the accesses to a field of an object that can be at some bases. Raises ValueError for none."""
    if place.size is None or place.is_flexible:
        raise ValueError(f"the size of `{place.path}` is not known")
    if place.is_empty:
        raise ValueError(f"`{place.path}` is empty: there is nothing to access")
    if place.end > MOST_REACH:
        raise ValueError(
            f"`{place.path}` ends at byte {place.end:,}; only the first {MOST_REACH:,} bytes of a struct "
            "are measured"
        )
    widest = gcd(_WIDEST, line_size, *bases)
    words = _words(place.offset, place.end, widest, operation)
    return FieldAccess(place.path, place.offset, place.size, operation, is_assumed, words)


def _words(start: int, end: int, widest: int, operation: Operation) -> tuple[Word, ...]:
    """Return the naturally aligned words of bytes [start, end)."""
    words: list[Word] = []
    at = start
    while at < end and len(words) < MOST_WORDS // 2:
        width = _width(at, end - at, widest)
        words.append(Word(operation, width, at))
        at += width
    last: list[Word] = []
    while end > at and len(last) < MOST_WORDS // 2:
        width = _width(end, end - at, widest)
        end -= width
        last.append(Word(operation, width, end))
    return (*words, *reversed(last))


def _width(at: int, most: int, widest: int) -> int:
    """Return the width of a word that is aligned to itself at `at` and has at most `most` bytes."""
    width = widest
    while at % width or width > most:
        width //= 2
    return width
