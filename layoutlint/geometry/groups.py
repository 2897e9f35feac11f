"""The groups of fields that a struct marks (docs/kinds.md#group): which there are, and what is in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from layoutlint.geometry.group_marks import Use, marker, use
from layoutlint.geometry.layout import Layout, Place


@dataclass(frozen=True, slots=True)
class Group:
    """The fields between a begin and an end."""

    name: str
    begin: Place
    end: Place
    members: tuple[Place, ...]
    """Those with bytes, all of which are between the marks, as CACHELINE_ASSERT_GROUP_MEMBER counts."""
    use: Use | None
    """What its name says of its fields."""

    @property
    def size(self) -> int:
        """Bytes from the begin to the end, holes included, as CACHELINE_ASSERT_GROUP_SIZE counts."""
        return self.end.offset - self.begin.offset

    def __str__(self) -> str:
        extent = f"{self.begin.offset}..{self.end.offset - 1}" if self.size else f"{self.begin.offset}, empty"
        return f"`{self.name}` at {extent}"


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of a struct in the order of their begins, and which marks make none."""

    whole: tuple[Group, ...]
    faults: tuple[str, ...]

    def named(self, name: str) -> Group | None:
        """The group of this name; None when there is none, or it is not whole."""
        return next((group for group in self.whole if group.name == name), None)

    def around(self, place: Place) -> Group | None:
        """The group in which a field stands, the first where groups overlap."""
        return next((group for group in self.whole if _holds(group.begin, group.end, place)), None)


def of(layout: Layout) -> Groups:
    """The groups that members of the struct itself mark; those of structs inside it are theirs."""
    edges: dict[str, dict[str, Place]] = {"begin": {}, "end": {}, "pad": {}}
    for place in layout.places:
        found = marker(place.field.name)
        if found is not None:
            edges[found.edge][found.group] = place
    begins, ends = edges["begin"], edges["end"]
    whole = [_group(name, begins[name], ends[name], layout) for name in begins if name in ends]
    return Groups(tuple(group for group in whole if group.size >= 0), tuple(_faults(begins, ends, whole)))


def _group(name: str, begin: Place, end: Place, layout: Layout) -> Group:
    members = tuple(place for place in layout.places if not place.is_empty and _holds(begin, end, place))
    return Group(name, begin, end, members, use(name, layout.struct.name))


def _holds(begin: Place, end: Place, place: Place) -> bool:
    """Whether a field is wholly between two marks; one of unknown size is, when it begins there."""
    last = place.bit_offset + (place.bit_size or 0)
    return begin.bit_offset <= place.bit_offset < end.bit_offset and last <= end.bit_offset


def _faults(begins: dict[str, Place], ends: dict[str, Place], whole: list[Group]) -> Iterator[str]:
    for name, place in begins.items():
        if name not in ends:
            yield f"group `{name}` begins at {place.offset} and does not end"
    for name, place in ends.items():
        if name not in begins:
            yield f"group `{name}` ends at {place.offset} and does not begin"
    for group in whole:
        if group.size < 0:
            yield f"group `{group.name}` begins at {group.begin.offset}, behind its end at {group.end.offset}"
    for a, b in combinations(whole, 2):
        first, second = sorted((a, b), key=lambda group: group.begin.offset)
        if first.begin.offset < second.begin.offset < first.end.offset < second.end.offset:
            yield f"group {first} ends inside of group {second}"
