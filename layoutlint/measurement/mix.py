"""The mix of accesses in a profile: which fields are loaded, stored and changed atomically, how often, and by
how many CPUs. Cores of a measurement repeat it in the same proportions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from math import gcd, lcm

from layoutlint.errors import ReadError
from layoutlint.geometry.layout import Layout
from layoutlint.judgement.evidence import layout_difference
from layoutlint.measurement.experiment import Operation
from layoutlint.model.record import Record
from layoutlint.model.structs import Struct
from layoutlint.phrases import quantity
from layoutlint.readers.profiles.saved import Line, Profile, ProfiledStruct, Saved, Touch

MOST_TURNS = 256
"""The most accesses of one core before it begins again: a window of time must have many such rounds."""
MOST_CORES = 8
"""The most cores that replay a profile, if the caller names none."""
_ATOMIC = re.compile(
    r"_Atomic|\b(?:atomic\w*|local(?:64)?_t|refcount_t|refcount_struct|kref"
    r"|pthread_(?:mutex|spinlock|rwlock)_t)\b"
)
"""Types that programs change atomically only: of C, Linux and the C library."""
_MOST_NAMES = 6
_ROUNDING, _FEW = 0.01, 64
"""perf prints shares with two digits, so that the counts of fields are near the true ones."""


class MixedAccess(Record, frozen=True):
    """One way in which a profile shows a field accessed."""

    path: str
    within: int
    """Bytes from the first one of the field to the accessed one."""
    operation: Operation
    count: int
    """How often, in the units of the profile."""
    cpus: int
    """How many CPUs access the field; 0 if the profile does not state it."""
    on: frozenset[int] = frozenset()
    """The CPUs that do it; empty if the profile does not state them."""


class Mix(Record, frozen=True, dict=True):
    """The accesses of profiles to the fields of one struct."""

    accesses: tuple[MixedAccess, ...]
    files: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """What the profiles do not state and is assumed, as sentences."""

    @cached_property
    def cpus(self) -> int:
        """The CPUs, or the most of one field; at least two, since the accesses are contended."""
        return max(2, len(self.numbers) or max(each.cpus for each in self.accesses))

    @cached_property
    def numbers(self) -> dict[int, int]:
        """The positions of the CPUs of all accesses; empty if those of one are not stated."""
        are_known = all(each.on for each in self.accesses)
        every = sorted(frozenset().union(*(each.on for each in self.accesses))) if are_known else ()
        return {number: at for at, number in enumerate(every)}

    def share_out(self, cores: int) -> tuple[tuple[tuple[MixedAccess, int], ...], ...]:
        """Return what each core accesses before it begins again, and how often.

        If three of four CPUs access a field, so do three of four cores: the first cores, or the last ones for
        a field that is only read; but if the CPUs are known, neighbours among them are one core. Raises
        ValueError if there are cores without an access.
        """
        written = {each.path for each in self.accesses if each.operation != "load"}
        shares = [self._cores_of(each, each.path in written, cores) for each in self.accesses]
        whole = lcm(*map(len, shares))
        loads = [
            [
                each.count * whole // len(own) * (core in own)
                for each, own in zip(self.accesses, shares, strict=True)
            ]
            for core in range(cores)
        ]
        if not all(map(any, loads)):
            if len(self.numbers) > 1:
                raise ValueError(f"the profile has accesses of {len(self.numbers)} CPUs: name no more cores")
            raise ValueError("the profile has accesses of one CPU only, which disturb no other")
        unit = gcd(*(count for own in loads for count in own))
        most = max(map(sum, loads)) // unit
        turns = (
            [count // unit for count in own] if most <= MOST_TURNS else _round_shares(own, unit * most)
            for own in loads
        )
        return tuple(
            tuple((each, times) for each, times in zip(self.accesses, own, strict=True) if times)
            for own in turns
        )

    def _cores_of(self, access: MixedAccess, is_written: bool, cores: int) -> Collection[int]:
        """Return the cores that access a field."""
        if self.numbers:
            return {self.numbers[number] * cores // len(self.numbers) for number in access.on}
        share = access.cpus or self.cpus
        number = max(1, (2 * share * cores + self.cpus) // (2 * self.cpus))
        return range(number) if is_written else range(cores - number, cores)

    def sentences(self, cores: int) -> tuple[str, ...]:
        """Return what a replay on some cores assumes, joins and leaves out."""
        return (*self.notes, *self.joined_cpus(cores), *self.rare_accesses(cores))

    def joined_cpus(self, cores: int) -> Iterator[str]:
        """Yield a sentence if one core replays several CPUs, which then do not disturb one another."""
        number = len(self.numbers)
        if number > cores:
            yield (
                f"{quantity(cores, 'core')} replay {number} CPUs: what CPUs of one core do to one another is "
                "not measured; a machine with more cores tells more"
            )

    def rare_accesses(self, cores: int) -> Iterator[str]:
        """Yield a sentence on the accesses that are too rare to be one of a core's turns."""
        kept = {access for own in self.share_out(cores) for access, _ in own}
        rare = [each for each in self.accesses if each not in kept]
        if rare:
            share = sum(each.count for each in rare) / sum(each.count for each in self.accesses)
            names = _names(dict.fromkeys(each.path for each in rare))
            yield f"left out are the rarest accesses, {share:.2%} of all: some to {names}"


