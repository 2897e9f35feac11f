"""Structs that another order of their members makes smaller, with what is wasted inside of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

from layoutlint.commands.suggest import packing
from layoutlint.commands.suggest.packing import Packing, Unit
from layoutlint.model.json_object import JsonObject
from layoutlint.model.record import Record
from layoutlint.model.structs import Field, Source, Struct, fields_in_braces
from layoutlint.randstruct.c_abi import CannotLayOut
from layoutlint.sources.order_uses import member_names
from layoutlint.suggestion.orders.result import Move, Refusal


class Waste(JsonObject, frozen=True, rename={"is_inside": "inside"}):
    """Unused bytes inside a member."""

    path: str
    """The path of the member."""
    type: str
    """Its type, or that of the elements of an array."""
    is_inside: bool
    """Whether the type is declared in the braces of the struct, so that no other entry lists it."""
    count: int
    """The structs of this type at the path."""
    size: int
    """The size of one."""
    least: int
    """The least size of one by the order of its members."""
    holes: tuple[int, ...]
    """The bytes of each hole in one."""
    padding: int
    """The bytes at the end of one."""

    @property
    def bytes_saved(self) -> int:
        """Bytes that another order inside saves in the outer struct, if it is declared in its braces."""
        return self.count * (self.size - self.least) if self.is_inside else 0


class Candidate(Record, frozen=True):
    """A struct that could be smaller. Sizes are in bytes."""

    name: str
    is_tagged: bool
    source: Source | None
    origin: str
    size: int
    least: int
    """The least size that was found for an order of its own members."""
    bound: int
    """No order of its own members is smaller."""
    align: int
    largest_align: int
    """The largest alignment that it can have; more than `align` if the input does not state it."""
    order: tuple[str, ...]
    """Its members in the order found, by `member_names`."""
    moves: tuple[Move, ...]
    """The members that move, from the first place on; bit-fields in a row by the first of them."""
    is_fewest: bool
    """Whether it is proved that no order of the least size moves fewer."""
    holes: tuple[int, ...]
    padding: int
    nested: tuple[Waste, ...]
    lines: tuple[int, int]
    """The cache lines that an object needs at the start of a line, before and after."""
    blocks: tuple[str, str]
    """What the allocator takes for an object, before and after: kmalloc for kernels, else glibc's malloc."""
    aligned: tuple[str, ...]
    """The members that start a line by an alignment of their own."""
    refusals: tuple[Refusal, ...]
    """Why its order must stay, as far as the struct itself shows it."""
    arrays: tuple[tuple[str, int], ...] = ()
    """The structs that hold several of it, with their number."""
    objects: int | None = None
    """The objects in variables of the input; None if it does not show variables."""

    @property
    def bytes_saved(self) -> int:
        """The bytes that each object loses by the order of its own members."""
        return self.size - self.least

    @property
    def nested_bytes(self) -> int:
        """The bytes that orders inside of members save; padding can take some of them."""
        return sum(each.bytes_saved for each in self.nested)

    @property
    def bytes_in_all(self) -> int | None:
        """The bytes that all objects in variables lose; None if these are not known."""
        return None if self.objects is None else self.objects * self.bytes_saved


class Smaller(Record, frozen=True):
    """All structs of an input that could be smaller, the most bytes first."""

    input: str
    searched: int
    """The number of structs whose orders were searched."""
    candidates: tuple[Candidate, ...]
    not_searched: tuple[Refusal, ...]
    """The structs with unused bytes whose orders could not be searched, with the reason; `members` is the
    name."""


def moves_of(struct: Struct, units: Sequence[Unit], found: Packing) -> tuple[Move, ...]:
    """Return the members that move, in the order found."""
    names = member_names(struct)
    kept = packing.staying(found.order)
    ends = [None, *(names[units[number].fields[-1]] for number in found.order)]
    return tuple(
        Move(names[units[number].fields[0]], ends[at])
        for at, number in enumerate(found.order)
        if number not in kept
    )


