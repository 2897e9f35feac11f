"""Contention that profiles measured, as pairs of fields: what an order of the members can take away.

A HITM is a load that got its line from a cache that had changed it. perf counts it at the offset that was
loaded, the victim, and not at the store that took the line away. So the HITMs of a field are divided among
the fields that are written on the same line of the report, in proportion to their sampled stores; fields with
less than a twentieth of the line's stores are left out. The part of the field itself is true sharing of one
word, which no order takes away.

Two fields that no line of the reports has together have no HITMs. They get an estimate, so that no order puts
them together unseen: stores of the one times accesses of the other, at the rate of HITMs that the fields on
one line have for the same product. If there are no HITMs at all, all pairs have these products.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Annotated, Literal

from layoutlint.errors import ReadError, UsageError
from layoutlint.geometry.layout import Layout, Place
from layoutlint.geometry.placement import Placements
from layoutlint.judgement.evidence import LEAST_STORES
from layoutlint.model.json_object import Amount, JsonObject, Natural, Positive, one_of
from layoutlint.model.paths import are_in_other_elements, overlap
from layoutlint.model.record import Record, field
from layoutlint.model.structs import Struct
from layoutlint.readers.profiles.saved import Line, Profile, Touch, load
from layoutlint.suggestion.orders.demands import Apart
from layoutlint.suggestion.orders.problem import ContendedPair

_MOST = 1 << 40
"""More accesses than a profile has; sums of the search are integers of 64 bits."""
_ROUNDED = Fraction(1, 100)
"""What counts of offsets can be more than that of their line: perf prints shares with two digits."""

Unit = Literal["hitm", "peer", "product"]
Reason = Literal["true-sharing", "one-array", "no-writer", "not-listed"]


class PairContention(JsonObject, frozen=True):
    """Two fields that contend for a line."""

    written: str
    """The field whose stores take the line away."""
    other: str
    """The field whose loads get it back; of an estimate either of the two."""
    accesses: Natural
    """The HITMs, or what else `unit` states."""
    estimated: bool
    """Whether no line of the reports has both: the number is what their stores and loads let expect."""
    before: Natural
    """The placements in which they share a line as declared."""
    after: Natural
    """The same in the new order."""


class Staying(JsonObject, frozen=True):
    """Contention that no order takes away."""

    reason: Annotated[str, one_of("true-sharing", "one-array", "no-writer", "not-listed")]
    """`true-sharing`: one word is written and read. `one-array`: elements of one array. `no-writer`: no store
    to the line was sampled. `not-listed`: the line has more than its rows in the report."""
    path: str
    """The field that is loaded. Empty for none."""
    accesses: Natural
    """The HITMs, or what else `unit` states."""


class Contention(JsonObject, frozen=True):
    """The contention that profiles measured, and what an order leaves of it."""

    files: tuple[str, ...]
    """The files with evidence."""
    unit: Annotated[str, one_of("hitm", "peer", "product")]
    """What is counted: HITMs, peer snoops, or where there are none, stores times accesses."""
    measured: Natural
    """All that was measured on lines of the struct, without estimates."""
    placements: Positive
    """The number of placements of the struct."""
    placements_after: Positive
    """The same in the new order, with other alignment."""
    before: Amount
    """What the pairs have as declared, on average over all placements, with estimates."""
    after: Amount
    """The same in the new order."""
    pairs: tuple[PairContention, ...]
    """The pairs of fields on one line, the most contended first."""
    stays: tuple[Staying, ...]
    """What no order takes away."""

    @property
    def nouns(self) -> str:
        """What is counted, in words."""
        nouns = {"hitm": "HITMs", "peer": "peer snoops", "product": "products of stores and accesses"}
        return nouns[self.unit]

    @property
    def effect(self) -> str:
        """What falls away, what changes and what stays, in a sentence."""
        apart, rest, changed = 0, self.measured, Counter[tuple[int, int]]()
        for pair in self.pairs:
            if pair.estimated or pair.after * self.placements == pair.before * self.placements_after:
                continue
            rest -= pair.accesses
            if pair.after:
                changed[pair.before, pair.after] += pair.accesses
            else:
                apart += pair.accesses
        every = f"{self.placements_after} of {self.placements_after} placements"
        parts = [f"{self._part(apart)} fall away, apart in {every}"] if apart else []
        parts += [
            f"{self._part(accesses)} are of fields on one line in {after} of {self.placements_after} "
            f"placements, before in {before} of {self.placements}"
            for (before, after), accesses in sorted(changed.items())
        ]
        parts += [f"{self._part(rest)} stay"] if rest else []
        return f"of {self.measured:,} {self.nouns} measured, {'; '.join(parts) or 'none is of a pair'}"

    def _part(self, accesses: int) -> str:
        return f"{accesses:,} ({100 * accesses / max(self.measured, 1):.0f} %)"

    @property
    def pair_lines(self) -> list[str]:
        """Each pair in words."""
        return [
            f"{'estimated ' * pair.estimated}{pair.accesses:,}: stores to `{pair.written}`, loads of "
            f"`{pair.other}`; on one line in {pair.before} of {self.placements} placements, now {pair.after} "
            f"of {self.placements_after}"
            for pair in self.pairs
        ]

    @property
    def staying_lines(self) -> list[str]:
        """What no order takes away, in words."""
        return [f"{each.accesses:,}: {_STAYING[each.reason].format(path=each.path)}" for each in self.stays]


_STAYING = {
    "true-sharing": "true sharing of `{path}`, one word that is written and read: no order helps",
    "one-array": "`{path}` and another element of its array: no order helps",
    "no-writer": "loads of `{path}`: no store to the line was sampled, so who takes it away is unknown",
    "not-listed": "on lines of the struct, in rows that the report lacks",
}


class _Field(Record):
    """The accesses to a field, of all lines."""

    stores: int = 0
    loads: int = 0
    cpus: int = 0
    is_writer: bool = False
    on: frozenset[int] = frozenset()
    """The CPUs, as far as the files state them."""


class Measured(Record):
    """What the files say of one struct."""

    files: tuple[str, ...]
    unit: Unit = "hitm"
    units: set[Literal["hitm", "peer"]] = field(default_factory=set)
    """What the reports count."""
    total: int = 0
    """The HITMs of all lines."""
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The HITMs by written and loaded field."""
    estimates: Counter[tuple[str, str]] = field(default_factory=Counter)
    stays: Counter[tuple[Reason, str]] = field(default_factory=Counter)
    doubts: dict[str, None] = field(default_factory=dict)
    """What is less than certain, in words."""

    def contended_pairs(self, struct: Struct, where: Placements) -> tuple[ContendedPair, ...]:
        """Return the pairs to part in a struct, with estimates."""
        layout = Layout(struct)
        weights = Counter[tuple[str, ...]]()
        for names, accesses in (*self.pairs.items(), *self.estimates.items()):
            weights[tuple(sorted(names))] += accesses
        return tuple(
            ContendedPair(Apart(_find(layout, a), _find(layout, b), where.bases, where.line_size), accesses)
            for (a, b), accesses in weights.items()
            if accesses
        )

    def compare(
        self, before: Sequence[ContendedPair], old: Struct, after: Sequence[ContendedPair], new: Struct
    ) -> Contention:
        """Return what a changed struct leaves; both have their pairs, at their own placements."""
        sides = (before, Layout(old)), (after, Layout(new))
        shared = [_shared_placements(*side) for side in sides]
        every = [(names, accesses, False) for names, accesses in self.pairs.items()]
        every += [(names, accesses, True) for names, accesses in self.estimates.items()]
        rows = [
            PairContention(*names, accesses, is_estimate, *(own[frozenset(names)] for own in shared))
            for names, accesses, is_estimate in every
            if accesses
        ]
        placements = len(before[0].apart.bases) if before else 1
        placements_after = len(after[0].apart.bases) if after else 1
        stays = (Staying(*key, accesses) for key, accesses in self.stays.items() if accesses)
        averages = [_average(*side) for side in sides]
        return Contention(
            self.files, self.unit, self.total, placements, placements_after, averages[0], averages[1],
            tuple(sorted(rows, key=lambda row: (row.estimated, -row.accesses))),
            tuple(sorted(stays, key=lambda each: -each.accesses)),
        )  # fmt: skip


