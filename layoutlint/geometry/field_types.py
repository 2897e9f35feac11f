"""Which fields of a struct have types that a pattern means (docs/rules.md), at any depth by value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fnmatch import translate
from math import prod

from layoutlint.geometry.layout import Layout, Place, named
from layoutlint.model.ctype import CType, unqualified
from layoutlint.model.structs import Field

TYPE = "@type:"
"""Stands before the pattern of a type where a rule means every field that has such a type."""

_DIMENSIONS = re.compile(r"^(?:\[\d*\])+")
_Scope = tuple[Field, ...]
_Patterns = tuple[str, ...]
"""Each with TYPE before it."""


def is_unnamed(member: Field) -> bool:
    """Whether the type of a member is a struct or union without tag and typedef: no rule can name it."""
    return member.type.left.endswith("{...}") and not member.stands_for


@dataclass(frozen=True, slots=True)
class Finder:
    """Finds fields by type. What structs hold that stand in many others is found once."""

    _fitting: dict[_Patterns, re.Pattern[str]] = field(default_factory=dict)
    _types: dict[tuple[_Patterns, CType, tuple[CType, ...]], bool] = field(default_factory=dict)
    _inside: dict[tuple[_Patterns, int], tuple[_Scope, tuple[Place, ...]]] = field(default_factory=dict)
    """By the identity of members, which are kept so that no others can have it."""

    def fields(self, layout: Layout, patterns: _Patterns) -> Iterator[Place]:
        """The outermost fields of such types, in declared order; of arrays of structs those of the first."""
        return self._found(layout.places, patterns)

    def arrays(self, layout: Layout, patterns: _Patterns, own: bool) -> Iterator[Place]:
        """The arrays of known length whose elements are of such types, or hold fields of them.

        `own` are those that no struct with a name holds, which has them as its own.
        """
        waiting = [*layout.places]
        while waiting:
            place = waiting.pop(0)
            member = place.field
            if (
                member.dims
                and prod(length or 0 for length in member.dims) > 1
                and self._holds(place, patterns)
            ):
                yield place
            if member.members and (is_unnamed(member) or not own):
                waiting = [*_parts(place), *waiting]

    def _holds(self, place: Place, patterns: _Patterns) -> bool:
        return self.fits(place.field, patterns) or bool(self._of(place.field, patterns))

    def _found(self, places: tuple[Place, ...], patterns: _Patterns) -> Iterator[Place]:
        for place in places:
            if self.fits(place.field, patterns):
                yield place
            elif place.field.members:
                for inner in self._of(place.field, patterns):
                    yield replace(
                        inner,
                        path=f"{place.path}.{inner.path}",
                        bit_offset=place.bit_offset + inner.bit_offset,
                    )

    def _of(self, member: Field, patterns: _Patterns) -> tuple[Place, ...]:
        """Those in a member, with paths and offsets from its start."""
        key = patterns, id(member.members)
        if key not in self._inside:
            places = tuple(named(member.members, "", 0, member.aggregate == "union"))
            self._inside[key] = member.members, tuple(self._found(places, patterns))
        return self._inside[key][1]

    def fits(self, member: Field, patterns: _Patterns) -> bool:
        """Whether its type, or that of an array's elements, is one that the patterns mean."""
        key = patterns, member.type, member.stands_for
        known = self._types.get(key)
        if known is None:
            fitting = self._fitting.get(patterns)
            if fitting is None:
                fitting = self._fitting[patterns] = _compiled(patterns)
            spelled = (text for each in (member.type, *member.stands_for) for text in _spelled(each))
            known = self._types[key] = any(map(fitting.match, spelled))
        return known


def _compiled(patterns: _Patterns) -> re.Pattern[str]:
    return re.compile("|".join(translate(pattern.removeprefix(TYPE)) for pattern in patterns))


def _parts(place: Place) -> Iterator[Place]:
    member = place.field
    return named(member.members, f"{place.path}.", place.bit_offset, member.aggregate == "union")


def _spelled(each: CType) -> Iterator[str]:
    """A type, of an array that of its elements, as it is and without its own qualifiers."""
    element = CType(each.left, _DIMENSIONS.sub("", each.right))
    yield str(element)
    bare = unqualified(element)
    if bare != element:
        yield str(bare)
