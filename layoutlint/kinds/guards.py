"""Kind `guards`: a lock and the data behind it, on one line or on different ones, as the lock is used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from layoutlint.kinds.demands import need_some
from layoutlint.kinds.pairs import NEIGHBOURS, beside, is_part, judge_apart, opposed
from layoutlint.kinds.wording import everywhere, first_few, keep_whole, tolerated
from layoutlint.layout import Place, is_pattern, overlap
from layoutlint.placement import Placements, line_count
from layoutlint.rule import CannotTell, Context, Example, Key, Manual, Outcome, Verdict, judge, listing, spell

_BREAKS = """\
struct tree {
    long lock;          /* many wait for it */
    long root;          /* changed under the lock */
};
"""
_KEEPS = """\
struct tree {
    long lock;
    long names[7];      /* rarely used: fills the line */
    long root;
};
"""


@dataclass(frozen=True, slots=True)
class Guards:
    """A contended lock shares no line with its data; one that nobody waits for shares its only line."""

    name: ClassVar[str] = "guards"
    summary: ClassVar[str] = (
        "a lock and what it guards are on one cache line, or on different ones if contended"
    )
    keys: ClassVar[tuple[Key, ...]] = (
        Key("lock", "path", "the lock, or the word of it that is tried (`lock.count`)", required=True),
        Key("data", "paths", "what is read and written under the lock", required=True),
        Key("contended", "boolean", "whether several CPUs want the lock at the same time", required=True),
        NEIGHBOURS,
    )
    manual: ClassVar[Manual] = Manual(
        "Both layouts are right somewhere, and so the rule must say which one is meant.\n"
        "\n"
        "- `contended = false`: *together*. Whoever takes a free lock has its line, and finds the data on\n"
        "  it; on two lines there are two misses instead of one. At every base the lock and each field of\n"
        "  the data must be on one line: what straddles two lines is not on one.\n"
        "- `contended = true`: *apart*. Each CPU that tries to take the lock pulls its line away from the\n"
        "  one that holds it and is at work on the data, which has to fetch the line back, again and again.\n"
        "  A second miss for each that comes in costs less. At no base may the lock share a line with a\n"
        "  field of the data.\n"
        "\n"
        "Linux is an example of both: `i_mmap_rwsem` stood near the tree `i_mmap` that it guards, which is\n"
        "best as long as nobody waits. UnixBench starts many processes that map the same libraries, and all\n"
        "of them want the lock: with the lock moved to where it never shares a line with the tree, execl\n"
        'gained 3.94 % and shell 3.26 % (v6.8-rc2, two sockets; "fs/address_space: move i_mmap_rwsem to\n'
        'mitigate a false sharing with i_mmap", 2024). The objection in that thread was that everybody who\n'
        "takes the lock without waiting pays with one more miss; and that waiting itself is what wants\n"
        "mending, by a lock that is held for less, or split.\n"
        "\n"
        "Where the object can stand anywhere, both can be at risk: data right behind a lock is cut off from\n"
        "it at some bases, and a gap of less than a line joins them at some. Only bases that are possible\n"
        "count (docs/placements.md). Patterns in `data` leave out the lock and its parts. A lock that is\n"
        "empty in a configuration (no SMP) shares with nothing, and the rule is kept. In elements of an\n"
        "array a contended lock is held against the data of the next element too (`neighbours`, as\n"
        "`separate` has it).",
        "Contended: put fields between them that are used without the lock, or start the lock on a line of\n"
        "its own. Uncontended: put the data right behind the lock and align the struct as the advice says.\n"
        "If the rule is about the wrong one of the two, change `contended`, and say in `why` how that is\n"
        "known.",
        'lock = "lock"\ndata = ["root"]\ncontended = true',
        Example(
            _BREAKS,
            Outcome.AT_RISK,
            "contended: `lock` at 0..7 shares a line with `root` at 8..15 in 7 of 8 placements: "
            "each CPU that tries the lock takes the data's line from the one that holds it",
        ),
        Example(
            _KEEPS,
            Outcome.KEPT,
            "contended: `lock` at 0..7 and `root` at 64..71 share no line in any placement: "
            "a second miss without waiters, no line that is pulled away with them",
        ),
    )

    lock: str
    data: tuple[str, ...]
    contended: bool
    neighbours: bool | None = None

    def __post_init__(self) -> None:
        need_some(self.data, "data")
        if is_pattern(self.lock):
            raise ValueError("`lock` needs exactly one field, and no pattern")
        for path in self.data:
            if not is_pattern(path) and overlap(path, self.lock):
                raise ValueError(f"`{path}` in `data` is the lock, or overlaps it")

    def check(self, context: Context) -> Verdict:
        """Broken where the lock is on a line with its data and should not be, or the other way round."""
        lock = context.place(self.lock)
        data = tuple(place for place in context.places(self.data) if not is_part(place, lock))
        if not data:
            raise CannotTell(f"`data` means no field besides the lock, {spell(lock)}")
        if lock.is_empty:
            message = f"{spell(lock)}: in this configuration there is nothing to take"
            return judge(context.placements, (), message, (lock, *data), "")
        return self._apart(lock, data, context) if self.contended else _together(lock, data, context)

    def _apart(self, lock: Place, data: tuple[Place, ...], context: Context) -> Verdict:
        share_no = f"share no {context.placements.unit} in any placement"
        kept = (
            f"contended: {spell(lock)} and {listing(data)} {share_no}: "
            "a second miss without waiters, no line that is pulled away with them"
        )
        why = ": each CPU that tries the lock takes the data's line from the one that holds it"
        found = opposed(context, (lock,), data)
        return judge_apart(
            found.pairs,
            context.placements,
            judge(context.placements, (), kept, (lock, *data), ""),
            around=beside(context, self.neighbours, found.across),
            before="contended: ",
            behind=why,
        )


def _together(lock: Place, data: tuple[Place, ...], context: Context) -> Verdict:
    placements = context.placements
    found = {place: _cut(lock, place, placements) for place in data}
    apart = sorted((place for place in data if found[place]), key=lambda place: -len(found[place]))
    total = len(placements.bases)
    if not apart:
        message = (
            f"uncontended: {spell(lock)} and {listing(data)} are on one line {everywhere(total)}: "
            "one miss for both, but waiters would pull it away"
        )
        return judge(placements, (), message, (lock, *data), "")
    says = [f"{spell(place)} in {len(found[place])} of {total} placements" for place in apart]
    message = (
        f"uncontended: {spell(lock)} is not on one line with {first_few(says, 'fields')}: "
        "who takes the lock does not find the data on its line, and waits for another"
    )
    bases = placements.in_any(found.values())
    return judge(placements, bases, message, (lock, *apart), _advice(lock, data, placements, len(bases)))


def _cut(lock: Place, place: Place, placements: Placements) -> tuple[int, ...]:
    """The bases at which a lock and a field touch more than one line in all."""
    if place.is_empty:
        return ()
    line = placements.line_size
    return placements.violating(lambda base: line_count((lock, place), base, line) > 1)


def _advice(lock: Place, data: tuple[Place, ...], placements: Placements, violating: int) -> str:
    solid = (lock, *(place for place in data if not place.is_empty))
    start, end = min(place.offset for place in solid), max(place.end for place in solid)
    return keep_whole(start, end, placements) + tolerated(violating, len(placements.bases))
