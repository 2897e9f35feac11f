"""Intent that the source contradicts: fields declared as read that functions write, or the reverse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from layoutlint.geometry.groups import Group
from layoutlint.judgement.rule import Pack
from layoutlint.model.paths import is_within
from layoutlint.model.record import Record
from layoutlint.model.structs import Struct
from layoutlint.model.uses import Effect, plain_name
from layoutlint.sources.whole_program.phases import Phase, phase_of
from layoutlint.sources.whole_program.program import FieldUse

_MOST_PLACES = 5
_LEAST_SHARE = 0.05
"""A field counts as read if it is written less often than this share of its reads."""
_WRITTEN = "hot-write"
_DECLARED = ("hot-read", "read-mostly", _WRITTEN)


class Contradiction(Record, frozen=True):
    """A field whose declared use is not what functions do."""

    struct: str
    path: str
    declared: str
    """What is declared, and where."""
    observation: str
    places: tuple[FieldUse, ...]
    """The hottest functions that deny it."""


def find_contradictions(
    struct: Struct,
    groups: Iterable[Group],
    packs: Sequence[Pack],
    uses: Mapping[str, Sequence[FieldUse]],
    heat: Mapping[str, float],
) -> Iterator[Contradiction]:
    """Yield the declarations of a struct's fields that functions deny, in the order of the fields."""
    for path, declared, reads in dict.fromkeys(_declarations(struct, groups, packs)):
        own = [use for used, some in uses.items() if is_within(used, path, any_element=True) for use in some]
        writers = _uses_in_normal_work(own, heat, writes=True)
        if reads and _amount(writers, heat) > _LEAST_SHARE * _amount(
            _uses_in_normal_work(own, heat, writes=False), heat
        ):
            yield Contradiction(struct.name, path, declared, "written", writers[:_MOST_PLACES])
        elif not reads and not writers and _is_set_up(own):
            readers = _uses_in_normal_work(own, heat, writes=False)
            if readers:
                yield Contradiction(struct.name, path, declared, "only read", readers[:_MOST_PLACES])


def _declarations(
    struct: Struct, groups: Iterable[Group], packs: Sequence[Pack]
) -> Iterator[tuple[str, str, bool]]:
    """Yield paths, what is declared of them, and whether that is reading."""
    for group in groups:
        for member in group.members if group.use is not None else ():
            if member.path and group.use is not None:
                yield member.path, f"in the group {group.name}", not group.use.writes
    for pack in packs:
        for access in pack.accesses(struct):
            if access.access in _DECLARED and not any(letter in access.path for letter in "*?["):
                yield access.path, f"{access.access} ({access.source})", access.access != _WRITTEN


def _is_set_up(uses: Sequence[FieldUse]) -> bool:
    """Return whether functions write a field, and hand its address to none whose body is unknown.

    Without a write, those that write it are probably in other sources.
    """
    effects = {use.effect for use in uses}
    return Effect.ADDRESS not in effects and any(effect.writes for effect in effects)


def _amount(uses: Iterable[FieldUse], heat: Mapping[str, float]) -> float:
    return sum(heat[use.function] * use.weight for use in uses)


def _uses_in_normal_work(
    uses: Iterable[FieldUse], heat: Mapping[str, float], writes: bool
) -> tuple[FieldUse, ...]:
    """Return the uses in functions that run in normal work, the hottest first, one for each function."""
    hot = {
        use.function: use
        for use in uses
        if use.effect.writes == writes
        and heat.get(use.function, 0.0) > 0
        and phase_of(plain_name(use.function)) is Phase.NORMAL
    }
    return tuple(sorted(hot.values(), key=lambda use: (-heat[use.function], use.function)))
