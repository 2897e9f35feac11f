"""What DWARF declares by a name that no struct has: a function, an enum and the like, for messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from typing import Final

from layoutlint.errors import ReadError
from layoutlint.model.reading import ReadOptions
from layoutlint.readers.dwarf.format.constants import tag
from layoutlint.readers.dwarf.format.forms import DAMAGE, DwarfError
from layoutlint.readers.dwarf.format.unit import NAME, Unit
from layoutlint.readers.dwarf.format.units import Index
from layoutlint.readers.dwarf.types import spelling
from layoutlint.readers.dwarf.types.spelling import Spelling
from layoutlint.readers.elf.elf_file import Image
from layoutlint.readers.elf.span import Span

_TYPEDEF: Final = tag("typedef")
_FUNCTION: Final = tag("subprogram")
_THINGS: Final = {
    tag("enumeration_type"): "an enum",
    _FUNCTION: "a function",
    tag("variable"): "a variable",
    tag("base_type"): "a number type",
    _TYPEDEF: "a typedef",
}
"""What is declared outside of functions."""
_PARTS: Final = {
    (tag("enumeration_type"), tag("enumerator")): "an enumerator",
    (tag("structure_type"), tag("member")): "a field",
    (tag("union_type"), tag("member")): "a field",
}
"""What is declared inside of types, by the tag of the type."""
_MOST_BYTES: Final = 2 << 20
"""The most bytes of units that are walked; of a kernel, these are some twenty units."""


_MOST_TAILS: Final = 8
"""The most strings whose end is taken for the name: linkers store a string that ends another one once."""


def what_is(image: Image, name: str, options: ReadOptions) -> str | None:
    """Return what the DWARF of a file declares by a name; None if that is not found within the limit."""
    try:
        with closing(Index(image, options)) as index:
            return _first_meaning(index, name)
    except ReadError:
        return None


def _first_meaning(index: Index, name: str) -> str | None:
    """Return the first meaning in the units with a name; of enumerators and fields only without others."""
    text = name.encode(errors="surrogateescape")
    strings = index.sections.strings
    whole = [place + 1 for place in _places(strings, b"\0%s\0" % text)]
    places = whole or list(islice(_places(strings, text + b"\0"), _MOST_TAILS))
    part, budget = None, _MOST_BYTES
    for unit in index.units:
        try:
            if not _may_have(unit, text, places):
                continue
            budget -= unit.end - unit.offset
            for meaning, is_part in _meanings(unit, name):
                if not is_part:
                    return meaning
                part = meaning if part is None or part in _PARTS.values() else part
        except DAMAGE:  # the run that misses the name reports it
            continue
        finally:
            unit.forget()
        if budget <= 0:
            break
    return part


def _places(strings: Span, text: bytes) -> Iterator[int]:
    """Yield the positions of a text."""
    position = strings.find(text)
    while position >= 0:
        yield position
        position = strings.find(text, position + 1)


def _may_have(unit: Unit, text: bytes, places: list[int]) -> bool:
    """Return whether the bytes of a C unit have a name, or its place in .debug_str."""
    if unit.language is not None:
        return False
    if any(plan is not None and plan.is_indexed for plan in unit.table.plans):
        return bool(places)
    content = bytes(unit.data[unit.offset : unit.end])
    width, order = unit.shape.offset_size, unit.index.order
    return text + b"\0" in content or any(place.to_bytes(width, order) in content for place in places)


def _meanings(unit: Unit, name: str) -> Iterator[tuple[str, bool]]:
    """Yield what a unit declares by a name, and whether it is part of a type. Raises DwarfError."""
    position = unit.root[2]
    parents: list[tuple[int, str | None]] = []
    while position < unit.end:
        start = position
        plan, position = unit.entry(position)
        if plan is None:
            if not parents:
                return
            parents.pop()
            continue
        parent = parents[-1] if parents else (0, None)
        is_top = plan.tag in _THINGS
        described = _PARTS.get((parent[0], plan.tag))
        own_name: str | None = None
        end = unit.skip_attributes(plan, position)
        if NAME in plan.forms and (is_top or described is not None or not parents):
            own_name = unit.text(plan, unit.read(plan, position)[0], NAME)
        if own_name == name and is_top:
            yield _meaning_of_entry(unit, plan.tag, start), False
        elif own_name == name and described is not None:
            yield described + (f" of {parent[1]}" if parent[1] and described == "a field" else ""), True
        if plan.tag == _FUNCTION:
            end = unit.skip_entry(plan, position)
        elif plan.has_children:
            parents.append((plan.tag, own_name))
        position = end


def _meaning_of_entry(unit: Unit, entry_tag: int, start: int) -> str:
    if entry_tag != _TYPEDEF:
        return _THINGS[entry_tag]
    try:
        plan, position = unit.entry(start)
        assert plan is not None
        target = unit.reference(plan, unit.read(plan, position)[0], spelling.TYPE)
        return "a typedef of `void`" if target is None else f"a typedef of `{Spelling().spell(*target)}`"
    except (DwarfError, RecursionError):
        return _THINGS[entry_tag]
