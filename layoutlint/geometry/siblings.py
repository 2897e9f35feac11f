"""Fields beside an embedded struct in one of its containers, for each element of arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product, takewhile
from math import gcd, prod

from layoutlint.geometry.containers import Array, Container
from layoutlint.geometry.definitions import element_bits
from layoutlint.geometry.layout import Layout, Place, named_members
from layoutlint.model.paths import Steps, is_within, join, steps_of
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Field, Source, Struct

MOST_SPOTS = 1 << 12
"""Maximum number of array elements in one container that are judged one by one."""
_ENDLESS = 1 << 40
"""Number of elements assumed for an array without a length."""


class TooManySpots(Exception):
    """Raised if an embedded struct is in more array elements than are judged; the text names the array."""


class PathStep(Record, frozen=True):
    """One member on the path from a container down to an embedded struct, and its siblings."""

    members: tuple[Field, ...]
    is_union: bool
    prefix: str
    """The beginning of the members' paths."""
    bit_offset: int
    """Start of the struct that contains the members, from the start of the container."""
    is_last: bool
    """Whether nothing is declared after the members."""
    on: Field
    """The member on the path."""
    array: Array | None
    index: int
    """The element on the path; 0 if it is no array."""

    @property
    def is_end_of_own(self) -> bool:
        """Whether the next members belong to another struct: the type of this member has a name."""
        return self.on.name is not None and not self.on.type.is_untagged

    def siblings(self, low: int, high: int) -> Iterator[Place]:
        """Yield the other members and elements that reach into bits [low, high).

        Other members of a union are no siblings: they never exist at the same time.
        """
        for number, member in enumerate(() if self.is_union else self.members):
            if member is not self.on:
                is_last = self.is_last and number == len(self.members) - 1
                for place in named_members((member,), self.prefix, self.bit_offset, False, is_last):
                    if place.bit_offset < high and (place.bit_size is None or place.end * 8 > low):
                        yield place
        if self.array is not None and self.array.bit_stride:
            yield from self._other_elements(self.array, self.array.bit_stride, low, high)

    def _other_elements(self, array: Array, stride: int, low: int, high: int) -> Iterator[Place]:
        start = self.bit_offset + self.on.bit_offset
        element = replace(self.on, bit_size=stride, dims=())
        for index in _elements_reaching(start, array, low, high):
            if index != self.index:
                path = f"{self.prefix}{self.on.name}{_format_indices(self.on.dims, index)}"
                yield Place(path, start + index * stride, stride, element)


class Spot(Record, frozen=True):
    """One place of an embedded struct in a container: a member, or an element of an array."""

    path: str
    """Path with element indices; empty for an unnamed member."""
    bit_offset: int
    steps: tuple[PathStep, ...]
    """The members on the path, from the container inwards."""

    def own_siblings(self, low: int, high: int) -> tuple[Place, ...]:
        """Return the container's own fields in bits [low, high) beside the struct, or beside the named struct
        around it.

        Fields of named structs in between belong to those containers.
        """
        steps = self.steps[: self._last_own_step + 1]
        return tuple(place for step in steps for place in step.siblings(low, high))

    def is_own_sibling(self, path: str) -> bool:
        """Return whether a field of the container is one of `own`, or a part of one."""
        step = self._branching_step(path)
        return step is not None and step <= self._last_own_step

    def is_outside(self, path: str) -> bool:
        """Return whether a field of the container is outside the struct, maybe in a struct in between."""
        return self._branching_step(path) is not None

    def is_inside(self, path: str) -> bool:
        """Return whether a field of the container is a part of the struct."""
        return bool(self.path) and path != self.path and is_within(path, self.path)

    @property
    def source(self) -> Source | None:
        """Where the innermost member is declared."""
        return self.steps[-1].on.source

    @property
    def _last_own_step(self) -> int:
        """The step at which the container's own members end."""
        ends = (number for number, step in enumerate(self.steps) if step.is_end_of_own)
        return next(ends, len(self.steps) - 1)

    def _branching_step(self, path: str) -> int | None:
        """Return the step at which a path branches off from the path to the struct.

        Arrays on the path have indices. None if it does not branch off, or if it leads to another member of a
        union, which never exists at the same time.
        """
        names = path.split(".")
        for number, step in enumerate(self.steps):
            if not names:
                return None  # an outer struct of the path
            name, bracket, indices = names[0].partition("[")
            if step.on.name is None:
                if not _has_member(step.on, name):
                    return None if step.is_union else number
            elif name != step.on.name:
                return None if step.is_union else number
            elif bracket + indices != _format_indices(step.on.dims, step.index):
                return number
            else:
                names = names[1:]
        return None


