"""What stands beside an embedded struct in one of its containers, element by element where arrays hold it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product, takewhile
from math import gcd, prod

from layoutlint.geometry.containers import Array, Container
from layoutlint.geometry.definitions import element_bits
from layoutlint.geometry.layout import Layout, Place, named
from layoutlint.model.paths import Steps, is_within, joined, steps_of
from layoutlint.model.structs import Field, Source, Struct

MOST_SPOTS = 1 << 12
"""Elements of arrays in one container that are looked at one by one."""
_ENDLESS = 1 << 40
"""Elements of an array without a length."""
_NO_TAG = "{...}"


class TooManySpots(Exception):
    """An embedded struct stands in more elements of arrays than are looked at; the text says where."""


@dataclass(frozen=True, slots=True)
class Step:
    """One member on the way from a container down to an embedded struct, and where its siblings are."""

    members: tuple[Field, ...]
    is_union: bool
    prefix: str
    """What the paths of the members begin with."""
    bit_offset: int
    """Where what has the members starts, from the start of the container."""
    is_last: bool
    """Whether nothing is declared behind them."""
    on: Field
    """The member that leads on."""
    array: Array | None
    index: int
    """The element that leads on; 0 where it is no array."""

    @property
    def is_end_of_own(self) -> bool:
        """Whether what follows belongs to another struct: the type of the member has a name."""
        return self.on.name is not None and not self.on.type.left.endswith(_NO_TAG)

    def siblings(self, low: int, high: int) -> Iterator[Place]:
        """The members that stand beside, and the other elements, as far as they reach into bits [low, high).

        The other members of a union are none of them: they are never there at the same time.
        """
        for number, member in enumerate(() if self.is_union else self.members):
            if member is not self.on:
                is_last = self.is_last and number == len(self.members) - 1
                for place in named((member,), self.prefix, self.bit_offset, False, is_last):
                    if place.bit_offset < high and (place.bit_size is None or place.end * 8 > low):
                        yield place
        if self.array is not None and self.array.bit_stride:
            yield from self._others(self.array, self.array.bit_stride, low, high)

    def _others(self, array: Array, stride: int, low: int, high: int) -> Iterator[Place]:
        start = self.bit_offset + self.on.bit_offset
        element = replace(self.on, bit_size=stride, dims=())
        for index in _reaching(start, array, low, high):
            if index != self.index:
                path = f"{self.prefix}{self.on.name}{_spelled(self.on.dims, index)}"
                yield Place(path, start + index * stride, stride, element)


@dataclass(frozen=True, slots=True)
class Spot:
    """One place of an embedded struct in a container: a member, or an element of an array."""

    path: str
    """With the indices of elements; empty for a member without a name."""
    bit_offset: int
    steps: tuple[Step, ...]
    """From the container inwards."""

    def own(self, low: int, high: int) -> tuple[Place, ...]:
        """What the container has in bits [low, high) beside the struct, or beside the struct with a name that
        holds it: the rest belongs to the containers that lie between.
        """
        steps = self.steps[: self._level + 1]
        return tuple(place for step in steps for place in step.siblings(low, high))

    def has_own(self, path: str) -> bool:
        """Whether a field of the container is one of `own`, or a part of one."""
        left = self._left(path)
        return left is not None and left <= self._level

    def has_beside(self, path: str) -> bool:
        """Whether a field of the container stands beside the struct, maybe in a struct that lies between."""
        return self._left(path) is not None

    def has_inside(self, path: str) -> bool:
        """Whether a field of the container is a part of the struct."""
        return bool(self.path) and path != self.path and is_within(path, self.path)

    @property
    def source(self) -> Source | None:
        """Where the innermost member is declared."""
        return self.steps[-1].on.source

    @property
    def _level(self) -> int:
        """The step at which the container's own members end."""
        ends = (number for number, step in enumerate(self.steps) if step.is_end_of_own)
        return next(ends, len(self.steps) - 1)

    def _left(self, path: str) -> int | None:
        """The step at which a path leaves the way to the struct.

        None where it does not, or leads to another member of a union, which is never there at the same time.
        """
        names = path.split(".")
        for number, step in enumerate(self.steps):
            if not names:
                return None  # what holds the struct
            name, bracket, indices = names[0].partition("[")
            if step.on.name is None:
                if not _has(step.on, name):
                    return None if step.is_union else number
            elif name != step.on.name:
                return None if step.is_union else number
            elif (bracket + indices or _spelled(step.on.dims, 0)) != _spelled(step.on.dims, step.index):
                return number
            else:
                names = names[1:]
        return None


