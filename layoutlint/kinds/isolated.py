"""Kind `isolated`: no other field is on the cache lines of some fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from layoutlint.geometry.allocators import BLOCK, OBJECT
from layoutlint.geometry.layout import Place
from layoutlint.geometry.placement import Placements, field_lines
from layoutlint.judgement.context import CannotTell, Context
from layoutlint.judgement.line_sharing import every_pair, find_adjacent_objects, judge_apart
from layoutlint.judgement.parameters import need_fields
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.sides import Side, Sides
from layoutlint.judgement.verdict import Outcome, Verdict, format_places, judge
from layoutlint.model.paths import is_pattern
from layoutlint.model.record import Record, replace
from layoutlint.model.storage import EMBEDDED
from layoutlint.phrases import placements_phrase

_BREAKS = """\
struct queue {
    long head __attribute__((aligned(64)));
    int capacity;
};
"""
_KEEPS = """\
struct queue {
    long head __attribute__((aligned(64)));
    int capacity __attribute__((aligned(64)));
};
"""


class Isolated(Record, frozen=True):
    """No other field is on the lines of the fields."""

    name: ClassVar[str] = "isolated"
    traits: ClassVar[Traits] = Traits(fields="near", arranges="apart", in_containers=True, line_pairs=True)
    summary: ClassVar[str] = "no other field of the struct is on a cache line of the fields"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("fields", "paths", "fields that have their lines to themselves, as a group", required=True),
        Key("except", "paths", "other fields that are allowed there"),
        Key(
            "neighbours",
            "boolean",
            "whether bytes outside the object count too; by default only in arrays",
        ),
    )
    manual: ClassVar[Manual] = Manual(
        "The fields may share lines with one another, with `except`, and with padding. For a part of a\n"
        "field (`lock.owner`, `ring[2]`), the other parts are other fields. Overlapping union members\n"
        "share: name them all.\n"
        "\n"
        "Bytes outside the object count only with `neighbours = true`. Where objects are in a row (`line`,\n"
        "`slab`, `kmalloc`), these are the bytes of the next and the previous one; elsewhere all bytes. In\n"
        "an array, all fields of the next element count, also those in `fields`, unless\n"
        "`neighbours = false`.",
        "Start the field on a line (`_Alignas(64)`, in Linux `____cacheline_aligned_in_smp`), and the next\n"
        "field too. For a last field, align the struct.",
        'fields = ["head"]',
        Example(
            _BREAKS,
            Outcome.BROKEN,
            "`head` at 0..7 shares a line with `capacity` at 8..11 in its only placement",
        ),
        Example(_KEEPS, Outcome.KEPT, "`head` at 0..7 shares no line with another field in any placement"),
    )

    fields: tuple[str, ...]
    except_: tuple[str, ...] = ()
    neighbours: bool | None = None

    def __post_init__(self) -> None:
        need_fields(self.fields)
        for path in self.except_:
            if path in self.fields and not is_pattern(path):
                raise ValueError(f"`{path}` is in `fields` and in `except`")

    def check(self, context: Context) -> Verdict:
        """Return a violation where another field, or with `neighbours` a byte outside, is on a line of the
        fields.
        """
        places, placements = context.places(self.fields), context.placements
        excepted = context.places(self.except_, or_none=True)
        others = context.remaining_fields_near((*places, *excepted), places)
        outside = self._bases_beyond_object(context, places)
        share_no = f"{'shares' if len(places) == 1 else 'share'} no {placements.unit}"
        message = f"{format_places(places)} {share_no} with another field"
        kept_verdict = judge(placements, (), f"{message} in any placement", places, "")
        others_in_next = every_pair(places, _fields_of_next(context, places, excepted))
        adjacent = find_adjacent_objects(
            context, None if self.neighbours else self.neighbours, others_in_next
        )
        verdict = judge_apart(every_pair(places, others), placements, kept_verdict, adjacent=adjacent)
        if not outside:
            return verdict
        share = placements_phrase(len(outside), len(placements.bases))
        note = f"bytes outside of the object are on a {placements.unit} of theirs {share}"
        if not self.neighbours:
            return replace(verdict, message=f"{verdict.message}; {note}")
        bases = placements.bases_in_any((outside, verdict.bases))
        message = note if verdict is kept_verdict else f"{verdict.message}; {note}"
        line = placements.line_size
        advice = f"align the struct to {line} bytes, so that it begins and ends with a {placements.unit}"
        return judge(placements, bases, message, verdict.evidence, verdict.advice or advice)

    def sides(self, context: Context) -> Sides:
        """Return the fields, and the others that can be on a line of theirs."""
        places = context.places(self.fields)
        excepted = context.places(self.except_, or_none=True)
        others = context.remaining_fields_near((*places, *excepted), places)
        return Sides("apart", (Side(places), Side(others)))

    def _bases_beyond_object(self, context: Context, places: tuple[Place, ...]) -> tuple[int, ...]:
        """Return the bases at which a line of the fields has bytes that belong to something else.

        In memory that an allocator divides among objects in a row, these are the bytes of the next and the
        previous object; elsewhere all bytes outside the object.
        """
        end, size = context.layout.open_end, context.layout.size
        if end is None and _is_in_row_of_allocator(context):
            return _bases_beside_others(size, places, context)
        if end is None:
            return _bases_sticking_out(size, places, context.placements)
        if self.neighbours:
            raise CannotTell(f"the end of the object is unknown: `{end.path}` is a flexible array")
        return ()


def _fields_of_next(
    context: Context, places: Sequence[Place], excepted: Sequence[Place]
) -> tuple[Place, ...]:
    """Return the fields of the objects before and after that can be on a line of the fields."""
    shifts = (shift for row in context.placements.rows for shift in (-row.step, row.step))
    near = (context.remaining_fields_near(excepted, places, shift) for shift in shifts)
    return tuple(dict.fromkeys(place for places in near for place in places))


def _is_in_row_of_allocator(context: Context) -> bool:
    """Return whether all that is near the object is known; around a part of another struct, it is not."""
    storage = context.storage
    is_alone = storage is not None and storage.word != EMBEDDED
    return is_alone and any(row.item in (OBJECT, BLOCK) for row in context.placements.rows)


def _bases_beside_others(size: int, places: tuple[Place, ...], context: Context) -> tuple[int, ...]:
    """Return the bases at which a line of the fields has bytes of the next or the previous object."""
    placements = context.placements
    line, beside = placements.line_size, set[int]()
    has_pointer = context.storage is not None and context.storage.has_constructor
    for row in placements.rows:
        # A block of kmalloc holds anything; behind an object with a constructor is the cache's own pointer.
        is_full = row.item == BLOCK or (row.item == OBJECT and has_pointer)
        gap = 0 if is_full else row.step - size
        for base in row.bases:
            following = (base + row.step) % line
            if any(lines.stop * line > base + row.step for lines in _lines_of(places, base, line)):
                beside.add(base)
            if any(lines.start * line < following - gap for lines in _lines_of(places, following, line)):
                beside.add(following)
    return placements.violating_bases(beside.__contains__)


def _lines_of(places: Sequence[Place], base: int, line: int) -> list[range]:
    return [field_lines(place, base, line) for place in places if not place.is_empty]


def _bases_sticking_out(size: int, places: tuple[Place, ...], placements: Placements) -> tuple[int, ...]:
    line = placements.line_size

    def sticks_out(base: int) -> bool:
        touched = _lines_of(places, base, line)
        return any(lines.start * line < base or lines.stop * line > base + size for lines in touched)

    return placements.violating_bases(sticks_out)
