"""What the structs of a file are called, of which nothing else is asked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from layoutlint.model.structs import Struct
from layoutlint.readers.dwarf.format import abbreviations, forms, type_recipe
from layoutlint.readers.dwarf.format.abbreviations import Plan
from layoutlint.readers.dwarf.format.forms import DAMAGE
from layoutlint.readers.dwarf.format.sections import Sections
from layoutlint.readers.dwarf.format.unit import NAME, Unit
from layoutlint.readers.dwarf.scan import Names, Positions, walk
from layoutlint.readers.dwarf.selection import entry_at, followed
from layoutlint.readers.dwarf.types import spelling
from layoutlint.readers.dwarf.types.spelling import TYPEDEF

# Variables of C where this is compiled.
_AGGREGATE = abbreviations.AGGREGATE
_STRUCT = type_recipe.STRUCT
_MADE = type_recipe.MADE
_NO, _YES, _PERHAPS = range(3)
_TYPE = spelling.TYPE
_ARRAY = spelling.ARRAY
_SKIP_STRING = forms.SKIP_STRING
_DEEPEST = spelling.DEEPEST

_FILES = 4
"""Files of whose names it is known at a time which were met."""
_NONE = Names(frozenset(), frozenset())
"""No name: with these the walk takes all entries for others."""


class Called:
    """Gathers the names of the structs of a file, unit after unit, as Selection gathers structs.

    Typedefs that stand for a struct count, and structs that are only declared do not.
    """

    def __init__(self) -> None:
        self._found: set[str] = set()
        self._others = Positions()
        self._others.has_typedefs = True
        self._met = lru_cache(_FILES)(_none_met)
        self._taken = lru_cache(_FILES)(_none_met)

    def leave(self) -> None:
        """Lets go of what is known by places in files, of which one is closed."""
        self._met.cache_clear()
        self._taken.cache_clear()

    def prepare(self, sections: Sections) -> None:
        """Nothing is to be looked up beforehand."""

    def look(self, unit: Unit) -> list[int]:
        """Where names stand in .debug_str that were not met before, each below -1 by that much; and where
        entries stand with other names. Raises DAMAGE when all of the unit is damaged.
        """
        plan, _, behind = unit.root
        if not plan.has_children:
            return []
        others = self._others
        others.clear()
        untold = walk(unit, behind, _NONE, others)
        return untold + unmet(unit, others, self._met(unit.sections))

    def take(self, unit: Unit, hits: Sequence[int]) -> list[str]:
        """Takes the names. Where an entry is damaged, it has none that counts."""
        taken = self._taken(unit.sections)
        for hit in hits:
            try:
                if hit >= 0:
                    name = _name(unit, hit)
                elif taken.has(-1 - hit):
                    continue
                else:
                    taken.add(-1 - hit)
                    name = unit.sections.text(-1 - hit)
            except DAMAGE:
                continue
            if name is not None:
                self._found.add(name)
        return []

    def meant(self) -> frozenset[str]:
        """None of them is asked for."""
        return frozenset()

    def structs(self) -> tuple[Struct, ...]:
        """None: their names are all that is known."""
        return ()

    def notes(self) -> tuple[str, ...]:
        """Nothing is left out."""
        return ()

    def names(self) -> frozenset[str]:
        """What was found."""
        return frozenset(self._found)


class Met:
    """Which names of a file were met: by their places in .debug_str, and those that stand in entries."""

    def __init__(self, size: int) -> None:
        self._places = bytearray(size)
        self._texts: set[bytes] = set()

    def has(self, place: int) -> bool:
        """Whether the name at a place of .debug_str was met before. Raises IndexError for one outside."""
        return self._places[place] != 0

    def add(self, place: int) -> None:
        """Takes down that it was."""
        self._places[place] = 1

    def is_new_text(self, unit: Unit, position: int) -> bool:
        """Whether no name was met before that stands at a position of a unit, as text."""
        end = position
        while unit.octets[end]:
            end += 1
        text = bytes(unit.octets[position:end])
        if text in self._texts:
            return False
        self._texts.add(text)
        return True


def unmet(unit: Unit, entries: Positions, met: Met) -> list[int]:
    """Of some entries those whose names were not met before, as `Called.look` has them. Raises DAMAGE."""
    found: list[int] = []
    for index in range(entries.count):
        position = entries.places[index]
        plan = unit.enter(position)
        if plan is None:
            continue
        behind = unit.behind
        place = 0
        if plan.name_at >= 0:
            place = unit.number(behind + plan.name_at, plan.name_width)
            if plan.is_indexed:
                place = unit.string_offset(place)
            if met.has(place):
                continue
        kind = _leads_to_struct(unit, plan, behind)
        if kind == _NO:
            continue
        if kind == _PERHAPS:
            found.append(position)
        elif plan.name_at >= 0:
            met.add(place)
            found.append(-1 - place)
        elif met.is_new_text(unit, behind + plan.text_at):
            found.append(position)
    return found


def _leads_to_struct(unit: Unit, plan: Plan, behind: int) -> int:
    """Whether an entry is a struct or union, or a typedef of one; _PERHAPS where it takes more to tell.

    One that is only declared counts where a typedef stands for it.
    """
    if plan.kind == _AGGREGATE:
        return _NO if plan.is_declaration else _YES
    for _ in range(_DEEPEST):
        if plan.type_at >= 0:
            place = unit.number(behind + plan.type_at, 4)
        elif plan.text_at == 0 and plan.rest_type_at >= 0:
            place = unit.number(unit.step(behind, _SKIP_STRING) + plan.rest_type_at, 4)
        else:
            return _PERHAPS if _TYPE in plan.forms else _NO
        if place >= unit.end - unit.offset:
            return _NO
        target = unit.enter(unit.offset + place)
        if target is None:
            return _NO
        plan = target
        behind = unit.behind
        if plan.role == _STRUCT:
            return _YES
        if plan.role != _MADE or plan.tag == _ARRAY:
            return _NO
    return _NO


def _none_met(sections: Sections) -> Met:
    return Met(len(sections.strings))


def _name(unit: Unit, position: int) -> str | None:
    """The name of an entry; None where that means no struct. Raises DAMAGE."""
    entry = entry_at(unit, position)
    name = unit.text(entry.plan, entry.values, NAME)
    if name is None or entry.plan.tag != TYPEDEF:
        return None if entry.plan.is_declaration else name
    return name if followed(entry, name).struct is not None else None
