"""Rules with `around`: judged in each container of a struct, with the fields beside the struct."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NoReturn

from layoutlint.geometry.containers import Container
from layoutlint.geometry.layout import Layout, Place, remaining_parts
from layoutlint.geometry.placement import ASSUMED, Placements
from layoutlint.geometry.siblings import Spot, TooManySpots, places_in_elements, spots, spots_in
from layoutlint.judgement.context import (
    SELECTOR,
    Access,
    CannotTell,
    Context,
    NoDeclaredAccess,
    NoSuchField,
    UnreliableLayout,
    fields_used_as,
    require_sizes,
)
from layoutlint.judgement.finding import EmbeddedPlace, Finding
from layoutlint.judgement.rule import Rule, paths_of
from layoutlint.judgement.verdict import Verdict, judge, unknown
from layoutlint.lint.placing import RulePlacements
from layoutlint.model.paths import is_within, steps_of
from layoutlint.model.reading import Reading
from layoutlint.model.record import replace
from layoutlint.model.structs import Struct

Uses = dict[Place, tuple[Access, ...]]
"""Fields with their declared accesses."""
Check = Callable[[Context], Verdict]
"""Judges a container in some placements."""
JudgeDefinition = Callable[[Rule, Struct, RulePlacements, Check], Verdict]
"""Judges a container over all of its placements."""
NOWHERE = Placements(1, (0,), "")


class ContainerContext(Context, frozen=True, kw_only=True):
    """A container as the context of a rule on the surroundings of an embedded struct.

    Paths refer to fields of the embedded struct. `@hot-read` and other accesses refer to fields beside it.
    """

    embedded: Context
    """The embedded struct by itself."""
    spot: Spot
    inside: Uses
    """The accesses of the embedded struct's fields."""
    outside: Uses
    """The accesses of the fields beside the embedded struct."""

    def require_fields(self, pattern: str) -> tuple[Place, ...]:
        """Return the fields of the embedded struct that a path refers to; raises NoSuchField."""
        return tuple(move_into_container(place, self.spot) for place in self.embedded.require_fields(pattern))

    def uses(self) -> Uses:
        """Return the fields with declared accesses, inside and outside of the embedded struct."""
        return {**self.inside, **self.outside}

    def fields_declared_as(self, access: str) -> tuple[Place, ...]:
        """Return the fields beside the struct that are declared with an access; raises NothingDeclared."""
        return fields_used_as(self.outside, access) or self._raise_nothing_declared(f"as `{access}`")

    def is_beside(self, place: Place) -> bool:
        """Return whether a field stands beside the embedded struct."""
        return not self.spot.is_inside(place.path)

    def filter_own_pairs(self, pairs: list[tuple[Place, Place]]) -> list[tuple[Place, Place]]:
        """Return the pairs of a field inside and a field outside."""
        return [(a, b) for a, b in pairs if (a in self.inside) is not (b in self.inside)]

    def filter_crossing_pairs(self, pairs: Iterable[tuple[Place, Place]]) -> list[tuple[Place, Place]]:
        """Return the pairs with a field inside; raises NothingDeclared if no pair has a field outside."""
        own = [(a, b) for a, b in pairs if a in self.inside or b in self.inside]
        return own if self.filter_own_pairs(own) else self._raise_nothing_declared("on either side")

    def remaining_fields(self, chosen: Sequence[Place]) -> tuple[Place, ...]:
        """Return the fields that can be on a line with the embedded struct, without `chosen`.

        If no chosen field is inside the embedded struct (it is in the next object of a row), the fields of
        the embedded struct count too.
        """
        layout = self.embedded.layout
        windows = windows_near(self.spot, layout, self.placements)
        near = {place.path: place for window in windows for place in self.spot.own_siblings(*window)}
        parts: list[Iterable[Place]] = [_subtract(place, chosen) for place in near.values()]
        if not any(self.spot.is_inside(place.path) for place in chosen):
            parts.append(move_into_container(place, self.spot) for place in layout.places)
        return require_sizes(tuple(place for places in parts for place in places))

    def remaining_fields_near(
        self, chosen: Sequence[Place], centers: Sequence[Place], shift: int = 0
    ) -> tuple[Place, ...]:
        """Return `remaining_fields`: all of them are near, also in the next object."""
        return self.remaining_fields(chosen)

    def _raise_nothing_declared(self, access: str) -> NoReturn:
        struct = self.layout.struct
        raise NoDeclaredAccess(
            f"no field beside `{self.spot.path}` in {struct.aggregate} {struct.name} is declared {access}"
        )


