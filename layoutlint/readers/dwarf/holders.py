"""Search for the types that contain a struct by value, without reading anything else of them.

The units of a kernel have seven million members, and few of them lead to a wanted struct. Of the others only
the references are read: no names, no locations, no spellings.
"""

from __future__ import annotations

from layoutlint.readers.dwarf.format import abbreviations, constants, type_recipe
from layoutlint.readers.dwarf.format.abbreviations import Plan
from layoutlint.readers.dwarf.format.forms import DAMAGE, DwarfError
from layoutlint.readers.dwarf.format.unit import Unit
from layoutlint.readers.dwarf.scan import Names, Positions
from layoutlint.readers.dwarf.types import spelling
from layoutlint.readers.dwarf.types.spelling import QUALIFIERS
from layoutlint.readers.elf.elf_file import Data

# Variables of C if this is compiled; names of another module would be objects.
_DEEPEST = spelling.DEEPEST
_OTHER = abbreviations.OTHER
_REFER = type_recipe.REFER
_NO_TYPE = type_recipe.NO_TYPE
_LEAF = type_recipe.LEAF
_STRUCT = type_recipe.STRUCT
_UNION = constants.tag("union_type")
_TYPEDEF = constants.tag("typedef")
_ARRAY = constants.tag("array_type")
_MEMBER = constants.tag("member")
_BASE_CLASS = constants.tag("inheritance")
_VARIANTS = constants.tag("variant_part")
_VARIANT = constants.tag("variant")
_TYPE = constants.attribute("type")
_UNKNOWN = 0
_NO = 1
_YES = 2
_MAYBE = 3
"""For a union without members: debug information drops those of some unions."""
_BASES = 4
_LAST = 255 - _MAYBE
_NOWHERE = -1


class CrossUnitReference(Exception):
    """A type refers to another unit, so its own unit does not tell which types contain a struct."""


