"""Kind `access`: what is read often is not on a line with what is written often, as declared."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

from layoutlint.kinds.pairs import NEIGHBOURS, beside, in_elements, judge_apart, opposed
from layoutlint.layout import Place
from layoutlint.rule import Access, CannotTell, Context, Example, Key, Manual, Outcome, Verdict, judge, spell

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


@dataclass(frozen=True, slots=True)
class AccessApart:
    """Fields that are declared as read share no line with fields that are declared as written."""

    name: ClassVar[str] = "access"
    summary: ClassVar[str] = "no field that is read often shares a cache line with one that is written often"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("fields", "paths", "judge only these fields; by default all that have a declared access"),
        Key("readers", "words", 'accesses that suffer; by default ["hot-read", "read-mostly"]'),
        Key("writers", "words", 'accesses that they suffer from; by default ["hot-write"]'),
        NEIGHBOURS,
    )
    manual: ClassVar[Manual] = Manual(
        "The accesses are those of `[struct.NAME.fields]`. Every field whose access is among `readers` is\n"
        "held against every field whose access is among `writers`, at every base, as `separate` does it,\n"
        "also in every element of the arrays through which its path leads. A field is not held against\n"
        "itself or its own parts in the same object or element: no order of fields can part those. A field\n"
        "that is named one by one has that access, whatever a pattern says. What one of the sides of\n"
        "`[pack]` reads may stand beside what the same side writes, which is one processor at a time; and\n"
        "what any side writes is not held to suffer from others that are written. Without any declared\n"
        'access the answer is unknown. `readers = ["hot-write"]` keeps fields apart that are all written,\n'
        "each by its own processor.\n"
        "\n"
        "In elements of an array (`array` in the rule file, or an array in a container) what is written in\n"
        "one element counts for what is read in the next, and the other way round, the same field and its\n"
        "parts included; of other objects that stand in a row, as in slab caches, with\n"
        "`neighbours = true`.",
        "Move what is written to the other fields that are written, or behind fields that nobody uses\n"
        "often; start it on a line of its own where there are none.",
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

    def __post_init__(self) -> None:
        for key, words in (("readers", self.readers), ("writers", self.writers)):
            if not words:
                raise ValueError(f"`{key}` needs at least one access")

    def check(self, context: Context) -> Verdict:
        """Broken where a field of the readers touches a line of a field of the writers."""
        uses = self._uses(context)
        read = [place for place, by in uses.items() if any(a.access in self.readers for a in by)]
        written = [place for place, by in uses.items() if any(a.access in self.writers for a in by)]
        # What is said of one element stands above what is said of all.
        both = sorted(uses, key=lambda place: "[" in place.path) if read and written else ()
        each = in_elements(context, both)
        ours, theirs = (
            [place for place in each if each[place] in some] for some in map(frozenset, (read, written))
        )
        found = opposed(context, ours, theirs, lambda a, b: self._disturb(uses[each[a]], uses[each[b]]))
        across = context.crossing(found.across)
        pairs = context.concerned(list(found.pairs))

        def say(place: Place) -> str:
            words = ", ".join(f"{a.side} {a.access}".lstrip() for a in uses[each[found.named[place]]])
            return f"`{place.path}` ({words}) at {place.extent}"

        share_no = f"share no {context.placements.unit} in any placement"
        message = f"{len(read)} read and {len(written)} written fields {share_no}"
        kept = judge(context.placements, (), message, tuple(dict.fromkeys(read + written)), "")
        around = beside(context, self.neighbours, across)
        return judge_apart(pairs, context.placements, kept, say, around=around)

    def _disturb(self, some: tuple[Access, ...], others: tuple[Access, ...]) -> bool:
        """Whether one of two fields is read by one side alone, and the other one written by another side."""
        return any(
            a.access in self.readers and b.access in self.writers and not (a.side and a.side == b.side)
            for read, by in ((some, others), (others, some))
            if not any(use.side and use.access in self.writers for use in read)
            for a, b in product(read, by)
        )

    def _uses(self, context: Context) -> dict[Place, tuple[Access, ...]]:
        """The fields to judge with their accesses."""
        declared = context.uses()
        if not self.fields:
            return declared
        chosen = context.places(self.fields)
        for place in chosen:
            if place.path in self.fields and place not in declared:
                raise CannotTell(f"no access is declared for {spell(place)}")
        return {p: by for p, by in declared.items() if p in chosen or context.is_beside(p)}