def move_into_container(place: Place, spot: Spot) -> Place:
    """Return a field of an embedded struct as a field of the container."""
    path = f"{spot.path}.{place.path}" if spot.path else place.path
    return replace(place, path=path, bit_offset=spot.bit_offset + place.bit_offset)


Window = tuple[int, int]
"""A range of bits in a container: the first, and the one after the last."""


def windows_near(spot: Spot, embedded: Layout, placements: Placements) -> tuple[Window, ...]:
    """Return the bits that can be on a line with the embedded struct, in a container and its neighbours."""
    line = placements.line_size
    low, high = (spot.bit_offset // 8 - line) * 8, (spot.bit_offset // 8 + embedded.size + line) * 8
    steps = {row.step * 8 for row in placements.rows if row.item != ASSUMED}
    shifts = (0, *sorted(steps), *sorted(-step for step in steps))
    return tuple((low + shift, high + shift) for shift in shifts)


def _subtract(place: Place, chosen: Sequence[Place]) -> Iterator[Place]:
    """Return the parts of a field that are not chosen."""
    if any(is_within(place.path, c.path) for c in chosen):
        return iter(())
    inside = [c.path for c in chosen if is_within(c.path, place.path)]
    return remaining_parts(place, [steps_of(path)[len(steps_of(place.path)) :] for path in inside])


def judge_containers(
    rule: Rule, struct: Struct, reading: Reading, where: RulePlacements, judge_definition: JudgeDefinition
) -> Iterator[Finding]:
    """Judge a rule in every container of a struct that has fields with the accesses of the rule.

    The verdict is unknown if no container has.
    """
    verdicts = []
    try:
        ways = _ways_to(rule, struct, where)
        for way in ways:
            check = partial(_check_container, rule, struct, way, where)
            verdict = judge_definition(rule, way.struct, where, check)
            if not verdict.is_missing_field:
                verdicts.append((way, verdict))
    except CannotTell as error:
        yield Finding(rule, struct, unknown(str(error), isinstance(error, NoSuchField)), reading.path)
        return
    for way, verdict in verdicts:
        first, *also = way.struct.files or (reading.path,)
        place = _place_in_container(way, struct, len(ways), len(verdicts))
        yield Finding(rule, way.struct, verdict, first, tuple(also), place)
    if not verdicts:
        verdict = unknown(_reason_for_no_verdict(struct, ways), missing_field=True)
        yield Finding(rule, struct, verdict, reading.path)


def _ways_to(rule: Rule, struct: Struct, where: RulePlacements) -> list[Container]:
    """Return the places of a struct in containers. Raises CannotTell."""
    if where.surroundings.is_random:
        raise CannotTell("the surroundings of a struct are not judged in builds that randomise layouts")
    if struct.problem is not None:
        raise UnreliableLayout(f"the layout of {struct.name} is unreliable: {struct.problem}")
    if struct.bit_size is None:
        raise CannotTell(f"{struct.aggregate} {struct.name} is declared but not defined")
    _refuse_missing_fields(rule, Context(Layout(struct), NOWHERE))
    return where.surroundings.containers(struct)


def _refuse_missing_fields(rule: Rule, embedded: Context) -> None:
    """Raise NoSuchField for a field that the rule names and the embedded struct does not have."""
    for path in paths_of(rule.kind):
        if not path.startswith(SELECTOR):
            embedded.require_fields(path)


def _reason_for_no_verdict(struct: Struct, ways: list[Container]) -> str:
    name = f"{struct.aggregate} {struct.name}"
    if not ways:
        return f"nothing in the inputs embeds {name}"
    places = f"in none of its {len(ways)} places" if len(ways) > 1 else "in its only place"
    return f"no field beside {name} is declared with an access that the rule is about, {places}"


def _place_in_container(way: Container, struct: Struct, places: int, judged: int) -> EmbeddedPlace:
    source = next(spots_in(way, struct, way.bit_offset, way.bit_offset + 1)).source
    return EmbeddedPlace(struct.name, way.written, way.offset, source, places, judged)


def _check_container(
    rule: Rule, struct: Struct, way: Container, where: RulePlacements, own: Context
) -> Verdict:
    """Return the verdict over all elements of the arrays that embed the struct in one container."""
    placements = own.placements
    embedded = where.context(Layout(struct), placements)
    verdicts, nothing_declared = [], NoDeclaredAccess()
    try:
        for spot in spots(way, struct, placements.line_size):
            try:
                verdict = _check_spot(rule, spot, way, own, embedded, where)
                verdicts.append(_put_outside_first(verdict, spot))
            except NoDeclaredAccess as error:
                nothing_declared = error
    except (TooManySpots, ValueError) as error:
        raise CannotTell(str(error)) from None
    if not verdicts:
        raise nothing_declared
    return _merge_elements(verdicts, placements)


def _check_spot(
    rule: Rule, spot: Spot, container: Container, own: Context, embedded: Context, where: RulePlacements
) -> Verdict:
    """Return the verdict on one place; accesses of far fields count if no near field has any."""
    try:
        return rule.kind.check(_container_context(spot, container, own, embedded, where, is_far=False))
    except NoDeclaredAccess:
        return rule.kind.check(_container_context(spot, container, own, embedded, where, is_far=True))


def _container_context(
    spot: Spot, container: Container, own: Context, embedded: Context, where: RulePlacements, is_far: bool
) -> ContainerContext:
    """Return the context of a container; its own declarations override those of structs in it.

    `container` has the struct as it was read, `own` may have it with one of its possible alignments. With
    `is_far`, arrays and structs without an element near the embedded struct count with their first element.
    """
    windows = windows_near(spot, embedded.layout, own.placements)
    inside, outside = _uses(embedded, windows, spot, is_far), Uses()
    for way, other in where.structs_with_accesses(container, own.placements):
        for other_spot in _spots_near(way, other.layout.struct, windows, is_far):
            if spot.is_own_sibling(other_spot.path):
                outside.update(_uses(other, windows, other_spot, is_far))
    declared = {place.path: (place, by) for place, by in _uses(own, windows, None, is_far).items()}
    for uses in (inside, outside):
        for place in [place for place in uses if place.path in declared]:
            del uses[place]
    inside.update(pair for path, pair in declared.items() if spot.is_inside(path))
    outside.update((place, by) for whole, by in declared.values() for place in _parts_outside(spot, whole))
    return ContainerContext(
        own.layout,
        own.placements,
        own.accesses,
        own.storage,
        own.min_align,
        embedded=embedded,
        spot=spot,
        inside=inside,
        outside=outside,
    )


def _parts_outside(spot: Spot, place: Place) -> Iterator[Place]:
    """Return the parts of a container's field that are beside the embedded struct, which it may contain."""
    parts: Iterable[Place] = (place,)
    if spot.path and is_within(spot.path, place.path):
        parts = remaining_parts(place, [steps_of(spot.path)[len(steps_of(place.path)) :]])
    return (part for part in parts if spot.is_outside(part.path))


def _spots_near(way: Container, struct: Struct, windows: tuple[Window, ...], is_far: bool) -> Iterator[Spot]:
    near = {spot.path: spot for window in windows for spot in spots_in(way, struct, *window)}
    if not near and is_far:
        return spots_in(way, struct, way.bit_offset, way.bit_offset + 1)
    return iter(near.values())


def _uses(context: Context, near: tuple[Window, ...], spot: Spot | None, is_far: bool) -> Uses:
    """Return the fields of a struct with declared accesses, as fields of its container; {} for none.

    Of an array, each element counts that is near.
    """
    try:
        uses = context.uses()
    except NoDeclaredAccess:
        return {}
    except NoSuchField as error:
        raise CannotTell(str(error)) from None
    start = 0 if spot is None else spot.bit_offset
    windows = [(low - start, high - start) for low, high in near]
    struct = context.layout.struct
    elements = (
        (element, by)
        for place, by in uses.items()
        for element in _elements_near(struct, place, windows, is_far)
    )
    return {(element if spot is None else move_into_container(element, spot)): by for element, by in elements}


def _elements_near(struct: Struct, place: Place, windows: list[Window], is_far: bool) -> Iterable[Place]:
    """Return a field in each near element; with `is_far` in the first element if none is near."""
    near = dict.fromkeys(
        element for window in windows for element in places_in_elements(struct, place, *window)
    )
    if not near and is_far:
        return places_in_elements(struct, place, place.bit_offset, place.bit_offset + 1)
    return near


def _put_outside_first(verdict: Verdict, spot: Spot) -> Verdict:
    """Return a verdict whose evidence begins with the fields outside: container authors can move those."""
    evidence = sorted(verdict.evidence, key=lambda place: spot.is_inside(place.path))
    return replace(verdict, evidence=tuple(evidence))


def _merge_elements(verdicts: list[Verdict], placements: Placements) -> Verdict:
    """Return the verdict on the worst of several elements, with the failing bases of all."""
    worst = max(verdicts, key=lambda verdict: len(verdict.bases))
    failing = sum(bool(verdict.bases) for verdict in verdicts)
    bases = placements.bases_in_any(verdict.bases for verdict in verdicts)
    merged = judge(placements, bases, worst.message, worst.evidence, worst.advice)
    return replace(merged, in_other_elements=failing > 1)