def spots(container: Container, struct: Struct, line_size: int) -> Iterator[Spot]:
    """Return the places of a struct in a container: one for each differing array element.

    Raises TooManySpots, and ValueError if the size of elements is unknown.
    """
    _refuse_unknown(container)
    chosen = [_differing_elements(array, line_size) for array in container.arrays]
    number = prod(map(len, chosen))
    if number > MOST_SPOTS:
        raise TooManySpots(
            f"`{container.path}` is in {number:,} elements of arrays of {container.struct.name} "
            f"that differ, more than the limit of {MOST_SPOTS:,}"
        )
    return (_make_spot(container, struct, indices) for indices in product(*chosen))


def spots_in(container: Container, struct: Struct, low: int, high: int) -> Iterator[Spot]:
    """Return the places of a struct in a container that reach into bits [low, high) of the container.

    Raises ValueError if the size of elements is unknown.
    """
    _refuse_unknown(container)
    arrays = [replace(array, count=array.count or _ENDLESS) for array in container.arrays]
    counts = [array.count or 0 for array in arrays]
    strides = [array.bit_stride or 0 for array in arrays]
    size = struct.bit_size or 0

    def walk_arrays(number: int, start: int, indices: tuple[int, ...]) -> Iterator[Spot]:
        if number == len(counts):
            if start < high and start + size > low:
                yield _make_spot(container, struct, indices)
            return
        inner = sum((c - 1) * s for c, s in zip(counts[number + 1 :], strides[number + 1 :], strict=True))
        for index in _elements_reaching(start, arrays[number], low, high, size + inner):
            yield from walk_arrays(number + 1, start + index * strides[number], (*indices, index))

    return walk_arrays(0, container.bit_offset, ())


def places_in_elements(struct: Struct, place: Place, low: int, high: int) -> Iterator[Place]:
    """Yield a field for each element of the arrays in its path that have no index.

    Only elements that reach into bits [low, high) count.
    """
    return _walk_elements(struct, place, lambda start, array: _elements_reaching(start, array, low, high))


def places_in_differing_elements(struct: Struct, place: Place, line_size: int) -> list[Place]:
    """Return a field for each element of the arrays in its path that have no index.

    Elements at the same place of a line with the same neighbours are left out. Raises ValueError for too many
    that differ.
    """
    places: list[Place] = []
    for each in _walk_elements(struct, place, lambda _, array: _differing_elements(array, line_size)):
        places.append(each)
        if len(places) > MOST_SPOTS:
            raise ValueError(
                f"`{place.path}` is in more than {MOST_SPOTS:,} elements of different arrays"
            )
    return places


