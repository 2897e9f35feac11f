"""The group in which a field belongs by its declared accesses of two sides: a part of kind `group`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layoutlint.geometry.group_marks import Use
from layoutlint.geometry.groups import Group, Groups
from layoutlint.geometry.layout import Place
from layoutlint.judgement.context import Access, Context
from layoutlint.model.record import Record

_WRITTEN = "hot-write"
_NOT_HOT = ("", "cold")


class StrayField(Record, frozen=True):
    """A field whose declared access does not match its group."""

    place: Place
    group: str
    """The group that contains it; empty for none."""
    right_group: str
    """The group in which it belongs; empty if there is no such group, or if it belongs in none."""
    is_hot: bool


def find_strays(context: Context, groups: Groups) -> tuple[StrayField, ...]:
    """Return the fields whose declared accesses of sides do not match their group, in declared order."""
    by_place: dict[Place, list[Access]] = {}
    for access in context.accesses if any(access.side for access in context.accesses) else ():
        for place in context.declared_fields(access):
            by_place.setdefault(place, []).append(access)
    side_groups = [group for group in groups.complete if group.use is not None and group.use.sides]
    uses = ((place, combine_uses(accesses)) for place, accesses in by_place.items() if not place.is_empty)
    each = (_make_stray(place, use, groups.find_around(place), side_groups) for place, use in uses)
    return tuple(stray for stray in each if stray is not None)


def combine_uses(accesses: Iterable[Access]) -> Use | None:
    """Return the use that the accesses of a field state; None if no side uses it often."""
    hot = [access for access in accesses if access.side and access.access not in _NOT_HOT]
    written = any(access.access == _WRITTEN for access in hot)
    return Use(written, frozenset(access.side for access in hot)) if hot else None


def _make_stray(
    place: Place, use: Use | None, group: Group | None, side_groups: list[Group]
) -> StrayField | None:
    fitting = next((candidate for candidate in side_groups if candidate.use == use), None)
    if group is not None and group not in side_groups:
        return None
    if fitting is None if group is None else group.use == use:
        return None
    return StrayField(place, group.name if group else "", fitting.name if fitting else "", use is not None)


def describe_strays(strays: Iterable[StrayField]) -> Iterator[str]:
    """Describe stray fields, with one sentence for all that have the same group and belong in the same other
    group.
    """
    paths_by_move: dict[tuple[str, str, bool], list[str]] = {}
    for stray in strays:
        paths_by_move.setdefault((stray.group, stray.right_group, stray.is_hot), []).append(
            f"`{stray.place.path}`"
        )
    for (group, wanted, is_hot), paths in paths_by_move.items():
        where = f"in `{group}`" if group else "in no group"
        belongs = "in another group, which does not exist" if is_hot else "in none"
        belongs = f"in `{wanted}`" if wanted else belongs
        verb, their, belong = ("are", "their", "belong") if len(paths) > 1 else ("is", "its", "belongs")
        yield f"{', '.join(paths)} {verb} {where} and by {their} declared access {belong} {belongs}"
