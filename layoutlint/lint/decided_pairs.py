"""Pairs of fields about which a rule decides already, so that a guess gives way."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from layoutlint.geometry.layout import Place
from layoutlint.judgement.context import AreDecided, CannotTell, Context
from layoutlint.judgement.line_sharing import is_same_or_part
from layoutlint.judgement.rule import VARIABLES, Rule
from layoutlint.judgement.sides import HasSides, Sides


def decided_pairs(rules: Iterable[Rule]) -> AreDecided | None:
    """Return what rules on structs decide about pairs of fields, whatever their verdict; None if nothing."""
    chosen = [
        rule
        for rule in rules
        if rule.struct != VARIABLES and not rule.around and isinstance(rule.kind, HasSides)
    ]
    if not chosen:
        return None

    def are_decided(context: Context) -> Callable[[Place, Place], bool]:
        every = [sides for rule in chosen if (sides := _sides(rule, context)) is not None]
        return lambda a, b: any(_covers(sides, a, b) for sides in every)

    return are_decided


def _sides(rule: Rule, context: Context) -> Sides | None:
    """Return the sides of a rule in a struct; None if it is not about the struct, or finds no sides there."""
    if not context.layout.struct.matches(rule.struct) or not isinstance(rule.kind, HasSides):
        return None
    try:
        return rule.kind.sides(context)
    except CannotTell:
        return None


def _covers(sides: Sides, a: Place, b: Place) -> bool:
    """Return whether sides hold both fields: two of them if these are kept apart, else any."""
    of_a, of_b = (
        {n for n, side in enumerate(sides.sides) if any(is_same_or_part(field, p) for p in side.places)}
        for field in (a, b)
    )
    if sides.arranges == "together":
        return bool(of_a and of_b)
    return any(one != other for one in of_a for other in of_b)
