"""A change of a source that mends findings."""

from __future__ import annotations

from layoutlint.model.record import Record


class Fix(Record, frozen=True):
    """Lines of one file that are replaced."""

    file: str
    """The file, as findings name it."""
    first_line: int
    """The first line that is replaced, from 1."""
    last_line: int
    text: str
    """The new lines, with their ends."""
    description: str
    """What it does, as a sentence."""


def replace_lines(file: str, old: str, new: str, description: str) -> Fix | None:
    """Return the change of a file's text as one run of whole lines; None without a change."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    least = min(len(before), len(after))
    first = next((at for at in range(least) if before[at] != after[at]), least)
    if first == len(before) == len(after):
        return None
    tail = next((at for at in range(least - first) if before[-1 - at] != after[-1 - at]), least - first)
    text = "".join(after[first : len(after) - tail])
    return Fix(file, first + 1, len(before) - tail, text, description)
