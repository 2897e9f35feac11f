"""Ranked guesses: which written field of a struct disturbs the readers of which others, best first.

The score of a pair is the share of the placements in which both are on one line, times the root of the heat
of the writes, times the root of the heat of the reads, times the share of reading in the uses of the second
field, squared. A lock or an atomic counts twice: its line is taken from others even if nothing is stored.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from math import sqrt
from typing import NamedTuple

from layoutlint.geometry.placement import Placements
from layoutlint.inference.meetings import Access, Meetings, Owner
from layoutlint.model.record import Record, field
from layoutlint.model.structs import Field, Struct
from layoutlint.model.uses import Effect, Spot, plain_name
from layoutlint.sources.whole_program.phases import Phase, phase_of
from layoutlint.sources.whole_program.program import FieldUse

PHASE_SHARES = {
    Phase.SETUP: 0.02, Phase.TEARDOWN: 0.1, Phase.SHOWING: 0.02, Phase.SETTING: 0.1, Phase.FAILING: 0.02,
    Phase.NORMAL: 1.0,
}  # fmt: skip
_KINDS = {Effect.LOCK: 2.0, Effect.ATOMIC: 2.0, Effect.WRITE: 1.0}
_READ_MOSTLY = 2.0
_OWN_SHARE = 0.5
"""How much a read counts in a function that writes the other field as well: it may own the line already."""
_MOST_VICTIMS = 3
_MOST_ACCESSES = 30
"""The hottest writes, and reads, of a field of a program that are held against others."""
_LINE_BITS, _WORD_BITS = 512, 64
_FEW_VIEWS = 2
"""A member of a union that overlaps more fields than this is another view of them."""


class Part(NamedTuple):
    """A field that counts as one: a struct that is larger than a line is divided into its own."""

    path: str
    bit_offset: int
    bit_size: int

    def overlaps(self, other: Part) -> bool:
        """Return whether two parts have bits in common."""
        return (
            self.bit_offset < other.bit_offset + other.bit_size
            and other.bit_offset < self.bit_offset + self.bit_size
        )


class Traffic(Record):
    """How hot the uses of a field are, by function."""

    part: Part
    writes: dict[str, float] = field(default_factory=dict)
    is_plain: bool = True
    """Whether no lock or atomic writes it, nor a store that is marked as seen by others."""
    meetings: Meetings | None = None
    """Tells which uses meet in a program; None in a kernel, where all do."""
    accesses: tuple[list[Access], list[Access]] = field(default_factory=lambda: ([], []))
    """The writes and reads of a program."""
    lock: Spot | None = None
    """The field, if it is a lock in a program."""
    reads: dict[str, float] = field(default_factory=dict)
    kind: Effect = Effect.WRITE
    """How it is written, apart from setting up."""

    @property
    def written(self) -> float:
        """The heat of all writes."""
        return sum(self.writes.values())

    @property
    def contended(self) -> float:
        """The heat of the writes that can meet other threads."""
        return sum(self.contended_writes.values())

    @property
    def contended_writes(self) -> dict[str, float]:
        """Those of the writes, by function."""
        if self.meetings is None:
            return self.writes
        functions = {access.function for access in self.accesses[0] if access.is_signed}
        return {key: amount for key, amount in self.writes.items() if key in functions}

    @property
    def read(self) -> float:
        """The heat of all reads."""
        return sum(self.reads.values())


class Pair(Record, frozen=True):
    """A written field, and a field whose readers it disturbs."""

    struct: str
    writer: Traffic
    reader: Traffic
    score: float
    bases: tuple[int, ...]
    """The bases at which both are on one line."""

    def is_within(self, homes: Iterable[str]) -> bool:
        """Return whether both fields are in one of some embedded structs, which has a note of its own."""
        paths = self.writer.part.path, self.reader.part.path
        return any(all(path.startswith(f"{home}.") for path in paths) for home in homes)


class Note(Record, frozen=True):
    """A written field and the fields that it disturbs most."""

    struct: Struct
    writer: Traffic
    pairs: tuple[Pair, ...]
    """Its first victims, best first."""
    score: float
    placements: Placements
    rank_in_struct: int
    writers: int
    """The number of fields of the struct that disturb another one."""

    @property
    def chance(self) -> float:
        """The probability with which a random order has this note among the first three of its struct."""
        return min(1.0, 3 / self.writers)


def parts(fields: Iterable[Field], prefix: str = "", start: int = 0) -> Iterator[Part]:
    """Yield the fields of a struct that count as one."""
    for each in fields:
        offset = start + each.bit_offset
        path = f"{prefix}{each.name}" if each.name else prefix
        is_large = (each.bit_size or 0) > _LINE_BITS and each.members and not each.dims
        if each.name is None or is_large:
            yield from parts(each.members, f"{path}." if each.name else prefix, offset)
        elif each.bit_size:
            yield Part(path, offset, each.bit_size)


def inner_structs(
    fields: Iterable[Field], names: Collection[str], prefix: str = ""
) -> Iterator[str]:
    """Yield the paths of members that are structs of their own, with some names."""
    for each in fields:
        path = f"{prefix}{each.name}" if each.name else ""
        types = (each.type, *each.underlying_types) if each.aggregate == "struct" and path else ()
        if any(type_.left.removeprefix("struct ") in names for type_ in types):
            yield path
        elif each.members:
            yield from inner_structs(each.members, names, f"{path}." if path else prefix)


def traffic(
    struct: Struct,
    uses: Mapping[str, Sequence[FieldUse]],
    heat: Mapping[str, float],
    meetings: Meetings | None = None,
    key: str = "",
) -> list[Traffic]:
    """Return how hot the uses of each field of a struct are, in the order of the fields.

    `meetings` tells which uses meet in a program; None if all do, as in a kernel.
    `key` is that of the struct.
    """
    by_path = {part.path: Traffic(part, meetings=meetings) for part in parts(struct.fields)}
    for path, some in uses.items():
        target = by_path.get(part_path(path, by_path))
        if target is not None:
            for use in some:
                _count(target, use, heat.get(use.function, 0.0))
    if meetings is not None:
        _settle(by_path, meetings, key)
    views = _views([each.part for each in by_path.values()])
    return [each for each in by_path.values() if each.part not in views]


def _settle(fields: Mapping[str, Traffic], meetings: Meetings, key: str) -> None:
    """Decide whose objects are, and keep the hottest uses; name the fields that are locks."""
    every = [access for each in fields.values() for some in each.accesses for access in some]
    is_one_of_many = any(access.owner is Owner.UNKNOWN and access.is_normal for access in every)
    pointed = Owner.SELF if is_one_of_many else Owner.SHARED
    bare = {access.function for access in every if access.is_bare}
    for each in fields.values():
        reads = each.accesses[1]
        reads[:] = [
            meetings.with_possible_locks(access) if access.function in bare else access for access in reads
        ]
        writes = each.accesses[0]
        if any(access.is_volatile for access in writes) and meetings.hand_over((*writes, *reads)):
            writes[:] = [_with_sign(access) if access.is_volatile else access for access in writes]
            each.is_plain = False
        spot = Spot(key, each.part.path)
        each.lock = spot if each.kind is Effect.LOCK or spot in meetings.locks else None
        for accesses in each.accesses:
            accesses.sort(key=lambda access: -access.amount)
            accesses[:] = [
                access._replace(owner=pointed) if access.owner is Owner.POINTED else access
                for access in accesses[:_MOST_ACCESSES]
            ]


def _with_sign(access: Access) -> Access:
    """Return a store that other threads are meant to see."""
    return access._replace(is_plain=False, is_signed=access.is_normal)


def _count(target: Traffic, use: FieldUse, heat: float) -> None:
    share = PHASE_SHARES[phase_of(plain_name(use.function))]
    amount = heat * use.weight * share
    if use.effect.writes:
        target.writes[use.function] = target.writes.get(use.function, 0.0) + amount
        if share == 1.0 and amount > 0:
            target.kind = use.effect if target.kind is Effect.WRITE else target.kind
            target.is_plain = target.kind is Effect.WRITE and target.is_plain and not use.is_marked
    elif use.effect is Effect.READ:
        target.reads[use.function] = target.reads.get(use.function, 0.0) + amount
    if target.meetings is not None and heat * share > 0 and (use.effect.writes or use.effect is Effect.READ):
        target.accesses[not use.effect.writes].extend(target.meetings.accesses(use, heat * share))


def _views(some: Sequence[Part]) -> set[Part]:
    """Return the members of unions that are other views of several fields."""
    starts = sorted(part.bit_offset for part in some)
    ends = sorted(part.bit_offset + part.bit_size for part in some)
    views = set()
    for part in some:
        end = part.bit_offset + part.bit_size
        overlapped = bisect_left(starts, end) - bisect_right(ends, part.bit_offset)
        if overlapped > _FEW_VIEWS + 1 and part.bit_size > _WORD_BITS:
            views.add(part)
    return views


def part_path(path: str, known: Mapping[str, object]) -> str:
    """Return the longest beginning of a path that is known; empty if none is."""
    while path and path not in known:
        path = path.rpartition(".")[0]
    return path


def pairs(struct: Struct, fields: Sequence[Traffic], placements: Placements) -> list[Pair]:
    """Return the pairs of fields of a struct that can share a line, best first."""
    result = []
    for writer, reader in _near_pairs(fields, placements.line_size):
        amount = disturbance(writer, reader)
        bases = shared_bases(writer.part, reader.part, placements) if amount > 0 else ()
        if bases:
            score = len(bases) / len(placements.bases) * amount
            result.append(Pair(struct.name, writer, reader, score, bases))
    return sorted(result, key=lambda pair: (-pair.score, pair.writer.part.path, pair.reader.part.path))


def _near_pairs(fields: Sequence[Traffic], line_size: int) -> Iterator[tuple[Traffic, Traffic]]:
    """Yield written fields with the read ones that can be on a line with them."""
    readers = sorted((each for each in fields if each.reads), key=lambda each: each.part.bit_offset)
    starts = [each.part.bit_offset for each in readers]
    largest = max((each.part.bit_size for each in readers), default=0)
    for writer in fields:
        if writer.written > 0:
            part, line = writer.part, 8 * line_size
            first = bisect_left(starts, part.bit_offset - line - largest)
            last = bisect_right(starts, part.bit_offset + part.bit_size + line)
            yield from ((writer, reader) for reader in readers[first:last] if reader is not writer)


def disturbance(writer: Traffic, reader: Traffic) -> float:
    """Return how much writes of one field disturb reads of another one on the same line."""
    if writer.meetings is None:
        reads = sum(
            amount * (_OWN_SHARE if function in writer.writes else 1.0)
            for function, amount in reader.reads.items()
        )
        amount = sqrt(writer.written * reads)
    else:
        amount = _meeting_heat(writer, reader, writer.meetings)
    if amount <= 0:
        return 0.0
    read_mostly = reader.read / (reader.read + reader.written)
    return amount * float(read_mostly**_READ_MOSTLY) * _KINDS[writer.kind]


def _meeting_heat(writer: Traffic, reader: Traffic, meetings: Meetings) -> float:
    """Return how often writes and reads of a program meet: as often as the rarer ones, about.

    Those without a sign of threads count only if no write has one.
    """
    if reader.lock is not None:
        return 0.0  # its own users contend for it
    writes, reads = writer.accesses[0], reader.accesses[1]
    signed = [write for write in writes if write.is_signed] or writes
    written, read = (sum(access.amount for access in some) for some in (signed, reads))
    met = sum(
        write.amount * read.amount * meetings.share(write, read, writer.writes, writer.lock)
        for write in signed
        for read in reads
    )
    return 2 * met / (written + read) if met > 0 else 0.0


def contention(first: Traffic, second: Traffic) -> float:
    """Return how much writes of one field disturb writes of another one on the same line.

    With itself: how much writes of one element of an array disturb uses of the others.
    """
    if first is second:
        return sqrt(first.written * (first.written + first.read)) * _KINDS[first.kind]
    others = sum(
        amount * (_OWN_SHARE if function in first.writes else 1.0)
        for function, amount in second.writes.items()
    )
    return sqrt(first.written * others) * _KINDS[first.kind]


def shared_bases(first: Part, second: Part, placements: Placements) -> tuple[int, ...]:
    """Return the bases at which two fields share a line; none if they overlap, as members of a union."""
    if first.overlaps(second):
        return ()
    line = placements.line_size

    def lines(part: Part, base: int) -> tuple[int, int]:
        start, end = part.bit_offset // 8, (part.bit_offset + part.bit_size - 1) // 8
        return (base + start) // line, (base + end) // line

    def meet(base: int) -> bool:
        one, other = lines(first, base), lines(second, base)
        return one[1] >= other[0] and other[1] >= one[0]

    return placements.violating_bases(meet)


def notes(
    struct: Struct, pairs: Iterable[Pair], placements: Placements, weight: Callable[[Traffic], float]
) -> list[Note]:
    """Return one note for each writer of a struct, with its first victims, best first.

    `weight` returns what is left of the score of a written field, if others seldom see the objects.
    """
    by_writer: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        by_writer[pair.writer.part.path].append(pair)
    scored = [
        (weight(some[0].writer) * sum(pair.score for pair in some[:_MOST_VICTIMS]), some)
        for some in by_writer.values()
    ]
    scored.sort(key=lambda item: (-item[0], item[1][0].writer.part.path))
    return [
        Note(struct, some[0].writer, tuple(some[:_MOST_VICTIMS]), score, placements, rank, len(scored))
        for rank, (score, some) in enumerate(scored, 1)
    ]
