"""Which types hold a struct by value, told without reading anything else of them.

A kernel's units have seven million members, and a small part of them leads to a struct that is asked for. Of
the others only what they refer to is read: no names, no places, no spellings.
"""

from __future__ import annotations

from layoutlint.readers.dwarf.format import abbreviations, constants, type_recipe
from layoutlint.readers.dwarf.format.abbreviations import Plan
from layoutlint.readers.dwarf.format.forms import DAMAGE, Damaged
from layoutlint.readers.dwarf.format.unit import Unit
from layoutlint.readers.dwarf.scan import Names, Positions
from layoutlint.readers.dwarf.types import spelling
from layoutlint.readers.dwarf.types.spelling import QUALIFIERS
from layoutlint.readers.elf.elf_file import Data

# Variables of C where this is compiled; names of another module would be objects.
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
_TYPE = constants.at("type")
_UNKNOWN = 0
_NO = 1
_YES = 2
_UNTOLD = 3
"""For a union without members, which debug information lacks of some that have them."""
_BASES = 4
_LAST = 255 - _UNTOLD
_NOWHERE = -1


class Crossing(Exception):
    """A type refers to another unit: which types hold a struct is then not told by their own unit."""


class Holders:
    """Finds the structs of some names in a unit, and the types that hold them by value, at any depth."""

    def __init__(self) -> None:
        self._plans: list[Plan | None] = []
        """Those of the unit."""
        self._told = bytearray()
        """What was told of each of the unit's types, where the type stands in it, above `_base`."""
        self._base = 0
        """What other units left is not above it, so that nothing needs to be wiped between them."""

    def called(self, unit: Unit, positions: list[int], asked: Names) -> list[int]:
        """Of some types those that have one of some names, and those that are damaged."""
        found: list[int] = []
        for position in positions:
            try:
                plan = unit.enter(position)
                if plan is not None and asked.has_name(unit, plan, unit.behind):
                    found.append(position)
            except DAMAGE:
                found.append(position)
        return found

    def among(self, unit: Unit, held: list[int], others: Positions) -> list[int]:
        """Of other types those that hold a struct that stands at `held`, or that a typedef there means.

        Damaged ones are given as well, and unions whose members are missing: they may hold one. Raises
        Crossing.
        """
        self._begin(unit)
        self._mark(unit, held)
        found: list[int] = []
        for index in range(others.count):
            position = others.places[index]
            try:
                if self._holds(unit, position, 0) != _NO:
                    found.append(position)
            except DAMAGE:
                found.append(position)
        return found

    def inside(self, unit: Unit, positions: list[int]) -> list[int]:
        """The named types that others hold by value, at any depth. Raises Crossing."""
        self._begin(unit)
        found: list[int] = []
        for position in positions:
            try:
                self._collect(unit, position, found, 0)
            except DAMAGE:
                continue  # told when the type itself is read
        return found

    def _begin(self, unit: Unit) -> None:
        self._plans = unit.table.plans
        self._base += _BASES
        size = unit.end - unit.offset
        if self._base > _LAST or size > len(self._told):
            self._base = 0
            self._told = bytearray(max(size, len(self._told)))

    def _mark(self, unit: Unit, held: list[int]) -> None:
        for position in held:
            try:
                plan = self._plan(unit, position)
                if plan.role == _STRUCT or self._marks_struct(unit, plan, unit.behind):
                    self._told[position - unit.offset] = self._base + _YES
            except DAMAGE:
                continue  # told when the type itself is read

    def _holds(self, unit: Unit, position: int, depth: int) -> int:
        """Whether the type at a position is one of the structs, or holds one. Raises Damaged."""
        if position >= unit.end:
            raise Damaged("a reference leaves its unit", position)
        told = self._told[position - unit.offset] - self._base
        if told <= _UNKNOWN:
            plan = self._plan(unit, position)
            if plan.role == _LEAF:
                told = _NO
            elif depth > _DEEPEST:
                raise Damaged("types refer to one another in a circle", position)
            else:
                told = self._is_made(unit, plan, unit.behind, depth + 1)
            self._told[position - unit.offset] = self._base + told
        return told

    def _plan(self, unit: Unit, position: int) -> Plan:
        """The plan of the type at a position; its attributes start at `unit.behind`. Raises Damaged."""
        code = unit.octets[position]
        unit.behind = position + 1
        is_inside = unit.first <= position < unit.end
        plan = self._plans[code] if code < 128 and code < len(self._plans) and is_inside else None
        if plan is None:
            plan = unit.enter(position)
        if plan is None or plan.role == _NO_TYPE:
            raise Damaged("a type that is none", position)
        return plan

    def _is_made(self, unit: Unit, plan: Plan, position: int, depth: int) -> int:
        """What `_holds` says of a struct or union, or of what is made of another type."""
        if plan.role != _STRUCT:
            target = _target(unit, plan, position)
            return _NO if target == _NOWHERE else self._holds(unit, target, depth)
        if plan.has_children:
            position = position + plan.size if plan.size >= 0 else unit.over(plan, position)
            return self._members(unit, plan, position, depth)
        _target(unit, plan, position)  # one with a signature stands in another unit
        return _UNTOLD if plan.tag == _UNION and not plan.is_declaration else _NO

    def _members(self, unit: Unit, plan: Plan, position: int, depth: int) -> int:
        """Whether one of the members that stand from a position on is one of the structs, or holds one."""
        told = _UNTOLD if plan.tag == _UNION else _NO
        plans = self._plans
        known = min(len(plans), 128)
        while position < unit.end:
            code = unit.octets[position]
            if code == 0:
                return told
            member = plans[code] if code < known else None
            if member is None:
                member = unit.enter(position)
                if member is None:
                    return told
            elif member.tag == _MEMBER and member.rest_type_at >= 0 and unit.is_little:
                held = self._run(unit, member, position, depth)
                if held == _YES:
                    return _YES
                told = _NO
                position = unit.behind
                continue
            else:
                unit.behind = position + 1
            start = unit.behind
            if member.tag == _MEMBER:
                if self._holds(unit, _target(unit, member, start), depth) == _YES:
                    return _YES
                told = _NO
            position = unit.past(member, start)
        raise Damaged("the unit ends inside an entry", position)

    def _run(self, unit: Unit, member: Plan, position: int, depth: int) -> int:
        """As `_members`, of those of one abbreviation that follow one another, from a position on.

        Unless that is _YES, `unit.behind` is the position behind them.
        """
        code = unit.octets[position]
        first, span = unit.offset, unit.end - unit.offset
        head = unit.first - first
        has_text = member.text_at == 0  # a short name
        plans = self._plans
        known = min(len(plans), 128)
        while True:
            position += 1
            while has_text and unit.octets[position] != 0:
                position += 1
            position += has_text
            target = _four(unit.octets, position + member.rest_type_at)
            held = self._told[target] - self._base if target < span else _UNKNOWN
            if held <= _UNKNOWN:
                other = unit.octets[first + target] if head <= target < span else 0
                plan = plans[other] if other < known else None
                if plan is None or plan.role != _LEAF:  # most are pointers
                    held = self._holds(unit, first + target, depth)
            if held == _YES:
                return _YES
            position += member.rest
            if position >= unit.end or unit.octets[position] != code:
                unit.behind = position
                return _NO

    def _marks_struct(self, unit: Unit, plan: Plan, position: int) -> bool:
        """Whether a typedef stands for a struct or union; marks that, which gcc refers to by itself in atomic
        types (DWARF 4). Raises Damaged, Crossing.
        """
        for _ in range(_DEEPEST):
            target = _target(unit, plan, position)
            if target == _NOWHERE:
                return False
            plan = self._plan(unit, target)
            position = unit.behind
            if plan.role == _STRUCT:
                self._told[target - unit.offset] = self._base + _YES
                return True
            if plan.tag != _TYPEDEF and plan.tag not in QUALIFIERS:
                return False
        raise Damaged("typedefs stand for one another in a circle", position)

    def _collect(self, unit: Unit, position: int, found: list[int], depth: int) -> None:
        if self._told[position - unit.offset] > self._base:
            return
        self._told[position - unit.offset] = self._base + _YES
        plan = self._plan(unit, position)
        start = unit.behind
        if plan.role == _LEAF:
            return
        if depth > _DEEPEST:
            raise Damaged("types refer to one another in a circle", position)
        if plan.kind != _OTHER:
            found.append(position)
        if plan.role != _STRUCT:
            target = _target(unit, plan, start)
            if target != _NOWHERE:
                self._collect(unit, target, found, depth + 1)
            return
        position = unit.over(plan, start)
        while plan.has_children:
            member = unit.enter(position)
            if member is None:
                return
            start = unit.behind
            if member.tag == _MEMBER:
                self._collect(unit, _target(unit, member, start), found, depth + 1)
            position = unit.past(member, start)


def _target(unit: Unit, plan: Plan, position: int) -> int:
    """Where the type stands that an entry refers to, _NOWHERE for none. Raises Damaged, Crossing."""
    if plan.type_at >= 0:
        return _within(unit, unit.number(position + plan.type_at, 4), position)
    recipe = plan.cook()
    for step in range(0, recipe.size, 4):
        width = recipe.steps[step + 1]
        if recipe.steps[step] == _REFER:
            if recipe.steps[step + 3]:
                raise Crossing
            return _within(unit, unit.value(position, width), position)
        position = position + width if width >= 0 else unit.step(position, width)
    if plan.tag == _MEMBER or plan.tag == _ARRAY or _TYPE in plan.constants:
        raise Damaged("a reference that is none", position)
    return _NOWHERE


def _within(unit: Unit, value: int, position: int) -> int:
    if value >= unit.end - unit.offset:
        raise Damaged("a reference leaves its unit", position)
    return unit.offset + value


def _four(octets: Data, position: int) -> int:
    """A number of four bytes, the lowest first; C puts it in place of its calls in this module only."""
    value = octets[position + 3]
    value = value << 8 | octets[position + 2]
    value = value << 8 | octets[position + 1]
    return value << 8 | octets[position]
