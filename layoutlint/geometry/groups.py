"""The groups of fields that a struct marks (docs/kinds.md#group), with their members."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from layoutlint.geometry.group_marks import Use, parse_marker, parse_use
from layoutlint.geometry.layout import Layout, Place
from layoutlint.model.record import Record


class Group(Record, frozen=True):
    """The fields between a begin mark and an end mark."""

    name: str
    begin: Place
    end: Place
    members: tuple[Place, ...]
    """The fields with bytes that are wholly between the marks, as CACHELINE_ASSERT_GROUP_MEMBER counts."""
    use: Use | None
    """The use that the group's name states."""

    @property
    def size(self) -> int:
        """Bytes from begin to end with holes, as CACHELINE_ASSERT_GROUP_SIZE counts."""
        return self.end.offset - self.begin.offset

    def __str__(self) -> str:
        extent = f"{self.begin.offset}..{self.end.offset - 1}" if self.size else f"{self.begin.offset}, empty"
        return f"`{self.name}` at {extent}"


class Groups(Record, frozen=True):
    """The groups of a struct in the order of their begins, and the faults of its marks."""

    complete: tuple[Group, ...]
    faults: tuple[str, ...]

    def find(self, name: str) -> Group | None:
        """Return the group with a name; None if it is missing or incomplete."""
        return next((group for group in self.complete if group.name == name), None)

    def find_around(self, place: Place) -> Group | None:
        """Return the group that contains a field: the first one if groups overlap."""
        return next((group for group in self.complete if _is_between(group.begin, group.end, place)), None)


def find_groups(layout: Layout) -> Groups:
    """Return the groups marked by members of the struct itself, not by structs inside it."""
    edges: dict[str, dict[str, Place]] = {"begin": {}, "end": {}, "pad": {}}
    for place in layout.places:
        mark = parse_marker(place.field.name)
        if mark is not None:
            edges[mark.edge][mark.group] = place
    begins, ends = edges["begin"], edges["end"]
    complete = [_make_group(name, begins[name], ends[name], layout) for name in begins if name in ends]
    return Groups(
        tuple(group for group in complete if group.size >= 0), tuple(_find_faults(begins, ends, complete))
    )


def _make_group(name: str, begin: Place, end: Place, layout: Layout) -> Group:
    members = tuple(place for place in layout.places if not place.is_empty and _is_between(begin, end, place))
    return Group(name, begin, end, members, parse_use(name, layout.struct.name))


def _is_between(begin: Place, end: Place, place: Place) -> bool:
    """Return whether a field is wholly between two marks; if its size is unknown, whether it begins there."""
    last = place.bit_offset + (place.bit_size or 0)
    return begin.bit_offset <= place.bit_offset < end.bit_offset and last <= end.bit_offset


def _find_faults(begins: dict[str, Place], ends: dict[str, Place], complete: list[Group]) -> Iterator[str]:
    for name, place in begins.items():
        if name not in ends:
            yield f"group `{name}` begins at {place.offset} and does not end"
    for name, place in ends.items():
        if name not in begins:
            yield f"group `{name}` ends at {place.offset} and does not begin"
    for group in complete:
        if group.size < 0:
            yield f"group `{group.name}` begins at {group.begin.offset}, behind its end at {group.end.offset}"
    for a, b in combinations(complete, 2):
        first, second = sorted((a, b), key=lambda group: group.begin.offset)
        if first.begin.offset < second.begin.offset < first.end.offset < second.end.offset:
            yield f"group {first} ends inside of group {second}"
