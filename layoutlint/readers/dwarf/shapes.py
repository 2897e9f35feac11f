"""Numbers for types: types of equal numbers are equal, in whichever units they stand.

A kernel's units repeat one another's definitions thousands of times. The shape of a type is all that its
entry says, byte for byte, with references replaced by the numbers of what they refer to, and the unit's own
numbers of files and strings by those of the whole input. What is equal then is decoded once; what is written
in two ways and means the same (another compiler's forms) is decoded twice.
"""

from __future__ import annotations

from typing import Final

from layoutlint.readers.dwarf.abbrev import FILE, INDEX, KEEP, REFER, Plan, at, tag
from layoutlint.readers.dwarf.forms import Damaged
from layoutlint.readers.dwarf.unit import NAME, Unit

DEEPEST: Final = 100
"""Types that refer to one another further than this go in a circle."""
_SIGNATURE: Final = at("signature")
_MEMBER: Final = tag("member")
_ARRAY: Final = tag("array_type")
_SUBRANGE: Final = tag("subrange_type")
_FUNCTION: Final = tag("subroutine_type")
_PARAMETER: Final = tag("formal_parameter")
_MORE: Final = tag("unspecified_parameters")
_AGGREGATES: Final = frozenset((tag("structure_type"), tag("union_type")))
_NAMED: Final = _AGGREGATES | {
    tag(name) for name in ("enumeration_type", "base_type", "typedef", "unspecified_type")
}


