"""Random orders of a struct's members that its text allows."""

from __future__ import annotations

import random

from layoutlint.readers.clang.members import CannotMove, MemberText, Restriction


def is_legal(order: list[int], restrictions: tuple[Restriction, ...]) -> bool:
    try:
        for restriction in restrictions:
            restriction.refuse(order)
    except CannotMove:
        return False
    return True


def random_order(
    parts: tuple[MemberText, ...], restrictions: tuple[Restriction, ...], random_: random.Random, tries: int = 30
) -> list[int]:
    """Return an order after some random moves of declarations, or of several in a row, that are allowed."""
    runs = [list(part.fields) for part in parts]
    for _ in range(tries):
        length = random_.choice((1, 1, 1, 2, 3))
        start = random_.randrange(len(runs))
        moved, rest = runs[start : start + length], runs[:start] + runs[start + length :]
        at = random_.randint(0, len(rest))
        attempt = rest[:at] + moved + rest[at:]
        if is_legal([number for run in attempt for number in run], restrictions):
            runs = attempt
    return [number for run in runs for number in run]
