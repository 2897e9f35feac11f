"""Kind `separate`: groups of fields share no cache line."""

from __future__ import annotations

from itertools import combinations, product
from typing import ClassVar

from layoutlint.geometry.field_types import TYPE
from layoutlint.geometry.layout import Place
from layoutlint.judgement.context import Context
from layoutlint.judgement.line_sharing import (
    MOST_PAIRS,
    NEIGHBOURS,
    find_adjacent_objects,
    find_opposed_pairs,
    judge_apart,
)
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.sides import Side, Sides
from layoutlint.judgement.verdict import Outcome, Verdict, format_places, judge
from layoutlint.model.paths import is_pattern, is_within
from layoutlint.model.record import Record

_BREAKS = """\
struct counter {
    long hits;          /* written by every worker */
    long limit;         /* read by every worker */
};
"""
_KEEPS = """\
struct counter {
    long hits;
    long names[7];      /* rarely used: fills the line */
    long limit;
};
"""


class Separate(Record, frozen=True):
    """No field of one group shares a line with a field of another."""

    name: ClassVar[str] = "separate"
    traits: ClassVar[Traits] = Traits(
        fields="named", needs_size=False, arranges="apart", in_containers=True, line_pairs=True
    )
    summary: ClassVar[str] = "no field of one group shares a cache line with a field of another group"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("fields", "groups", "two or more lists of fields to keep apart", required=True),
        NEIGHBOURS,
    )
    manual: ClassVar[Manual] = Manual(
        "Fields of one group may share lines. A field in two groups is not compared with itself or its\n"
        "parts.\n"
        "\n"
        "In arrays, fields are also compared with the other groups in the next element, and a field in two\n"
        "groups with itself there. `neighbours = false` turns this off; `true` does it for all objects in a\n"
        "row, such as those of slab caches.",
        "Put fields between them that are used with either or rarely, or start one side on its own line.\n"
        "With 8-byte alignment, two words are safe if they start 64 bytes apart, but not if 56.",
        'fields = [["hits"], ["limit"]]',
        Example(
            _BREAKS,
            Outcome.AT_RISK,
            "`hits` at 0..7 shares a line with `limit` at 8..15 in 7 of 8 placements",
        ),
        Example(_KEEPS, Outcome.KEPT, "`hits` at 0..7 and `limit` at 64..71 share no line in any placement"),
    )

    fields: tuple[tuple[str, ...], ...]
    neighbours: bool | None = None

    def __post_init__(self) -> None:
        if len(self.fields) < 2 or not all(self.fields):
            raise ValueError("`fields` needs at least two groups to keep apart")
        for ours, theirs in combinations(self.fields, 2):
            if len(ours) * len(theirs) > MOST_PAIRS:
                raise ValueError(f"`fields` names more than {MOST_PAIRS:,} pairs of fields")
            for a, b in product(ours, theirs):
                _refuse_overlap(a, b)

    def check(self, context: Context) -> Verdict:
        """Return a violation where fields of different groups touch a common line."""
        groups = [context.places(group) for group in self.fields]
        opposed = [find_opposed_pairs(context, *sides) for sides in combinations(groups, 2)]
        pairs = [pair for each in opposed for pair in each.pairs]
        evidence = tuple(dict.fromkeys(place for group in groups for place in group))
        kept_verdict = judge(
            context.placements, (), _kept_message(groups, context.placements.unit), evidence, ""
        )
        if all(path.startswith(TYPE) for group in self.fields for path in group):
            pairs = context.filter_own_pairs(pairs)
        adjacent = find_adjacent_objects(
            context, self.neighbours, (pair for each in opposed for pair in each.across)
        )
        return judge_apart(pairs, context.placements, kept_verdict, adjacent=adjacent)

    def sides(self, context: Context) -> Sides:
        """Return the groups as sides."""
        return Sides("apart", tuple(Side(context.places(group)) for group in self.fields))


def _refuse_overlap(a: str, b: str) -> None:
    if is_pattern(a) or is_pattern(b):
        return
    if a == b:
        raise ValueError(f"`{a}` is in two groups, and cannot be kept apart from itself")
    inner, outer = (a, b) if is_within(a, b) else (b, a)
    if is_within(inner, outer):
        raise ValueError(f"`{inner}` is a part of `{outer}`, and cannot be kept apart from it")


def _kept_message(groups: list[tuple[Place, ...]], unit: str) -> str:
    return f"{' and '.join(map(format_places, groups))} share no {unit} in any placement"