def next_elements(layout: Layout, path: str, outer: str, line_size: int) -> Iterator[Place]:
    """Yield elements of `outer` within a line of those that a path inside it leads through."""
    steps = steps_of(path)
    if any(isinstance(step, int) for step in steps[len(steps_of(outer)) :]):
        # If dimensions are not stated, elements are found by place, whatever their indices are.
        layout = Layout(replace(layout.struct, fields=_with_one_dimension(layout.struct.fields)))
    for number in range(len(steps_of(outer)), len(steps)):
        index = steps[number]
        if not isinstance(index, int):
            continue
        element = layout.find(join(steps[: number + 1]))
        size = element.bit_size // 8 if element is not None and element.bit_size else 0
        near = -(-line_size // size) if size else 0
        for other in (*range(index - near, index), *range(index + 1, index + near + 1)):
            place = layout.find(join((*steps[:number], other)))
            if place is not None:
                yield place


def _with_one_dimension(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the fields with one dimension for arrays whose dimensions are not stated."""
    return tuple(
        (
            replace(field, is_flattened=False, members=_with_one_dimension(field.members))
            if field.members or field.is_flattened
            else field
        )
        for field in fields
    )


_Choice = Callable[[int, Array], Iterable[int]]
"""Chooses elements of an array that starts at some bits."""


def _walk_elements(struct: Struct, place: Place, choice: _Choice) -> Iterator[Place]:
    if "." not in place.path:
        return iter((place,))
    steps = steps_of(place.path)
    if any(isinstance(step, range) for step in steps):
        return iter((place,))
    return _field_in_elements(steps, place, "", struct.fields, struct.aggregate == "union", 0, choice)


def _field_in_elements(
    steps: Steps,
    place: Place,
    prefix: str,
    fields: tuple[Field, ...],
    is_union: bool,
    start: int,
    choice: _Choice,
) -> Iterator[Place]:
    """Yield the field at some steps below `fields`, which begin at bit `start`, in each chosen element."""
    member = next(
        (p for p in named_members(fields, prefix, start, is_union) if p.field.name == steps[0]), None
    )
    if member is None:
        yield place
        return
    dims, stride = member.field.dims, element_bits(member.field) or 0
    indices = list(takewhile(lambda step: isinstance(step, int), steps[1:]))
    rest = steps[1 + len(indices) :]
    first, dims_left = 0, dims[len(indices) :]
    for index, count in zip(indices, dims, strict=False):
        first = first * (count or 0) + index if isinstance(index, int) else first
    if not rest:
        at = member.bit_offset + first * prod(count or 0 for count in dims_left) * stride
        path = member.path + "".join(f"[{index}]" for index in indices)
        yield Place(path, at, place.bit_size, place.field, place.is_marker)
        return
    number = prod(count or 0 for count in dims_left) or None
    first *= number or 1
    begin = member.bit_offset + first * stride
    inside = member.field.members, member.field.aggregate == "union"
    for index in choice(begin, Array(member.path, number, stride)) if dims_left else (0,):
        path = f"{member.path}{_format_indices(dims, first + index)}."
        yield from _field_in_elements(rest, place, path, *inside, begin + index * stride, choice)


def _elements_reaching(start: int, array: Array, low: int, high: int, size: int | None = None) -> range:
    """Return the elements of an array at bit `start` that reach into bits [low, high).

    `size` is the part of an element that counts, in bits; None for all of it.
    """
    stride, count = array.bit_stride or 0, array.count
    if not stride:
        return range(1)
    first = max(0, (low - start - (stride if size is None else size)) // stride + 1)
    stop = max(0, -(-(high - start) // stride))
    return range(first, min(stop, count) if count else stop)


def _refuse_unknown(container: Container) -> None:
    for array in container.arrays:
        if array.bit_stride is None:
            raise ValueError(f"the size of the elements of `{array.path}` is not known")


def _make_spot(container: Container, struct: Struct, indices: tuple[int, ...]) -> Spot:
    steps = tuple(_walk_steps(container, struct, indices))
    distance = sum(
        index * (array.bit_stride or 0) for index, array in zip(indices, container.arrays, strict=True)
    )
    return Spot(_format_path(steps), container.bit_offset + distance, steps)


def _format_path(steps: tuple[PathStep, ...]) -> str:
    last = steps[-1]
    if last.on.name is None:
        return last.prefix.removesuffix(".")
    return f"{last.prefix}{last.on.name}{_format_indices(last.on.dims, last.index)}"


def _differing_elements(array: Array, line_size: int) -> list[int]:
    """Return elements that differ in their place on a line or in their neighbours.

    Places repeat, and only elements within a line of either end have different neighbours.
    """
    stride = (array.bit_stride or 0) // 8
    if not stride:
        return [0]
    near, period = -(-line_size // stride), line_size // gcd(line_size, stride)
    if not array.count:  # any length
        return list(range(near + period))
    first = range(min(array.count, near + period))
    return [*first, *range(max(len(first), array.count - near), array.count)]


def _walk_steps(container: Container, struct: Struct, indices: tuple[int, ...]) -> Iterator[PathStep]:
    """Yield the members on the path from a container to the chosen elements."""
    members, is_union, is_last = container.struct.fields, container.struct.aggregate == "union", True
    names = container.path.split(".") if container.path else []
    arrays = iter(zip(container.arrays, indices, strict=True))
    prefix, start, bits_left = "", 0, container.bit_offset
    while (on := _next_member(members, names, bits_left, struct)) is not None:
        array, index = next(arrays) if on.dims else (None, 0)
        yield PathStep(members, is_union, prefix, start, is_last, on, array, index)
        is_last = is_last and (is_union or on is members[-1])
        bits_left -= on.bit_offset
        start += on.bit_offset + (index * (array.bit_stride or 0) if array is not None else 0)
        if on.name is not None:
            names = names[1:]
            prefix += f"{on.name}{_format_indices(on.dims, index)}."
        members, is_union = on.members, on.aggregate == "union"


def _next_member(
    members: tuple[Field, ...], names: list[str], bits_left: int, struct: Struct
) -> Field | None:
    """Return the next member on a path, itself or an unnamed member that contains it; None at its end.

    An embedded struct without a member name (`-fms-extensions`) is found by its members and its offset,
    `bits_left` bits further on.
    """
    for member in members:
        if names and (member.name == names[0] or (member.name is None and _has_member(member, names[0]))):
            return member
        if not names and member.name is None and member.aggregate is not None:
            is_it = member.bit_offset == bits_left and member.members == struct.fields
            if (
                is_it
                or _next_member(member.members, names, bits_left - member.bit_offset, struct) is not None
            ):
                return member
    return None


def _has_member(member: Field, name: str) -> bool:
    return any(m.name == name or (m.name is None and _has_member(m, name)) for m in member.members)


def _format_indices(dims: tuple[int | None, ...], index: int) -> str:
    """Return the indices of an element, one for each dimension."""
    if not dims:
        return ""
    words: list[str] = []
    for count in reversed(dims[1:]):
        index, rest = divmod(index, count or 1)
        words.append(f"[{rest}]")
    return "".join([f"[{index}]", *reversed(words)])
