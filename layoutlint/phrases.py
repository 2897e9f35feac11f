"""Phrases shared by messages and reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from layoutlint.errors import did_you_mean


def first_few(files: Sequence[str], limit: int = 3) -> str:
    """Return the first few files, and the number of the others; without folders if names are unique."""
    names = [file.rpartition("/")[2] for file in files]
    names = names if len(set(names)) == len(names) else list(files)
    hidden = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {hidden:,} more" if hidden > 0 else "")


def shorten_middle(text: str, most: int) -> str:
    """Return a text without its middle if it has more than `most` characters."""
    half = (most - 3) // 2
    return text if len(text) <= most else f"{text[:half]}...{text[-half:]}"


def name_hint(name: str, names: Iterable[str]) -> str:
    """Return the end of a message on an unknown name: the nearest name, or else all names."""
    choices = tuple(names)
    return did_you_mean(name, choices) or f" (known: {', '.join(choices)})"


def quantity(number: int, noun: str) -> str:
    """Return a number with its noun: `1 rule`, `2 rules`, `8,412 structs`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def part_of(number: int, total: int, noun: str, only: str = "its only") -> str:
    """Return `2 of 8 places`, `all 8 places`, or for the one of one `its only place`."""
    if number != total:
        return f"{number:,} of {quantity(total, noun)}"
    return f"{only} {noun}" if total == 1 else f"all {quantity(total, noun)}"


def placements_phrase(number: int, total: int) -> str:
    """Return `in 2 of 8 placements`, `in all 8 placements` or `in its only placement`."""
    return f"in {part_of(number, total, 'placement')}"


def percent(share: float) -> str:
    """Return a share as a percentage, never rounded to 0 or 100: `12.34%`, `more than 99.99%`."""
    if 0 < share < 0.0001:
        return "less than 0.01%"
    return "more than 99.99%" if 0.9999 < share < 1 else f"{share:.2%}"
