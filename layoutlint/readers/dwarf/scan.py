"""The hot loop: a walk over the top-level entries of a unit."""

from __future__ import annotations

from array import array

from layoutlint.readers.dwarf.format import abbreviations, type_recipe
from layoutlint.readers.dwarf.format.abbreviation_tables import Table
from layoutlint.readers.dwarf.format.abbreviations import Plan
from layoutlint.readers.dwarf.format.forms import DwarfError
from layoutlint.readers.dwarf.format.unit import NAME, Unit

# Variables of C if this is compiled; names of another module would be objects.
_OTHER = abbreviations.OTHER
_AGGREGATE = abbreviations.AGGREGATE
_IMPORT = abbreviations.IMPORT
_STRUCT = type_recipe.STRUCT

_ROOM = 1 << 10
_BUCKETS = 1 << 13  # as many bytes stay in a processor's innermost cache
SHORTEST = 3
"""Least bytes of a name for `find_strings`, which compares the last three bytes of strings."""


class Names:
    """Names as units refer to them: positions in .debug_str, and texts."""

    def __init__(self, places: frozenset[int], texts: frozenset[bytes]) -> None:
        self._places = places
        """All positions of .debug_str with one of the names."""
        self._texts = texts
        self._marks = bytearray(_BUCKETS)
        """For each bucket (the lowest bits of a position), whether it has a position."""
        self._longest = max(map(len, texts), default=0)
        for place in places:
            self._marks[place % _BUCKETS] = 1
        self._starts = bytearray(256)
        """For each byte, whether one of the names starts with it."""
        for text in texts:
            self._starts[text[0] if text else 0] = 1

    def has_place(self, place: int) -> bool:
        """Return whether one of the names is at this position of .debug_str."""
        return self._marks[place & (_BUCKETS - 1)] != 0 and place in self._places

    def has_text(self, unit: Unit, position: int) -> bool:
        """Return whether the text at a position is one of the names."""
        if not self._starts[unit.octets[position]]:
            return False
        text = bytes(unit.data[position : position + self._longest + 1])
        return text.partition(b"\0")[0] in self._texts

    def has_name(self, unit: Unit, plan: Plan, position: int) -> bool:
        """Return whether a struct, union or typedef has one of the names; its attributes start at `position`.

        Raises DwarfError.
        """
        if plan.kind == _OTHER:
            return False
        if plan.name_at < 0 and plan.text_at < 0:
            name = unit.text(plan, unit.read(plan, position)[0], NAME)
            return name is not None and name.encode() in self._texts
        return _is_named(unit, plan, position, self)


def find_strings(octets: memoryview, texts: frozenset[bytes]) -> set[int]:
    """Return the positions at which one of some texts ends in a NUL; tails of longer strings count.

    The texts have at least SHORTEST bytes.
    """
    marks = bytearray(_BUCKETS)
    by_mark: dict[int, list[bytes]] = {}
    for text in texts:
        tail = text[len(text) - SHORTEST :]
        mark = _mark(tail[0], tail[1], tail[2])
        marks[mark] = 1
        by_mark.setdefault(mark, []).append(text)
    starts: set[int] = set()
    end = len(octets)
    for position in range(SHORTEST, end):
        if octets[position] != 0:
            continue
        mark = _mark(octets[position - 3], octets[position - 2], octets[position - 1])
        if not marks[mark]:
            continue
        for text in by_mark[mark]:
            if _ends_with(octets, position, text):
                starts.add(position - len(text))
    return starts


def _ends_with(octets: memoryview, end: int, text: bytes) -> bool:
    """Return whether a text ends at a position."""
    start = end - len(text)
    if start < 0:
        return False
    index = len(text)
    while index > 0 and octets[start + index - 1] == text[index - 1]:
        index -= 1
    return index == 0


def _mark(first: int, second: int, third: int) -> int:
    """Return the bucket for the last three bytes of a name."""
    return (first * 961 + second * 31 + third) % _BUCKETS


class Positions:
    """The positions of many entries of a unit, as plain numbers; created once, and cleared for each unit."""

    def __init__(self) -> None:
        self.places = memoryview(array("q", bytes(8 * _ROOM)))
        self.count = 0
        self.has_typedefs = False
        """Whether typedefs of any type are added."""

    def add(self, position: int) -> None:
        """Add a position."""
        if self.count == len(self.places):
            self.places = memoryview(array("q", bytes(self.places) + bytes(8 * self.count)))
        self.places[self.count] = position
        self.count += 1

    def clear(self) -> None:
        """Remove all positions."""
        self.count = 0

    def to_list(self) -> list[int]:
        """Return all positions."""
        return [self.places[index] for index in range(self.count)]


