"""What the accesses of two sides say of the group in which a field belongs: a part of kind `group`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from layoutlint.geometry.group_marks import Use
from layoutlint.geometry.groups import Group, Groups
from layoutlint.geometry.layout import Place
from layoutlint.judgement.context import Access, Context

_WRITTEN = "hot-write"
_NOT_HOT = ("", "cold")


@dataclass(frozen=True, slots=True)
class Stray:
    """A field whose declared access does not go with the group in which it stands, or that it is in none."""

    place: Place
    group: str
    """Where it stands; empty for no group."""
    wanted: str
    """Where it belongs; empty where there is no such group, or it belongs in none."""
    is_hot: bool


def strays(context: Context, found: Groups) -> tuple[Stray, ...]:
    """The fields with declared accesses of sides that stand elsewhere than those say, in declared order."""
    by_place: dict[Place, list[Access]] = {}
    for access in context.accesses if any(access.side for access in context.accesses) else ():
        for place in context.declared(access):
            by_place.setdefault(place, []).append(access)
    named = [group for group in found.whole if group.use is not None and group.use.sides]
    known = ((place, use_of(accesses)) for place, accesses in by_place.items() if not place.is_empty)
    each = (_stray(place, use, found.find_around(place), named) for place, use in known)
    return tuple(stray for stray in each if stray is not None)


def use_of(accesses: Iterable[Access]) -> Use | None:
    """What the accesses of a field come to; None when it is on no side's hot path."""
    hot = [access for access in accesses if access.side and access.access not in _NOT_HOT]
    written = any(access.access == _WRITTEN for access in hot)
    return Use(written, frozenset(access.side for access in hot)) if hot else None


def _stray(place: Place, use: Use | None, group: Group | None, named: list[Group]) -> Stray | None:
    fitting = next((each for each in named if each.use == use), None)
    if group is not None and group not in named:
        return None
    if fitting is None if group is None else group.use == use:
        return None
    return Stray(place, group.name if group else "", fitting.name if fitting else "", use is not None)


def told(found: Iterable[Stray]) -> Iterator[str]:
    """What is to be said of them, all that stand in one place and belong in another at once."""
    ways: dict[tuple[str, str, bool], list[str]] = {}
    for stray in found:
        ways.setdefault((stray.group, stray.wanted, stray.is_hot), []).append(f"`{stray.place.path}`")
    for (group, wanted, is_hot), names in ways.items():
        where = f"in `{group}`" if group else "in no group"
        belongs = "in another group, which there is not" if is_hot else "in none"
        belongs = f"in `{wanted}`" if wanted else belongs
        verb, their, belong = ("stand", "their", "belong") if len(names) > 1 else ("stands", "its", "belongs")
        yield f"{', '.join(names)} {verb} {where} and by {their} declared access {belong} {belongs}"
