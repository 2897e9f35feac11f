"""The hot loop: walks the top-level entries of a unit."""

from __future__ import annotations

from array import array

from layoutlint.readers.dwarf.format import abbreviations
from layoutlint.readers.dwarf.format.abbreviation_tables import Table
from layoutlint.readers.dwarf.format.abbreviations import Plan
from layoutlint.readers.dwarf.format.forms import Damaged
from layoutlint.readers.dwarf.format.unit import NAME, Unit

# Variables of C where this is compiled; names of another module would be objects.
_OTHER = abbreviations.OTHER
_AGGREGATE = abbreviations.AGGREGATE
_IMPORT = abbreviations.IMPORT

_ROOM = 1 << 10
_BUCKETS = 1 << 13  # as many bytes stay in a processor's innermost cache
SHORTEST = 3
"""Bytes of a name, at least, that `places` looks for: strings that end with other three are passed over."""


class Names:
    """Names as units refer to them: where they stand in .debug_str, and as text."""

    def __init__(self, places: frozenset[int], texts: frozenset[bytes]) -> None:
        self._places = places
        """Every one of .debug_str where one of the names is."""
        self._texts = texts
        self._marks = bytearray(_BUCKETS)
        """Of each bucket, into which a place falls by its lowest bits, whether it has one."""
        self._longest = max(map(len, texts), default=0)
        for place in places:
            self._marks[place % _BUCKETS] = 1
        self._starts = bytearray(256)
        """Of each byte, whether one of the names starts with it."""
        for text in texts:
            self._starts[text[0] if text else 0] = 1

    def has_place(self, place: int) -> bool:
        """Whether one of the names stands at this place of .debug_str."""
        return self._marks[place & (_BUCKETS - 1)] != 0 and place in self._places

    def has_text(self, unit: Unit, position: int) -> bool:
        """Whether the text at a position is one of the names."""
        if not self._starts[unit.octets[position]]:
            return False
        text = bytes(unit.data[position : position + self._longest + 1])
        return text.partition(b"\0")[0] in self._texts

    def has_name(self, unit: Unit, plan: Plan, position: int) -> bool:
        """Whether a struct, union or typedef has one of the names; its attributes start at `position`.

        Raises Damaged.
        """
        if plan.kind == _OTHER:
            return False
        if plan.name_at < 0 and plan.text_at < 0:
            name = unit.text(plan, unit.read(plan, position)[0], NAME)
            return name is not None and name.encode() in self._texts
        return _is_named(unit, plan, position, self)


def places(octets: memoryview, texts: frozenset[bytes]) -> set[int]:
    """Where in a section of strings one of some texts stands up to a NUL; tails of longer strings count.

    They have at least SHORTEST bytes.
    """
    marks = bytearray(_BUCKETS)
    by_mark: dict[int, list[bytes]] = {}
    for text in texts:
        tail = text[len(text) - SHORTEST :]
        mark = _mark(tail[0], tail[1], tail[2])
        marks[mark] = 1
        by_mark.setdefault(mark, []).append(text)
    found: set[int] = set()
    end = len(octets)
    for position in range(SHORTEST, end):
        if octets[position] != 0:
            continue
        mark = _mark(octets[position - 3], octets[position - 2], octets[position - 1])
        if not marks[mark]:
            continue
        for text in by_mark[mark]:
            if _ends_with(octets, position, text):
                found.add(position - len(text))
    return found


def _ends_with(octets: memoryview, end: int, text: bytes) -> bool:
    """Whether a text stands up to a position."""
    start = end - len(text)
    if start < 0:
        return False
    index = len(text)
    while index > 0 and octets[start + index - 1] == text[index - 1]:
        index -= 1
    return index == 0


def _mark(first: int, second: int, third: int) -> int:
    """The bucket of the last three bytes of a name."""
    return (first * 961 + second * 31 + third) % _BUCKETS


class Positions:
    """Where many entries of a unit stand, as plain numbers; made once, and cleared for each unit."""

    def __init__(self) -> None:
        self.places = memoryview(array("q", bytes(8 * _ROOM)))
        self.count = 0
        self.has_typedefs = False
        """Whether typedefs are taken down of whatever type."""

    def add(self, position: int) -> None:
        """Takes down one more."""
        if self.count == len(self.places):
            self.places = memoryview(array("q", bytes(self.places) + bytes(8 * self.count)))
        self.places[self.count] = position
        self.count += 1

    def clear(self) -> None:
        """Forgets them."""
        self.count = 0

    def listed(self) -> list[int]:
        """All of them."""
        return [self.places[index] for index in range(self.count)]


