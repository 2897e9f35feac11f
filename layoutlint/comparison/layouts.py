"""Which structs of an input are those of another one, and how their layouts differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from layoutlint.comparison.definitions import Definition, group, match
from layoutlint.comparison.edits import Edit, Edits, find_edits, is_same_outline, outline
from layoutlint.model.possible_alignments import struct_alignments
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct

_LEAST_FIELDS = 2
"""A renamed struct has at least this many fields: a single one is like many others."""


class Presence(Enum):
    """Which of two inputs defines a struct."""

    BOTH = "both"
    ADDED = "added"
    REMOVED = "removed"
    RENAMED = "renamed"


class NotCompared(Record, frozen=True, order=True):
    """A struct that could not be compared, and why."""

    name: str
    reason: str


class LayoutChange(Record, frozen=True, gc=False):
    """A struct whose layout differs between two inputs."""

    presence: Presence
    old: Struct | None
    new: Struct | None
    edits: Edits = Edits()
    is_realigned: bool = False
    """Whether its alignment differs, as far as both inputs state it."""
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
    def name(self) -> str:
        """The name of the struct; of a renamed one the new name."""
        return self.struct.name


class LayoutComparison(Record, frozen=True):
    """How the layouts of two inputs differ."""

    changes: tuple[LayoutChange, ...]
    """Sorted by name."""
    not_compared: tuple[NotCompared, ...]
    compared: int
    """The number of structs that both define."""
    vanished: Mapping[str, str]
    """The structs that the new input lacks, with the reason."""


_Pair = tuple[Definition | None, Definition | None]


def compare_layouts(
    old: Iterable[Struct], new: Iterable[Struct], finds_renamed: bool = True
) -> LayoutComparison:
    """Compare the structs of two inputs; those that are only declared are left out.

    Without `finds_renamed`, a struct that one input lacks can exist there, and none counts as renamed.
    """
    before, after = _group_by_name(old), _group_by_name(new)
    pairs: list[_Pair] = []
    not_compared: list[NotCompared] = []
    for name in sorted({*before, *after}):
        matched, reason = match(before.get(name, []), after.get(name, []))
        pairs += matched
        not_compared += [NotCompared(name[0], reason)] if reason else []
    pairs = _find_renamed(pairs) if finds_renamed else pairs
    changes = list(_changes(pairs, not_compared))
    return LayoutComparison(
        tuple(_with_roots(changes)),
        tuple(sorted(not_compared)),
        sum(old is not None and new is not None for old, new in pairs),
        dict(_missing_structs(pairs)),
    )


def _group_by_name(structs: Iterable[Struct]) -> dict[tuple[str, bool], list[Definition]]:
    """Group definitions by name, tags and typedefs apart; equal definitions count once."""
    groups: dict[tuple[str, bool], dict[object, Definition]] = defaultdict(dict)
    for struct in structs:
        if struct.bit_size is not None or struct.problem is not None:
            definition = Definition(struct, outline(struct))
            content = struct.problem, definition.file, definition.outline
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


def _changes(pairs: Iterable[_Pair], not_compared: list[NotCompared]) -> Iterator[LayoutChange]:
    """Yield the pairs that differ; add those with an unreliable layout to `not_compared`."""
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
        is_renamed = old.struct.name != new.struct.name
        is_realigned = _is_realigned(old.struct, new.struct)
        is_changed = not is_same_outline(old.outline, new.outline)
        if is_changed or is_realigned or is_renamed:
            presence = Presence.RENAMED if is_renamed else Presence.BOTH
            edits = find_edits(old.struct, new.struct) if is_changed else Edits()
            yield LayoutChange(presence, old.struct, new.struct, edits, is_realigned)


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
