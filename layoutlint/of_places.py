"""What a verdict says of each of several places in which a struct can be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from layoutlint.context import CannotTell, Context
from layoutlint.placement import Placements
from layoutlint.rule import Outcome, Verdict


def told(verdict: Verdict, check: Callable[[Context], Verdict], context: Context) -> Verdict:
    """A verdict with the reason for its bases, and the places in which the rule fails.

    What fails at a base in one place can hold at the same base in another, where nothing stands beside the
    object: it is at risk then, and not broken.
    """
    parts = context.placements.parts
    is_placed = context.storage is not None
    if not any(part.rows for part in parts):
        return replace(verdict, basis=context.placements.basis(verdict.bases), is_placed=is_placed)
    bases = [_violating(part, check, context) for part in parts]
    failing = tuple(part for part, found in zip(parts, bases, strict=True) if found)
    outcome = verdict.outcome
    if outcome is Outcome.BROKEN and any(p.bases != b for p, b in zip(parts, bases, strict=True)):
        outcome = Outcome.AT_RISK
    basis = context.placements.basis(verdict.bases, failing)
    return replace(verdict, outcome=outcome, basis=basis, is_placed=is_placed)


def _violating(part: Placements, check: Callable[[Context], Verdict], context: Context) -> tuple[int, ...]:
    try:
        return check(replace(context, placements=part)).bases
    except CannotTell:  # nothing stands beside it there
        return ()