def _shared_placements(pairs: Sequence[ContendedPair], layout: Layout) -> dict[frozenset[str], int]:
    """Return in how many placements the fields of each pair share a line."""
    return {frozenset((one.apart.a.path, one.apart.b.path)): one.count_shared(layout) for one in pairs}


def _average(pairs: Sequence[ContendedPair], layout: Layout) -> float:
    """Return what pairs cost in a layout, on average over all placements."""
    placements = len(pairs[0].apart.bases) if pairs else 1
    return round(sum(pair.value(layout) for pair in pairs) / placements, 2)


def _find(layout: Layout, path: str) -> Place:
    place = layout.find(path)
    assert place is not None  # it was when the evidence was compared with the struct
    return place


def measured_contention(paths: Iterable[str], struct: Struct) -> Measured:
    """Return what files with evidence say of a struct.

    Raises ReadError for a file that is none, for numbers that cannot be, and for evidence of another struct,
    or of a build with other offsets.
    """
    lines: list[Line] = []
    result = Measured(tuple(dict.fromkeys(paths)))
    for path in result.files:
        found = list(_lines_of(path, struct, result))
        for line in found:
            _refuse_impossible(path, line)
        lines += found
    _divide_lines(lines, result)
    return result


def _lines_of(path: str, struct: Struct, result: Measured) -> Iterator[Line]:
    """Yield the lines of a struct in a file. Raises ReadError."""
    profile = _load(path)
    own = [each for each in profile.structs if struct.matches(each.name)]
    if not own:
        names = ", ".join(each.name for each in profile.structs[:3]) or "no struct"
        raise ReadError(path, f"has no accesses to struct {struct.name}, but to {names}")
    result.units |= {each.snoops for each in profile.reports}
    if len(result.units) > 1:
        raise ReadError(path, "some reports count HITMs, and others peer snoops: give reports of one kind")
    result.unit = next(iter(result.units), "hitm")
    builds = [each.build_note for each in profile.reports if each.build != "same"]
    result.doubts |= dict.fromkeys(f"the build of the profile is not verified: {note}" for note in builds)
    for each in own:
        if each.size is not None and each.size * 8 != struct.bit_size:
            size = (struct.bit_size or 0) // 8
            reason = f"{each.name} has {each.size} bytes there, and {size} here"
            raise ReadError(path, f"is of another build: {reason}")
        if not each.lines:
            raise ReadError(path, f"has no cache line of {each.name}: only perf c2c shows who contends")
        for line in each.lines:
            for touch in line.fields:
                _refuse_other_build(path, touch, Layout(struct))
            yield line


