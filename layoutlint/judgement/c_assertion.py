"""Conditions in portable C11 that hold exactly where a rule is kept, at every base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint.geometry.layout import Alignment, Place, cached_layout
from layoutlint.geometry.placement import ASSUMED, placements
from layoutlint.judgement.context import Context
from layoutlint.model.record import Record
from layoutlint.model.storage import EMBEDDED
from layoutlint.model.structs import Struct


class CannotAssert(Exception):
    """Raised if no condition in C is equivalent to a rule; the text is the reason."""


class CNames(Record, frozen=True):
    """How C names a struct and its fields in constant expressions."""

    struct: Struct

    @property
    def type(self) -> str:
        """The name of the type: `struct s`, or its typedef. Raises CannotAssert if it is no name in C."""
        if not (self.struct.name.isidentifier() and self.struct.name.isascii()):
            raise CannotAssert("the name of the struct is not a C identifier")
        return f"{self.struct.aggregate} {self.struct.name}" if self.struct.is_tagged else self.struct.name

    @property
    def size(self) -> str:
        """The bytes of the struct."""
        return f"sizeof({self.type})"

    def start(self, place: Place) -> str:
        """Return the first byte of a field. Raises CannotAssert for one that `offsetof` cannot name."""
        return f"offsetof({self.type}, {self._path(place)})"

    def last(self, place: Place) -> str:
        """Return the last byte of a field. Raises CannotAssert likewise, and for one without bytes."""
        if place.is_flexible or place.is_empty:
            raise CannotAssert(f"`{place.path}` has no last byte")
        return f"{self.start(place)} + sizeof((({self.type} *)0)->{self._path(place)}) - 1"

    def _path(self, place: Place) -> str:
        if place.field.is_bitfield:
            raise CannotAssert(f"offsetof() cannot name `{place.path}`, which is a bit-field")
        steps = place.path.split(".")
        if not all(step.isidentifier() and step.isascii() for step in steps):
            raise CannotAssert(f"`{place.path}` is an element of an array, or no name in C")
        for end in range(1, len(steps)):
            outer = cached_layout(self.struct).find(".".join(steps[:end]))
            if outer is None or outer.field.dims:
                raise CannotAssert(f"`{place.path}` is in an array, and means all of its elements")
        return place.path


def start_unit(context: Context) -> int:
    """Return the number of bytes of which all bases are multiples, if all such multiples are bases.

    Raises CannotAssert for other placements: those in containers, in arrays, or moved by a red zone.
    """
    where = context.placements
    if where.parts:
        raise CannotAssert("it depends on the layouts of the structs that embed this one")
    if any(row.item != ASSUMED for row in where.rows):
        raise CannotAssert("it depends on the objects before and behind, too")
    line, bases = where.line_size, where.bases
    unit = line // len(bases) if len(bases) and line % len(bases) == 0 else 0
    if not unit or bases != tuple(range(0, line, unit)):
        raise CannotAssert("the objects do not start at all multiples of an alignment")
    return unit


def alignment_condition(names: CNames, context: Context) -> Iterator[str]:
    """Yield the condition for which a build has no other bases: the alignment that they need of the type.

    Nothing if they follow from the allocator, whatever the alignment of the type. Raises CannotAssert for
    placements in a container.
    """
    if context.storage is not None and context.storage.word == EMBEDDED:
        raise CannotAssert("it depends on the layouts of the structs that embed this one")
    bases, align = context.placements.bases, 1
    while align < context.layout.align.value and _bases(context, align) != bases:
        align *= 2
    if align > 1:
        yield f"_Alignof({names.type}) >= {align}"


def _bases(context: Context, align: int) -> tuple[int, ...]:
    """Return the bases of the struct if it is aligned to some number of bytes."""
    line_size, stated = context.placements.line_size, Alignment(align, "the one of a build")
    return placements(context.layout, line_size, context.min_align, context.storage, stated).bases


def conditions_for_one_line(
    names: CNames, places: Sequence[Place], unit: int, line_size: int
) -> Iterator[str]:
    """Yield conditions for which fields are on one line at every multiple of `unit` bytes.

    The worst start puts the last `unit` bytes of a line under the first field, so all must be in one unit.
    """
    first, *others = places
    parts = [names.start(first), names.last(first)]
    for other in others:
        parts += [names.start(other), names.last(other)]
    size = min(unit, line_size)
    yield from (f"({parts[0]}) / {size} == ({part}) / {size}" for part in parts[1:])


def condition_for_different_lines(names: CNames, a: Place, b: Place, unit: int, line_size: int) -> str:
    """Return the condition for which two fields share no line at any multiple of `unit` bytes.

    They share one at some base unless the later begins a whole line behind the unit with the last byte of the
    earlier. Either can be the later.
    """
    ends = [f"({names.last(place)}) / {unit} * {unit} + {line_size}" for place in (a, b)]
    return f"{names.start(b)} >= {ends[0]} || {names.start(a)} >= {ends[1]}"
