"""Rules on the surroundings of a struct (`around`): judged in each container, by what is beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NoReturn

from layoutlint.geometry.containers import Container
from layoutlint.geometry.layout import Layout, Place, without
from layoutlint.geometry.placement import ASSUMED, Placements
from layoutlint.geometry.siblings import Spot, TooManySpots, in_each_element, spots, spots_in
from layoutlint.judgement.context import (
    SELECTOR,
    Access,
    CannotTell,
    Context,
    NoSuchField,
    NothingDeclared,
    sized,
    used_as,
)
from layoutlint.judgement.finding import Around, Finding
from layoutlint.judgement.rule import Rule, paths_of
from layoutlint.judgement.verdict import Verdict, judge, unknown
from layoutlint.lint.placing import Where
from layoutlint.model.paths import is_within, steps_of
from layoutlint.model.reading import Reading
from layoutlint.model.structs import Struct

Uses = dict[Place, tuple[Access, ...]]
"""Fields with their declared accesses."""
Check = Callable[[Context], Verdict]
"""What a kind says of a container in some placements."""
Judge = Callable[[Rule, Struct, Where, Check], Verdict]
"""The verdict on a container over all of its placements."""
NOWHERE = Placements(1, (0,), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Surrounded(Context):
    """A container, as a rule sees it that is about what stands around an embedded struct.

    Paths mean fields of the embedded struct. `@hot-read`, and what others there are, are fields beside it.
    """

    held: Context
    """The embedded struct by itself."""
    spot: Spot
    inside: Uses
    """The accesses of the embedded struct's fields."""
    beside: Uses
    """Those of the fields beside it."""

    def require_fields(self, pattern: str) -> tuple[Place, ...]:
        """The fields of the embedded struct that a path means; raises NoSuchField."""
        return tuple(moved(place, self.spot) for place in self.held.require_fields(pattern))

    def uses(self) -> Uses:
        """The fields with declared accesses, inside and beside."""
        return {**self.inside, **self.beside}

    def fields_declared_as(self, access: str) -> tuple[Place, ...]:
        """The fields beside that are declared to have an access; raises NothingDeclared."""
        return used_as(self.beside, access) or self._nothing(f"as `{access}`")

    def is_beside(self, place: Place) -> bool:
        """Whether a field stands beside the embedded struct."""
        return not self.spot.has_inside(place.path)

    def filter_own_pairs(self, pairs: list[tuple[Place, Place]]) -> list[tuple[Place, Place]]:
        """Return the pairs of a field inside and one beside."""
        return [(a, b) for a, b in pairs if (a in self.inside) is not (b in self.inside)]

    def filter_crossing_pairs(self, pairs: Iterable[tuple[Place, Place]]) -> list[tuple[Place, Place]]:
        """Return the pairs with a field inside; raises NothingDeclared if none has a field beside."""
        found = [(a, b) for a, b in pairs if a in self.inside or b in self.inside]
        return found if self.filter_own_pairs(found) else self._nothing("on either side")

    def remaining_fields(self, chosen: Sequence[Place]) -> tuple[Place, ...]:
        """What the container itself has beside the embedded struct, as far as it can be on a line with it.

        Where none of its own fields are chosen (in the next object, of those in a row), those as well.
        """
        held = self.held.layout
        windows = reach(self.spot, held, self.placements)
        near = {place.path: place for window in windows for place in self.spot.own(*window)}
        left: list[Iterable[Place]] = [_less(place, chosen) for place in near.values()]
        if not any(self.spot.has_inside(place.path) for place in chosen):
            left.append(moved(place, self.spot) for place in held.places)
        return sized(tuple(place for places in left for place in places))

    def remaining_fields_near(
        self, chosen: Sequence[Place], centers: Sequence[Place], shift: int = 0
    ) -> tuple[Place, ...]:
        """Return the others, which are all near; with those of the next object."""
        return self.remaining_fields(chosen)

    def _nothing(self, what: str) -> NoReturn:
        struct = self.layout.struct
        raise NothingDeclared(
            f"beside `{self.spot.path}` nothing in {struct.aggregate} {struct.name} is declared {what}"
        )


def moved(place: Place, spot: Spot) -> Place:
    """A field of an embedded struct as one of the container."""
    path = f"{spot.path}.{place.path}" if spot.path else place.path
    return replace(place, path=path, bit_offset=spot.bit_offset + place.bit_offset)


