"""Phrases that messages and reports have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from layoutlint.errors import did_you_mean


def some_of(files: Sequence[str], limit: int = 3) -> str:
    """The first few of many files, by name where that tells them apart, and how many more there are."""
    names = [file.rpartition("/")[2] for file in files]
    names = names if len(set(names)) == len(names) else list(files)
    more = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {more:,} more" if more > 0 else "")


def one_of(name: str, names: Iterable[str]) -> str:
    """What to add to a message on an unknown name: the nearest one, else all that there are."""
    known = tuple(names)
    return did_you_mean(name, known) or f" (known: {', '.join(known)})"


def counted(number: int, what: str) -> str:
    """A number with its noun: `1 rule`, `2 rules`, `8,412 structs`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def percent(share: float) -> str:
    """A share that is never rounded to nothing or to all: `12.34%`, `more than 99.99%`."""
    if 0 < share < 0.0001:
        return "less than 0.01%"
    return "more than 99.99%" if 0.9999 < share < 1 else f"{share:.2%}"