def walk(
    unit: Unit, position: int, wanted: Names | None, others: Positions | None = None,
    hidden: Positions | None = None,
) -> list[int]:  # fmt: skip
    """Return the positions of the relevant entries: structs, unions and typedefs with a name.

    `position` is the end of the root entry's attributes. With `wanted` only entries with one of these names
    are relevant, and those whose name needs more to read. Without it, all named structs are, and typedefs
    that may stand for an anonymous one; `others` collects the entries that are not wanted. `unit.imports`
    collects the entries that import units; unless `unit.local` is None, it collects wanted entries inside
    functions; `hidden` collects the structs without a name, and then all structs inside functions. Raises
    DwarfError for an entry that contradicts its unit, IndexError if the section ends inside one.
    """
    hits: list[int] = []
    looks_inside = unit.local is not None
    octets = unit.octets
    table = unit.table
    plans = table.plans
    plan_count = len(plans)
    end = unit.end
    depth = 0
    while position < end:
        start = position
        code = octets[position]
        position += 1
        if code > 127:
            code = unit.uleb(start)
            position = unit.next_position
        if code == 0:
            if depth == 0:
                return hits
            depth -= 1
            continue
        plan = plans[code] if code < plan_count and plans[code] is not None else unit.enter(start)
        if plan is None:
            raise DwarfError("an entry without an abbreviation", start)
        if plan.skip_size >= 0:
            position += plan.skip_size
            continue
        if depth == 0 and (plan.kind != _OTHER or hidden is not None):
            _collect(unit, table, plan, start, position, wanted, hits, others, hidden)
        if looks_inside and (plan.is_scope or depth + plan.opens > 0):
            position = _collect_local(unit, plan, start if depth > 0 else -1, position, wanted, hidden)
            depth += plan.is_scope
        elif plan.sibling_at >= 0:
            position = unit.offset + unit.number(position + plan.sibling_at, plan.sibling_width)
        elif plan.sibling_step >= 0:
            position = unit.skip_entry(plan, position)
        else:
            position = unit.skip_attributes(plan, position)
            depth += plan.opens
        if position <= start or position > end:
            raise DwarfError("an entry, or the sibling that it names, lies outside its unit", start)
    return hits


def find_signature_entries(unit: Unit, position: int) -> list[int]:
    """Return the positions of entries that refer to type units; raises as `walk` does.

    `position` is the end of the root entry's attributes.
    """
    hits: list[int] = []
    octets = unit.octets
    end = unit.end
    while position < end:
        start = position
        code = octets[position]
        position += 1
        if code > 127:
            code = unit.uleb(start)
            position = unit.next_position
        if code == 0:
            continue
        plan = unit.enter(start)
        if plan is None:
            raise DwarfError("an entry without an abbreviation", start)
        if plan.has_signature:
            hits.append(start)
        position = unit.skip_attributes(plan, position)
    return hits


def find_types(unit: Unit, position: int, wanted: Names | None, every: Positions | None = None) -> list[int]:
    """Return the positions of the wanted structs, unions, classes and typedefs, also of those inside others.

    `every` collects all structs, unions and classes. Raises as `walk` does. `position` is the end of the root
    entry's attributes.
    """
    hits: list[int] = []
    octets = unit.octets
    end = unit.end
    while position < end:
        start = position
        if octets[position] == 0:
            position += 1
            continue
        plan = unit.enter(start)
        position = unit.next_position
        if plan is None:
            raise DwarfError("an entry without an abbreviation", start)
        is_type = plan.kind != _OTHER and plan.kind != _IMPORT
        if is_type and (wanted is None or _is_named(unit, plan, position, wanted)):
            hits.append(start)
        if every is not None and plan.role == _STRUCT:
            every.add(start)
        position = unit.skip_attributes(plan, position)
    return hits


def _collect_local(
    unit: Unit, plan: Plan, start: int, position: int, wanted: Names | None, hidden: Positions | None
) -> int:
    """Return the position after the head of a function or block, or after the whole of any other entry.

    Collects structs, unions and typedefs with one of the names; `start` is -1 outside of functions.
    """
    if plan.is_scope:
        return unit.skip_attributes(plan, position)
    if start >= 0 and hidden is not None and plan.role == _STRUCT:
        hidden.add(start)
    local = unit.local
    is_local = start >= 0 and plan.kind != _OTHER and plan.kind != _IMPORT
    if is_local and local is not None and (wanted is None or _is_named(unit, plan, position, wanted)):
        local.append(start)
    return unit.skip_entry(plan, position)


def _collect(
    unit: Unit, table: Table, plan: Plan, start: int, position: int, wanted: Names | None, hits: list[int],
    others: Positions | None, hidden: Positions | None,
) -> None:  # fmt: skip
    """Collect an entry that is relevant, or imports a unit."""
    if plan.kind == _OTHER:
        if hidden is not None and plan.role == _STRUCT:
            hidden.add(start)
    elif plan.kind == _IMPORT:
        unit.imports.append(start)
    elif wanted is not None and _is_named(unit, plan, position, wanted):
        hits.append(start)
    elif (wanted is None or others is not None) and (
        plan.kind == _AGGREGATE
        or (others is not None and others.has_typedefs)
        or _may_name(unit, table, position, plan.type_at)
    ):
        if others is None:
            hits.append(start)
        else:
            others.add(start)


def _is_named(unit: Unit, plan: Plan, position: int, names: Names) -> bool:
    """Return whether an entry has one of some names; true if reading it takes more."""
    if plan.name_at >= 0:
        place = unit.number(position + plan.name_at, plan.name_width)
        return names.has_place(unit.string_offset(place) if plan.is_indexed else place)
    return plan.text_at < 0 or names.has_text(unit, position + plan.text_at)


def _may_name(unit: Unit, table: Table, position: int, at: int) -> bool:
    """Return whether the type of a typedef may be an anonymous struct; true if reading it takes more."""
    if at < 0:
        return True
    place = unit.number(position + at, 4)
    if place >= unit.end - unit.offset:
        return True
    code = unit.octets[unit.offset + place]
    if code > 127:
        return True
    target = table.plan(code)
    return target is None or target.can_name_struct
