"""Fields whose types match a pattern (docs/rules.md), at any depth by value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import translate
from math import prod

from layoutlint.geometry.layout import Layout, Place, named_members
from layoutlint.model.ctype import CType, strip_qualifiers
from layoutlint.model.record import Record, field, replace
from layoutlint.model.structs import Field

TYPE = "@type:"
"""Prefix of a type pattern in a rule: it means every field of a matching type."""

_DIMENSIONS = re.compile(r"^(?:\[\d*\])+")
_Scope = tuple[Field, ...]
_Patterns = tuple[str, ...]
"""Type patterns, each with the prefix TYPE."""
_WILDCARD = re.compile(r"[*?[]")


def is_unnamed(member: Field) -> bool:
    """Return whether a member's type has neither tag nor typedef: no rule can name it."""
    return member.type.is_untagged and not member.underlying_types


class _Spellings(Record, frozen=True):
    """The spellings of types that patterns match. Most patterns are one spelling: to compile those as
    well takes as long as all other work on a small header."""

    names: frozenset[str]
    expression: re.Pattern[str] | None

    def __contains__(self, spelling: str) -> bool:
        return spelling in self.names or (
            self.expression is not None and self.expression.match(spelling) is not None
        )


class Finder(Record, frozen=True):
    """Finds fields by type. Results for structs that are embedded in many others are cached."""

    _spellings: dict[_Patterns, _Spellings] = field(default_factory=dict)
    _types: dict[tuple[_Patterns, CType, tuple[CType, ...]], bool] = field(default_factory=dict)
    _matches_inside: dict[tuple[_Patterns, int], tuple[_Scope, tuple[Place, ...]]] = field(
        default_factory=dict
    )
    """Matches by patterns and identity of members. Members are kept, so that no others get their identity."""

    def find_fields(self, layout: Layout, patterns: _Patterns) -> Iterator[Place]:
        """Return the outermost fields of matching types, in declared order; in arrays of structs, those of
        the first element.
        """
        return self._find_places(layout.places, patterns)

    def find_arrays(self, layout: Layout, patterns: _Patterns, only_own: bool) -> Iterator[Place]:
        """Yield the arrays whose elements match, or contain matching fields.

        Arrays of one element are omitted, and flexible ones whose elements have an unknown size. With
        `only_own`, omit arrays inside a named struct.
        """
        waiting = [*layout.places]
        while waiting:
            place = waiting.pop(0)
            member = place.field
            if _has_neighbours(place, layout) and self._holds(place, patterns):
                yield place
            if is_unnamed(member) or not only_own:
                waiting = [*_inner_places(place), *waiting]

    def _holds(self, place: Place, patterns: _Patterns) -> bool:
        return self.matches(place.field, patterns) or bool(self._find_inside(place.field, patterns))

    def _find_places(self, places: tuple[Place, ...], patterns: _Patterns) -> Iterator[Place]:
        for place in places:
            if self.matches(place.field, patterns):
                yield place
            elif place.field.members:
                for inner in self._find_inside(place.field, patterns):
                    yield replace(
                        inner,
                        path=f"{place.path}.{inner.path}",
                        bit_offset=place.bit_offset + inner.bit_offset,
                    )

    def _find_inside(self, member: Field, patterns: _Patterns) -> tuple[Place, ...]:
        """Return the matching fields inside a member, with paths and offsets from its start."""
        key = patterns, id(member.members)
        if key not in self._matches_inside:
            places = tuple(named_members(member.members, "", 0, member.aggregate == "union"))
            self._matches_inside[key] = member.members, tuple(self._find_places(places, patterns))
        return self._matches_inside[key][1]

    def matches(self, member: Field, patterns: _Patterns) -> bool:
        """Return whether the type of a field, or of an array's elements, matches the patterns."""
        key = patterns, member.type, member.underlying_types
        is_match = self._types.get(key)
        if is_match is None:
            wanted = self._spellings.get(patterns)
            if wanted is None:
                wanted = self._spellings[patterns] = _compile_patterns(patterns)
            is_match = self._types[key] = any(
                text in wanted
                for ctype in (member.type, *member.underlying_types)
                for text in _spell_type(ctype)
            )
        return is_match


def _has_neighbours(place: Place, layout: Layout) -> bool:
    """Return whether an array has several elements, or may have: `x[]`, and `x[1]` at the end of a struct."""
    dims = place.field.dims
    if not dims:
        return False
    if prod(length or 0 for length in dims) > 1:
        return True
    if place.is_flexible:
        return place.element_bits is not None
    return is_open_ended(place, layout)


def is_open_ended(place: Place, layout: Layout) -> bool:
    """Return whether a struct ends with an array of one element, which C before C99 wrote for `x[]`."""
    struct = layout.struct
    is_last = bool(layout.places) and place == layout.places[-1]
    return is_last and place.field.dims == (1,) and struct.aggregate == "struct" and not struct.label


def _compile_patterns(patterns: _Patterns) -> _Spellings:
    texts = [pattern.removeprefix(TYPE) for pattern in patterns]
    expressions = [translate(text) for text in texts if _WILDCARD.search(text)]
    names = frozenset(text for text in texts if not _WILDCARD.search(text))
    return _Spellings(names, re.compile("|".join(expressions)) if expressions else None)


def _inner_places(place: Place) -> Iterator[Place]:
    member = place.field
    return named_members(member.members, f"{place.path}.", place.bit_offset, member.aggregate == "union")


def _spell_type(ctype: CType) -> Iterator[str]:
    """Yield a type (of an array, its element type), with and without its own qualifiers."""
    element = CType(ctype.left, _DIMENSIONS.sub("", ctype.right))
    yield str(element)
    bare = strip_qualifiers(element)
    if bare != element:
        yield str(bare)