Window = tuple[int, int]
"""Bits of a container, from the first to behind the last."""


def reach(spot: Spot, held: Layout, placements: Placements) -> tuple[Window, ...]:
    """Return the bits that can be on a line with the embedded struct, in a container and its neighbours."""
    line = placements.line_size
    low, high = (spot.bit_offset // 8 - line) * 8, (spot.bit_offset // 8 + held.size + line) * 8
    steps = {row.step * 8 for row in placements.rows if row.what != ASSUMED}
    return tuple((low + by, high + by) for by in (0, *sorted(steps), *sorted(-step for step in steps)))


def _less(place: Place, chosen: Sequence[Place]) -> Iterator[Place]:
    """What is left of a field without some parts."""
    if any(is_within(place.path, c.path) for c in chosen):
        return iter(())
    inside = [c.path for c in chosen if is_within(c.path, place.path)]
    return without(place, [steps_of(path)[len(steps_of(place.path)) :] for path in inside])


def judged(rule: Rule, struct: Struct, reading: Reading, where: Where, judge: Judge) -> Iterator[Finding]:
    """A rule in every container of a struct of which the rule file declares what the rule speaks of.

    The answer is unknown where there is none.
    """
    told = []
    try:
        ways = _ways(rule, struct, where)
        for way in ways:
            verdict = judge(rule, way.struct, where, partial(_check, rule, struct, way, where))
            if not verdict.is_missing_field:
                told.append((way, verdict))
    except CannotTell as error:
        yield Finding(rule, struct, unknown(str(error), isinstance(error, NoSuchField)), reading.path)
        return
    for way, verdict in told:
        first, *also = way.struct.files or (reading.path,)
        place = _around(way, struct, len(ways), len(told))
        yield Finding(rule, way.struct, verdict, first, tuple(also), place)
    if not told:
        verdict = unknown(_why_nowhere(struct, ways), missing_field=True)
        yield Finding(rule, struct, verdict, reading.path)


def _ways(rule: Rule, struct: Struct, where: Where) -> list[Container]:
    """The places of a struct in containers. Raises CannotTell."""
    if where.surroundings.is_random:
        raise CannotTell("what stands around a struct is not judged in builds that randomise layouts")
    if struct.problem is not None:
        raise CannotTell(f"the layout of {struct.name} cannot be told: {struct.problem}")
    if struct.bit_size is None:
        raise CannotTell(f"{struct.aggregate} {struct.name} is declared but not defined")
    _refuse_missing(rule, Context(Layout(struct), NOWHERE))
    return where.surroundings.containers(struct)


def _refuse_missing(rule: Rule, held: Context) -> None:
    """Raises NoSuchField for a field that the rule names and the embedded struct has not."""
    for path in paths_of(rule.kind):
        if not path.startswith(SELECTOR):
            held.require_fields(path)


def _why_nowhere(struct: Struct, ways: list[Container]) -> str:
    if not ways:
        return f"nothing in the inputs embeds {struct.aggregate} {struct.name}"
    places = f"in none of its {len(ways)} places" if len(ways) > 1 else "in its only place"
    called = f"{struct.aggregate} {struct.name}"
    return f"no access that the rule speaks of is declared of a field beside {called}, {places}"


def _around(way: Container, struct: Struct, places: int, told: int) -> Around:
    source = next(spots_in(way, struct, way.bit_offset, way.bit_offset + 1)).source
    return Around(struct.name, way.written, way.offset, source, places, told)


def _check(rule: Rule, struct: Struct, way: Container, where: Where, own: Context) -> Verdict:
    """The verdict over all elements of the arrays that hold the struct in one container."""
    placements = own.placements
    held = where.context(Layout(struct), placements)
    verdicts, silent = [], NothingDeclared()
    try:
        for spot in spots(way, struct, placements.line_size):
            try:
                verdicts.append(_outside_first(_of_spot(rule, spot, way.struct, own, held, where), spot))
            except NothingDeclared as error:
                silent = error
    except (TooManySpots, ValueError) as error:
        raise CannotTell(str(error)) from None
    if not verdicts:
        raise silent
    return _merged(verdicts, placements)


def _of_spot(rule: Rule, spot: Spot, container: Struct, own: Context, held: Context, where: Where) -> Verdict:
    """The verdict on one place; what is declared far from it counts where nothing near it does."""
    try:
        return rule.kind.check(_surrounded(spot, container, own, held, where, is_far=False))
    except NothingDeclared:
        return rule.kind.check(_surrounded(spot, container, own, held, where, is_far=True))


def _surrounded(
    spot: Spot, container: Struct, own: Context, held: Context, where: Where, is_far: bool
) -> Surrounded:
    """A container with the accesses inside and beside: its own word goes before those of structs in it.

    `container` is the one that was read, which `own` may have with one of its possible alignments. With
    `is_far`, arrays and structs that have no element near the embedded struct count with their first.
    """
    near = reach(spot, held.layout, own.placements)
    inside, beside = _uses(held, near, spot, is_far), Uses()
    for way, other in where.declared_in(container, own.placements):
        for there in _spots_near(way, other.layout.struct, near, is_far):
            if spot.has_own(there.path):
                beside.update(_uses(other, near, there, is_far))
    stated = {place.path: (place, by) for place, by in _uses(own, near, None, is_far).items()}
    for known in (inside, beside):
        for place in [place for place in known if place.path in stated]:
            del known[place]
    inside.update(pair for path, pair in stated.items() if spot.has_inside(path))
    beside.update((place, by) for whole, by in stated.values() for place in _beside(spot, whole))
    return Surrounded(
        own.layout,
        own.placements,
        own.accesses,
        own.storage,
        own.min_align,
        held=held,
        spot=spot,
        inside=inside,
        beside=beside,
    )


def _beside(spot: Spot, place: Place) -> Iterator[Place]:
    """What is beside the embedded struct of a field of its container, which may hold the struct itself."""
    parts: Iterable[Place] = (place,)
    if spot.path and is_within(spot.path, place.path):
        parts = without(place, [steps_of(spot.path)[len(steps_of(place.path)) :]])
    return (part for part in parts if spot.has_beside(part.path))


def _spots_near(way: Container, held: Struct, near: tuple[Window, ...], is_far: bool) -> Iterator[Spot]:
    found = {spot.path: spot for window in near for spot in spots_in(way, held, *window)}
    if not found and is_far:
        return spots_in(way, held, way.bit_offset, way.bit_offset + 1)
    return iter(found.values())


def _uses(context: Context, near: tuple[Window, ...], spot: Spot | None, is_far: bool) -> Uses:
    """The fields with declared accesses, of a struct in a container where that has them; none is no error.

    Of arrays each element, as far as it reaches into the bits of the container that are near.
    """
    try:
        uses = context.uses()
    except NothingDeclared:
        return {}
    except NoSuchField as error:
        raise CannotTell(str(error)) from None
    start = 0 if spot is None else spot.bit_offset
    windows = [(low - start, high - start) for low, high in near]
    struct = context.layout.struct
    every = (
        (each, by) for place, by in uses.items() for each in _elements_near(struct, place, windows, is_far)
    )
    return {(each if spot is None else moved(each, spot)): by for each, by in every}


def _elements_near(struct: Struct, place: Place, windows: list[Window], is_far: bool) -> Iterable[Place]:
    """A field in each element near, or in the first one if it is to count where none is near."""
    found = dict.fromkeys(each for window in windows for each in in_each_element(struct, place, *window))
    if not found and is_far:
        return in_each_element(struct, place, place.bit_offset, place.bit_offset + 1)
    return found


def _outside_first(verdict: Verdict, spot: Spot) -> Verdict:
    """What stands beside is what a container's author looks for."""
    evidence = sorted(verdict.evidence, key=lambda place: spot.has_inside(place.path))
    return replace(verdict, evidence=tuple(evidence))


def _merged(verdicts: list[Verdict], placements: Placements) -> Verdict:
    """The verdict over several elements: that on the worst, over all of their bases."""
    worst = max(verdicts, key=lambda verdict: len(verdict.bases))
    failing = sum(bool(verdict.bases) for verdict in verdicts)
    message = worst.message
    if failing > 1:
        message += "; likewise in other elements"
    bases = placements.in_any(verdict.bases for verdict in verdicts)
    return judge(placements, bases, message, worst.evidence, worst.advice)
