"""The edits that turn one layout of a struct into another, and the fields that they move."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from enum import Enum

from layoutlint.geometry.layout import Place, named_members
from layoutlint.model.ctype import strip_qualifiers
from layoutlint.model.paths import is_within
from layoutlint.model.record import Record, field
from layoutlint.model.structs import Field, Source, Struct


class EditKind(Enum):
    """The kind of an edit of a field."""

    ADDED = "added"
    REMOVED = "removed"
    RENAMED = "renamed"
    """It has the same place, size and type."""
    RESIZED = "resized"
    REALIGNED = "realigned"
    REORDERED = "reordered"
    CHANGED = "changed"
    """It holds something else at the same size."""


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
    def is_still(self) -> bool:
        """Whether the field is declared elsewhere and has the same offset: others moved across it."""
        if self.kind is not EditKind.REORDERED or self.old is None or self.new is None:
            return False
        return self.old.bit_offset == self.new.bit_offset

    def is_inside(self, path: str) -> bool:
        """Return whether it is about a member of a field."""
        return self.path.startswith(f"{path}.")

    @property
    def struct(self) -> str:
        """The struct in the field, if its type is named as before, so that the struct itself changed; else
        empty.
        """
        if self.old is None or self.new is None or self.kind is EditKind.RENAMED:
            return ""
        return shared_struct(self.old.field, self.new.field)


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

    def former_path(self, path: str) -> str:
        """Return the path that a field had before it, or one around it, was renamed."""
        for edit in self.edits:
            if edit.kind is EditKind.RENAMED and edit.old is not None and is_within(path, edit.path):
                return edit.old.path + path[len(edit.path) :]
        return path


def own_fields(
    fields: tuple[Field, ...], is_union: bool, prefix: str = "", start: int = 0
) -> Iterator[Place]:
    """Yield the fields that a struct declares itself, in declared order: also those of its unnamed types."""
    for place in named_members(fields, prefix, start, is_union):
        yield place
        if place.field.members and place.field.type.is_untagged:
            inner_union = place.field.aggregate == "union"
            yield from own_fields(place.field.members, inner_union, f"{place.path}.", place.bit_offset)


def shared_struct(old: Field, new: Field) -> str:
    """Return the name of the struct that is the type of two fields, or of their elements; empty for none."""
    if (old.type, old.dims) != (new.type, new.dims) or not new.members or new.type.is_untagged:
        return ""
    return next(struct_names(new), "")


def struct_names(member: Field) -> Iterator[str]:
    """Yield the names of the struct that is the type of a field, those that its typedef refers to first."""
    for each in (*member.underlying_types, strip_qualifiers(member.type)):
        if not each.is_untagged:
            yield each.left.removeprefix(f"{member.aggregate} ")


def outline(struct: Struct) -> tuple[object, ...]:
    """Return the names, offsets and sizes of the fields that a struct declares itself, without lines."""
    return struct.aggregate, struct.bit_size, tuple(_outlines(struct.fields))


def _outlines(fields: tuple[Field, ...]) -> Iterator[object]:
    for member in fields:
        has_inner = member.members and (member.name is None or member.type.is_untagged)
        inner = tuple(_outlines(member.members)) if has_inner else ()
        yield member.name, member.bit_offset, member.bit_size, member.is_bitfield, inner


def follow_renames(
    before: dict[str, Place], after: dict[str, Place], is_same_type: Callable[[Field, Field], bool]
) -> dict[str, Place]:
    """Return the old fields by the paths that they have now.

    A field that is gone was renamed if a new one beside it has its place, size and type; of several, each is
    followed by one in declared order.
    """
    siblings: dict[tuple[str, int, int | None], list[Place]] = defaultdict(list)
    for path, new in after.items():
        siblings[path.rpartition(".")[0], new.bit_offset, new.bit_size].append(new)
    paths: dict[str, str] = {}
    found: dict[str, Place] = {}
    for old_path, old in before.items():
        parent, dot, name = old_path.rpartition(".")
        path = f"{paths.get(parent, parent)}{dot}{name}"
        if path not in after:
            for new in siblings[path.rpartition(".")[0], old.bit_offset, old.bit_size]:
                is_new = f"{parent}{dot}{new.field.name}" not in before and new.path not in found
                if is_new and is_same_type(old.field, new.field):
                    path = new.path
                    break
        paths[old_path] = path
        found[path] = old
    return found


def own_edits(before: dict[str, Place], after: dict[str, Place], growth: int) -> Edits:
    """Return the edits that turn fields into others, by their new paths, in declared order.

    `growth` are the bits by which the type that declares them grew.
    """
    walk = _EditWalk(before, after, _fewest_moves(before, after))
    for path, place in after.items():
        walk.enter(path, place)
    walk.leave()
    moved_causes = [move.cause for move in walk.moves if move.cause is not None]
    cause = next(iter(moved_causes), None) or walk.pick(growth - walk.shift)
    edits = [edit for edit in walk.edits if not edit.is_still or edit in moved_causes]
    edits += [edit for edit in _ends(before, after) if not any(each.is_inside(edit.path) for each in edits)]
    if cause is None or (cause.is_still and cause not in moved_causes):
        cause = edits[-1] if edits else None
    return Edits(tuple(edits), tuple(walk.moves), cause)


def _ends(before: dict[str, Place], after: dict[str, Place]) -> Iterator[Edit]:
    """Yield the edits of fields with an unnamed type of another size: its fields mostly show why."""
    for path, new in after.items():
        old = before.get(path)
        if old is not None and _has_other_size(old, new) and not is_resized(old, new):
            yield Edit(EditKind.RESIZED, path, old, new)


def _fewest_moves(before: dict[str, Place], after: dict[str, Place]) -> set[str]:
    """Return the fewest fields whose moves explain that the common fields are in another order.

    Of several such sets, return one with the fewest fields at the same offset as before.
    """
    ranks = {path: rank for rank, path in enumerate(before)}
    common = [path for path in after if path in ranks]
    still = {path for path in common if before[path].bit_offset == after[path].bit_offset}
    weights = [len(common) + (path in still) for path in common]
    kept = {common[index] for index in longest_ascent([ranks[path] for path in common], weights)}
    return {path for path in common if path not in kept}


def longest_ascent(numbers: Sequence[int], weights: Sequence[int] = ()) -> Iterator[int]:
    """Yield the indices of the ascending subsequence with the largest weight, the last one first.

    Without `weights`, it is a longest one.
    """
    ends: list[int] = []
    totals: list[int] = []
    """The largest weight of a subsequence that ends with each number of `ends`: both ascend."""
    last_index: list[int] = []
    previous: list[int | None] = []
    for index, number in enumerate(numbers):
        at = bisect_left(ends, number)
        previous.append(last_index[at - 1] if at else None)
        total = (totals[at - 1] if at else 0) + (weights[index] if weights else 1)
        surpassed = bisect_right(totals, total, at)
        ends[at:surpassed] = [number]
        totals[at:surpassed] = [total]
        last_index[at:surpassed] = [index]
    reached = last_index[-1] if last_index else None
    while reached is not None:
        yield reached
        reached = previous[reached]


class _EditWalk(Record):
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
        if old.field.name != place.field.name:
            self.edits.append(Edit(EditKind.RENAMED, path, old, place))  # it moves nothing
        if is_resized(old, place):
            self._add(EditKind.RESIZED, path, old, place)

    def leave(self) -> None:
        """Note the fields that were removed behind the last common one."""
        self._skip_old(None)

    def pick(self, growth: int) -> Edit | None:
        """Return the last pending edit that explains a shift like `growth`, in bits; else the last that can
        move others.
        """
        fitting = (
            edit
            for edit in reversed(self.pending)
            if edit.kind is EditKind.REORDERED or edit.growth * growth > 0
        )
        others = (edit for edit in reversed(self.edits) if edit.kind is not EditKind.RENAMED)
        return next(fitting, None) or next(others, None)

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


def is_resized(old: Place, new: Place) -> bool:
    """Return whether a field has another size, and both are known; an unnamed type shows it in its fields."""
    has_own_fields = bool(new.field.members) and new.field.type.is_untagged and not new.field.dims
    return _has_other_size(old, new) and not has_own_fields


def _has_other_size(old: Place, new: Place) -> bool:
    return None not in (old.bit_size, new.bit_size) and old.bit_size != new.bit_size


def _is_realigned(old: Place, new: Place) -> bool:
    """Return whether a field needs another alignment, which both inputs state."""
    aligns = old.field.align, new.field.align
    return None not in aligns and aligns[0] != aligns[1] and not (old.field.possible or new.field.possible)
