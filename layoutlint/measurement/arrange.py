"""Arrangements of a struct: the sides of a rule, or named fields, as roles of cores at some bases,
with the words by which a program accesses fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product
from math import gcd

from layoutlint.errors import ReadError
from layoutlint.geometry.layout import Place
from layoutlint.judgement.context import CannotTell, Context
from layoutlint.judgement.sides import Side
from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.measurement.experiment import (
    Arrangement,
    Experiment,
    FieldAccess,
    Mode,
    Operation,
    Role,
    Word,
    shared_lines,
)
from layoutlint.measurement.mix import Mix
from layoutlint.model.paths import overlap
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct
from layoutlint.phrases import quantity

_READS = ("hot-read", "read-mostly")
_WRITES = ("hot-write",)
MOST_ROLE_WORDS = 512
"""Maximum number of accesses of one core; each is a line of the program."""
_WIDEST = 8
"""Bytes of the widest access."""
MOST_WORDS = 64
"""Maximum number of words of one field: of a larger one, the first and the last are accessed."""
_MOST_REACH = 1 << 20
"""Bytes of the largest struct that is measured."""


class Uses(Record, frozen=True):
    """Uses of fields that the caller names, which override what a rule file declares."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    locks: tuple[str, ...] = ()
    has_stores: bool = False
    """Whether written fields are stored to; by default they are added to."""

    @property
    def write(self) -> Operation:
        """The operation of writers."""
        return "store" if self.has_stores else "add"

    def operations(self) -> dict[str, Operation]:
        """Return the operation of each path that the caller names."""
        named: dict[str, Operation] = dict.fromkeys(self.reads, "load")
        named |= dict.fromkeys(self.writes, self.write)
        return named | dict.fromkeys(self.locks, "lock")


class Subject(Record, frozen=True):
    """One layout of the struct that is measured, with what its rule states."""

    label: str
    origin: str
    struct: Struct
    context: Context
    verdict: Verdict | None
    """None without a rule."""
    sides: tuple[Side, ...]
    """Empty without a rule."""
    why: str
    """The reason for the bases."""


class NotNamed(ValueError):
    """Raised for a field of the caller that is in no side of the rule."""


def named_sides(context: Context, uses: Uses) -> tuple[Side, ...]:
    """Return the fields that the caller names as sides: who tries locks, or writes, and all others.

    Raises CannotTell for a path without a field.
    """
    operations = uses.operations()
    groups = [
        [path for path in operations if operations[path] == kind] for kind in ("lock", uses.write, "load")
    ]
    first = next(group for group in groups if group)
    rest = [path for path in operations if path not in first]
    if not rest:
        first, rest = first[:1], first[1:]
    return tuple(Side(context.places(tuple(paths))) for paths in (first, rest) if paths)


def override(sides: Sequence[Side], context: Context, uses: Uses) -> tuple[Side, ...]:
    """Return the sides with the fields that the caller names instead of the ones that contain them.

    Raises CannotTell for a path without a field, and NotNamed for one that is in no side.
    """
    named = context.places(tuple(uses.operations())) if uses.operations() else ()
    for place in named:
        if not any(overlap(place.path, each.path) for side in sides for each in side.places):
            raise NotNamed(f"`{place.path}` is not a field of the rule")
    return tuple(replace(side, places=_override_side(side, named)) for side in sides)


def _override_side(side: Side, named: tuple[Place, ...]) -> tuple[Place, ...]:
    places: dict[Place, None] = {}
    for place in side.places:
        own = [each for each in named if overlap(each.path, place.path)]
        places.update(dict.fromkeys(own or (place,)))
    return tuple(places)


def experiment(
    mode: Mode, subjects: Sequence[Subject], uses: Uses, intervals: tuple[int, ...], line_size: int
) -> Experiment:
    """Return what is measured. Raises ValueError for fields that cannot be accessed."""
    pair = _opposed_sides(subjects) if mode == "contention" else None
    arrangements = tuple(
        _arrangement(mode, each, _roles(each, uses, pair, line_size), line_size) for each in subjects
    )
    return Experiment(mode, line_size, arrangements, intervals if mode == "contention" else (0,))


def replay(
    mix: Mix, cores: int, subjects: Sequence[Subject], intervals: tuple[int, ...], line_size: int
) -> Experiment:
    """Return an experiment in which cores do the accesses of a profile.

    Raises ReadError for fields that a layout lacks, and for those that cannot be accessed.
    """
    arrangements = []
    for each in subjects:
        try:
            roles = _replaying_roles(mix, cores, each, line_size)
            arrangements.append(_arrangement("contention", each, roles, line_size))
        except (ValueError, CannotTell) as error:
            raise ReadError(each.origin, str(error)) from None
    return Experiment("contention", line_size, tuple(arrangements), intervals)


