"""Conditions in portable C11 that hold exactly where a rule is kept, at every base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from layoutlint.geometry.allocators import class_ends
from layoutlint.geometry.layout import Alignment, Layout, Place, cached_layout
from layoutlint.geometry.placement import ASSUMED, placements
from layoutlint.judgement.context import Context
from layoutlint.model.record import Record, replace
from layoutlint.model.storage import EMBEDDED
from layoutlint.model.structs import Struct


class CannotAssert(Exception):
    """Raised if no condition in C is equivalent to a rule; the text is the reason."""


def require_layout(struct: Struct) -> None:
    """Raise CannotAssert for a struct of which no offset is certain."""
    refusals = {
        f"the layout is unreliable: {struct.problem}": struct.problem is not None,
        "the struct is declared but not defined": struct.bit_size is None and struct.problem is None,
        "the order of its fields is random": struct.randomised is not None or struct.is_randomisable,
    }
    for reason, holds in refusals.items():
        if holds:
            raise CannotAssert(reason)


def is_c_name(name: str) -> bool:
    """Return whether C can name a struct or a field like this."""
    return name.isidentifier() and name.isascii()


class CNames(Record, frozen=True):
    """How C names a struct and its fields in constant expressions."""

    struct: Struct

    @property
    def type(self) -> str:
        """The name of the type: `struct s`, or its typedef. Raises CannotAssert if it is no name in C."""
        if not is_c_name(self.struct.name):
            raise CannotAssert("the name of the struct is not a C identifier")
        return f"{self.struct.aggregate} {self.struct.name}" if self.struct.is_tagged else self.struct.name

    @property
    def size(self) -> str:
        """The bytes of the struct."""
        return f"sizeof({self.type})"

    @property
    def align(self) -> str:
        """The alignment of the struct in bytes."""
        return f"_Alignof({self.type})"

    def offset(self, path: str) -> str:
        """Return the first byte of the field at a path of C."""
        return f"offsetof({self.type}, {path})"

    def start(self, place: Place) -> str:
        """Return the first byte of a field. Raises CannotAssert for one that `offsetof` cannot name."""
        return self.offset(self._path(place))

    def last(self, place: Place) -> str:
        """Return the last byte of a field. Raises CannotAssert likewise, and for one without bytes."""
        if place.is_flexible or place.is_empty:
            raise CannotAssert(f"`{place.path}` has no last byte")
        return f"{self.start(place)} + sizeof((({self.type} *)0)->{self._path(place)}) - 1"

    def _path(self, place: Place) -> str:
        if place.field.is_bitfield:
            raise CannotAssert(f"offsetof() cannot name `{place.path}`, which is a bit-field")
        steps = place.path.split(".")
        if not all(map(is_c_name, steps)):
            raise CannotAssert(f"`{place.path}` is an element of an array, or no name in C")
        for end in range(1, len(steps)):
            outer = cached_layout(self.struct).find(".".join(steps[:end]))
            if outer is None or outer.field.dims:
                raise CannotAssert(f"`{place.path}` is in an array, and means all of its elements")
        return place.path


class StartUnit(Record, frozen=True):
    """The number of bytes of which all bases are multiples, where all such multiples are bases."""

    line_size: int
    value: int
    """At most `line_size`."""
    text: str
    """The same in C, for the build that compiles it."""
    guards: tuple[str, ...] = ()
    """Conditions in C for which `text` is right."""


def start_unit(names: CNames, context: Context) -> StartUnit:
    """Return the unit at whose multiples objects start.

    Raises CannotAssert for other placements: those in containers, in arrays, or moved by a red zone.
    """
    value, line = _unit(context), context.placements.line_size
    by_alignment = {align: _bases(context, align) for align in _alignments(context)}
    lowest = line // len(by_alignment[1]) if by_alignment[1] else 0
    if lowest and all(
        bases == tuple(range(0, line, min(line, max(lowest, align)))) for align, bases in by_alignment.items()
    ):
        return StartUnit(line, value, _unit_in_c(names, lowest, line), tuple(_size_guards(names, context)))
    needed = next((a for a, bases in by_alignment.items() if bases == context.placements.bases), 0)
    align = min(needed or context.layout.align.value, context.layout.align.value)
    guards = (f"{names.align} >= {align}",) if align > 1 else ()
    return StartUnit(line, value, str(value), (*guards, *_size_guards(names, context)))


def _unit(context: Context) -> int:
    """Return the unit of the placements that are judged; raises CannotAssert as `start_unit` does."""
    where = context.placements
    if where.parts or (context.storage is not None and context.storage.word == EMBEDDED):
        raise CannotAssert("it depends on the layouts of the structs that embed this one")
    if any(row.item != ASSUMED for row in where.rows):
        raise CannotAssert("it depends on the objects before and behind, too")
    line, bases = where.line_size, where.bases
    unit = line // len(bases) if len(bases) and line % len(bases) == 0 else 0
    if not unit or bases != tuple(range(0, line, unit)):
        raise CannotAssert("the objects do not start at all multiples of an alignment")
    return unit


def _unit_in_c(names: CNames, lowest: int, line_size: int) -> str:
    """Return the alignment of the type, but at least that of its allocator, and at most a line."""
    if lowest >= line_size:
        return str(line_size)
    align = names.align
    at_most = f"{align} > {line_size} ? {line_size} : {align}"
    return f"({at_most})" if lowest == 1 else f"({align} < {lowest} ? {lowest} : {at_most})"


def _alignments(context: Context) -> tuple[int, ...]:
    """Return the alignments that can make a difference."""
    largest = max(context.placements.line_size, context.layout.align.value)
    return tuple(1 << bit for bit in range(largest.bit_length()))


def _size_guards(names: CNames, context: Context) -> Iterator[str]:
    """Yield the condition for the sizes of the struct with which its allocator has the same bases.

    Where objects in a row do not matter, they depend on the size only in kmalloc, by its class.
    """
    if context.storage is None:
        return
    size, align = context.layout.size, context.layout.align.value
    expected = _bases(context, align)
    classes = pairwise((0, *class_ends(2 * max(size, context.placements.line_size))))
    others = [(before, end) for before, end in classes if _bases(context, align, end) != expected]
    below, above = ([each for each in others if (each[1] > size) == is_above] for is_above in (False, True))
    if below:
        yield f"{names.size} > {below[-1][1]}"
    if above:
        yield f"{names.size} <= {above[0][0]}"


def _bases(context: Context, align: int, size: int | None = None) -> tuple[int, ...]:
    """Return the bases of the struct if it is aligned to some number of bytes, and has some size in bytes."""
    line_size, stated = context.placements.line_size, Alignment(align, "the one of a build")
    layout = context.layout
    if size is not None:
        fields = () if layout.open_end is None else layout.struct.fields  # a flexible array may need more
        layout = Layout(replace(layout.struct, bit_size=8 * size, fields=fields))
    return placements(layout, line_size, context.min_align, context.storage, stated).bases


def conditions_for_one_line(names: CNames, places: Sequence[Place], unit: StartUnit) -> Iterator[str]:
    """Yield conditions for which fields are on one line at every multiple of a unit.

    The worst start puts the last `unit` bytes of a line under the first field, so all must be in one unit.
    """
    first, *others = places
    parts = [names.start(first), names.last(first)]
    for other in others:
        parts += [names.start(other), names.last(other)]
    yield from (f"({parts[0]}) / {unit.text} == ({part}) / {unit.text}" for part in parts[1:])


def condition_for_different_lines(names: CNames, a: Place, b: Place, unit: StartUnit) -> str:
    """Return the condition for which two fields share no line at any multiple of a unit.

    They share one at some base unless the later begins a whole line behind the unit with the last byte of the
    earlier. Either can be the later.
    """
    ends = [f"({names.last(place)}) / {unit.text} * {unit.text} + {unit.line_size}" for place in (a, b)]
    return f"{names.start(b)} >= {ends[0]} || {names.start(a)} >= {ends[1]}"
