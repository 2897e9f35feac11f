"""The fields that lie on two lines of an object at the start of a line, before and after a change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layoutlint.comparison.layouts import LayoutChange
from layoutlint.geometry.layout import Layout, Place, named_members
from layoutlint.geometry.placement import field_lines
from layoutlint.model.record import Record
from layoutlint.model.structs import Struct


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
    size = change.struct.target.line_size
    layouts = Layout(change.old), Layout(change.new)
    paths = {change.edits.former_path(place.path): place.path for place in _places(change.new)}
    for place in _places(change.old):
        paths.setdefault(place.path, place.path)
    for former, path in paths.items():
        old, new = layouts[0].find(former), layouts[1].find(path)
        if all(place is None or _fits(place, size) for place in (old, new)):
            lines = _lines(old, size), _lines(new, size)
            if (len(lines[0]) > 1) != (len(lines[1]) > 1):
                yield StraddleChange(path, old, new, lines)


def straddle_count(struct: Struct) -> int:
    """Return how many fields lie on two lines of an object at the start of a line."""
    size = struct.target.line_size
    return sum(_fits(place, size) and len(_lines(place, size)) > 1 for place in _places(struct))


def _fits(place: Place, line_size: int) -> bool:
    """Return whether one line can hold a field; not one of unknown or any size."""
    return place.bit_size is not None and not place.is_flexible and place.bit_size <= line_size * 8


def _lines(place: Place | None, line_size: int) -> range:
    return range(0) if place is None else field_lines(place, 0, line_size)


def _places(struct: Struct) -> Iterator[Place]:
    """Yield the fields of known size; of embedded structs that no line can hold, also their fields."""
    is_union, size = struct.aggregate == "union", struct.target.line_size
    return _fields(named_members(struct.fields, "", 0, is_union), size)


def _fields(places: Iterable[Place], line_size: int) -> Iterator[Place]:
    for place in places:
        if place.bit_size is None or place.is_flexible:
            continue
        yield place
        if not _fits(place, line_size) and not place.field.dims:
            is_union = place.field.aggregate == "union"
            inner = named_members(place.field.members, f"{place.path}.", place.bit_offset, is_union)
            yield from _fields(inner, line_size)