class NestedWaste:
    """The waste inside members; types are laid out once, as many structs share them."""

    def __init__(self, line: int) -> None:
        self._line = line
        self._known: dict[tuple[int, int | None], tuple[tuple[int, ...], int, int]] = {}
        self._kept: list[tuple[Field, ...]] = []

    def list_waste(self, struct: Struct, is_whole: bool = True) -> Iterator[Waste]:
        """Yield the waste inside the members of a struct, at any depth; that in unions is not counted.

        If not `is_whole`, only what is declared in its braces counts.
        """
        yield from self._walk(struct, struct.fields, ("", 1, True), is_whole)

    def _walk(
        self, outer: Struct, fields: Iterable[Field], place: tuple[str, int, bool], is_whole: bool
    ) -> Iterator[Waste]:
        """Yield the waste inside fields; `place` is their path, their number, and whether in the braces."""
        prefix, count, is_inside = place
        for field in fields:
            if field.aggregate != "struct" or not field.members or not field.bit_size:
                continue
            is_own = is_inside and field.type.is_untagged
            number = prod(length or 0 for length in field.dims)
            if not number or not (is_own or is_whole):
                continue
            holes, padding, least = self._type_of(outer, field, field.bit_size // number)
            inside = next((path for path, _ in fields_in_braces(field.members)), "")
            path, size = f"{prefix}{field.name or f'{{{inside}}}'}", field.bit_size // number // 8
            if holes or padding:
                yield Waste(path, field.type.left, is_own, count * number, size, least, holes, padding)
            inner = f"{path}." if field.name else prefix
            yield from self._walk(outer, field.members, (inner, count * number, is_own), is_whole)

    def _type_of(self, outer: Struct, field: Field, bits: int) -> tuple[tuple[int, ...], int, int]:
        """Return the holes, the padding and the least size of the struct type of a member."""
        key = id(field.members), bits
        if key not in self._known:
            self._kept.append(field.members)  # so that the identity stays unique
            alone = Struct("", "struct", bits, None, field.members, outer.target)
            self._known[key] = self._lay_out(alone)
        return self._known[key]

    def _lay_out(self, alone: Struct) -> tuple[tuple[int, ...], int, int]:
        try:
            units = packing.units_of(alone, self._line)
        except CannotLayOut:
            return (), 0, 0
        holes, padding = packing.gaps(units, alone.bit_size or 0)
        if not holes and not padding:
            return (), 0, 0
        return tuple(holes), padding, packing.least_size(units, packing.align_of(alone, units))


Holders = Mapping[str, Mapping[str, int]]
"""For the name of a struct or union, how many of each other one are in it."""


def holders(structs: Iterable[Struct]) -> Holders:
    """Return which structs and unions hold how many others; of several definitions, the first counts."""
    found: dict[str, Counter[str]] = {}
    for struct in structs:
        if struct.name not in found:
            found[struct.name] = Counter()
            for name, count in _inner_structs(struct.fields, 1):
                found[struct.name][name] += count
    return found


def _inner_structs(fields: Iterable[Field], count: int) -> Iterator[tuple[str, int]]:
    for field in fields:
        if field.aggregate is None:
            continue
        number = count * prod(length or 0 for length in field.dims)
        if field.type.is_untagged:
            yield from _inner_structs(field.members, number)
        elif number:
            yield type_name(field), number


def type_name(field: Field) -> str:
    """Return the tag, or else the typedef, of a field's type or of its elements."""
    ctype = field.underlying_types[-1] if field.underlying_types else field.type
    return ctype.left.split()[-1]


def arrays_of(names: Iterable[str], held: Holders) -> dict[str, tuple[tuple[str, int], ...]]:
    """Return for each of some structs those that hold several of it, with their number, the most first."""
    found: dict[str, list[tuple[str, int]]] = {name: [] for name in names}
    for outer, inner in held.items():
        for name, count in inner.items():
            if count > 1 and name in found:
                found[name].append((outer, count))
    return {name: tuple(sorted(own, key=lambda each: (-each[1], each[0]))) for name, own in found.items()}


def with_holders(names: Iterable[str], held: Holders) -> frozenset[str]:
    """Return some structs, and all that hold one of them, at any depth."""
    around: dict[str, list[str]] = defaultdict(list)
    for outer, inner in held.items():
        for name in inner:
            around[name].append(outer)
    found = set(names)
    rest = list(found)
    while rest:
        new = set(around[rest.pop()]) - found
        found |= new
        rest += new
    return frozenset(found)


def count_objects(variables: Iterable[Field], held: Holders, names: Iterable[str]) -> dict[str, int]:
    """Return how many objects of some structs are in variables, also inside of others and in arrays.

    `variables` are different ones: a variable with two names is given once.
    """
    wanted = frozenset(names)
    own: dict[str, int] = defaultdict(int)
    for variable in variables:
        if variable.aggregate is not None:
            own[type_name(variable)] += prod(length or 0 for length in variable.dims)
    inside: dict[str, dict[str, int]] = {}
    counts = dict.fromkeys(wanted, 0)
    for outer, number in own.items():
        for name, count in _count_inside(outer, held, wanted, inside).items():
            counts[name] += number * count
    return counts


def _count_inside(
    outer: str, held: Holders, wanted: frozenset[str], known: dict[str, dict[str, int]]
) -> dict[str, int]:
    """Return how many of the wanted structs are in one, itself included."""
    if outer not in known:
        total: Counter[str] = Counter({outer: 1} if outer in wanted else {})
        known[outer] = {}  # a type cannot hold itself, but two types can share a name
        for name, count in held.get(outer, {}).items():
            for inner, number in _count_inside(name, held, wanted, known).items():
                total[inner] += count * number
        known[outer] = dict(total)
    return known[outer]
