"""Advice shared by several kinds: the change that keeps a rule, with its numbers."""

from __future__ import annotations

from collections.abc import Iterable

from layoutlint.geometry.layout import Place
from layoutlint.geometry.placement import Placements, first_clear_offset, fitting_alignment
from layoutlint.phrases import quantity

_FEW = 4
"""Maximum number of sentences in a message. A pattern can match hundreds of fields; the evidence lists them
all."""

def move_apart(a: Place, b: Place, placements: Placements) -> str:
    """Advise how much further apart two fields must be to share a line in no placement."""
    low, high = (a, b) if a.offset <= b.offset else (b, a)
    missing = first_clear_offset(low.end, placements) - high.offset
    return (
        f"move `{high.path}` at least {byte_count(missing)} further from `{low.path}`, "
        f"or start it on a {placements.unit} of its own ({placements.aligner})"
    )


def byte_count(number: int) -> str:
    """Return a number of bytes as text: `1 byte`, `8 bytes`."""
    return "1 byte" if number == 1 else f"{number:,} bytes"


def separate_elements(step: int, placements: Placements) -> str:
    """Advise how objects `step` bytes apart get lines of their own."""
    line_size = placements.line_size
    stride = -(-step // line_size) * line_size
    how = f"align the struct to {line_size} bytes ({placements.type_aligner})"
    return f"{how}, so that one begins {stride} bytes behind the other"


def keep_whole(start: int, end: int, placements: Placements) -> str:
    """Advise the alignment, and if needed the offset, that keeps bytes [start, end) on one line at every
    base.
    """
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
    """Return the range of line counts as text: `1 line`, `3 lines`, `2 to 3 lines`."""
    low, high = min(numbers := sorted(counts)), numbers[-1]
    if low < high:
        return f"{low} to {high} lines"
    return "1 line" if high == 1 else f"{high} lines"


def tolerate_advice(violating: int, total: int) -> str:
    """Return advice on how to accept the failing placements, to append to other advice; empty unless they are
    few.
    """
    if violating * 2 >= total:
        return ""
    share = f"{violating / total:g}"
    if float(share) * total < violating:  # a share that is rounded down tolerates less
        share = f"{-(-violating * 10**6 // total) / 10**6:g}"
    return f", or accept it with `tolerate = {share}`"


def first_few(sentences: list[str], noun: str) -> str:
    """Join sentences; after the first four, print only the number of further ones, each about a `noun`."""
    more = len(sentences) - _FEW
    return "; ".join(sentences[:_FEW] + ([f"and {quantity(more, f'more {noun}')}"] if more > 0 else []))
