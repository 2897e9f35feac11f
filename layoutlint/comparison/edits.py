"""The edits that turn one layout of a struct into another, and the fields that they move."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from enum import Enum
from typing import Any

from layoutlint.geometry.layout import Place, named_members
from layoutlint.model.ctype import strip_qualifiers
from layoutlint.model.record import Record, field
from layoutlint.model.structs import Field, Source, Struct


class EditKind(Enum):
    """The kind of an edit of a field."""

    ADDED = "added"
    REMOVED = "removed"
    RESIZED = "resized"
    REALIGNED = "realigned"
    REORDERED = "reordered"


class Edit(Record, frozen=True, gc=False):
    """A change of one field of a struct, which can move others."""

    kind: EditKind
    path: str
    old: Place | None
    """None for an added field."""
    new: Place | None
    """None for a removed field."""

    @property
    def place(self) -> Place:
        """The field: as it is now, or as it was."""
        place = self.new or self.old
        if place is None:
            raise ValueError(f"the edit of {self.path!r} is about no field")
        return place

    @property
    def source(self) -> Source | None:
        """Where the field is declared, or was."""
        return self.place.field.source

    @property
    def growth(self) -> int:
        """The bits by which the field itself grew."""
        sizes = [(place.bit_size or 0) if place is not None else 0 for place in (self.old, self.new)]
        return sizes[1] - sizes[0]

    @property
    def struct(self) -> str:
        """The struct in the field, if its type is named as before, so that the struct itself changed; else
        empty.
        """
        if self.old is None or self.new is None:
            return ""
        member = self.new.field
        names = {(place.field.type, place.field.dims) for place in (self.old, self.new)}
        if len(names) > 1 or not member.members or member.type.is_untagged:
            return ""
        spelled = [
            each.left
            for each in (*member.underlying_types, strip_qualifiers(member.type))
            if not each.is_untagged
        ]
        return spelled[0].removeprefix(f"{member.aggregate} ") if spelled else ""


class Move(Record, frozen=True, gc=False):
    """A field at another offset, and the edit that pushed it; None if no field of the struct explains it."""

    old: Place
    new: Place
    cause: Edit | None


class Edits(Record, frozen=True, gc=False):
    """The changes inside a struct: edits in declared order, the fields they moved, and the main cause."""

    edits: tuple[Edit, ...] = ()
    moves: tuple[Move, ...] = ()
    cause: Edit | None = None
    """The edit behind the first move, or behind the size, or else the last; None without edits."""


def own_fields(
    fields: tuple[Field, ...], is_union: bool, prefix: str = "", start: int = 0
) -> Iterator[Place]:
    """Yield the fields that a struct declares itself, in declared order: also those of its unnamed types."""
    for place in named_members(fields, prefix, start, is_union):
        yield place
        if place.field.members and place.field.type.is_untagged:
            inner_union = place.field.aggregate == "union"
            yield from own_fields(place.field.members, inner_union, f"{place.path}.", place.bit_offset)


def outline(struct: Struct) -> tuple[object, ...]:
    """Return what decides whether a layout changed: names, offsets and sizes of all fields, without lines."""
    return struct.aggregate, struct.bit_size, tuple(_outlines(struct.fields))


def is_same_outline(old: tuple[Any, ...], new: tuple[Any, ...]) -> bool:
    """Return whether two outlines can be of one layout: a size that an input does not state is like any."""
    (aggregate, size, members), (other, other_size, other_members) = old, new
    return (aggregate, size) == (other, other_size) and _are_same_members(members, other_members)


def _are_same_members(old: tuple[Any, ...], new: tuple[Any, ...]) -> bool:
    if old == new:
        return True
    if len(old) != len(new):
        return False
    for (name, offset, size, *rest, inner), (name2, offset2, size2, *rest2, inner2) in zip(
        old, new, strict=True
    ):
        if (name, offset, rest) != (name2, offset2, rest2) or not _are_same_members(inner, inner2):
            return False
        if size != size2 and None not in (size, size2):
            return False
    return True


def _outlines(fields: tuple[Field, ...]) -> Iterator[object]:
    for member in fields:
        has_inner = member.members and (member.name is None or member.type.is_untagged)
        inner = tuple(_outlines(member.members)) if has_inner else ()
        yield member.name, member.bit_offset, member.bit_size, member.is_bitfield, inner


def find_edits(old: Struct, new: Struct) -> Edits:
    """Return the edits between two definitions of a struct with known sizes."""
    before, after = (
        {place.path: place for place in own_fields(s.fields, s.aggregate == "union")} for s in (old, new)
    )
    walk = _Walk(before, after, _fewest_moves(before, after))
    for path, place in after.items():
        walk.enter(path, place)
    walk.leave()
    grows = (new.bit_size or 0) - (old.bit_size or 0)
    moved_causes = (move.cause for move in walk.moves if move.cause is not None)
    cause = next(moved_causes, None) or walk.pick(grows - walk.shift)
    return Edits(tuple(walk.edits), tuple(walk.moves), cause)


def _fewest_moves(before: dict[str, Place], after: dict[str, Place]) -> set[str]:
    """Return the fewest fields whose moves explain that the common fields are in another order."""
    ranks = {path: rank for rank, path in enumerate(before)}
    common = [path for path in after if path in ranks]
    kept = {common[index] for index in longest_ascent([ranks[path] for path in common])}
    return {path for path in common if path not in kept}


def longest_ascent(numbers: list[int]) -> Iterator[int]:
    """Yield the indices of a longest ascending subsequence, the last one first."""
    ends: list[int] = []
    last_index: list[int] = []
    previous: list[int | None] = []
    for index, number in enumerate(numbers):
        at = bisect_left(ends, number)
        previous.append(last_index[at - 1] if at else None)
        ends[at : at + 1] = [number]
        last_index[at : at + 1] = [index]
    reached = last_index[-1] if last_index else None
    while reached is not None:
        yield reached
        reached = previous[reached]


class _Walk(Record):
    """A walk through the new fields in declared order, which assigns each shift to the edits before it."""

    before: dict[str, Place]
    after: dict[str, Place]
    reordered: set[str]
    edits: list[Edit] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    pending: list[Edit] = field(default_factory=list)
    """Edits that have moved nothing so far: a hole, or a larger member of a union, hides them."""
    shift: int = 0
    """The bits by which the last common field moved."""
    cause: Edit | None = None
    old_paths: list[str] = field(default_factory=list)
    """The old fields that were not met yet, the next one last."""

    def __post_init__(self) -> None:
        self.old_paths = list(reversed(self.before))

    def enter(self, path: str, place: Place) -> None:
        """Note the edit of one new field, and its move."""
        old = self.before.get(path)
        if old is None:
            self._add(EditKind.ADDED, path, None, place)
            return
        if path in self.reordered:
            self._add(EditKind.REORDERED, path, old, place)
            self._note_move(old, place, self.edits[-1])
        else:
            self._skip_old(path)
            self._enter_common(old, place)
        if _is_resized(old, place):
            self._add(EditKind.RESIZED, path, old, place)

    def leave(self) -> None:
        """Note the fields that were removed behind the last common one."""
        self._skip_old(None)

    def pick(self, growth: int) -> Edit | None:
        """Return the last pending edit that explains a shift like `growth`, in bits; else the last of all."""
        fitting = (
            edit
            for edit in reversed(self.pending)
            if edit.kind is EditKind.REORDERED or edit.growth * growth > 0
        )
        return next(fitting, None) or (self.edits[-1] if self.edits else None)

    def _skip_old(self, path: str | None) -> None:
        """Note the old fields before one that are gone; before the end for None."""
        while self.old_paths:
            other = self.old_paths.pop()
            if other == path:
                return
            if other not in self.after:
                self._add(EditKind.REMOVED, other, self.before[other], None)
            elif other in self.reordered:
                place = self.after[other]
                self.pending.append(Edit(EditKind.REORDERED, other, self.before[other], place))

    def _enter_common(self, old: Place, new: Place) -> None:
        shift = new.bit_offset - old.bit_offset
        if shift != self.shift:
            if _is_realigned(old, new):
                self._add(EditKind.REALIGNED, new.path, old, new)
                self.cause = self.edits[-1]
            else:
                self.cause = self.pick(shift - self.shift)
            self.shift, self.pending = shift, []
        self._note_move(old, new, self.cause)

    def _note_move(self, old: Place, new: Place, cause: Edit | None) -> None:
        if old.bit_offset != new.bit_offset:
            self.moves.append(Move(old, new, cause))

    def _add(self, kind: EditKind, path: str, old: Place | None, new: Place | None) -> None:
        edit = Edit(kind, path, old, new)
        self.edits.append(edit)
        self.pending.append(edit)


def _is_resized(old: Place, new: Place) -> bool:
    """Return whether a field has another size, and both are known; an unnamed type shows it in its fields."""
    if None in (old.bit_size, new.bit_size):
        return False
    has_own_fields = bool(new.field.members) and new.field.type.is_untagged and not new.field.dims
    return old.bit_size != new.bit_size and not has_own_fields


def _is_realigned(old: Place, new: Place) -> bool:
    """Return whether a field needs another alignment, which both inputs state."""
    aligns = old.field.align, new.field.align
    return None not in aligns and aligns[0] != aligns[1] and not (old.field.possible or new.field.possible)