def spots(way: Container, held: Struct, line_size: int) -> Iterator[Spot]:
    """The places of a struct that a container holds, one for each element of arrays; of alike ones the first.

    Raises TooManySpots, and ValueError where the distance of elements is not known.
    """
    _refuse_unknown(way)
    chosen = [_differing(array, line_size) for array in way.arrays]
    number = prod(map(len, chosen))
    if number > MOST_SPOTS:
        raise TooManySpots(
            f"`{way.path}` stands in {number:,} elements of arrays of {way.struct.name} that differ, "
            f"more than the {MOST_SPOTS:,} that are looked at"
        )
    return (_spot(way, held, indices) for indices in product(*chosen))


def spots_in(way: Container, held: Struct, low: int, high: int) -> Iterator[Spot]:
    """The places of a struct that a container holds and that reach into bits [low, high) of the container.

    Raises ValueError where the distance of elements is not known.
    """
    _refuse_unknown(way)
    arrays = [replace(array, count=array.count or _ENDLESS) for array in way.arrays]
    counts = [array.count or 0 for array in arrays]
    strides = [array.bit_stride or 0 for array in arrays]
    size = held.bit_size or 0

    def chosen(number: int, start: int, indices: tuple[int, ...]) -> Iterator[Spot]:
        if number == len(counts):
            if start < high and start + size > low:
                yield _spot(way, held, indices)
            return
        inner = sum((c - 1) * s for c, s in zip(counts[number + 1 :], strides[number + 1 :], strict=True))
        for index in _reaching(start, arrays[number], low, high, size + inner):
            yield from chosen(number + 1, start + index * strides[number], (*indices, index))

    return chosen(0, way.bit_offset, ())


def in_each_element(struct: Struct, place: Place, low: int, high: int) -> Iterator[Place]:
    """A field of a struct; where its path leads through arrays without an index, that of each element.

    Of elements, those that reach into bits [low, high).
    """
    return _elements(struct, place, lambda start, array: _reaching(start, array, low, high))


def in_differing_elements(struct: Struct, place: Place, line_size: int) -> list[Place]:
    """Return a field, or that field of each element where its path leads through arrays without an index.

    Elements that stand on a line like others, with the same elements beside them, are left out. Raises
    ValueError for too many that differ.
    """
    found: list[Place] = []
    for each in _elements(struct, place, lambda _, array: _differing(array, line_size)):
        found.append(each)
        if len(found) > MOST_SPOTS:
            raise ValueError(
                f"`{place.path}` stands in more than {MOST_SPOTS:,} elements of arrays that differ"
            )
    return found


