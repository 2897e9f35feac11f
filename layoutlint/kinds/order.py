"""Kind `order`: fields are in a given order."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

from layoutlint.geometry.layout import Place
from layoutlint.judgement.advice import first_few
from layoutlint.judgement.context import CannotTell, Context
from layoutlint.judgement.line_sharing import every_pair
from layoutlint.judgement.parameters import need_several
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.verdict import Outcome, Verdict, format_place, format_places, judge_once
from layoutlint.model.paths import is_pattern
from layoutlint.model.record import Record

_BREAKS = """\
struct message {
    int length;
    int kind;           /* readers look at it first */
};
"""
_KEEPS = """\
struct message {
    int kind;
    int length;
};
"""


class Order(Record, frozen=True):
    """Each field ends before the next begins."""

    name: ClassVar[str] = "order"
    traits: ClassVar[Traits] = Traits(fields="named", needs_size=False)
    summary: ClassVar[str] = "the fields are in memory in the order in which the rule names them"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("fields", "paths", "two or more fields, in the required order", required=True),
    )
    manual: ClassVar[Manual] = Manual(
        "Each field must end before the next begins. Other fields may lie between. Fields that match one\n"
        "pattern may be in any order. The base does not matter.",
        "Move the declarations. If the order no longer matters, change the rule.",
        'fields = ["kind", "length"]',
        Example(_BREAKS, Outcome.BROKEN, "`kind` at 4..7 is not before `length` at 0..3"),
        Example(_KEEPS, Outcome.KEPT, "`kind` at 0..3, `length` at 4..7 are in this order"),
    )

    fields: tuple[str, ...]

    def __post_init__(self) -> None:
        need_several(self.fields, "to be in order")
        if len(self.fields) < 2:
            raise ValueError("`fields` is one pattern, which states no order: name the fields")

    def check(self, context: Context) -> Verdict:
        """Return broken where a field does not end before the next begins."""
        steps, pairs = self._steps(context), self.ordered_pairs(context)
        wrong = [pair for pair in pairs if not _precedes(*pair)]
        places = tuple(dict.fromkeys(place for step in steps for place in step))
        if not wrong:
            return judge_once(True, f"{format_places(places)} are in this order", places, "")
        message = first_few(
            [f"{format_place(a)} is not before {format_place(b)}" for a, b in wrong], "pair"
        )
        advice = f"declare `{wrong[0][0].path}` before `{wrong[0][1].path}`"
        return judge_once(False, message, tuple(dict.fromkeys(p for pair in wrong for p in pair)), advice)

    def ordered_pairs(self, context: Context) -> tuple[tuple[Place, Place], ...]:
        """Return the pairs of which one field must end before the other begins. Raises CannotTell."""
        return tuple(
            pair for ours, theirs in pairwise(self._steps(context)) for pair in every_pair(ours, theirs)
        )

    def _steps(self, context: Context) -> list[tuple[Place, ...]]:
        return [_without_named(context.places((path,)), self.fields, path) for path in self.fields]


def _without_named(places: tuple[Place, ...], named: tuple[str, ...], path: str) -> tuple[Place, ...]:
    """Return the fields of a pattern without those that the rule names explicitly."""
    return tuple(p for p in places if p.path not in named) if is_pattern(path) else places


def _precedes(a: Place, b: Place) -> bool:
    if a.is_flexible and a.bit_offset < b.bit_offset:
        raise CannotTell(f"the end of {format_place(a)} is unknown")
    return a.bit_offset + (a.bit_size or 0) <= b.bit_offset and (not a.is_flexible)
