"""The holes of a struct with those inside its members, as `show --expand` lists both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layoutlint.geometry.layout import Hole, Layout, Place, find_gaps, named_members, split_gap
from layoutlint.model.record import replace


def inner_holes(layout: Layout) -> tuple[Hole, ...]:
    """Return the gaps that no innermost member covers, without the padding at the end of the struct.

    The padding of a member is one of them. Of an array of structs, those in its first element are returned:
    the members of others are not listed.
    """
    end = layout.bit_size - layout.bit_padding
    gaps, reached = find_gaps(_innermost(layout.places), end)
    if reached < end:
        gaps.append((reached, end))
    return tuple(hole for start, stop in gaps for hole in split_gap(start, stop))


def _innermost(places: Iterable[Place]) -> Iterator[Place]:
    """Yield fields, and in place of embedded structs their members; for an array, also its other elements."""
    for place in places:
        member, element = place.field, place.element_bits
        if not member.members or place.is_flexible or element is None or not place.bit_size:
            yield place
            continue
        is_union = member.aggregate == "union"
        yield from _innermost(named_members(member.members, f"{place.path}.", place.bit_offset, is_union))
        if element < place.bit_size:
            yield replace(place, bit_offset=place.bit_offset + element, bit_size=place.bit_size - element)
