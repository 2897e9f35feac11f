"""How two definitions of a struct differ, as deep as other structs are embedded in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from layoutlint.comparison.contents import Contents, element_bits
from layoutlint.comparison.edits import (
    Edit,
    EditKind,
    Edits,
    Move,
    is_resized,
    own_edits,
    own_fields,
    struct_names,
)
from layoutlint.comparison.spelled_types import Leeway, Retyping, is_known, leeway, retyping, type_key
from layoutlint.geometry.layout import Place, named_members
from layoutlint.model.record import Record, field, replace
from layoutlint.model.structs import Field, Struct

_MOST_INNER = 4_000
"""The most members of embedded structs that are looked at in one struct; the rest of them are summed up."""
_Change = tuple[str, int, int]
"""The name of a struct, and the numbers of its contents."""


class Depth(Record):
    """Finds how structs of one comparison differ. A struct that is compared itself is described once."""

    contents: Contents = field(default_factory=Contents)
    changed: set[_Change] = field(default_factory=set)
    """The compared structs with another layout."""
    retyped: set[_Change] = field(default_factory=set)
    """The compared structs with other types."""
    renamed: Mapping[str, str] = {}
    """The new names of structs."""

    def note(self, old: Struct, new: Struct) -> None:
        """Note that two definitions are compared: structs that embed them refer to them."""
        layout, types = self.contents.layout, self.contents.types
        if not self.contents.is_same_layout(old, new):
            self.changed.add((new.name, layout(old.fields), layout(new.fields)))
        self.retyped.add((new.name, types(old.fields), types(new.fields)))

    def find_edits(self, old: Struct, new: Struct) -> Edits:
        """Return the edits between two definitions with known sizes: those of their own fields first."""
        before, after = (
            {place.path: place for place in own_fields(s.fields, s.aggregate == "union")} for s in (old, new)
        )
        _drop_inside_others(before, after)
        own = own_edits(before, after, (new.bit_size or 0) - (old.bit_size or 0))
        return _with_inner(own, _Inside(self).edits(before, after))

    def find_retypings(self, old: Struct, new: Struct) -> tuple[Retyping, ...]:
        """Return the fields of both definitions with another type of the same size."""
        if self.contents.types(old.fields) == self.contents.types(new.fields):
            return ()
        types = _Types(self, leeway(old, new, self.renamed))
        return tuple(types.find(old.fields, new.fields, ""))


def _with_inner(own: Edits, inner: Iterable[Edits]) -> Edits:
    """Return edits together with those inside embedded structs."""
    every = [own, *inner]
    edits = tuple(edit for each in every for edit in each.edits)
    moves = tuple(move for each in every for move in each.moves)
    return Edits(edits, moves, next(filter(None, (each.cause for each in every)), None))


class _Inside(Record):
    """The edits inside the embedded structs of one struct."""

    depth: Depth
    left: int = _MOST_INNER
    """How many members may still be looked at."""

    def edits(
        self, before: Mapping[str, Place], after: Mapping[str, Place], bases: tuple[int, int] = (0, 0)
    ) -> Iterator[Edits]:
        """Yield the edits inside common fields, whose places are relative to `bases`, in bits."""
        for path, new in after.items():
            old = before.get(path)
            if old is not None and not self.depth.contents.holds_same(old.field, new.field):
                yield from self._edits_inside(_shift(old, bases[0]), _shift(new, bases[1]))

    def _edits_inside(self, old: Place, new: Place) -> Iterator[Edits]:
        """Yield the edits inside one field whose type holds something else."""
        if old.field.type.is_untagged and new.field.type.is_untagged:
            yield from _resized_elements(old, new)
            return  # its members are listed among the fields of the struct around it
        is_other_type = not Leeway().has_same_name(type_key(old.field), type_key(new.field))
        if is_other_type or self._is_described(old.field, new.field) or self.left <= 0:
            if not is_resized(old, new):
                edit = Edit(EditKind.CHANGED, new.path, old, new)
                yield Edits((edit,), (), edit)
            return
        yield from _resized_elements(old, new)
        before, after = (_members(place) for place in (old, new))
        _drop_inside_others(before, after)
        self.left -= len(after)
        sizes = [element_bits(each.field) or each.bit_size or 0 for each in (old, new)]
        own = own_edits(before, after, sizes[1] - sizes[0])
        bases = old.bit_offset, new.bit_offset
        yield _shift_edits(own, bases)
        yield from self.edits(before, after, bases)

    def _is_described(self, old: Field, new: Field) -> bool:
        numbers = [self.depth.contents.layout(each.members) for each in (old, new)]
        return any((name, *numbers) in self.depth.changed for name in struct_names(new))


def _drop_inside_others(before: dict[str, Place], after: dict[str, Place]) -> None:
    """Remove the members of unnamed types whose fields have a named type on the other side."""
    for path in before.keys() & after.keys():
        sides = [(side, side[path].field) for side in (before, after)]
        if sides[0][1].type.is_untagged != sides[1][1].type.is_untagged:
            for side, member in sides:
                if member.members and member.type.is_untagged:
                    for inner in [each for each in side if each.startswith(f"{path}.")]:
                        del side[inner]


def _members(place: Place) -> dict[str, Place]:
    """Return the fields that the type of a field declares, with offsets in it."""
    is_union = place.field.aggregate == "union"
    return {each.path: each for each in own_fields(place.field.members, is_union, f"{place.path}.")}


def _resized_elements(old: Place, new: Place) -> Iterator[Edits]:
    """Yield the edit of an array whose elements have another size."""
    sizes = element_bits(old.field), element_bits(new.field)
    if None not in sizes and sizes[0] != sizes[1] and 0 not in sizes:
        first, second = (
            replace(place, path=f"{place.path}[0]", bit_size=size, field=replace(place.field, dims=()))
            for place, size in zip((old, new), sizes, strict=True)
        )
        edit = Edit(EditKind.RESIZED, second.path, first, second)
        yield Edits((edit,), (), edit)


def _shift(place: Place, bits: int) -> Place:
    return replace(place, bit_offset=place.bit_offset + bits) if bits else place


def _shift_edits(edits: Edits, bases: tuple[int, int]) -> Edits:
    """Return edits inside a field with offsets from the start of the struct around it."""

    def move_edit(edit: Edit) -> Edit:
        old, new = (
            None if place is None else _shift(place, base)
            for place, base in zip((edit.old, edit.new), bases, strict=True)
        )
        return replace(edit, old=old, new=new)

    return Edits(
        tuple(map(move_edit, edits.edits)),
        tuple(
            Move(_shift(each.old, bases[0]), _shift(each.new, bases[1]), each.cause and move_edit(each.cause))
            for each in edits.moves
        ),
        edits.cause and move_edit(edits.cause),
    )


class _Types(Record):
    """The fields of one struct with other types, at every depth."""

    depth: Depth
    leeway: Leeway
    left: int = _MOST_INNER

    def find(self, old: tuple[Field, ...], new: tuple[Field, ...], prefix: str) -> Iterator[Retyping]:
        """Yield the members that both have, with another type of the same size."""
        before = {each.path: each.field for each in named_members(old, prefix, 0, False)}
        for place in named_members(new, prefix, 0, False):
            member = before.get(place.path)
            if member is not None:
                yield from self._compare(place.path, member, place.field)

    def _compare(self, path: str, old: Field, new: Field) -> Iterator[Retyping]:
        types = type_key(old), type_key(new)
        if not self.leeway.is_same(*types):
            if is_known(old) and is_known(new) and old.bit_size == new.bit_size:
                yield retyping(path, old, new)
            return
        numbers = [self.depth.contents.types(each.members) for each in (old, new)]
        if numbers[0] == numbers[1]:
            return
        if any((name, *numbers) in self.depth.retyped for name in struct_names(new)):
            return
        if self.left <= 0:
            yield retyping(path, old, new)
            return
        self.left -= len(new.members)
        yield from self.find(old.members, new.members, f"{path}.")
