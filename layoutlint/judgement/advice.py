"""Sentences that several kinds say, on what would make a rule hold, with the numbers worked out."""

from __future__ import annotations

from collections.abc import Iterable

from layoutlint.geometry.layout import Place
from layoutlint.geometry.placement import Placements, clear_of, fitting_alignment

_FEW = 4
"""A pattern can mean hundreds of fields; a verdict's evidence has them all, its message a few."""


def move_apart(a: Place, b: Place, placements: Placements) -> str:
    """How much further apart two fields must be so that no placement joins them."""
    low, high = (a, b) if a.offset <= b.offset else (b, a)
    more = clear_of(low.end, placements) - high.offset
    how = f"`aligned({placements.line_size})`" if placements.in_pairs else "`____cacheline_aligned`"
    return (
        f"move `{high.path}` at least {byte_count(more)} further from `{low.path}`, "
        f"or start it on a {placements.unit} of its own ({how})"
    )


def byte_count(number: int) -> str:
    """`1 byte`, `8 bytes`."""
    return "1 byte" if number == 1 else f"{number:,} bytes"


def part_elements(step: int, line_size: int) -> str:
    """How objects that begin `step` bytes apart get lines of their own."""
    apart = -(-step // line_size) * line_size
    return f"align the struct to {line_size} bytes, so that one begins {apart} bytes behind the other"


def keep_whole(start: int, end: int, placements: Placements) -> str:
    """The alignment, and where needed the offset, with which no base cuts bytes [start, end) in two."""
    line, span = placements.line_size, end - start
    if span > line:
        return f"{span} bytes do not fit on a line of {line}: bring them within {line} bytes"
    align = fitting_alignment(start, end, placements)
    if align is not None:
        return f"align the struct to {align} bytes, so that no base cuts the bytes {start}..{end - 1}"
    align = 1 << (span - 1).bit_length()
    start_at = f"start the {span} bytes at a multiple of {align}, not at {start}"
    return f"align the struct to {align} bytes and {start_at}"


def line_numbers(counts: Iterable[int]) -> str:
    """How many lines, over several bases: `1 line`, `3 lines`, `2 to 3 lines`."""
    low, high = min(found := sorted(counts)), found[-1]
    if low < high:
        return f"{low} to {high} lines"
    return "1 line" if high == 1 else f"{high} lines"


def everywhere(total: int) -> str:
    """That something holds at every base: `in all 8 placements`."""
    return "in its only placement" if total == 1 else f"in all {total} placements"


def tolerated(violating: int, total: int) -> str:
    """How to accept the placements that fail, to stand behind another advice; empty unless they are few."""
    return f", or accept it with `tolerate = {violating / total:g}`" if violating * 2 < total else ""


def first_few(sentences: list[str], rest: str) -> str:
    """Sentences in a row; of many the first four, and how many more of `rest` there are."""
    more = len(sentences) - _FEW
    return "; ".join(sentences[:_FEW] + ([f"and {more} more {rest}"] if more > 0 else []))