def _load(path: str) -> Profile:
    try:
        profile = load(path).content
    except UsageError as error:
        raise ReadError(path, error.reason) from error
    if not isinstance(profile, Profile):
        raise ReadError(path, "is of `layoutlint measure`: --evidence needs that of `layoutlint evidence`")
    return profile


def _refuse_other_build(path: str, touch: Touch, layout: Layout) -> None:
    place = layout.find(touch.path)
    if place is None or (place.offset, place.size) != (touch.offset, touch.size):
        here = f"{place.size} at {place.offset}" if place is not None else "none"
        there = f"{touch.size} at {touch.offset}"
        raise ReadError(path, f"is of another build: bytes of `{touch.path}` are {there}, and {here} here")


def _refuse_impossible(path: str, line: Line) -> None:
    """Raise ReadError for numbers that no profile has."""
    counts = [line.counts, *(touch.counts for touch in line.fields)]
    sums = [each.contended_loads for each in counts], [each.stores for each in counts]
    for name, (total, *parts) in zip(("loads", "stores"), sums, strict=True):
        most = total + _ROUNDED * total + len(parts)
        if max(total, *parts, 0) > _MOST or sum(parts) > most:
            reason = f"fields have {sum(parts):,} contended {name}, and the line {total:,}"
            raise ReadError(path, f"numbers that cannot be, of line {line.address}: {reason}")