class Holders:
    """Finds the structs with some names in a unit, and the types that contain them by value, at any depth."""

    def __init__(self) -> None:
        self._plans: list[Plan | None] = []
        """The plans of the unit."""
        self._answers = bytearray()
        """The answer for each type of the unit, by its offset in the unit, plus `_base`."""
        self._base = 0
        """Answers of other units are not greater than it, so nothing is cleared between units."""

    def find_named(self, unit: Unit, positions: list[int], names: Names) -> list[int]:
        """Return the positions of types that have one of some names, and of damaged ones."""
        matches: list[int] = []
        for position in positions:
            try:
                plan = unit.enter(position)
                if plan is not None and names.has_name(unit, plan, unit.next_position):
                    matches.append(position)
            except DAMAGE:
                matches.append(position)
        return matches

    def find_holders(self, unit: Unit, targets: list[int], others: Positions) -> list[int]:
        """Return which of other types contain a struct at `held`, or the struct of a typedef there.

        Includes damaged types, and unions without members, which may contain one. Raises CrossUnitReference.
        """
        self._begin(unit)
        self._mark(unit, targets)
        holders: list[int] = []
        for index in range(others.count):
            position = others.places[index]
            try:
                if self._holds(unit, position, 0) != _NO:
                    holders.append(position)
            except DAMAGE:
                holders.append(position)
        return holders

    def find_contained(self, unit: Unit, positions: list[int]) -> list[int]:
        """Return the named types that others contain by value, at any depth. Raises CrossUnitReference."""
        self._begin(unit)
        contained: list[int] = []
        for position in positions:
            try:
                self._collect(unit, position, contained, 0)
            except DAMAGE:
                continue  # reported when the type itself is read
        return contained

    def _begin(self, unit: Unit) -> None:
        self._plans = unit.table.plans
        self._base += _BASES
        size = unit.end - unit.offset
        if self._base > _LAST or size > len(self._answers):
            self._base = 0
            self._answers = bytearray(max(size, len(self._answers)))

    def _mark(self, unit: Unit, targets: list[int]) -> None:
        for position in targets:
            try:
                plan = self._plan(unit, position)
                if plan.role == _STRUCT or self._marks_struct(unit, plan, unit.next_position):
                    self._answers[position - unit.offset] = self._base + _YES
            except DAMAGE:
                continue  # reported when the type itself is read

    def _holds(self, unit: Unit, position: int, depth: int) -> int:
        """Return whether the type at a position is one of the structs, or contains one. Raises DwarfError."""
        if position >= unit.end:
            raise DwarfError("a reference leaves its unit", position)
        answer = self._answers[position - unit.offset] - self._base
        if answer <= _UNKNOWN:
            plan = self._plan(unit, position)
            if plan.role == _LEAF:
                answer = _NO
            elif depth > _DEEPEST:
                raise DwarfError("types refer to one another in a circle", position)
            else:
                answer = self._examine(unit, plan, unit.next_position, depth + 1)
            self._answers[position - unit.offset] = self._base + answer
        return answer

    def _plan(self, unit: Unit, position: int) -> Plan:
        """Return the plan of the type at a position; its attributes start at `unit.next_position`.

        Raises DwarfError.
        """
        code = unit.octets[position]
        unit.next_position = position + 1
        is_inside = unit.first <= position < unit.end
        plan = self._plans[code] if code < 128 and code < len(self._plans) and is_inside else None
        if plan is None:
            plan = unit.enter(position)
        if plan is None or plan.role == _NO_TYPE:
            raise DwarfError("a type that is none", position)
        return plan

    def _examine(self, unit: Unit, plan: Plan, position: int, depth: int) -> int:
        """Return the answer of `_holds` for a struct or union, or for a derived type."""
        if plan.role != _STRUCT:
            target = _target(unit, plan, position)
            return _NO if target == _NOWHERE else self._holds(unit, target, depth)
        if plan.has_children:
            position = position + plan.size if plan.size >= 0 else unit.skip_attributes(plan, position)
            return self._any_member_holds(unit, plan, position, depth)
        _target(unit, plan, position)  # a type with a signature is in another unit
        return _MAYBE if plan.tag == _UNION and not plan.is_declaration else _NO

    def _any_member_holds(self, unit: Unit, plan: Plan, position: int, depth: int) -> int:
        """Return whether one of the members from a position on is one of the structs, or contains one."""
        answer = _MAYBE if plan.tag == _UNION else _NO
        plans = self._plans
        plan_count = min(len(plans), 128)
        while position < unit.end:
            code = unit.octets[position]
            if code == 0:
                return answer
            member = plans[code] if code < plan_count else None
            if member is None:
                member = unit.enter(position)
                if member is None:
                    return answer
            elif member.tag == _MEMBER and member.rest_type_at >= 0 and unit.is_little:
                member_answer = self._any_holds_in_run(unit, member, position, depth)
                if member_answer == _YES:
                    return _YES
                answer = _NO
                position = unit.next_position
                continue
            else:
                unit.next_position = position + 1
            start = unit.next_position
            if member.tag == _MEMBER or member.tag == _BASE_CLASS:
                if self._holds(unit, _target(unit, member, start), depth) == _YES:
                    return _YES
                answer = _NO
            elif member.has_children and (member.tag == _VARIANTS or member.tag == _VARIANT):
                inner = unit.skip_attributes(member, start)
                if self._any_member_holds(unit, member, inner, depth) == _YES:
                    return _YES
            position = unit.skip_entry(member, start)
        raise DwarfError("the unit ends inside an entry", position)

    def _any_holds_in_run(self, unit: Unit, member: Plan, position: int, depth: int) -> int:
        """Return the answer of `_any_member_holds` for consecutive members of one abbreviation.

        Unless that is _YES, `unit.next_position` is the position after them.
        """
        code = unit.octets[position]
        first, span = unit.offset, unit.end - unit.offset
        head = unit.first - first
        has_text = member.text_at == 0  # a short name
        plans = self._plans
        plan_count = min(len(plans), 128)
        while True:
            position += 1
            while has_text and unit.octets[position] != 0:
                position += 1
            position += has_text
            target = _read_u32(unit.octets, position + member.rest_type_at)
            answer = self._answers[target] - self._base if target < span else _UNKNOWN
            if answer <= _UNKNOWN:
                target_code = unit.octets[first + target] if head <= target < span else 0
                plan = plans[target_code] if target_code < plan_count else None
                if plan is None or plan.role != _LEAF:  # most are pointers
                    answer = self._holds(unit, first + target, depth)
            if answer == _YES:
                return _YES
            position += member.rest
            if position >= unit.end or unit.octets[position] != code:
                unit.next_position = position
                return _NO

    def _marks_struct(self, unit: Unit, plan: Plan, position: int) -> bool:
        """Return whether a typedef stands for a struct or union, and mark that struct.

        In atomic types, gcc refers to the struct itself (DWARF 4). Raises DwarfError, CrossUnitReference.
        """
        for _ in range(_DEEPEST):
            target = _target(unit, plan, position)
            if target == _NOWHERE:
                return False
            plan = self._plan(unit, target)
            position = unit.next_position
            if plan.role == _STRUCT:
                self._answers[target - unit.offset] = self._base + _YES
                return True
            if plan.tag != _TYPEDEF and plan.tag not in QUALIFIERS:
                return False
        raise DwarfError("typedefs refer to one another in a circle", position)

    def _collect(self, unit: Unit, position: int, contained: list[int], depth: int) -> None:
        if self._answers[position - unit.offset] > self._base:
            return
        self._answers[position - unit.offset] = self._base + _YES
        plan = self._plan(unit, position)
        start = unit.next_position
        if plan.role == _LEAF:
            return
        if depth > _DEEPEST:
            raise DwarfError("types refer to one another in a circle", position)
        if plan.kind != _OTHER:
            contained.append(position)
        if plan.role != _STRUCT:
            target = _target(unit, plan, start)
            if target != _NOWHERE:
                self._collect(unit, target, contained, depth + 1)
            return
        position = unit.skip_attributes(plan, start)
        while plan.has_children:
            member = unit.enter(position)
            if member is None:
                return
            start = unit.next_position
            if member.tag == _MEMBER:
                self._collect(unit, _target(unit, member, start), contained, depth + 1)
            position = unit.skip_entry(member, start)


def _target(unit: Unit, plan: Plan, position: int) -> int:
    """Return the position of the type that an entry refers to, _NOWHERE without one.

    Raises DwarfError, CrossUnitReference.
    """
    if plan.type_at >= 0:
        return _locate(unit, unit.number(position + plan.type_at, 4), position)
    recipe = plan.make_recipe()
    for step in range(0, recipe.size, 4):
        width = recipe.steps[step + 1]
        if recipe.steps[step] == _REFER:
            if recipe.steps[step + 3]:
                raise CrossUnitReference
            return _locate(unit, unit.value(position, width), position)
        position = position + width if width >= 0 else unit.skip(position, width)
    if plan.tag == _MEMBER or plan.tag == _ARRAY or _TYPE in plan.constants:
        raise DwarfError("a reference that is none", position)
    return _NOWHERE


def _locate(unit: Unit, value: int, position: int) -> int:
    if value >= unit.end - unit.offset:
        raise DwarfError("a reference leaves its unit", position)
    return unit.offset + value


def _read_u32(octets: Data, position: int) -> int:
    """Return a little-endian number of four bytes; C inlines it into calls of this module only."""
    value = octets[position + 3]
    value = value << 8 | octets[position + 2]
    value = value << 8 | octets[position + 1]
    return value << 8 | octets[position]
