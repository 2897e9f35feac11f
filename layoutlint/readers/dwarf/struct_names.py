"""Names of the structs of a file, for runs that need nothing else of them."""

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
from layoutlint.readers.dwarf.selection import entry_at, resolve_typedef
from layoutlint.readers.dwarf.types import spelling
from layoutlint.readers.dwarf.types.spelling import TYPEDEF

# Variables of C if this is compiled.
_AGGREGATE = abbreviations.AGGREGATE
_STRUCT = type_recipe.STRUCT
_DERIVED = type_recipe.DERIVED
_NO, _YES, _PERHAPS = range(3)
_TYPE = spelling.TYPE
_ARRAY = spelling.ARRAY
_SKIP_STRING = forms.SKIP_STRING
_DEEPEST = spelling.DEEPEST

_FILES = 4
"""Files whose seen names are remembered at a time."""
_NONE = Names(frozenset(), frozenset())
"""No name: with these the walk adds all entries to `others`."""


class StructNames:
    """Collects the names of the structs of a file, unit after unit, as Selection collects structs.

    Typedefs of a struct count; structs that are only declared do not.
    """

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._others = Positions()
        self._others.has_typedefs = True
        self._seen_names = lru_cache(_FILES)(_no_names)
        self._collected = lru_cache(_FILES)(_no_names)

    def forget_places(self) -> None:
        """Forget everything that is known by positions, because a file is closed."""
        self._seen_names.cache_clear()
        self._collected.cache_clear()

    def prepare(self, sections: Sections) -> None:
        """Do nothing: there are no names to look up in advance."""

    def find_entries(self, unit: Unit) -> list[int]:
        """Return the names that are new: -1 - P for position P of .debug_str, or the position of an entry.

        Raises DAMAGE if all of the unit is damaged.
        """
        plan, _, end = unit.root
        if not plan.has_children:
            return []
        others = self._others
        others.clear()
        unclear = walk(unit, end, _NONE, others)
        return unclear + find_new(unit, others, self._seen_names(unit.sections))

    def read_entries(self, unit: Unit, hits: Sequence[int]) -> list[str]:
        """Collect the names. A damaged entry has none."""
        collected = self._collected(unit.sections)
        for hit in hits:
            try:
                if hit >= 0:
                    name = _name(unit, hit)
                elif collected.has(-1 - hit):
                    continue
                else:
                    collected.add(-1 - hit)
                    name = unit.sections.text(-1 - hit)
            except DAMAGE:
                continue
            if name is not None:
                self._names.add(name)
        return []

    def held_names(self) -> frozenset[str]:
        """Return no names: no structs are requested by name."""
        return frozenset()

    def structs(self) -> tuple[Struct, ...]:
        """Return no structs: only their names are known."""
        return ()

    def notes(self) -> tuple[str, ...]:
        """Return no notes: nothing is left out."""
        return ()

    def names(self) -> frozenset[str]:
        """Return the names that were collected."""
        return frozenset(self._names)


class SeenNames:
    """The names of a file that were seen: by their positions in .debug_str, and as texts in entries."""

    def __init__(self, size: int) -> None:
        self._places = bytearray(size)
        self._texts: set[bytes] = set()

    def has(self, place: int) -> bool:
        """Return whether the name at a position of .debug_str was seen. Raises IndexError outside of it."""
        return self._places[place] != 0

    def add(self, place: int) -> None:
        """Add the name at a position of .debug_str."""
        self._places[place] = 1

    def is_new_text(self, unit: Unit, position: int) -> bool:
        """Return whether the text at a position of a unit is a new name, and add it."""
        end = position
        while unit.octets[end]:
            end += 1
        text = bytes(unit.octets[position:end])
        if text in self._texts:
            return False
        self._texts.add(text)
        return True


def find_new(unit: Unit, entries: Positions, seen_names: SeenNames) -> list[int]:
    """Return the entries with names that were not seen before, as `find_entries` does. Raises DAMAGE."""
    hits: list[int] = []
    for index in range(entries.count):
        position = entries.places[index]
        plan = unit.enter(position)
        if plan is None:
            continue
        start = unit.next_position
        place = 0
        if plan.name_at >= 0:
            place = unit.number(start + plan.name_at, plan.name_width)
            if plan.is_indexed:
                place = unit.string_offset(place)
            if seen_names.has(place):
                continue
        kind = _leads_to_struct(unit, plan, start)
        if kind == _NO:
            continue
        if kind == _PERHAPS:
            hits.append(position)
        elif plan.name_at >= 0:
            seen_names.add(place)
            hits.append(-1 - place)
        elif seen_names.is_new_text(unit, start + plan.text_at):
            hits.append(position)
    return hits


def _leads_to_struct(unit: Unit, plan: Plan, start: int) -> int:
    """Return whether an entry is a struct or union, or a typedef of one; _PERHAPS if deciding takes more.

    A typedef of a struct that is only declared counts.
    """
    if plan.kind == _AGGREGATE:
        return _NO if plan.is_declaration else _YES
    for _ in range(_DEEPEST):
        if plan.type_at >= 0:
            place = unit.number(start + plan.type_at, 4)
        elif plan.text_at == 0 and plan.rest_type_at >= 0:
            place = unit.number(unit.skip(start, _SKIP_STRING) + plan.rest_type_at, 4)
        else:
            return _PERHAPS if _TYPE in plan.forms else _NO
        if place >= unit.end - unit.offset:
            return _NO
        target = unit.enter(unit.offset + place)
        if target is None:
            return _NO
        plan = target
        start = unit.next_position
        if plan.role == _STRUCT:
            return _YES
        if plan.role != _DERIVED or plan.tag == _ARRAY:
            return _NO
    return _NO


def _no_names(sections: Sections) -> SeenNames:
    return SeenNames(len(sections.strings))


def _name(unit: Unit, position: int) -> str | None:
    """Return the name of an entry; None if it is no name of a struct. Raises DAMAGE."""
    entry = entry_at(unit, position)
    name = unit.text(entry.plan, entry.values, NAME)
    if name is None or entry.plan.tag != TYPEDEF:
        return None if entry.plan.is_declaration else name
    return name if resolve_typedef(entry, name).struct is not None else None
