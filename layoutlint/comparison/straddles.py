"""The fields that lie on two lines of an object at the start of a line, before and after a change."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.comparison.layouts import LayoutChange
from layoutlint.geometry.layout import Place, named_members
from layoutlint.geometry.placement import field_lines
from layoutlint.model.record import Record
from layoutlint.model.structs import Field, Struct


class StraddleChange(Record, frozen=True):
    """A field that began or ceased to lie on two lines although one could hold it."""

    path: str
    old: Place | None
    """None for a field that the struct did not have."""
    new: Place | None
    """None for a field that the struct does not have any more."""
    lines: tuple[range, range]
    """The lines that it touched, and touches now; empty without the field."""

    @property
    def begins(self) -> bool:
        """Whether it lies on two lines now, and did not before."""
        return len(self.lines[1]) > 1


def straddle_changes(change: LayoutChange) -> Iterator[StraddleChange]:
    """Yield the fields that lie on two lines on one side only, in declared order, removed ones last.

    A struct that one line can hold counts as one field; of a larger one, its fields count.
    """
    if change.old is None or change.new is None:
        return
    before, after = ({place.path: place for place in _places(struct)} for struct in (change.old, change.new))
    for path in dict.fromkeys((*after, *before)):
        sides = before.get(path), after.get(path)
        old, new = (_lines(place, change) for place in sides)
        if (len(old) > 1) != (len(new) > 1):
            yield StraddleChange(path, *sides, (old, new))


def straddle_count(struct: Struct) -> int:
    """Return how many fields lie on two lines of an object at the start of a line."""
    size = struct.target.line_size
    return sum(len(field_lines(place, 0, size)) > 1 for place in _places(struct))


def _lines(place: Place | None, change: LayoutChange) -> range:
    return range(0) if place is None else field_lines(place, 0, change.struct.target.line_size)


def _places(struct: Struct) -> Iterator[Place]:
    """Yield the outermost fields that a line can hold."""
    size = struct.target.line_size
    return _small_fields(struct.fields, "", 0, struct.aggregate == "union", size)


def _small_fields(
    fields: tuple[Field, ...], prefix: str, start: int, is_union: bool, line_size: int
) -> Iterator[Place]:
    for place in named_members(fields, prefix, start, is_union):
        if place.bit_size is None or place.is_flexible:
            continue
        if place.bit_size <= line_size * 8:
            yield place
        elif place.field.members and not place.field.dims:
            inner_union = place.field.aggregate == "union"
            inner = place.field.members, f"{place.path}.", place.bit_offset
            yield from _small_fields(*inner, inner_union, line_size)