def _replaying_roles(mix: Mix, cores: int, subject: Subject, line_size: int) -> tuple[Role, ...]:
    widest = gcd(_WIDEST, line_size, *subject.context.placements.bases)
    places = {each.path: subject.context.place(each.path) for each in mix.accesses}
    for place in places.values():
        _refuse_untouchable(place)
    roles = []
    for turns in mix.share_out(cores):
        fields = []
        for access, times in turns:
            place = places[access.path]
            at = place.offset + access.within
            if at >= place.end:
                raise ValueError(f"`{access.path}` has no byte {access.within}, which the profile shows")
            word = Word(access.operation, _width(at, place.end - at, widest), at)
            size = place.end - place.offset
            fields.append(
                FieldAccess(access.path, place.offset, size, access.operation, False, (word,), times)
            )
        roles.append(Role(tuple(fields)))
    return tuple(roles)


def _opposed_sides(subjects: Sequence[Subject]) -> tuple[int, int]:
    """Return the two sides that are measured against each other: the first that share a line."""
    for subject in subjects:
        shared = () if subject.verdict is None else subject.verdict.shared
        numbers = combinations(range(len(subject.sides)), 2)
        for each, (a, b) in product(shared, numbers):
            first, second = subject.sides[a], subject.sides[b]
            if (_has(first, each.first) and _has(second, each.second)) or (
                _has(first, each.second) and _has(second, each.first)
            ):
                return a, b
    return 0, 1


def _has(side: Side, path: str) -> bool:
    return any(overlap(path, place.path) for place in side.places)


def _roles(
    subject: Subject, uses: Uses, pair: tuple[int, int] | None, line_size: int
) -> tuple[Role, ...]:
    """Return what two cores do with the sides of a pair, or in a sweep one core with all fields."""
    if pair is None:
        fields = (f for side in subject.sides for f in _fields(side, subject, uses, line_size))
        return (Role(tuple(dict.fromkeys(fields))),)
    both = [Role(_fields(subject.sides[number], subject, uses, line_size)) for number in pair]
    return _move_across_objects(tuple(sorted(both, key=_disturbs)), subject.verdict)


def _arrangement(mode: Mode, subject: Subject, roles: tuple[Role, ...], line_size: int) -> Arrangement:
    bases = subject.context.placements.bases
    for role in roles:
        _refuse_unmeasurable(role)
    verdict = subject.verdict
    arrangement = Arrangement(
        label=subject.label,
        origin=subject.origin,
        size=subject.context.layout.size,
        roles=roles,
        bases=bases,
        affected=(),
        violating=_violating_bases(bases, verdict),
        why=subject.why,
        verdict="" if verdict is None else verdict.message,
    )
    return replace(arrangement, affected=tuple(_affected_bases(mode, arrangement, line_size)))


def field_access(
    place: Place, operation: Operation, is_assumed: bool, bases: Iterable[int], line_size: int
) -> FieldAccess:
    """Return the accesses to a field of an object that can be at some bases. Raises ValueError for none."""
    _refuse_untouchable(place)
    assert place.size is not None
    widest = gcd(_WIDEST, line_size, *bases)
    words = _words(place.offset, place.end, widest, operation)
    return FieldAccess(place.path, place.offset, place.size, operation, is_assumed, words)


def _refuse_untouchable(place: Place) -> None:
    """Raise ValueError for a field without bytes, and one that is too far from the start of the struct."""
    if place.size is None or place.is_flexible:
        raise ValueError(f"the size of `{place.path}` is not known")
    if place.is_empty:
        raise ValueError(f"`{place.path}` is empty: there is nothing to access")
    if place.end > _MOST_REACH:
        raise ValueError(
            f"`{place.path}` ends at byte {place.end:,}; only the first {_MOST_REACH:,} bytes of a struct "
            "are measured"
        )


def _words(start: int, end: int, widest: int, operation: Operation) -> tuple[Word, ...]:
    """Return the naturally aligned words of bytes [start, end)."""
    words: list[Word] = []
    at = start
    while at < end and len(words) < MOST_WORDS // 2:
        width = _width(at, end - at, widest)
        words.append(Word(operation, width, at))
        at += width
    last: list[Word] = []
    while end > at and len(last) < MOST_WORDS // 2:
        width = _width(end, end - at, widest)
        end -= width
        last.append(Word(operation, width, end))
    return (*words, *reversed(last))


def _width(at: int, most: int, widest: int) -> int:
    """Return the width of a word that is aligned to itself at `at` and has at most `most` bytes."""
    width = widest
    while at % width or width > most:
        width //= 2
    return width


