"""Uses that depend on the order of a struct's members, and the changes of order that they forbid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from layoutlint.model.record import Record
from layoutlint.model.structs import Struct, fields_in_braces

Kind = Literal[
    "positional-initialiser", "zero-initialiser", "asm-offset", "offset-assertion", "size-assertion",
    "offset-constant",
    "member-range", "member-index", "first-member-cast", "first-member-free", "struct-cast", "scalar-cast",
    "union-overlay", "raw-transfer", "struct-group", "group-marker", "group-assertion",
    "zero-length-marker", "uapi", "ioctl",
    "packed", "fixed-endian", "fixed-container", "kabi", "no-randomise", "comment", "union", "randomised",
    "bpf-co-re",
    "public-header", "unclear",
]  # fmt: skip
Scope = Literal["order", "first", "range", "offset", "size", "all"]
Offsets = Mapping[str, int | None]
"""The offset of each member, in one unit; None if it is unknown."""


class OrderUse(Record, frozen=True):
    """A place that depends on the order of members, or a note about it."""

    kind: Kind
    file: str
    line: int | None
    text: str
    """Which place depends on which members, as a part of a sentence."""
    members: tuple[str, ...] = ()
    """The top-level members concerned, by `member_names`, in declared order; empty for all."""
    scope: Scope = "all"
    """What must not change: the relative order of the members, which member is first, which members a range
    has, the offsets of the members, the size of the struct, or anything."""
    place: Literal["anywhere", "start", "end"] = "anywhere"
    """Where in the struct the members of an `order` or a `range` must be."""
    any_order: bool = False
    """Whether the members within a range may change places. Its fixed ends may not: both if `place` is
    `anywhere`, the last if it is `start`, the first if it is `end`."""
    may_be_first: tuple[str, ...] = ()
    """For the scope `first`: the members that may become the first one."""
    is_note: bool = False
    """Whether it forbids nothing, but is worth reading."""


class UnresolvedUse(Record, frozen=True):
    """A place that can depend on the order, which its text does not show."""

    line: int
    text: str
    """What the text does not show, as a part of a sentence."""
    members: tuple[str, ...] = ()
    scope: Scope = "all"
    """What could depend on the order, as for `OrderUse`."""


class LookedAt(Record, frozen=True):
    """How many files were searched."""

    sources: int = 0
    headers: int = 0
    """All other files that hold C: headers, and files that are included."""
    mentioning: int = 0
    """The files that name the struct."""


class Search(Record, frozen=True):
    """The result of a search for what depends on the order of members."""

    uses: tuple[OrderUse, ...]
    looked_at: LookedAt
    not_looked_at: tuple[str, ...]
    """What could not be searched, in sentences without a full stop. Uses can be there."""
    is_order_free: bool = False
    """Whether the struct is marked `__randomize_layout`: all of its users must accept any order."""
    free_members: tuple[str, ...] = ()
    """The members whose order the build may randomise: all if it is order-free, else those between
    `randomized_struct_fields_start` and `randomized_struct_fields_end`."""


def member_names(struct: Struct) -> tuple[str, ...]:
    """Return a name for each top-level member of a struct, all different.

    A member without a name has the first name inside it, in braces: `{first}`; `{#2}` if it has none.
    """
    names: list[str] = []
    for index, field in enumerate(struct.fields):
        inner = next((path for path, _ in fields_in_braces(field.members)), None)
        name = field.name or (f"{{{inner}}}" if inner else f"{{#{index}}}")
        names.append(name if name not in names else f"{name}#{index}")
    return tuple(names)


def forbids(
    use: OrderUse,
    old: Sequence[str],
    new: Sequence[str],
    old_offsets: Offsets,
    new_offsets: Offsets,
    sizes: tuple[int | None, int | None],
) -> bool:
    """Return whether a use forbids a change of the order of members, with their offsets before and after.

    The names are those of `member_names`. A use of a member that is not among them forbids every change.
    `sizes` are those of the struct before and after, in any unit.
    """
    if use.is_note:
        return False
    if use.scope == "size":
        return None in sizes or sizes[0] != sizes[1]
    has_moved = list(old) != list(new)
    offsets_changed = any(old_offsets.get(name) != new_offsets.get(name) for name in old)
    if not has_moved and not offsets_changed:
        return False
    if use.scope == "all" or not set(use.members) <= set(old) or set(old) != set(new):
        return True
    if use.scope == "first":
        return bool(old) and new[0] != old[0] and new[0] not in use.may_be_first
    if use.scope == "offset":
        return any(old_offsets.get(name) != new_offsets.get(name) for name in use.members or old)
    members = list(use.members or old)
    if use.scope == "order":
        return _breaks_order(use, members, new)
    return _breaks_range(use, members, new, old_offsets, new_offsets)


def _breaks_order(use: OrderUse, members: list[str], new: Sequence[str]) -> bool:
    if use.place == "start":
        return list(new[: len(members)]) != members
    concerned = set(members)
    return [name for name in new if name in concerned] != members


def _breaks_range(
    use: OrderUse, members: list[str], new: Sequence[str], old_offsets: Offsets, new_offsets: Offsets
) -> bool:
    places = sorted(new.index(name) for name in members)
    is_torn = places[-1] - places[0] != len(places) - 1
    is_away = (use.place == "start" and places[0] != 0) or (use.place == "end" and places[-1] != len(new) - 1)
    if is_torn or is_away:
        return True
    if use.any_order:
        ends = new[places[0]] != members[0], new[places[-1]] != members[-1]
        return (use.place != "start" and ends[0]) or (use.place != "end" and ends[1])
    return [new[place] for place in places] != members or _distances(members, old_offsets) != _distances(
        members, new_offsets
    )


def _distances(members: list[str], offsets: Offsets) -> list[int | None]:
    """Return the distances of members from the first of them: padding within a range counts."""
    first = offsets.get(members[0])
    places = (offsets.get(name) for name in members)
    return [None if first is None or place is None else place - first for place in places]
