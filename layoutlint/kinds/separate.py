"""Kind `separate`: groups of fields share no cache line."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from typing import ClassVar

from layoutlint.kinds.pairs import MOST_PAIRS, NEIGHBOURS, beside, judge_apart, opposed
from layoutlint.layout import Place, is_pattern, is_within
from layoutlint.rule import Context, Example, Key, Manual, Outcome, Verdict, judge, listing
from layoutlint.typed import TYPE

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


@dataclass(frozen=True, slots=True)
class Separate:
    """No field of one group shares a line with a field of another."""

    name: ClassVar[str] = "separate"
    summary: ClassVar[str] = "no field of one group shares a cache line with a field of another group"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("fields", "groups", "two or more lists of fields that are kept apart", required=True),
        NEIGHBOURS,
    )
    manual: ClassVar[Manual] = Manual(
        "Every field of one group is held against every field of the other groups, at every base. Within a\n"
        "group the fields may share as they like. The bytes that a field touches count, so two bit-fields\n"
        "in neighbouring bytes share; members of one union share wherever they overlap. A flexible array\n"
        "counts with its first byte. An empty field shares with nothing. When patterns bring a field into\n"
        "two groups, it is not held against itself or its own parts in the same object.\n"
        "\n"
        "A path that leads through an array without an index (`slot.head`) means that field of every\n"
        "element: each is held against the fields of the other group in all elements.\n"
        "\n"
        "Of elements of an array (`array` in the rule file, or an array in a container) the fields of one\n"
        "group are held against those of the other in the next element as well, a field in both groups\n"
        "against itself too. `neighbours` says whether that is wanted: `true` for all objects that stand\n"
        "in a row, those of slab caches too.",
        "Put fields between them that are used with either or rarely, or start one side on a line of its\n"
        "own. The numbers in the advice are for every base: with 8-byte alignment, two words are safe\n"
        "when their starts are 64 apart, and not when 56 are.",
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
        """Broken where any two fields of different groups touch a common line."""
        groups = [context.places(group) for group in self.fields]
        found = [opposed(context, *sides) for sides in combinations(groups, 2)]
        pairs = [pair for each in found for pair in each.pairs]
        evidence = tuple(dict.fromkeys(place for group in groups for place in group))
        kept = judge(context.placements, (), _kept(groups, context.placements.unit), evidence, "")
        if all(path.startswith(TYPE) for group in self.fields for path in group):
            pairs = context.concerned(pairs)
        around = beside(context, self.neighbours, (pair for each in found for pair in each.across))
        return judge_apart(pairs, context.placements, kept, around=around)


def _refuse_overlap(a: str, b: str) -> None:
    if is_pattern(a) or is_pattern(b):
        return
    if a == b:
        raise ValueError(f"`{a}` is in two groups, and cannot be kept apart from itself")
    inner, outer = (a, b) if is_within(a, b) else (b, a)
    if is_within(inner, outer):
        raise ValueError(f"`{inner}` is a part of `{outer}`, and cannot be kept apart from it")


def _kept(groups: list[tuple[Place, ...]], unit: str) -> str:
    return f"{' and '.join(map(listing, groups))} share no {unit} in any placement"