def _divide_lines(lines: Sequence[Line], result: Measured) -> None:
    """Divide the HITMs of lines among pairs of fields, and estimate what the other pairs would have."""
    fields: dict[str, _Field] = {}
    together: set[frozenset[str]] = set()
    result.total = sum(line.counts.contended_loads for line in lines)
    for line in lines:
        writers = _writers(line)
        for touch in line.fields:
            own = fields.setdefault(touch.path, _Field())
            own.stores += touch.counts.stores
            own.loads += max(0, (touch.records or 0) - touch.counts.stores)
            own.cpus = max(own.cpus, touch.cpus)
            own.on |= {*(touch.written_on or ()), *(touch.read_on or ())}
            own.is_writer = own.is_writer or touch.path in writers
        together |= {frozenset((a.path, b.path)) for a, b in combinations(line.fields, 2)}
        _divide_line(line, writers, result)
        if line.certainty == "likely":
            result.doubts["the place of the object on the line is likely, not certain"] = None
        if line.identified_by == "struct":
            result.doubts["no code shows that the line is one of this struct"] = None
    _estimate(fields, together, result)


def _writers(line: Line) -> dict[str, int]:
    """Return the stores to the fields of a line that take it away."""
    every = sum(touch.counts.stores for touch in line.fields)
    stores = {touch.path: touch.counts.stores for touch in line.fields}
    return {path: own for path, own in stores.items() if own and own >= LEAST_STORES * every}


def _divide_line(line: Line, writers: Mapping[str, int], result: Measured) -> None:
    rest = line.counts.contended_loads
    for touch in line.fields:
        loads = min(touch.counts.contended_loads, rest)
        rest -= loads
        if loads and not writers:
            result.stays["no-writer", touch.path] += loads
        others = {
            each.path: writers[each.path]
            for each in line.fields
            if each.path in writers and _disturbs(each, touch)
        }
        for written, part in _apportion(loads, others or writers).items():
            if overlap(written, touch.path):
                result.stays["true-sharing", touch.path] += part
            elif are_in_other_elements(written, touch.path):
                result.stays["one-array", touch.path] += part
            else:
                result.pairs[written, touch.path] += part
    result.stays["not-listed", ""] += rest


def _disturbs(writer: Touch, reader: Touch) -> bool:
    """Return whether stores to a field can take the line from loads of another: not if one CPU does both."""
    if not writer.written_on or not reader.read_on:
        return True
    return len({*writer.written_on, *reader.read_on}) > 1


def _apportion(total: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Divide a number in proportion to weights: whole numbers, by the largest remainders."""
    every = sum(weights.values())
    parts = {name: total * own // every for name, own in weights.items()}
    rest = total - sum(parts.values()) if weights else 0
    for name in sorted(weights, key=lambda name: -(total * weights[name] % every))[:rest]:
        parts[name] += 1
    return parts


def _estimate(fields: Mapping[str, _Field], together: set[frozenset[str]], result: Measured) -> None:
    """Add estimates of the pairs without HITMs."""
    products = {
        (a, b): product
        for one, other in combinations(fields, 2)
        for a, b, product in [_product(one, other, fields)]
        if product and not overlap(one, other) and not are_in_other_elements(one, other)
    }
    seen = {names: product for names, product in products.items() if frozenset(names) in together}
    if not result.total:
        result.unit = "product"
        largest = max(1, sum(products.values()) // _MOST)
        for names, product in products.items():
            (result.pairs if names in seen else result.estimates)[names] = product // largest
        result.total = sum(result.pairs.values())
    elif seen:
        rate = Fraction(sum(result.pairs.values()), sum(seen.values()))
        others = (names for names in products if names not in seen)
        result.estimates.update({names: round(rate * products[names]) for names in others})


def _product(one: str, other: str, fields: Mapping[str, _Field]) -> tuple[str, str, int]:
    """Return two fields, the more written first, and the stores of each times the accesses of the other.

    Where one CPU accesses each of them, it can be the same one: then there is no product.
    """
    a, b = sorted((one, other), key=lambda name: -fields[name].stores)
    own, theirs = fields[a], fields[b]
    is_one = len(own.on | theirs.on) == 1 if own.on and theirs.on else own.cpus == theirs.cpus == 1
    if is_one:
        return a, b, 0
    product = own.stores * theirs.loads * own.is_writer + theirs.stores * own.loads * theirs.is_writer
    return a, b, product + own.stores * theirs.stores * (own.is_writer and theirs.is_writer)