def next_elements(layout: Layout, path: str, outer: str, line_size: int) -> Iterator[Place]:
    """Yield the elements of the field `outer` beside those that a path in it leads through, within a line."""
    steps = steps_of(path)
    if any(isinstance(step, int) for step in steps[len(steps_of(outer)) :]):
        # Where dimensions are not stated, every element counts by its place, whatever its indices are.
        layout = Layout(replace(layout.struct, fields=_as_rows(layout.struct.fields)))
    for number in range(len(steps_of(outer)), len(steps)):
        index = steps[number]
        if not isinstance(index, int):
            continue
        here = layout.find(joined(steps[: number + 1]))
        size = here.bit_size // 8 if here is not None and here.bit_size else 0
        near = -(-line_size // size) if size else 0
        for other in (*range(max(0, index - near), index), *range(index + 1, index + near + 1)):
            place = layout.find(joined((*steps[:number], other)))
            if place is not None:
                yield place


def _as_rows(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """Fields whose arrays have one dimension where the input does not state how many they have."""
    return tuple(
        (
            replace(field, is_flattened=False, members=_as_rows(field.members))
            if field.members or field.is_flattened
            else field
        )
        for field in fields
    )


_Choice = Callable[[int, Array], Iterable[int]]
"""Elements of an array at some bits."""


def _elements(struct: Struct, place: Place, choice: _Choice) -> Iterator[Place]:
    if "." not in place.path:
        return iter((place,))
    steps = steps_of(place.path)
    if any(isinstance(step, range) for step in steps):
        return iter((place,))
    return _inside(steps, place, "", struct.fields, struct.aggregate == "union", 0, choice)


def _inside(
    steps: Steps,
    place: Place,
    prefix: str,
    fields: tuple[Field, ...],
    is_union: bool,
    start: int,
    choice: _Choice,
) -> Iterator[Place]:
    """The field at some steps from `fields`, which start at some bits, in each chosen element."""
    found = next((p for p in named(fields, prefix, start, is_union) if p.field.name == steps[0]), None)
    if found is None:
        yield place
        return
    dims, stride = found.field.dims, element_bits(found.field) or 0
    given = list(takewhile(lambda step: isinstance(step, int), steps[1:]))
    rest = steps[1 + len(given) :]
    first, left = 0, dims[len(given) :]
    for index, count in zip(given, dims, strict=False):
        first = first * (count or 0) + index if isinstance(index, int) else first
    if not rest:
        at = found.bit_offset + first * prod(count or 0 for count in left) * stride
        path = found.path + "".join(f"[{index}]" for index in given)
        yield Place(path, at, place.bit_size, place.field, place.is_marker)
        return
    number = prod(count or 0 for count in left) or (None if left else 1)
    first *= number or 1
    begin = found.bit_offset + first * stride
    inside = found.field.members, found.field.aggregate == "union"
    for index in choice(begin, Array(found.path, number, stride)) if left else (0,):
        path = f"{found.path}{_spelled(dims, first + index)}."
        yield from _inside(rest, place, path, *inside, begin + index * stride, choice)


def _reaching(start: int, array: Array, low: int, high: int, size: int | None = None) -> range:
    """The elements, of an array at `start`, of which `size` bits, else all, reach into bits [low, high)."""
    stride, count = array.bit_stride or 0, array.count
    if not stride:
        return range(1)
    first = max(0, (low - start - (stride if size is None else size)) // stride + 1)
    behind = max(0, -(-(high - start) // stride))
    return range(first, min(behind, count) if count else behind)


def _refuse_unknown(way: Container) -> None:
    for array in way.arrays:
        if array.bit_stride is None:
            raise ValueError(f"the size of the elements of `{array.path}` is not known")


def _spot(way: Container, held: Struct, indices: tuple[int, ...]) -> Spot:
    steps = tuple(_steps(way, held, indices))
    moved = sum(index * (array.bit_stride or 0) for index, array in zip(indices, way.arrays, strict=True))
    return Spot(_path(steps), way.bit_offset + moved, steps)


def _path(steps: tuple[Step, ...]) -> str:
    last = steps[-1]
    if last.on.name is None:
        return last.prefix.removesuffix(".")
    return f"{last.prefix}{last.on.name}{_spelled(last.on.dims, last.index)}"


def _differing(array: Array, line_size: int) -> list[int]:
    """Elements of which every other one has the like on its line, before and behind.

    Elements repeat their place on a line, and only those within a line of an end have other neighbours.
    """
    stride = (array.bit_stride or 0) // 8
    if not stride:
        return [0]
    near, period = -(-line_size // stride), line_size // gcd(line_size, stride)
    if not array.count:  # as many as there is memory for
        return list(range(near + period))
    first = range(min(array.count, near + period))
    return [*first, *range(max(len(first), array.count - near), array.count)]


def _steps(way: Container, held: Struct, indices: tuple[int, ...]) -> Iterator[Step]:
    """The members that lead from a container to the chosen elements."""
    members, is_union, is_last = way.struct.fields, way.struct.aggregate == "union", True
    names = way.path.split(".") if way.path else []
    arrays = iter(zip(way.arrays, indices, strict=True))
    prefix, start, left = "", 0, way.bit_offset
    while (on := _leading(members, names, left, held)) is not None:
        array, index = next(arrays) if on.dims else (None, 0)
        yield Step(members, is_union, prefix, start, is_last, on, array, index)
        is_last = is_last and (is_union or on is members[-1])
        left -= on.bit_offset
        start += on.bit_offset + (index * (array.bit_stride or 0) if array is not None else 0)
        if on.name is not None:
            names = names[1:]
            prefix += f"{on.name}{_spelled(on.dims, index)}."
        members, is_union = on.members, on.aggregate == "union"


def _leading(members: tuple[Field, ...], names: list[str], left: int, held: Struct) -> Field | None:
    """The member that a path goes through, itself or as a part of one without a name; None at its end.

    An embedded struct without a member's name (`-fms-extensions`) is known by what it has, `left` bits on.
    """
    for member in members:
        if names and (member.name == names[0] or (member.name is None and _has(member, names[0]))):
            return member
        if not names and member.name is None and member.aggregate is not None:
            is_it = member.bit_offset == left and member.members == held.fields
            if is_it or _leading(member.members, names, left - member.bit_offset, held) is not None:
                return member
    return None


def _has(member: Field, name: str) -> bool:
    return any(m.name == name or (m.name is None and _has(m, name)) for m in member.members)


def _spelled(dims: tuple[int | None, ...], index: int) -> str:
    """The indices of an element, of which an array of arrays has several."""
    if not dims:
        return ""
    words: list[str] = []
    for count in reversed(dims[1:]):
        index, rest = divmod(index, count or 1)
        words.append(f"[{rest}]")
    return "".join([f"[{index}]", *reversed(words)])
