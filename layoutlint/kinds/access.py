"""Kind `access`: fields declared as read share no line with fields declared as written."""

from __future__ import annotations

from itertools import product
from typing import ClassVar

from layoutlint.geometry.layout import Place
from layoutlint.judgement.context import Access, CannotTell, Context
from layoutlint.judgement.line_sharing import (
    NEIGHBOURS,
    expand_elements,
    find_adjacent_objects,
    find_opposed_pairs,
    judge_apart,
)
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.sides import Side, Sides
from layoutlint.judgement.verdict import Outcome, Verdict, format_place, judge
from layoutlint.model.paths import are_in_other_elements
from layoutlint.model.record import Record

_BREAKS = """\
struct stats {
    long packets;       /* written for every packet */
    long limit;         /* read for every packet */
};
"""
_KEEPS = """\
struct stats {
    long packets;
    long limit __attribute__((aligned(64)));
};
"""


class AccessApart(Record, frozen=True):
    """Fields declared as read share no line with fields declared as written."""

    name: ClassVar[str] = "access"
    traits: ClassVar[Traits] = Traits(
        fields="named",
        needs_size=False,
        arranges="apart",
        in_containers=True,
        uses_accesses=True,
        line_pairs=True,
    )
    summary: ClassVar[str] = "no field that is read often shares a cache line with one that is written often"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("fields", "paths", "judge only these fields; by default all with a declared access"),
        Key("readers", "words", 'accesses that suffer; by default ["hot-read", "read-mostly"]'),
        Key("writers", "words", 'accesses that they suffer from; by default ["hot-write"]'),
        NEIGHBOURS,
        Key("elements", "boolean", "whether fields in other elements of an array count; by default true"),
        Key(
            "independent",
            "boolean",
            "whether two fields may share a line if code changes one only with the other, as far as guesses "
            "see sources; by default false",
        ),
    )
    manual: ClassVar[Manual] = Manual(
        "Fields with an access in `readers` are compared with fields with one in `writers`, as in\n"
        "`separate`. Declare accesses in `[struct.NAME.fields]`; without any, the outcome is unknown.\n"
        "\n"
        "- A field is not compared with itself or its parts in the same object or element.\n"
        "- Declarations of single fields override patterns.\n"
        "- With `sides` in `[pack]`, fields that one side reads and writes may share a line. A field that\n"
        "  some side writes does not count as read.\n"
        "- In arrays, a field is also compared with the next element, itself included. For other objects in\n"
        "  a row, as in slab caches, set `neighbours = true`.\n"
        '- To keep written fields apart, set `readers = ["hot-write"]`.',
        "Move the written field to the other written fields, or behind fields that are seldom used. If\n"
        "there are none, start it on its own line.",
        "",
        Example(
            _BREAKS,
            Outcome.AT_RISK,
            "`limit` (hot-read) at 8..15 shares a line with `packets` (hot-write) at 0..7 "
            "in 7 of 8 placements",
        ),
        Example(
            _KEEPS,
            Outcome.KEPT,
            "1 read and 1 written fields share no line in any placement",
        ),
    )

    fields: tuple[str, ...] = ()
    readers: tuple[str, ...] = ("hot-read", "read-mostly")
    writers: tuple[str, ...] = ("hot-write",)
    neighbours: bool | None = None
    elements: bool = True
    independent: bool = False

    def __post_init__(self) -> None:
        for key, words in (("readers", self.readers), ("writers", self.writers)):
            if not words:
                raise ValueError(f"`{key}` needs at least one access")

    def check(self, context: Context) -> Verdict:
        """Return a violation for each base at which a read and a written field share a line."""
        uses = self._select_uses(context)
        read = [place for place, by in uses.items() if any(a.access in self.readers for a in by)]
        written = [place for place, by in uses.items() if any(a.access in self.writers for a in by)]
        # The access of one element overrides that of all elements.
        by_precedence = sorted(uses, key=lambda place: "[" in place.path) if read and written else ()
        named_field = expand_elements(context, by_precedence)
        ours, theirs = (
            [place for place in named_field if named_field[place] in some]
            for some in map(frozenset, (read, written))
        )
        opposed = find_opposed_pairs(
            context, ours, theirs, lambda a, b: self._disturb(uses[named_field[a]], uses[named_field[b]])
        )
        across = context.filter_crossing_pairs(opposed.across)
        pairs = [
            (a, b)
            for a, b in context.filter_own_pairs(list(opposed.pairs))
            if self.elements
            or (
                named_field[opposed.named[a]] != named_field[opposed.named[b]]
                and not are_in_other_elements(a.path, b.path)
            )
        ]
        if self.independent:
            pairs = context.filter_independent_pairs(pairs)
        pairs = context.filter_undecided_pairs(pairs)

        def say(place: Place) -> str:
            words = ", ".join(
                f"{a.side} {a.access}".lstrip() for a in uses[named_field[opposed.named[place]]]
            )
            return f"`{place.path}` ({words}) at {place.extent}"

        share_no = f"share no {context.placements.unit} in any placement"
        message = f"{len(read)} read and {len(written)} written fields {share_no}"
        kept_verdict = judge(context.placements, (), message, tuple(dict.fromkeys(read + written)), "")
        adjacent = find_adjacent_objects(context, self.neighbours, across)
        return judge_apart(pairs, context.placements, kept_verdict, say, adjacent=adjacent)

    def opposed_fields(self, context: Context) -> tuple[tuple[Place, Place], ...]:
        """Return each read field with each written one that disturbs it, a field also with itself."""
        uses = self._select_uses(context)
        return tuple((a, b) for a, b in product(uses, uses) if self._disturb(uses[a], uses[b]))

    def sides(self, context: Context) -> Sides:
        """Return the written fields and the read ones; a field that is both counts as written."""
        uses = self._select_uses(context)
        written = tuple(p for p, by in uses.items() if any(a.access in self.writers for a in by))
        read = tuple(p for p, by in uses.items() if any(a.access in self.readers for a in by))
        only_read = tuple(place for place in read if place not in written)
        return Sides("apart", (Side(written, "write"), Side(only_read, "read")))

    def _disturb(self, some: tuple[Access, ...], others: tuple[Access, ...]) -> bool:
        """Return whether one of two fields is read by one side only, and the other written by
        another side.
        """
        return any(
            a.access in self.readers and b.access in self.writers and not (a.side and a.side == b.side)
            for read, by in ((some, others), (others, some))
            if not any(use.side and use.access in self.writers for use in read)
            for a, b in product(read, by)
        )

    def _select_uses(self, context: Context) -> dict[Place, tuple[Access, ...]]:
        """Return the fields to judge with their accesses."""
        declared = context.uses()
        if not self.fields:
            return declared
        chosen = context.places(self.fields)
        for place in chosen:
            if place.path in self.fields and place not in declared:
                raise CannotTell(f"no access is declared for {format_place(place)}")
        return {p: by for p, by in declared.items() if p in chosen or context.is_beside(p)}