def _refuse_unmeasurable(role: Role) -> None:
    if not role.words:
        raise ValueError("all of its fields are declared `cold`: nothing accesses them")
    if len(role.words) > MOST_ROLE_WORDS:
        raise ValueError(
            f"one side has {len(role.words):,} words, and at most {MOST_ROLE_WORDS} are measured; name fields"
        )
    if role.distance > _MOST_REACH:
        raise ValueError(
            f"the next object is {role.distance:,} bytes on, and at most {_MOST_REACH:,} are possible"
        )


def _fields(side: Side, subject: Subject, uses: Uses, line_size: int) -> tuple[FieldAccess, ...]:
    places = [place for place in side.places if not place.is_empty] or side.places
    fields = (_field(place, side, subject, uses, line_size) for place in places)
    return tuple(field for field in fields if field is not None)


def _field(place: Place, side: Side, subject: Subject, uses: Uses, line_size: int) -> FieldAccess | None:
    """Return the accesses to a field; None if it is declared as cold."""
    operation, is_assumed = _operation(place, side, subject.context, uses)
    bases = subject.context.placements.bases
    return operation and field_access(place, operation, is_assumed, bases, line_size)


def _operation(place: Place, side: Side, context: Context, uses: Uses) -> tuple[Operation | None, bool]:
    """Return how a field is accessed, and whether that is an assumption; None if it is declared as cold."""
    named = next((o for path, o in uses.operations().items() if overlap(path, place.path)), None)
    if named is not None:
        return named, False
    if side.use is not None:
        stated: dict[str, Operation] = {"read": "load", "write": uses.write, "lock": "lock"}
        return stated[side.use], False
    words = _declared_words(place, context)
    if words & set(_WRITES):
        return uses.write, False
    if words & set(_READS):
        return "load", False
    return (None, False) if words == {"cold"} else (uses.write, True)


def _declared_words(place: Place, context: Context) -> set[str]:
    try:
        declared = context.uses()
    except CannotTell:  # no access is declared, or only for fields that this layout lacks
        return set()
    return {each.access for other, by in declared.items() if overlap(other.path, place.path) for each in by}


def _disturbs(role: Role) -> int:
    """Return the rank of a role: who tries a lock takes lines away most, who only reads never does."""
    operations = {word.operation for word in role.words}
    return 0 if "lock" in operations else 1 if operations & {"store", "add"} else 2


def _move_across_objects(roles: tuple[Role, ...], verdict: Verdict | None) -> tuple[Role, ...]:
    """Move one role to the next object in a row, if the rule is violated only there."""
    shared = () if verdict is None else verdict.shared
    if not shared or any(each.distance == 0 for each in shared):
        return roles
    worst = shared[0]
    number = 1 if any(overlap(worst.second, field.path) for field in roles[1].fields) else 0
    moved = (replace(role, distance=worst.distance * (n == number)) for n, role in enumerate(roles))
    return tuple(moved)


def _violating_bases(bases: tuple[int, ...], verdict: Verdict | None) -> tuple[int, ...] | None:
    """Return the bases at which the rule is violated; None without a verdict."""
    if verdict is None or verdict.outcome is Outcome.UNKNOWN:
        return None
    if verdict.total:
        return tuple(base for base in bases if base in verdict.bases)
    return bases if verdict.outcome is Outcome.BROKEN else ()


def _affected_bases(mode: Mode, arrangement: Arrangement, line_size: int) -> Iterator[int]:
    """Yield the bases with a shared line, or in a sweep with more lines than the words need."""
    size = sum(word.width for word in arrangement.roles[0].words)
    for base in arrangement.bases:
        if mode == "contention":
            is_affected = bool(shared_lines(arrangement.roles, base, line_size))
        else:
            is_affected = len(arrangement.roles[0].lines(base, line_size)) > -(-size // line_size)
        if is_affected:
            yield base


def notes(subjects: Sequence[Subject], experiment: Experiment) -> tuple[str, ...]:
    """Return what a reader of the numbers must know, as sentences."""
    return tuple(dict.fromkeys(_notes(subjects, experiment)))


def _notes(subjects: Sequence[Subject], experiment: Experiment) -> Iterator[str]:
    for subject, arrangement in zip(subjects, experiment.arrangements, strict=True):
        label = f"{arrangement.label}: " if arrangement.label else ""
        if experiment.mode == "contention":
            if len(subject.sides) > 2:
                yield f"{label}the rule has {len(subject.sides)} sides, and two of them are measured"
            if all(word.operation == "load" for role in arrangement.roles for word in role.words):
                yield f"{label}nothing writes: no core takes a line away from another"
        only_stated = set(arrangement.violating or ()) - set(arrangement.affected)
        if only_stated:
            number = quantity(len(only_stated), "placement")
            yield f"{label}in {number}, the rule is violated by other bytes than the accessed ones"
        for field in (field for role in arrangement.roles for field in role.fields):
            if sum(word.width for word in field.words) < field.size:
                yield f"{label}only the first and last {MOST_WORDS // 2} words of `{field.path}` are accessed"
