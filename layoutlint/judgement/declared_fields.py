"""Finds the fields with declared accesses, for reports; declarations of missing fields are skipped."""

from __future__ import annotations

from collections.abc import Iterable

from layoutlint.geometry.field_types import TYPE, Finder
from layoutlint.geometry.layout import Layout, Place
from layoutlint.judgement.context import Access
from layoutlint.model.paths import is_pattern


def declared_fields(layout: Layout, accesses: Iterable[Access]) -> dict[Place, tuple[Access, ...]]:
    """Return the fields with their declared accesses; a field's own declaration overrides a pattern's."""
    finder = Finder()
    by_side: dict[tuple[Place, str], Access] = {}
    for access in sorted(accesses, key=lambda access: not is_pattern(access.path)):
        if not access.access:
            continue
        by_type = access.path.startswith(TYPE)
        places = finder.find_fields(layout, (access.path,)) if by_type else layout.match(access.path)
        by_side.update(((place, access.side), access) for place in places)
    fields: dict[Place, tuple[Access, ...]] = {}
    for (place, _), access in by_side.items():
        fields[place] = (*fields.get(place, ()), access)
    return fields
