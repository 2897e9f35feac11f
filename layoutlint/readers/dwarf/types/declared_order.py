"""The order in which members were declared, where GCC's plugin moved them before they were described.

GCC describes most structs before the plugin runs (docs/randomised-layouts.md), and those in parameter lists
and in functions later: their entries are in the random order, and their lines and columns show the declared
one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from layoutlint.model.structs import Field
from layoutlint.readers.dwarf.format.constants import attribute, tag
from layoutlint.readers.dwarf.format.unit import NAME, Unit, Values

_MEMBER: Final = tag("member")
_BIT_SIZE: Final = attribute("bit_size")
_FILE: Final = attribute("decl_file")
_LINE: Final = attribute("decl_line")
_COLUMN: Final = attribute("decl_column")
_PRODUCER: Final = attribute("producer")
_PLUGIN: Final = "randomize_layout_plugin"


class DeclaredOrders:
    """Finds the declared orders of the structs of a file."""

    def __init__(self) -> None:
        self._randomised: dict[int, bool] = {}
        self._moved: dict[int, tuple[Field, ...]] = {}
        """Fields in another order than the declared one, by their identity."""

    def is_randomised(self, unit: Unit) -> bool:
        """Return whether the plugin may have moved members in a unit, by its producer. Raises DwarfError."""
        known = self._randomised.get(unit.offset)
        if known is None:
            plan, values, _ = unit.root
            text = unit.text(plan, values, _PRODUCER) if _PRODUCER in values else None
            known = self._randomised[unit.offset] = text is not None and _PLUGIN in text
        return known

    def find(self, unit: Unit, position: int, fields: tuple[Field, ...]) -> tuple[int, ...]:
        """Return the positions of the fields of a struct in the order of their declaration; none if they are
        in that order, or if no plugin could change it. Its first member is at `position`. Raises DwarfError.
        """
        if not self.is_randomised(unit):
            return ()
        members = list(_members(unit, position))
        places = [(_number(values, _LINE), _number(values, _COLUMN)) for values in members]
        order = tuple(sorted(range(len(places)), key=places.__getitem__))
        is_comparable = len({values.get(_FILE) for values in members}) == 1 and len(places) == len(fields)
        if not is_comparable or order == tuple(range(len(places))):
            return ()
        self._moved[id(fields)] = fields
        return order

    def is_moved(self, fields: tuple[Field, ...]) -> bool:
        """Return whether the fields of a type are in another order than the declared one."""
        return id(fields) in self._moved


def _members(unit: Unit, position: int) -> Iterator[Values]:
    """Yield the attributes of the members of a struct, without unnamed bit-fields."""
    while True:
        plan, start = unit.entry(position)
        if plan is None:
            return
        if plan.tag == _MEMBER:
            values, _ = unit.read(plan, start)
            if _BIT_SIZE not in values or unit.text(plan, values, NAME) is not None:
                yield values
        position = unit.skip_entry(plan, start)


def _number(values: Values, attribute_number: int) -> int:
    value = values.get(attribute_number)
    return value if isinstance(value, int) else 0