class Shapes:
    """The shapes of one input."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._paths: dict[str | None, int] = {}
        self._places: dict[tuple[object, ...] | None, int] = {}
        self._seen = bytearray()
        self._buffer = bytearray(1 << 12)
        self._octets = self._buffer
        self._room = len(self._buffer)
        self._top = 0

    def is_new(self, unit: Unit, position: int) -> bool:
        """Whether no type of this shape was asked about before. Raises Damaged."""
        number = self.of(unit, position)
        if number >= len(self._seen):
            self._seen += bytes(number + 1)
        if self._seen[number]:
            return False
        self._seen[number] = 1
        return True

    def of(self, unit: Unit, position: int) -> int:
        """The number of all that is known of the type at a position. Raises Damaged, IndexError."""
        known = unit.shapes.get(position)
        if known is not None:
            return known
        self._top = 0
        return self._whole(unit, position, 0)

    def _whole(self, unit: Unit, position: int, depth: int) -> int:
        known = unit.shapes.get(position)
        if known is not None:
            return known
        if depth > DEEPEST:
            raise Damaged("types contain one another in a circle", position)
        plan = unit.enter(position)
        if plan is None:
            raise Damaged("a type that is none", position)
        if not plan.is_type:
            raise Damaged(f"an entry with tag {plan.tag:#x} where a type is expected", position)
        if plan.tag == _FUNCTION:
            number = self._spelled(unit, position, depth)
        else:
            start = self._top
            self._put(plan.number, 4)
            behind = self._attributes(unit, plan, unit.behind, depth + 1)
            if plan.has_children and (plan.tag in _AGGREGATES or plan.tag == _ARRAY):
                self._children(unit, behind, depth + 1)
            number = self._number(start)
        unit.shapes[position] = number
        return number

    def _spelled(self, unit: Unit, position: int, depth: int) -> int:
        """The number of how the type at a position is spelled; it ends with the first name."""
        known = unit.spelled.get(position)
        if known is not None:
            return known
        if depth > DEEPEST:
            raise Damaged("types refer to one another in a circle", position)
        plan = unit.enter(position)
        if plan is None:
            raise Damaged("a type that is none", position)
        start, behind = self._top, unit.behind
        self._put(0, 4)
        self._put(plan.tag, 4)
        if plan.tag in _NAMED and (NAME in plan.forms or _SIGNATURE not in plan.forms):
            self._name(unit, plan, behind)
        else:
            self._references(unit, plan, behind, depth + 1)
            if plan.has_children and plan.tag in (_ARRAY, _FUNCTION):
                self._children(unit, unit.over(plan, behind), depth + 1)
        number = self._number(start)
        unit.spelled[position] = number
        return number

    def _attributes(self, unit: Unit, plan: Plan, position: int, depth: int) -> int:
        """Adds all attributes of an entry; the position behind them."""
        refer = 0
        for index in range(len(plan.actions)):
            action = plan.actions[index]
            width = plan.widths[index]
            end = position + width if width >= 0 else unit.step(position, width)
            if action == KEEP:
                self._copy(unit, position, end)
            elif action == REFER:
                form = plan.refers[refer]
                self._put(self._referred(unit, form, position, width, plan.is_whole, depth), 4)
                refer += 1
            elif action == FILE:
                self._put(self._path(unit, unit.value(position, width)), 4)
            elif action == INDEX:
                self._put(unit.string_offset(unit.value(position, width)), 8)
            position = end
        if plan.file >= 0:
            self._put(self._path(unit, plan.file), 4)
        if position > unit.end:
            raise Damaged("an entry ends behind its unit", position)
        return position

    def _references(self, unit: Unit, plan: Plan, position: int, depth: int) -> None:
        """Adds what an entry refers to, and nothing else of it."""
        refer = 0
        for index in range(len(plan.actions)):
            width = plan.widths[index]
            if plan.actions[index] == REFER:
                self._put(self._referred(unit, plan.refers[refer], position, width, False, depth), 4)
                refer += 1
            position = position + width if width >= 0 else unit.step(position, width)

    def _referred(
        self, unit: Unit, form: int, position: int, width: int, is_whole: bool, depth: int
    ) -> int:
        """The shape that a reference means: of the whole type, or of how it is spelled."""
        value = unit.value(position, width)
        if form == 0:
            if value > unit.size:
                raise Damaged("a reference leaves its unit", position)
            target = unit.offset + value
        else:
            unit, target = unit.refer(form, value)
        if is_whole:
            return self._whole(unit, target, depth)
        return self._spelled(unit, target, depth)

    def _children(self, unit: Unit, position: int, depth: int) -> None:
        """Adds the members, dimensions or parameters among the entries from a position on."""
        while True:
            plan = unit.enter(position)
            if plan is None:
                return
            position = unit.behind
            if plan.tag == _MEMBER or plan.tag in (_SUBRANGE, _PARAMETER, _MORE):
                self._put(plan.number, 4)
                behind = self._attributes(unit, plan, position, depth)
                if not plan.has_children:
                    position = behind
                    continue
            position = unit.past(plan, position)

    def _path(self, unit: Unit, number: int) -> int:
        """The number of the file that a unit's own number means."""
        known = unit.paths.get(number)
        if known is None:
            place = unit.place(number)
            known = self._places.get(place)
            if known is None:
                known = self._paths.setdefault(unit.path(number), len(self._paths))
                self._places[place] = known
            unit.paths[number] = known
        return known

    def _name(self, unit: Unit, plan: Plan, position: int) -> None:
        """Adds the name of an entry: where it stands in the unit's .debug_str, or else its text."""
        if plan.name_at >= 0:
            number = unit.number(position + plan.name_at, plan.name_width)
            self._put(unit.sections.number, 4)
            self._put(unit.string_offset(number) if plan.is_indexed else number, 8)
            return
        values, _ = unit.read(plan, position)
        text = (unit.text(plan, values, NAME) or "").encode(errors="surrogateescape")
        self._put(len(text), 4)
        for byte in text:
            self._put(byte, 1)

    def _number(self, start: int) -> int:
        """The number of what was added since `start`, which is taken away again."""
        key = bytes(self._buffer[start : self._top])
        self._top = start
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = len(self._numbers)
        return known

    def _put(self, value: int, width: int) -> None:
        top = self._top
        if top + width > self._room:
            self._grow(width)
        for index in range(top, top + width):
            self._octets[index] = value & 0xFF
            value >>= 8
        self._top = top + width

    def _copy(self, unit: Unit, position: int, end: int) -> None:
        top, count = self._top, end - position
        if top + count > self._room:
            self._grow(count)
        for index in range(count):
            self._octets[top + index] = unit.octets[position + index]
        self._top = top + count

    def _grow(self, count: int) -> None:
        self._buffer = self._buffer + bytes(len(self._buffer) + count)
        self._octets = self._buffer
        self._room = len(self._buffer)
