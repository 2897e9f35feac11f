"""Which structs of an input are those of another one, and how their layouts differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from layoutlint.comparison.contents import Contents, element_bits
from layoutlint.comparison.definitions import Definition, group, match
from layoutlint.comparison.edits import (
    Edit,
    EditKind,
    Edits,
    Move,
    follow_renames,
    is_resized,
    own_edits,
    own_fields,
    struct_names,
)
from layoutlint.comparison.spelled_types import Leeway, Retyping, is_known, leeway, retyping, type_key
from layoutlint.geometry.layout import Place, named_members
from layoutlint.model.json_object import JsonObject
from layoutlint.model.possible_alignments import struct_alignments
from layoutlint.model.record import Record, field, replace
from layoutlint.model.structs import Field, Struct

_LEAST_FIELDS = 2
"""A renamed struct has at least this many fields: a single one is like many others."""
_MOST_INNER = 4_000
"""The most members of embedded structs that are looked at in one struct; the rest of them are summed up."""
_Change = tuple[str, int, int]
"""The name of a struct, and the numbers of its contents."""


class Presence(Enum):
    """Which of two inputs defines a struct."""

    BOTH = "both"
    ADDED = "added"
    REMOVED = "removed"
    RENAMED = "renamed"


class NotCompared(JsonObject, frozen=True, order=True):
    """Something that could not be compared."""

    name: str
    """The rule and its struct, the struct, or the input."""
    reason: str
    """The reason."""


class LayoutChange(Record, frozen=True, gc=False):
    """A struct whose layout differs between two inputs, or the types of its fields."""

    presence: Presence
    old: Struct | None
    new: Struct | None
    edits: Edits = Edits()
    retyped: tuple[Retyping, ...] = ()
    """Its fields with another type of the same size, where types are compared."""
    is_realigned: bool = False
    """Whether its alignment differs, as far as both inputs state it."""
    is_changed: bool = True
    """Whether sizes or offsets differ, as deep as structs are embedded in it."""
    root: str = ""
    """The struct in it whose change explains all of this one's; empty if the struct itself was edited."""
    containers: tuple[str, ...] = ()
    """The structs whose layout changed because this one did."""

    @property
    def struct(self) -> Struct:
        """The struct as it is now, or as it was."""
        struct = self.new or self.old
        if struct is None:
            raise ValueError("a change is about a struct")
        return struct

    @property
    def is_retyped_only(self) -> bool:
        """Whether nothing but types differs."""
        return self.presence is Presence.BOTH and not (self.is_changed or self.is_realigned)

    @property
    def name(self) -> str:
        """The name of the struct; of a renamed one the new name."""
        return self.struct.name


class LayoutComparison(Record, frozen=True):
    """How the layouts of two inputs differ."""

    changes: tuple[LayoutChange, ...]
    """In printed order: see `change_order`."""
    not_compared: tuple[NotCompared, ...]
    compared: int
    """The number of structs that both define."""
    vanished: Mapping[str, str]
    """The structs that the new input lacks, with the reason."""
    retyped: tuple[LayoutChange, ...] = ()
    """The structs with the same layout whose fields have other types, sorted by name."""
    compares_types: bool = True
    """Whether types were compared."""


_Pair = tuple[Definition | None, Definition | None]


class _Depth(Record):
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
        inside = _Inside(self, leeway(old, new, self.renamed))
        before = follow_renames(before, after, inside.is_same_type)
        own = own_edits(before, after, (new.bit_size or 0) - (old.bit_size or 0))
        return _with_inner(own, inside.edits(before, after))

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

    depth: _Depth
    leeway: Leeway
    left: int = _MOST_INNER
    """How many members may still be looked at."""

    def is_same_type(self, old: Field, new: Field) -> bool:
        """Return whether two fields have the same type, as deep as structs are embedded in it."""
        contents = self.depth.contents
        is_same = contents.types(old.members) == contents.types(new.members) and contents.holds_same(old, new)
        return is_same and self.leeway.is_same(type_key(old), type_key(new))

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
        before = follow_renames(before, after, self.is_same_type)
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
            Move(_shift(move.old, bases[0]), _shift(move.new, bases[1]), move.cause and move_edit(move.cause))
            for move in edits.moves
        ),
        edits.cause and move_edit(edits.cause),
    )


class _Types(Record):
    """The fields of one struct with other types, at every depth."""

    depth: _Depth
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


def compare_layouts(
    old: Iterable[Struct],
    new: Iterable[Struct],
    finds_renamed: bool = True,
    compares_types: bool = True,
) -> LayoutComparison:
    """Compare the structs of two inputs; those that are only declared are left out.

    Without `compares_types`, fields with other types of the same size are the same.
    Without `finds_renamed`, a struct that one input lacks can exist there, and none counts as renamed.
    """
    depth = _Depth()
    before, after = (_group_by_name(structs, depth) for structs in (old, new))
    pairs: list[_Pair] = []
    not_compared: list[NotCompared] = []
    for name in sorted({*before, *after}):
        matched, reason = match(before.get(name, []), after.get(name, []))
        pairs += matched
        not_compared += [NotCompared(name[0], reason)] if reason else []
    pairs = _find_renamed(pairs) if finds_renamed else pairs
    every = list(_changes(pairs, not_compared, depth, compares_types))
    changes = [change for change in every if not change.is_retyped_only]
    return LayoutComparison(
        tuple(_with_roots(changes)),
        tuple(sorted(not_compared)),
        sum(old is not None and new is not None for old, new in pairs),
        dict(_missing_structs(pairs)),
        tuple(change for change in every if change.is_retyped_only),
        compares_types,
    )


