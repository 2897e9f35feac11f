"""Kind `guards`: a lock and its data on one line, or on different ones if the lock is contended."""

from __future__ import annotations

from typing import ClassVar

from layoutlint.geometry.layout import Place
from layoutlint.geometry.placement import Placements, count_lines
from layoutlint.judgement.advice import first_few, keep_whole, tolerate_advice
from layoutlint.judgement.context import CannotTell, Context
from layoutlint.judgement.line_sharing import (
    NEIGHBOURS,
    find_adjacent_objects,
    find_opposed_pairs,
    is_same_or_part,
    judge_apart,
)
from layoutlint.judgement.parameters import need_fields
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.sides import Side, Sides
from layoutlint.judgement.verdict import Outcome, Verdict, format_place, format_places, judge
from layoutlint.model.paths import is_pattern, overlap
from layoutlint.model.record import Record
from layoutlint.phrases import placements_phrase

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


class Guards(Record, frozen=True):
    """A contended lock shares no line with its data; an uncontended one is on one line with it."""

    name: ClassVar[str] = "guards"
    traits: ClassVar[Traits] = Traits(
        fields="named", needs_size=False, line_pairs=True, line_pairs_if="contended"
    )
    summary: ClassVar[str] = (
        "a lock and its data are on one cache line, or on different ones if contended"
    )
    keys: ClassVar[tuple[Key, ...]] = (
        Key("lock", "path", "the lock, or the word of it that is tried (`lock.count`)", required=True),
        Key("data", "paths", "fields read and written under the lock", required=True),
        Key("contended", "boolean", "whether several CPUs want the lock at the same time", required=True),
        NEIGHBOURS,
    )
    manual: ClassVar[Manual] = Manual(
        "Either layout can be right:\n"
        "\n"
        "- `contended = false`: on one line. Whoever takes a free lock finds the data on its line; on a\n"
        "  second line they cost a second miss.\n"
        "- `contended = true`: on different lines. Each CPU that tries the lock pulls its line from the\n"
        "  holder, which must then fetch the data again. Linux 6.9 moved `i_mmap_rwsem` off the line of the\n"
        "  tree that it guards: execl of UnixBench gained 3.94 %\n"
        "  (`layoutlint explain address-space-i-mmap-apart-from-rwsem`).\n"
        "\n"
        "Patterns in `data` do not match the lock and its parts. If the lock is empty in a configuration\n"
        "(no SMP), the rule is kept. In arrays, a contended lock is also compared with the data of the next\n"
        "element.",
        "Contended: put fields between them that are used without the lock, or start the lock on its own\n"
        "line. Uncontended: put the data right behind the lock, and align the struct as advised.",
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
        need_fields(self.data, "data")
        if is_pattern(self.lock):
            raise ValueError("`lock` needs exactly one field, and no pattern")
        for path in self.data:
            if not is_pattern(path) and overlap(path, self.lock):
                raise ValueError(f"`{path}` in `data` is the lock, or overlaps it")

    def check(self, context: Context) -> Verdict:
        """Return a violation where the lock is on a line with its data and should not be, or the reverse."""
        lock = context.place(self.lock)
        data = tuple(place for place in context.places(self.data) if not is_same_or_part(place, lock))
        if not data:
            raise CannotTell(f"`data` means no field besides the lock, {format_place(lock)}")
        if lock.is_empty:
            message = f"{format_place(lock)}: in this configuration there is nothing to take"
            return judge(context.placements, (), message, (lock, *data), "")
        return (
            self._judge_apart(lock, data, context) if self.contended else _judge_together(lock, data, context)
        )

    def sides(self, context: Context) -> Sides:
        """Return the lock and its data: two sides if it is contended, else one."""
        lock = context.place(self.lock)
        data = tuple(place for place in context.places(self.data) if not is_same_or_part(place, lock))
        if self.contended:
            return Sides("apart", (Side((lock,), "lock"), Side(data)))
        return Sides("together", (Side((lock,), "lock"), Side(data)))

    def _judge_apart(self, lock: Place, data: tuple[Place, ...], context: Context) -> Verdict:
        share_no = f"share no {context.placements.unit} in any placement"
        kept_message = (
            f"contended: {format_place(lock)} and {format_places(data)} {share_no}: "
            "a second miss without waiters, no line that is pulled away with them"
        )
        why = ": each CPU that tries the lock takes the data's line from the one that holds it"
        opposed = find_opposed_pairs(context, (lock,), data)
        return judge_apart(
            opposed.pairs,
            context.placements,
            judge(context.placements, (), kept_message, (lock, *data), ""),
            adjacent=find_adjacent_objects(context, self.neighbours, opposed.across),
            prefix="contended: ",
            suffix=why,
        )


def _judge_together(lock: Place, data: tuple[Place, ...], context: Context) -> Verdict:
    placements = context.placements
    bases_by_field = {place: _separating_bases(lock, place, placements) for place in data}
    separated = sorted(
        (place for place in data if bases_by_field[place]), key=lambda place: -len(bases_by_field[place])
    )
    total = len(placements.bases)
    if not separated:
        message = (
            f"uncontended: {format_place(lock)} and {format_places(data)} are on one line "
            f"{placements_phrase(total, total)}: "
            "one miss for both, but waiters would pull it away"
        )
        return judge(placements, (), message, (lock, *data), "")
    says = [
        f"{format_place(place)} {placements_phrase(len(bases_by_field[place]), total)}" for place in separated
    ]
    message = (
        f"uncontended: {format_place(lock)} is not on one line with {first_few(says, 'field')}: "
        "who takes the lock does not find the data on its line, and waits for another"
    )
    bases = placements.bases_in_any(bases_by_field.values())
    return judge(placements, bases, message, (lock, *separated), _advice(lock, data, placements, len(bases)))


def _separating_bases(lock: Place, place: Place, placements: Placements) -> tuple[int, ...]:
    """Return the bases at which a lock and a field touch more than one line together."""
    if place.is_empty:
        return ()
    line = placements.line_size
    return placements.violating_bases(lambda base: count_lines((lock, place), base, line) > 1)


def _advice(lock: Place, data: tuple[Place, ...], placements: Placements, violating: int) -> str:
    solid = (lock, *(place for place in data if not place.is_empty))
    start, end = min(place.offset for place in solid), max(place.end for place in solid)
    return keep_whole(start, end, placements) + tolerate_advice(violating, len(placements.bases))