def walk(unit: Unit, position: int, wanted: Names | None, others: Positions | None = None) -> list[int]:
    """Where the entries of interest start: structs, unions and typedefs that have a name.

    `position` is behind the root entry's attributes. With `wanted` only entries with one of these names
    count, and those whose name is given in a way of its own. Without, all named structs count, and the
    typedefs that may stand for an anonymous one; `others` takes those that are not wanted. Where other units
    are imported is left in `unit.imports`; unless `unit.local` is None, it gets those in functions that have
    one of the names. Raises Damaged for an entry that contradicts its unit, IndexError where the section
    ends inside one.
    """
    hits: list[int] = []
    looks_inside = unit.local is not None
    octets = unit.octets
    table = unit.table
    plans = table.plans
    known = len(plans)
    end = unit.end
    depth = 0
    while position < end:
        start = position
        code = octets[position]
        position += 1
        if code > 127:
            code = unit.uleb(start)
            position = unit.behind
        if code == 0:
            if depth == 0:
                return hits
            depth -= 1
            continue
        plan = plans[code] if code < known and plans[code] is not None else unit.enter(start)
        if plan is None:
            raise Damaged("an entry without an abbreviation", start)
        if plan.quick >= 0:
            position += plan.quick
            continue
        if plan.kind != _OTHER and depth == 0:
            _note(unit, table, plan, start, position, wanted, hits, others)
        if looks_inside and (plan.is_scope or depth + plan.opens > 0):
            position = _inside(unit, plan, start if depth > 0 else -1, position, wanted)
            depth += plan.is_scope
        elif plan.sibling_at >= 0:
            position = unit.offset + unit.number(position + plan.sibling_at, plan.sibling_width)
        elif plan.sibling_step >= 0:
            position = unit.past(plan, position)
        else:
            position = unit.over(plan, position)
            depth += plan.opens
        if position <= start or position > end:
            raise Damaged("an entry, or the sibling that it names, lies outside its unit", start)
    return hits


def signed(unit: Unit, position: int) -> list[int]:
    """Return where the entries of a unit stand that refer to type units; raises as `walk` does.

    `position` is behind the root entry's attributes.
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
            position = unit.behind
        if code == 0:
            continue
        plan = unit.enter(start)
        if plan is None:
            raise Damaged("an entry without an abbreviation", start)
        if plan.has_signature:
            hits.append(start)
        position = unit.over(plan, position)
    return hits


def _inside(unit: Unit, plan: Plan, start: int, position: int, wanted: Names | None) -> int:
    """Return the position behind the head of a function or block, or behind the whole of any other entry.

    Structs, unions and typedefs are noted that have one of the names; `start` is -1 outside of functions.
    """
    if plan.is_scope:
        return unit.over(plan, position)
    found = unit.local
    is_local = start >= 0 and plan.kind != _OTHER and plan.kind != _IMPORT
    if is_local and found is not None and (wanted is None or _is_named(unit, plan, position, wanted)):
        found.append(start)
    return unit.past(plan, position)


def _note(
    unit: Unit, table: Table, plan: Plan, start: int, position: int, wanted: Names | None, hits: list[int],
    others: Positions | None,
) -> None:  # fmt: skip
    """Takes down where an entry starts that is of interest, or imports a unit."""
    if plan.kind == _IMPORT:
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
    """Whether an entry has one of some names; true where that takes more to tell."""
    if plan.name_at >= 0:
        place = unit.number(position + plan.name_at, plan.name_width)
        return names.has_place(unit.string_offset(place) if plan.is_indexed else place)
    return plan.text_at < 0 or names.has_text(unit, position + plan.text_at)


def _may_name(unit: Unit, table: Table, position: int, at: int) -> bool:
    """Whether the type of a typedef may be an anonymous struct; true where that takes more to tell."""
    if at < 0:
        return True
    place = unit.number(position + at, 4)
    if place >= unit.end - unit.offset:
        return True
    code = unit.octets[unit.offset + place]
    if code > 127:
        return True
    target = table.plan(code)
    return target is None or target.leads_on
