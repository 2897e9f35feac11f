"""Phrases that every format for people uses in the same way, of facts; `judgement` has those of findings."""

from __future__ import annotations

from collections.abc import Sequence

from layoutlint.model import some_of
from layoutlint.shuffled import Randomised


def counted(number: int, what: str) -> str:
    """A number with its noun: `1 rule`, `2 rules`, `8,412 structs`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def percent(share: float) -> str:
    """A share that is never rounded to nothing or to all: `12.34%`, `more than 99.99%`."""
    if 0 < share < 0.0001:
        return "less than 0.01%"
    return "more than 99.99%" if 0.9999 < share < 1 else f"{share:.2%}"


def found_in(files: Sequence[str]) -> str:
    """The files that have a definition: `a.ko`, or `312 files: a.ko, b.ko, c.ko and 309 more`."""
    if len(files) < 2:
        return "".join(files)
    return f"{counted(len(files), 'file')}: {some_of(files)}"


def order(how: Randomised) -> str:
    """How the fields of a struct came into the order that is shown."""
    whose = (
        "in a random order" if how.is_own else "in declared order, those of structs inside in a random one"
    )
    kernel = f" of Linux {how.kernel}" if how.kernel else ""
    return f"its fields are {whose}: {how.mode}{kernel}, seed with SHA-256 {how.seed[:12]}..."