def _group_by_name(structs: Iterable[Struct], depth: _Depth) -> dict[tuple[str, bool], list[Definition]]:
    """Group definitions by name, tags and typedefs apart; equal definitions count once."""
    groups: dict[tuple[str, bool], dict[object, Definition]] = defaultdict(dict)
    for struct in structs:
        if struct.bit_size is not None or struct.problem is not None:
            definition = Definition(struct, depth.contents.layout(struct.fields))
            size = struct.aggregate, struct.bit_size
            content = struct.problem, definition.file, *size, definition.content
            groups[struct.name, struct.is_tagged].setdefault(content, definition)
    return {name: list(group.values()) for name, group in groups.items()}


def _find_renamed(pairs: list[_Pair]) -> list[_Pair]:
    """Pair each removed struct with the added one that has the same fields, if only one has."""
    sides = [group(_single_definitions(pairs, side), lambda one: one.outline) for side in (0, 1)]
    renamed: dict[int, int] = {}
    for fields, olds in sides[0].items():
        news, (old, _) = sides[1].get(fields, []), pairs[olds[0]]
        if len(olds) == len(news) == 1 and old is not None and len(old.struct.fields) >= _LEAST_FIELDS:
            renamed[olds[0]] = news[0]
    new_numbers = set(renamed.values())
    return [
        (old, pairs[renamed[number]][1]) if number in renamed else (old, new)
        for number, (old, new) in enumerate(pairs)
        if number not in new_numbers
    ]


def _single_definitions(pairs: list[_Pair], side: int) -> dict[int, Definition]:
    """Return the definitions that only one input has, by the numbers of their pairs."""
    return {
        number: one
        for number, pair in enumerate(pairs)
        if (one := pair[side]) is not None and pair[1 - side] is None
    }


def _missing_structs(pairs: Iterable[_Pair]) -> Iterator[tuple[str, str]]:
    for old, new in pairs:
        if old is not None and new is None:
            yield old.struct.name, "the struct no longer exists"
        elif old is not None and new is not None and old.struct.name != new.struct.name:
            yield old.struct.name, f"the struct is called {new.struct.name} now"


def _changes(
    pairs: list[_Pair], not_compared: list[NotCompared], depth: _Depth, compares_types: bool
) -> Iterator[LayoutChange]:
    """Yield the pairs that differ; add those with an unreliable layout to `not_compared`."""
    known = [(old.struct, new.struct) for old, new in pairs if old is not None and new is not None]
    depth.renamed = {old.name: new.name for old, new in known if old.name != new.name}
    for before, after in known:
        if before.problem is None and after.problem is None:
            depth.note(before, after)
    for old, new in pairs:
        if old is None or new is None:
            presence = Presence.ADDED if old is None else Presence.REMOVED
            structs = [None if one is None else one.struct for one in (old, new)]
            yield LayoutChange(presence, structs[0], structs[1])
            continue
        problem = new.struct.problem or old.struct.problem
        if problem is not None:
            not_compared.append(NotCompared(new.struct.name, f"the layout is unreliable: {problem}"))
            continue
        yield from _change(old.struct, new.struct, depth, compares_types)


def _change(old: Struct, new: Struct, depth: _Depth, compares_types: bool) -> Iterator[LayoutChange]:
    """Yield how two definitions differ; nothing if they do not."""
    is_realigned = _is_realigned(old, new)
    is_changed = not depth.contents.is_same_layout(old, new)
    retyped = depth.find_retypings(old, new) if compares_types else ()
    if is_changed or is_realigned or retyped or old.name != new.name:
        presence = Presence.BOTH if old.name == new.name else Presence.RENAMED
        edits = depth.find_edits(old, new) if is_changed else Edits()
        yield LayoutChange(presence, old, new, edits, retyped, is_realigned, is_changed)


def _is_realigned(old: Struct, new: Struct) -> bool:
    """Return whether two definitions cannot have the same alignment."""
    if old.align is not None and old.align == new.align:
        return False
    masks = [struct_alignments(struct, struct.bit_size or 0)[1] for struct in (old, new)]
    return masks[0] & masks[1] == 0


def _with_roots(changes: list[LayoutChange]) -> Iterator[LayoutChange]:
    """Yield the changes with the struct that explains each, and the structs that each explains."""
    by_name = {change.name: change for change in changes}
    holders: dict[str, set[str]] = defaultdict(set)
    for change in changes:
        for struct in _changed_parts(change, by_name):
            holders[struct].add(change.name)
    for change in changes:
        containers = tuple(sorted(_reachable(change.name, holders)))
        yield replace(change, root=_root(change, by_name), containers=containers)


def _changed_parts(change: LayoutChange, by_name: Mapping[str, LayoutChange]) -> set[str]:
    """Return the changed structs that are embedded in a changed one and explain edits of it."""
    return {
        edit.struct for edit in change.edits.edits if edit.struct in by_name and edit.struct != change.name
    }


def _root(change: LayoutChange, by_name: Mapping[str, LayoutChange]) -> str:
    """Return the edited struct behind a change; empty if that is the struct itself."""
    root, passed = "", {change.name}
    paths = {edit.path for edit in change.edits.edits}
    if any(move.cause is None and move.new.path not in paths for move in change.edits.moves):
        return ""
    while change.edits.edits and all(edit.struct in by_name for edit in change.edits.edits):
        main: Edit = change.edits.cause or change.edits.edits[0]
        if main.struct in passed:  # two definitions of one name can contain one another by name
            break
        root = main.struct
        passed.add(root)
        change = by_name[root]
    return root


def _reachable(name: str, holders: Mapping[str, set[str]]) -> set[str]:
    """Return all structs that contain a struct, at any depth."""
    reached: set[str] = set()
    queue = [name]
    while queue:
        new = holders.get(queue.pop(), set()) - reached
        reached |= new
        queue += new
    return reached - {name}
