"""Draws the cache lines of an object at one base, a character for each byte.

`draw` marks fields by letters, for a list beside it; `draw_names` writes their names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from string import ascii_lowercase, ascii_uppercase

from layoutlint.geometry.layout import Layout, Place
from layoutlint.geometry.placement import field_lines
from layoutlint.reports.styled import Line, line

CELL = 8
_ROW = 64
"""Bytes in one row; a longer line takes several rows."""
_MOST_LINES = 12
_LEAST_CUT = 3
"""A name is cut at its front if more characters than this stay."""
_ENDS = 3
"""Lines drawn at the start of a long field, besides its last line."""
_Span = tuple[int, int, str]
"""First address, end address (exclusive), and the mark of these bytes."""
OTHER, HOLE, INSIDE, OUTSIDE, UNLISTED = ".", "-", "=", " ", "#"
MOST_LISTED = 12
"""Fields that a report lists, each with its letter."""
LETTERS = ascii_uppercase + ascii_lowercase
COLORS = ("cyan", "magenta", "yellow", "green", "blue", "red")


def letters(places: Sequence[Place]) -> dict[str, str]:
    """Return a letter for each field path that a report lists, `#` for all others."""
    return {
        place.path: ascii_uppercase[number] if number < MOST_LISTED else UNLISTED
        for number, place in enumerate(places)
    }


def style_of(letter: str) -> str:
    """Return the style of a field's letter."""
    return f"bold {COLORS[LETTERS.find(letter) % len(COLORS)]}" if letter.isalpha() else ""


def draw(
    layout: Layout,
    places: Sequence[Place],
    base: int,
    line_size: int,
    width: int,
    marks: Mapping[str, str] | None = None,
    most_lines: int = _MOST_LINES,
) -> Iterator[Line]:
    """Draw the lines that `places` touch in an object at `base`, a character for each byte.

    Letters mark the places, `#` unlisted places, `.` another field, `-` a hole or padding, and a blank bytes
    outside of the object. `marks` are other characters for the paths of the places.
    """
    per_row = min(_ROW if width >= 92 else _ROW // 2, line_size)
    sized = [place for place in places if place.bit_size is not None]
    numbers = _line_numbers(sized, base, line_size)
    spans = _layers(layout, sized, letters(places) if marks is None else marks, base)
    yield line(" " * 11, (_ruler(per_row), "dim"))
    last: int | None = None
    for number in numbers[:most_lines]:
        if last is not None and number > last + 1:
            yield line("  ...")
        for start in range(0, line_size, per_row):
            first = number * line_size + start
            neighbours = layout.fields_touching(first - base, first - base + per_row)
            background = ((base + place.offset, base + place.end, OTHER) for place in neighbours)
            text = _row((spans[0], *background, *spans[1:]), first, per_row)
            yield _draw_row(f"    +{start}" if start else f"line {number}", text)
        last = number
    if len(numbers) > most_lines:
        yield line("  ... (further lines are not drawn)")


def draw_names(
    layout: Layout, places: Sequence[Place], base: int, line_size: int, most_lines: int
) -> Iterator[Line]:
    """Draw the first lines that `places` touch, with their names: `line 0 [|head===|tail===|.......   ]`.

    A `|` is the first byte of a field in `places`, or the byte behind one, and `=` follows its name; the
    rest is as in `draw`.
    """
    sized = [place for place in places if place.bit_size is not None]
    numbers = _line_numbers(sized, base, line_size)
    head = f"  base {base} " if base else "  "
    for number in numbers[:most_lines]:
        for start in range(number * line_size, (number + 1) * line_size, _ROW):
            text = _named_row(layout, sized, base, start, min(_ROW, line_size))
            label = f"line {number}" if start == number * line_size else f"+{start - number * line_size}"
            yield line((f"{head}{label:<6} ", "dim"), "[", *_color_runs(text), "]")
            head = " " * len(head)
    if len(numbers) > most_lines:
        yield line(f"{head}...")


def _color_runs(text: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for style, run in groupby(text, key=lambda cell: cell[1]):
        yield "".join(character for character, _ in run), style


def _named_row(
    layout: Layout, places: Sequence[Place], base: int, start: int, length: int
) -> list[tuple[str, str]]:
    """Return a character with its style for each byte of a row."""
    marks = dict(zip((place.path for place in places), LETTERS * len(places), strict=False))
    neighbours = layout.fields_touching(start - base, start - base + length)
    background = ((base + place.offset, base + place.end, OTHER) for place in neighbours)
    spans = _layers(layout, places, {place.path: OUTSIDE for place in places}, base)
    cells = [(mark, "") for mark in _row((spans[0], *background), start, length)]
    names = _short_names(places)
    for place in sorted(places, key=lambda place: -(place.size or 0)):
        size = (place.size or 0) if not place.is_empty else 0
        first = base + place.offset - start
        text = f"|{names[place.path]}"
        for at in range(max(first, 0), min(first + size, length)):
            cells[at] = text[at - first : at - first + 1] or INSIDE, style_of(marks[place.path])
        if size and 0 <= first + size < length and cells[first + size][0] in (OTHER, HOLE, OUTSIDE):
            cells[first + size] = "|", ""
    return cells


def _short_names(places: Sequence[Place]) -> dict[str, str]:
    """Return the last part of each path, cut to its field; at the front if others begin alike."""
    names = {place.path: place.path.rpartition(".")[2] for place in places}
    room = {place.path: max((place.size or 0) - 1, 0) for place in places}
    starts = Counter(name[: room[path]] for path, name in names.items())
    return {
        path: f"~{name[len(name) - room[path] + 1 :]}"
        if len(name) > room[path] > _LEAST_CUT and starts[name[: room[path]]] > 1
        else name
        for path, name in names.items()
    }


def _line_numbers(places: Iterable[Place], base: int, line_size: int) -> list[int]:
    """Return the numbers of the lines to draw: for each field the first few and the last."""
    numbers: set[int] = set()
    for place in places:
        touched = field_lines(place, base, line_size)
        numbers.update(touched[:_ENDS], touched[-1:])
    return sorted(numbers)


def _layers(layout: Layout, places: Sequence[Place], letter_of: Mapping[str, str], base: int) -> list[_Span]:
    """Return what to paint, each over the ones before: the object, then `places` from large to small."""
    largest_first = sorted(places, key=lambda place: -(place.size or 0))
    return [
        (base, base + layout.size, HOLE),
        *(
            (base + place.offset, base + place.end, letter_of[place.path])
            for place in largest_first
            if not place.is_empty
        ),
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


def _draw_row(label: str, text: str) -> Line:
    """Return one row in cells of eight bytes, with coloured letters."""
    spans: list[tuple[str, str]] = [(f"  {label:<8}", "dim")]
    for start in range(0, len(text), CELL):
        spans.append(("|", "dim"))
        spans += [("".join(run), style_of(letter)) for letter, run in groupby(text[start : start + CELL])]
    present = sorted({letter for letter in text if letter.isalpha()})
    return line(*spans, ("|", "dim"), *([f"  {' '.join(present)}"] if len(present) > 1 else []))
