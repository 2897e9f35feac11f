"""Edits that a snapshot allows: renames, and new members in the bytes of reserved ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from layoutlint.comparison.edits import Edit, EditKind
from layoutlint.comparison.layouts import LayoutChange, Presence
from layoutlint.geometry.layout import Place, named_members
from layoutlint.model.paths import is_within
from layoutlint.model.reading import Reading
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Field, Struct

_Bits = tuple[int, int]
"""The first bit of a range, and the one behind its last."""


def matches(glob: str, struct: str, path: str) -> bool:
    """Return whether a pattern has the name of a member, the end of its path, or `STRUCT.path`.

    Each step of the pattern stands for one step of the path.
    """
    steps, patterns = (struct, *path.split(".")), glob.split(".")
    ends = steps[-len(patterns) :]
    return len(ends) == len(patterns) and all(map(fnmatchcase, ends, patterns))


def _is_reserved(struct: str, path: str, may_use: Iterable[str]) -> bool:
    return any(matches(glob, struct, path) for glob in may_use)


def without_wrappers(reading: Reading, may_use: tuple[str, ...]) -> Reading:
    """Return a reading in which reserved members are beside those that use them.

    `union { u64 used; struct { u64 reserved1; } hide3; }`: macros number the name `hide3` anew in each build.
    """
    if not may_use:
        return reading
    structs = (replace(s, fields=_unwrap(s.fields, s.name, "", may_use)) for s in reading.structs)
    return replace(reading, structs=tuple(structs))


def _unwrap(
    fields: tuple[Field, ...], struct: str, prefix: str, may_use: tuple[str, ...]
) -> tuple[Field, ...]:
    return tuple([_unwrap_member(member, struct, prefix, may_use) for member in fields])


def _unwrap_member(member: Field, struct: str, prefix: str, may_use: tuple[str, ...]) -> Field:
    if not member.members:
        return member
    inside = prefix if member.name is None else f"{prefix}{member.name}."
    member = replace(member, members=_unwrap(member.members, struct, inside, may_use))
    if member.name is None or member.dims or not member.type.is_untagged:
        return member
    inner = named_members(member.members, prefix, 0, False)
    is_wrapper = all(_is_reserved(struct, place.path, may_use) for place in inner)
    return replace(member, name=None) if is_wrapper else member


class _Reserve(Record, frozen=True):
    """The reserved members of a struct."""

    paths: tuple[str, ...] = ()
    free: tuple[_Bits, ...] = ()
    """The bits that only reserved members have."""

    def has(self, place: Place) -> bool:
        """Return whether a field lies in free bits."""
        if place.bit_size is None or place.is_flexible:
            return False
        start, end = _bits(place)
        return any(first <= start and end <= last for first, last in self.free)

    def has_both(self, old: Place | None, new: Place | None) -> bool:
        """Return whether a field is in free bits, and was a reserved one."""
        is_reserved = old is None or any(is_within(old.path, path) for path in self.paths)
        return is_reserved and all(map(self.has, filter(None, (old, new))))

    def accepts(self, edit: Edit, added: list[Place]) -> bool:
        """Return whether an edit uses up reserved members; `added` are the new fields."""
        if not self.has_both(edit.old, edit.new):
            return False
        is_smaller = edit.kind in (EditKind.REMOVED, EditKind.RESIZED)
        return not is_smaller or edit.old is None or any(_overlap(edit.old, place) for place in added)


def _overlap(one: Place, other: Place) -> bool:
    (start, end), (first, last) = _bits(one), _bits(other)
    return start < last and first < end


class Acceptance:
    """Which changes of structs are accepted."""

    def __init__(self, changes: Iterable[LayoutChange], renames: bool, may_use: tuple[str, ...]) -> None:
        self._kinds = {EditKind.REALIGNED, EditKind.REORDERED, *((EditKind.RENAMED,) if renames else ())}
        """What is accepted anywhere. Other alignments and orders count by the fields that they move."""
        self._may_use = may_use
        self._by_name: dict[str, list[LayoutChange]] = defaultdict(list)
        self._known: dict[int, bool] = {}
        """The answers by the identity of a change."""
        for change in changes:
            self._by_name[change.name].append(change)

    def accepts(self, change: LayoutChange) -> bool:
        """Return whether all edits of a struct, and of those in it, are accepted."""
        if not (self._may_use or EditKind.RENAMED in self._kinds):
            return False
        if id(change) not in self._known:
            self._known[id(change)] = False  # two definitions of one name can contain one another by name
            self._known[id(change)] = self._accepts(change)
        return self._known[id(change)]

    def _accepts(self, change: LayoutChange) -> bool:
        old, new, edits = change.old, change.new, change.edits
        if old is None or new is None or change.presence is not Presence.BOTH or not edits.edits:
            return False
        if (old.aggregate, old.bit_size) != (new.aggregate, new.bit_size):
            return False
        if change.is_realigned or change.retyped:
            return False
        reserve = _reserve(old, self._may_use) if self._may_use else _Reserve()
        added = [edit.new for edit in edits.edits if edit.kind is EditKind.ADDED and edit.new is not None]
        return all(reserve.has_both(move.old, move.new) for move in edits.moves) and all(
            edit.kind in self._kinds or self._accepts_inner(edit) or reserve.accepts(edit, added)
            for edit in edits.edits
        )

    def _accepts_inner(self, edit: Edit) -> bool:
        """Return whether a field changed only because its struct did, and that is accepted."""
        inner = self._by_name.get(edit.struct, [])
        return edit.kind is EditKind.CHANGED and bool(inner) and all(map(self.accepts, inner))


def _reserve(struct: Struct, may_use: tuple[str, ...]) -> _Reserve:
    scope = named_members(struct.fields, "", 0, struct.aggregate == "union")
    parts = list(_parts(scope, struct.name, may_use))
    reserved = [place for place, is_reserved in parts if is_reserved]
    others = [place for place, is_reserved in parts if not is_reserved]
    free = _subtract(map(_bits, reserved), map(_bits, others))
    return _Reserve(tuple(place.path for place in reserved), tuple(free))


def _bits(place: Place) -> _Bits:
    return place.bit_offset, place.bit_offset + (place.bit_size or 0)


def _parts(places: Iterable[Place], struct: str, may_use: tuple[str, ...]) -> Iterator[tuple[Place, bool]]:
    """Yield the largest members that are reserved, or have no reserved member, each with whether it is."""
    for place in places:
        if _is_reserved(struct, place.path, may_use):
            yield place, True
            continue
        member = place.field
        inner = named_members(member.members, f"{place.path}.", place.bit_offset, member.aggregate == "union")
        parts = list(_parts(inner, struct, may_use))
        if any(is_reserved for _, is_reserved in parts):
            yield from parts
        else:
            yield place, False


def _subtract(ranges: Iterable[_Bits], others: Iterable[_Bits]) -> Iterator[_Bits]:
    """Yield what others leave of ranges, in order; ranges beside each other are one."""
    start, end = 0, 0
    merged: list[_Bits] = []
    for first, last in sorted(ranges):
        if first > end:
            merged.append((start, end))
            start = first
        end = max(end, last)
    merged.append((start, end))
    taken = sorted(others)
    for start, end in merged:
        for first, last in taken:
            if first < end and last > start:
                if start < first:
                    yield start, first
                start = max(start, last)
        if start < end:
            yield start, end