def _round_shares(counts: Sequence[int], whole: int) -> list[int]:
    """Return counts as turns of one core, if MOST_TURNS are `whole`: by the largest remainders."""
    total = sum(counts)
    turns = max(1, round(MOST_TURNS * total / whole))
    least = [count * turns // total for count in counts]
    by_rest = sorted(range(len(counts)), key=lambda number: -(counts[number] * turns % total))
    for number in by_rest[: turns - sum(least)]:
        least[number] += 1
    return least


def read_mix(files: Sequence[Saved], layouts: Sequence[Layout], has_stores: bool = False) -> Mix:
    """Return the accesses of saved profiles to a struct, of which the layouts are given.

    `has_stores` says that all changes are plain stores. Raises ReadError for a file without accesses to the
    struct, for one that contradicts itself, and for one of another layout than all of the given ones.
    """
    found: dict[tuple[str, int], _Field] = {}
    notes: dict[str, None] = {}
    for file in files:
        for number, struct in _profiled_structs(file, layouts[0].struct):
            differences = [layout_difference(each, struct.size, _places(struct)) for each in layouts]
            if all(differences):
                raise ReadError(file.path, differences[0])
            _add_lines(file.path, f"structs[{number}]", struct, found)
            notes.update(dict.fromkeys(_doubts(struct.lines)))
    fields = [(*key, found[key]) for key in sorted(found, key=lambda key: found[key].at)]
    accesses = tuple(
        access
        for path, within, own in fields
        for access in own.accesses(path, within, not has_stores and _is_atomic(path, layouts[0]))
    )
    if not accesses:
        raise ReadError(files[0].path, "the profile counts no load and no store of a field")
    notes.update(dict.fromkeys(_assumptions(fields, accesses)))
    return Mix(accesses, tuple(each.path for each in files), tuple(notes))


class _Field(Record):
    """The counts of one byte of a struct, over all lines and files."""

    at: int
    loads: int = 0
    stores: int = 0
    cpus: int = 0
    has_all_loads: bool = True
    read_on: frozenset[int] | None = frozenset()
    written_on: frozenset[int] | None = frozenset()
    """The CPUs, as far as they are known; None if one line does not state them."""

    def accesses(self, path: str, within: int, is_atomic: bool) -> Iterator[MixedAccess]:
        """Yield its loads and changes."""
        if self.loads:
            yield MixedAccess(path, within, "load", self.loads, self.cpus, self.read_on or frozenset())
        if self.stores:
            operation: Operation = "add" if is_atomic else "store"
            on = self.written_on or frozenset()
            yield MixedAccess(path, within, operation, self.stores, self.cpus, on)


def _profiled_structs(file: Saved, struct: Struct) -> list[tuple[int, ProfiledStruct]]:
    """Return what a file has of a struct, with the positions. Raises ReadError for nothing."""
    content = file.content
    if not isinstance(content, Profile):
        raise ReadError(file.path, "it is a measurement: give the JSON of `layoutlint evidence`")
    name, every = f"{struct.aggregate} {struct.name}", list(enumerate(content.structs))
    own = [each for each in every if (each[1].aggregate, each[1].name) == (struct.aggregate, struct.name)]
    if not own:
        others = ", ".join(f"{each.aggregate} {each.name}" for _, each in every[:_MOST_NAMES])
        raise ReadError(file.path, f"no accesses to {name}, only to {others}" if others else f"no {name}")
    if not any(each.lines for _, each in own):
        reason = "samples of types count loads and stores in different units: no cache line is placed"
        raise ReadError(file.path, f"{name}: {reason}")
    return own


def _places(struct: ProfiledStruct) -> tuple[Touch, ...]:
    return tuple(touch for line in struct.lines for touch in line.fields)


def _add_lines(path: str, key: str, struct: ProfiledStruct, found: dict[tuple[str, int], _Field]) -> None:
    for number, line in enumerate(struct.lines):
        for index, touch in enumerate(line.fields):
            reason = _contradiction(line, touch)
            if reason:
                raise ReadError(path, f"`{key}.lines[{number}].fields[{index}]`: {reason}")
            own = found.setdefault((touch.path, touch.at - touch.offset), _Field(touch.at))
            stores, snoops = _stores(touch), _snoops(touch)
            own.stores += stores
            own.loads += max(snoops, (touch.records or 0) - stores)
            own.cpus = max(own.cpus, touch.cpus)
            own.has_all_loads &= touch.records is not None
            own.read_on = _union(own.read_on, touch.read_on)
            own.written_on = _union(own.written_on, touch.written_on)


def _union(every: frozenset[int] | None, more: Sequence[int] | None) -> frozenset[int] | None:
    return None if every is None or more is None else every | frozenset(more)


def _contradiction(line: Line, touch: Touch) -> str:
    """Return how the counts of a field cannot be; empty if they can."""
    for name in ("remote", "local", "peer", "l1_hit", "l1_miss", "other"):
        own, whole = getattr(touch.counts, name), getattr(line.counts, name)
        if own > whole * (1 + _ROUNDING) + _FEW:
            return f"`counts.{name}` is {own:,}, and the line has {whole:,}"
    least = max(_stores(touch), _snoops(touch))
    if touch.records is not None and least > touch.records * (1 + _ROUNDING) + _FEW:
        return f"`records` is {touch.records:,}, and `counts` has {least:,}"
    if touch.size is not None and not 0 <= touch.at - touch.offset < touch.size:
        return f"`at` is {touch.at:,}, which is not in the field"
    return ""


def _stores(touch: Touch) -> int:
    counts = touch.counts
    return counts.l1_hit + counts.l1_miss + counts.other


def _snoops(touch: Touch) -> int:
    counts = touch.counts
    return counts.remote + counts.local + counts.peer


def _is_atomic(path: str, layout: Layout) -> bool:
    """Return whether the type of a field, or of one that contains it, is changed atomically only."""
    steps = path.split(".")
    places = [layout.find(".".join(steps[: number + 1])) for number in range(len(steps))]
    return any(
        _ATOMIC.search(str(ctype))
        for place in places
        if place is not None
        for ctype in (place.field.type, *place.field.underlying_types)
    )


def _doubts(lines: Iterable[Line]) -> Iterator[str]:
    """Yield a sentence for each reason why lines of a profile are not certain, with the first line."""
    doubtful: dict[str, list[Line]] = {}
    for line in lines:
        if line.contradicting_code:
            doubtful.setdefault("code that would access other fields is at the line", []).append(line)
        elif line.identified_by == "struct":
            doubtful.setdefault("no code shows that the line is one of this struct", []).append(line)
        elif line.certainty == "likely":
            doubtful.setdefault("the place of the object on the line is likely, not certain", []).append(line)
    for reason, own in doubtful.items():
        others = f" (and {quantity(len(own) - 1, 'other line')})" if len(own) > 1 else ""
        yield f"{own[0].report}:{own[0].line}: {reason}{others}"


def _assumptions(
    fields: Sequence[tuple[str, int, _Field]], accesses: Sequence[MixedAccess]
) -> Iterator[str]:
    if not all(each.on for each in accesses):
        yield (
            "the profile has numbers of CPUs, not which: the first cores access the fields of fewer CPUs, "
            "and the last cores those that are only read"
        )
    atomic = dict.fromkeys(each.path for each in accesses if each.operation == "add")
    if atomic:
        names = _names(atomic)
        yield f"the profile does not state which stores are atomic: by their types, those to {names} are"
    partial = dict.fromkeys(path for path, _, own in fields if not own.has_all_loads)
    if partial:
        names = _names(partial)
        yield f"the profile does not count all loads of {names}: those that took the line are replayed"


def _names(paths: Iterable[str]) -> str:
    names = [f"`{path}`" for path in paths]
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {quantity(more, 'other')}" if more > 0 else "")
