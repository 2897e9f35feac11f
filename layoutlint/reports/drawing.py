"""The cache lines of an object drawn byte by byte: who sits on which line, at one base."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from string import ascii_letters

from layoutlint.layout import Layout, Place
from layoutlint.placement import lines_of
from layoutlint.reports.styled import Line, line

CELL = 8
_ROW = 64
"""Bytes drawn in one row; a longer line takes several."""
_MOST_ROWS = 10
OTHER, HOLE, OUTSIDE = ".", "-", " "
COLORS = ("cyan", "magenta", "yellow", "green", "blue", "red")


def letters(places: Sequence[Place]) -> dict[str, str]:
    """A letter for each field path; `#` for all that the alphabet does not reach."""
    return {
        place.path: ascii_letters[26 + n if n < 26 else n - 26] if n < 52 else "#"
        for n, place in enumerate(places)
    }


def style_of(letter: str) -> str:
    """The colour in which a field's letter is printed."""
    return f"bold {COLORS[ascii_letters.find(letter) % len(COLORS)]}" if letter.isalpha() else ""


def draw(layout: Layout, places: Sequence[Place], base: int, line_size: int, width: int) -> Iterator[Line]:
    """The lines that `places` touch in an object at `base`, one character per byte.

    Capitals are the places, `.` another field, `-` a hole or padding, blank what is not the object's.
    """
    per_row = min(_ROW if width >= 92 else _ROW // 2, line_size)
    bytes_ = _bytes(layout, places, base)
    touched = sorted(
        {n for place in places if place.bit_size is not None for n in lines_of(place, base, line_size)}
    )
    yield line(" " * 11, (_ruler(per_row), "dim"))
    rows = [
        (number, start, _row(bytes_, number * line_size + start, per_row))
        for number in touched
        for start in range(0, line_size, per_row)
    ]
    yield from _folded(rows)


def _bytes(layout: Layout, places: Sequence[Place], base: int) -> dict[int, str]:
    """The character of each byte of the object and of the places, by its address."""
    drawn = dict.fromkeys(range(base, base + layout.size), HOLE)
    for place in layout.places:
        if place.bit_size is not None and not place.is_flexible:
            drawn.update(dict.fromkeys(range(base + place.offset, base + place.end), OTHER))
    letter = letters(places)
    for place in sorted(places, key=lambda p: -(p.size or 0)):
        if place.bit_size is not None and not place.is_empty:
            drawn.update(dict.fromkeys(range(base + place.offset, base + place.end), letter[place.path]))
    return drawn


def _row(drawn: dict[int, str], start: int, length: int) -> str:
    return "".join(drawn.get(address, OUTSIDE) for address in range(start, start + length))


def _ruler(length: int) -> str:
    return " ".join(f"{start:<{CELL}}" for start in range(0, length, CELL))


def _folded(rows: Iterable[tuple[int, int, str]]) -> Iterator[Line]:
    """Rows, of which neighbours that look the same are drawn once."""
    for shown, (text, run) in enumerate(groupby(rows, key=lambda row: row[2])):
        same = list(run)
        if shown == _MOST_ROWS:
            yield line(" " * 11, ("(further lines are not drawn)", "dim"))
            return
        number, start, _ = same[0]
        label = f"line {number}" if not start else f"    +{start}"
        yield _drawn(label, text)
        if len(same) > 1:
            more = f"(and {len(same) - 1} more rows like it, up to line {same[-1][0]})"
            yield line(" " * 11, (more, "dim"))


def _drawn(label: str, text: str) -> Line:
    """One row in cells of eight bytes, each run of one letter in its colour."""
    spans: list[tuple[str, str]] = [(f"  {label:<8}", "dim")]
    for start in range(0, len(text), CELL):
        spans.append(("|", "dim"))
        spans += [("".join(run), style_of(letter)) for letter, run in groupby(text[start : start + CELL])]
    present = sorted({letter for letter in text if letter.isalpha()})
    return line(*spans, ("|", "dim"), *([f"  {' '.join(present)}"] if len(present) > 1 else []))
