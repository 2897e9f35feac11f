"""The cache lines of an object drawn byte by byte: who sits on which line, at one base."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from string import ascii_uppercase

from layoutlint.geometry.layout import Layout, Place
from layoutlint.geometry.placement import lines_of
from layoutlint.reports.styled import Line, line

CELL = 8
_ROW = 64
"""Bytes drawn in one row; a longer line takes several."""
_MOST_LINES = 12
_ENDS = 3
"""Lines drawn at the beginning of a field that goes over many; its last line is drawn as well."""
_Span = tuple[int, int, str]
"""First address, one past the last, and the mark of these bytes."""
OTHER, HOLE, OUTSIDE, UNLISTED = ".", "-", " ", "#"
MOST_LISTED = 12
"""Fields that a report lists, each with its letter; a letter that nothing explains would say nothing."""
COLORS = ("cyan", "magenta", "yellow", "green", "blue", "red")


def letters(places: Sequence[Place]) -> dict[str, str]:
    """A letter for each field path that a report lists, `#` for all others."""
    return {place.path: ascii_uppercase[n] if n < MOST_LISTED else UNLISTED for n, place in enumerate(places)}


def style_of(letter: str) -> str:
    """The colour in which a field's letter is printed."""
    return f"bold {COLORS[ascii_uppercase.find(letter) % len(COLORS)]}" if letter.isalpha() else ""


def draw(layout: Layout, places: Sequence[Place], base: int, line_size: int, width: int) -> Iterator[Line]:
    """The lines that `places` touch in an object at `base`, one character per byte.

    Letters are the places, `#` those that are not listed, `.` another field, `-` a hole or padding, blank
    what is not the object's.
    """
    per_row = min(_ROW if width >= 92 else _ROW // 2, line_size)
    known = [place for place in places if place.bit_size is not None]
    chosen = _chosen(known, base, line_size)
    spans = _spans(layout, known, letters(places), base)
    yield line(" " * 11, (_ruler(per_row), "dim"))
    before: int | None = None
    for number in chosen[:_MOST_LINES]:
        if before is not None and number > before + 1:
            yield line("  ...")
        for start in range(0, line_size, per_row):
            first = number * line_size + start
            others = layout.touching(first - base, first - base + per_row)
            under = ((base + place.offset, base + place.end, OTHER) for place in others)
            text = _row((spans[0], *under, *spans[1:]), first, per_row)
            yield _drawn(f"    +{start}" if start else f"line {number}", text)
        before = number
    if len(chosen) > _MOST_LINES:
        yield line("  ... (further lines are not drawn)")


def _chosen(places: Iterable[Place], base: int, line_size: int) -> list[int]:
    """The lines to draw: of each field the first ones and the last."""
    numbers: set[int] = set()
    for place in places:
        touched = lines_of(place, base, line_size)
        numbers.update(touched[:_ENDS], touched[-1:])
    return sorted(numbers)


def _spans(layout: Layout, places: Sequence[Place], letter: dict[str, str], base: int) -> list[_Span]:
    """What to paint, one over the other: the object, and the smallest of `places` last."""
    largest_first = sorted(places, key=lambda place: -(place.size or 0))
    return [
        (base, base + layout.size, HOLE),
        *((base + p.offset, base + p.end, letter[p.path]) for p in largest_first if not p.is_empty),
    ]


def _row(spans: Iterable[_Span], start: int, length: int) -> str:
    cells = [OUTSIDE] * length
    for first, stop, mark in spans:
        low, high = max(first - start, 0), min(stop - start, length)
        if high > low:
            cells[low:high] = mark * (high - low)
    return "".join(cells)


def _ruler(length: int) -> str:
    return " ".join(f"{start:<{CELL}}" for start in range(0, length, CELL))


def _drawn(label: str, text: str) -> Line:
    """One row in cells of eight bytes, each run of one letter in its colour."""
    spans: list[tuple[str, str]] = [(f"  {label:<8}", "dim")]
    for start in range(0, len(text), CELL):
        spans.append(("|", "dim"))
        spans += [("".join(run), style_of(letter)) for letter, run in groupby(text[start : start + CELL])]
    present = sorted({letter for letter in text if letter.isalpha()})
    return line(*spans, ("|", "dim"), *([f"  {' '.join(present)}"] if len(present) > 1 else []))
