"""Kind `stride`: objects in a row, and the lines that two of them share."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from math import gcd, prod
from typing import ClassVar

from layoutlint.geometry.allocators import COPY
from layoutlint.geometry.field_types import TYPE, is_open_ended
from layoutlint.geometry.layout import Layout, Place
from layoutlint.geometry.placement import (
    ASSUMED,
    ELEMENT,
    ObjectRow,
    Placements,
    bases_shared_with_next,
    element_starts,
)
from layoutlint.judgement.advice import first_few, separate_elements
from layoutlint.judgement.context import SELECTOR, CannotTell, Context
from layoutlint.judgement.line_sharing import UNKNOWN_NEIGHBOURS
from layoutlint.judgement.parameters import need_distinct
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.verdict import Outcome, Verdict, format_place, judge
from layoutlint.kinds import neighbours
from layoutlint.model.ctype import CType
from layoutlint.model.paths import is_pattern
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct
from layoutlint.phrases import placements_phrase, quantity

_BREAKS = """\
struct slot {
    long used;          /* written by the owner of the slot */
    long names[7];
    long limit;
};
"""
_KEEPS = """\
struct slot {
    long used __attribute__((aligned(64)));
    long names[7];
    long limit;
};
"""


class Stride(Record, frozen=True):
    """No field of an object shares a line with a field of the next one."""

    name: ClassVar[str] = "stride"
    traits: ClassVar[Traits] = Traits(
        about="either", line_pairs=True, evidence_key="array", judges_arrays=True
    )
    summary: ClassVar[str] = "objects in a row are far enough apart to share no cache line"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("array", "path", "judge the elements of this array field, instead of objects in a row"),
        Key("fields", "paths", "fields that share no line with a neighbour; by default all", inside="array"),
        Key("against", "paths", "fields of the neighbour that count; by default all", inside="array"),
        Key("arrays", "paths", "several such arrays, or those that contain a type (`@type:spinlock_t`)"),
        Key(
            "variables",
            "paths",
            "judge the elements of variables that are arrays, by name or by type; no `struct`",
        ),
        Key(
            "per_thread",
            "boolean",
            "whether only arrays count of which each thread writes an element of its own, as far as C "
            "sources show it",
        ),
    )
    manual: ClassVar[Manual] = Manual(
        "Each of `fields` in an object is compared with each of `against` in the next, and the reverse.\n"
        "Padding belongs to no object. [concepts.md](concepts.md#neighbours) states how far apart\n"
        "objects are. A flexible array has any number of elements.\n"
        "\n"
        "- With `array`, the elements of this field are judged, and the other keys are paths in an element.\n"
        "  Arrays of arrays count as one; of scalars, their rows are the elements (`char pool[4][32]`).\n"
        "- With `arrays`, each array is judged by itself. `@type:spinlock_t` means arrays of locks, and of\n"
        "  structs with locks at any depth, whose locks are compared with all of the neighbour. Arrays of\n"
        "  one element are skipped, unless one is last in its struct, as flexible arrays were once written.\n"
        "- With `variables`, the rule names no `struct`. It judges elements of\n"
        "  [variables](rules.md#variables-what-is-known-about-variables) that are arrays, or parts of one\n"
        "  (`pool.locks`). `@type:pthread_mutex_t` means all variables that are arrays of that type, or of\n"
        "  structs that contain it. This needs DWARF or C sources.",
        "Align the struct to the line: arrays and caches then keep each object on its own lines. If that is\n"
        "too much, put fields that nobody else uses at both ends.",
        'fields = ["used"]\nagainst = ["limit"]',
        Example(
            _BREAKS,
            Outcome.AT_RISK,
            "element 0's `limit` at 64..71 shares a line with element 1's `used` at 0..7 (72 bytes on) "
            "in 7 of 8 placements",
        ),
        Example(
            _KEEPS,
            Outcome.KEPT,
            "the chosen fields of elements 128 bytes apart share no line in any placement",
        ),
    )

    array: str | None = None
    fields: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    per_thread: bool = False

    def __post_init__(self) -> None:
        if self.variables and (self.array is not None or self.arrays):
            raise ValueError("`variables` excludes `array` and `arrays`")
        by_type = [path.startswith(TYPE) for path in self.variables]
        if any(by_type) and not all(by_type):
            raise ValueError("`variables` has either names or types (`@type:`), not both")
        if any(by_type) and (self.fields or self.against):
            raise ValueError("`variables` with types excludes `fields` and `against`")
        for path in self.variables:
            if path.startswith(SELECTOR) and not path.startswith(TYPE):
                raise ValueError(f"`{path}`: name variables or types here, not accesses")
        need_distinct(self.fields, "fields")
        need_distinct(self.against, "against")
        if self.array is not None and is_pattern(self.array):
            raise ValueError("`array` needs exactly one field, and no pattern")
        if self.per_thread and not (self.arrays or self.variables):
            raise ValueError("`per_thread` needs `arrays` or `variables`")
        if self.arrays and (self.array is not None or self.fields or self.against):
            raise ValueError("`arrays` excludes `array`, `fields` and `against`")

    def check(self, context: Context) -> Verdict:
        """Return a violation where a field is on a line with a field of the next object."""
        if self.array is not None:
            return self._judge_array(context.place(self.array), context)
        if self.arrays:
            return self._judge_arrays(context.arrays(self.arrays), context)
        if self.variables:
            if self.variable_types:
                return self._judge_arrays(context.arrays(self.variable_types), context)
            return self._judge_arrays(tuple(neighbours.find_arrays(context, self.variables)), context)
        return self.judge_objects(context)

    def _judge_arrays(self, arrays: tuple[Place, ...], context: Context) -> Verdict:
        """Return one verdict on several arrays, with the code that shows which elements threads write."""
        reasons = context.arrays_of_threads(arrays) if self.per_thread else dict.fromkeys(arrays, "")
        verdicts = (self._judge_array(array, context) for array in reasons)
        return _combine(
            [
                replace(verdict, message=f"{verdict.message}; {reason}") if reason else verdict
                for verdict, reason in zip(verdicts, reasons.values(), strict=True)
            ],
            context,
        )

    def judge_objects(self, context: Context, chosen: tuple[Place, ...] = ()) -> Verdict:
        """Return the verdict on objects in a row; `chosen` are fields of one, compared with all of the next.

        Raises CannotTell if nothing is known of the next object.
        """
        rows = context.placements.rows
        if not rows:
            end = context.layout.open_end
            raise CannotTell(
                f"the end of an object is unknown: {format_place(end)}" if end else UNKNOWN_NEIGHBOURS
            )
        bases = tuple(sorted({base for row in rows for base in row.bases}))
        placements = replace(context.placements, bases=bases, why="", parts=(), rows=())
        spreads = [(row, {at: {at} for at in row.bases}) for row in rows]
        return self._judge_rows(context, placements, spreads, chosen=chosen)

    @property
    def variable_types(self) -> tuple[str, ...]:
        """The types in `variables`, each with the prefix `@type:`."""
        return tuple(path for path in self.variables if path.startswith(TYPE))

    @property
    def variable_paths(self) -> tuple[str, ...]:
        """The variables that the rule names, and selectors of variables."""
        return self.variables

    def concerns(self, context: Context) -> bool:
        """Return whether the data contain a variable that the rule is about."""
        return neighbours.has_any(context, self.variables)

    def _judge_array(self, array: Place, context: Context) -> Verdict:
        """Return the verdict on the elements of an array, over the bases of the struct."""
        types = self.arrays or self.variable_types
        is_opaque = array.field.aggregate == "union" and context.is_array_of(array, types)
        element, step, count = _element_struct(array, context.layout.struct, is_opaque, not types)
        if types and is_open_ended(array, context.layout):
            count = None
        placements, line = context.placements, context.placements.line_size
        if (count is not None and count < 2) or not step:
            message = f"{format_place(array)} has no two elements side by side"
            return judge(placements, (), message, (array,), "")
        starts = {base: {(base + array.offset) % line} for base in placements.bases}
        first_of_pairs = None if count is None else count - 1
        at = {base: element_starts(start, step, first_of_pairs, line) for base, start in starts.items()}
        row = ObjectRow(ELEMENT, step, tuple(sorted(set().union(*at.values()))))
        inside = Context(Layout(element), placements, finder=context.finder)
        written = context.element_fields(array, inside, types)
        verdict = self._judge_rows(inside, placements, [(row, at)], array, written)
        if verdict.bases and not types and array.field.is_flattened and array.field.aggregate is None:
            raise CannotTell(
                f"BTF does not state the dimensions of `{array.path}`, whose elements can be rows of "
                "several; check a file with DWARF, or the header"
            )
        return verdict

    def _judge_rows(
        self,
        context: Context,
        placements: Placements,
        rows: list[_Spread],
        array: Place | None = None,
        chosen: tuple[Place, ...] = (),
    ) -> Verdict:
        """Return the verdict over some bases, each with the positions of objects of some rows on a line."""
        ours, theirs = chosen or _fields_or_all(self.fields, context), _fields_or_all(self.against, context)
        violations: dict[_CrossPair, tuple[int, ...]] = {}
        near_of = {row: _near_pairs(ours, theirs, row, placements.line_size) for row, _ in rows}
        for row, at in rows:
            for a, b in near_of[row]:
                shared_bases = set(bases_shared_with_next(a, b, row, placements.line_size))
                bases = tuple(
                    base for base in placements.bases if not shared_bases.isdisjoint(at.get(base, ()))
                )
                if bases:
                    violations[a, b, row] = bases
        evidence = (array,) if array is not None else ours if self.fields else ()
        if not violations:
            return judge(
                placements, (), self._kept_message(rows, array, bool(chosen), placements.unit), evidence, ""
            )
        worst = sorted(violations, key=lambda pair: -len(violations[pair]))
        total = len(placements.bases)
        sentences = [
            f"{_describe_pair(*pair, array, placements.unit)} "
            f"{placements_phrase(len(violations[pair]), total)}"
            for pair in worst
        ]
        if len(sentences) > 1 and not (self.fields or self.against):
            sentences = [sentences[0], f"and {quantity(len(sentences) - 1, 'more pair')}"]
        if array is None:
            evidence = tuple(dict.fromkeys(place for a, b, _ in worst for place in (a, b)))
        bases_of_all = placements.bases_in_any(violations.values())
        row = worst[0][2]
        advice = _advice(row, near_of[row], placements, array is not None)
        return judge(placements, bases_of_all, first_few(sentences, "pair"), evidence, advice)

    def _kept_message(self, rows: list[_Spread], array: Place | None, are_chosen: bool, unit: str) -> str:
        elements = f"elements of `{array.path}`" if array is not None else ""
        steps = sorted({(_item_name(row), row.step) for row, _ in rows})
        distances = " and ".join(
            "copies on pages of their own"
            if item == COPY
            else f"{elements or _MANY[item]} {step} bytes apart"
            for item, step in steps
        )
        if self.fields or self.against or are_chosen:
            return f"the chosen fields of {distances} share no {unit} in any placement"
        return f"{distances} share no {unit} in any placement"


def _combine(verdicts: list[Verdict], context: Context) -> Verdict:
    """Return one verdict on several arrays: the worst first, over the bases of all."""
    worst = sorted(verdicts, key=lambda verdict: -len(verdict.bases))
    failing = [verdict for verdict in worst if verdict.bases] or worst
    bases = context.placements.bases_in_any(verdict.bases for verdict in failing)
    evidence = tuple(dict.fromkeys(place for verdict in failing for place in verdict.evidence))
    message = first_few([verdict.message for verdict in failing], "array")
    return judge(context.placements, bases, message, evidence, failing[0].advice)


_MOST_PAIRS = 100_000
"""Maximum number of pairs of fields to compare: only a union, or thousands of bit-fields on a line, have
more."""
_MANY = {ELEMENT: "elements", "object": "objects", "block": "blocks"}
_Spread = tuple[ObjectRow, dict[int, set[int]]]
"""A row of objects, and their positions on a line for each base."""
_CrossPair = tuple[Place, Place, ObjectRow]
"""A field of an object, one of the next object, and their row."""


def _fields_or_all(paths: tuple[str, ...], context: Context) -> tuple[Place, ...]:
    return context.places(paths) if paths else context.remaining_fields(())


def _near_pairs(
    ours: tuple[Place, ...], theirs: tuple[Place, ...], row: ObjectRow, line_size: int
) -> list[tuple[Place, Place]]:
    """Return pairs of a field of an object and one of the next, from either side, less than a line apart."""
    reach = line_size - row.step
    pairs = {
        (a.path, b.path): (a, b)
        for some, others in ((ours, theirs), (theirs, ours))
        for a, b in islice(_pairs_within_reach(some, others, reach), _MOST_PAIRS + 1)
    }
    if len(pairs) > _MOST_PAIRS:
        raise CannotTell(
            f"more than {_MOST_PAIRS:,} pairs of fields are within a line: name some as `fields`"
        )
    return list(pairs.values())


def _pairs_within_reach(
    some: tuple[Place, ...], others: tuple[Place, ...], reach: int
) -> Iterator[tuple[Place, Place]]:
    """Yield each of some fields with those of others that start less than `reach` bytes after its end."""
    offsets = [place.offset for place in others]
    order = sorted(range(len(others)), key=offsets.__getitem__)
    starts = [offsets[number] for number in order]
    least = starts[0] - reach if starts else 0
    for a in some:
        if a.end > least:  # few fields: those near the end of the struct
            for number in sorted(order[: bisect_left(starts, a.end + reach)]):
                yield a, others[number]


def _item_name(row: ObjectRow) -> str:
    return ELEMENT if row.item == ASSUMED else row.item


def _describe_pair(a: Place, b: Place, row: ObjectRow, array: Place | None, unit: str) -> str:
    first, second = ("k", "k+1") if array is not None else ("0", "1")
    item = _item_name(row)
    of_array = f" of `{array.path}`" if array is not None else ""
    return (
        f"{item} {first}{_describe_field(a)}{of_array} shares a {unit} with "
        f"{item} {second}{_describe_field(b)} ({row.step} bytes on)"
    )


def _describe_field(place: Place) -> str:
    """Format a field of an element; an element without fields by its bytes."""
    return f"'s {format_place(place)}" if place.path else f" at {place.extent}"


def _element_struct(
    array: Place, struct: Struct, is_opaque: bool, in_rows: bool
) -> tuple[Struct, int, int | None]:
    """Return the element of an array as a struct, its bytes, and the number of elements; None for a flexible
    array.

    With `in_rows`, the elements of an array of arrays of scalars are its rows: `char pool[4][32]` has 4. An
    opaque element is one field: the members of a lock that is a union mean nothing to readers. Raises
    CannotTell.
    """
    member = array.field
    if not member.dims:
        raise CannotTell(f"{format_place(array)} is no array")
    bits = array.element_bits
    if bits is None and array.is_flexible:
        raise CannotTell(
            f"the size of an element of {format_place(array)} is unknown: it is a flexible array"
        )
    is_row = in_rows and member.aggregate is None and len(member.dims) > 1
    dims, row = (member.dims[:-1], member.dims[-1:]) if is_row else (member.dims, ())
    bits = (bits or 0) * prod(length or 0 for length in row)
    count = None if array.is_flexible else prod(length or 0 for length in dims)
    whole_element = replace(
        member, name="", bit_offset=0, bit_size=bits, dims=row, type=CType(member.type.left)
    )
    sized = tuple(each for each in member.members if not each.is_flexible)  # the next element begins there
    fields = (not is_opaque and sized) or (replace(whole_element, members=()),)
    name, aggregate = f"{array.path}[]", member.aggregate or "struct"
    return replace(struct, name=name, aggregate=aggregate, bit_size=bits, fields=fields), bits // 8, count


def _advice(row: ObjectRow, pairs: list[tuple[Place, Place]], placements: Placements, is_array: bool) -> str:
    line = placements.line_size
    advice = separate_elements(row.step, placements)
    is_bare = all(not place.path for pair in pairs for place in pair)
    if is_bare and not placements.source_aligner.is_linux:  # a lock has no attribute of its own
        advice = advice.replace("align the struct", "put each element into a struct aligned", 1)
    elif is_array:
        advice = advice.replace("the struct", "the elements", 1)
    more = _padding(row, pairs, line) if row.item in (ELEMENT, ASSUMED) else None
    return advice if more is None else f"{advice}; {more} bytes of padding at the end do as well"


def _padding(row: ObjectRow, pairs: list[tuple[Place, Place]], line: int) -> int | None:
    """Return the fewest bytes after each element with which none share a line, wherever the first starts.

    None if alignment needs as few.
    """
    unit = gcd(row.step, *row.bases, line)
    for more in range(unit, -row.step % line, unit):
        step = row.step + more
        apart = gcd(unit, step)
        rows = {a: replace(row, step=step, bases=(_earliest(a, apart, line),)) for a, _ in pairs}
        if any(bases_shared_with_next(a, b, rows[a], line) for a, b in pairs):
            continue  # most steps: not all bases need to be tried
        every = replace(row, step=step, bases=tuple(range(0, line, apart)))
        if not any(bases_shared_with_next(a, b, every, line) for a, b in pairs):
            return more
    return None


def _earliest(place: Place, apart: int, line: int) -> int:
    """Return the base, of those that are `apart`, at which a field ends nearest to the begin of a line."""
    return -((place.end - 1) // apart * apart) % line
