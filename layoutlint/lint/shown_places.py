"""The places outside of allocated memory at which inputs show structs: in containers, arrays and variables.

They matter for structs whose alignment is below the smallest of the allocator: at all other places, objects
start at multiples of that one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from layoutlint.geometry.containers import Container, Index, TooManyContainers
from layoutlint.geometry.layout import cached_layout
from layoutlint.judgement.context import CannotTell
from layoutlint.model.reading import Reading, Unread
from layoutlint.model.record import Record, field, replace
from layoutlint.model.structs import Field, Struct
from layoutlint.model.target import Target
from layoutlint.model.wanted import Wanted

VARIABLE = "variable "
"""Begins the labels of variables that are data of their own."""


class ShownPlaces(Record, frozen=True):
    """What embeds the structs of some inputs, read on the first request: few verdicts depend on it."""

    readings: tuple[Reading, ...]
    read: Callable[[tuple[str, ...], Wanted], tuple[list[Reading], list[Unread]]]
    """Reads more structs from the inputs at some paths."""
    _indices: dict[int, dict[Target, Index]] = field(default_factory=dict)
    """By the smallest alignment of the allocator: the containers and variables of structs below that."""
    _holders: dict[str, dict[Target, Index]] = field(default_factory=dict)
    """By the name of a struct: all its containers."""

    def containers(self, struct: Struct, smallest: int) -> list[Container]:
        """Return the structs and variables of all inputs that embed a struct.

        `smallest` is the smallest alignment of the allocator in bytes. Raises CannotTell for too many.
        """
        if smallest not in self._indices:
            self._indices[smallest] = self._read(smallest)
        return _containers(self._indices[smallest].get(struct.target), struct)

    def holders(self, struct: Struct) -> list[Container]:
        """Return the structs of all inputs that embed a struct, whatever its alignment.

        Raises CannotTell for too many.
        """
        name = struct.name
        if name not in self._holders:
            self._holders[name] = self._index(Wanted(with_containers=frozenset((name,)), embedded=(name,)))
        return _containers(self._holders[name].get(struct.target), struct)

    def has_read(self, smallest: int) -> bool:
        """Return whether the containers of structs below an alignment are known."""
        return smallest in self._indices

    def is_below(self, struct: Struct, smallest: int) -> bool:
        """Return whether the alignment of a struct can be below one in bytes.

        A struct of Linux is taken as not packed if nothing states that it is: to read what embeds each of
        them takes longer than all else.
        """
        return _is_below(struct, smallest, self._is_kernel)

    @property
    def _is_kernel(self) -> bool:
        return any(reading.is_kernel for reading in self.readings)

    def _read(self, smallest: int) -> dict[Target, Index]:
        names = frozenset(
            struct.name
            for reading in self.readings
            for struct in reading.structs
            if self.is_below(struct, smallest)
        )
        return self._index(
            Wanted(with_containers=names, misplaced=partial(_sizes, smallest), arrays=_is_text)
        )

    def _index(self, wanted: Wanted) -> dict[Target, Index]:
        paths = tuple(dict.fromkeys(reading.path for reading in self.readings))
        readings, _ = self.read(paths, wanted)
        structs: dict[Target, list[Struct]] = {}
        for reading in readings:
            structs.setdefault(reading.target, []).extend((*reading.structs, *_variables(reading)))
        return {target: Index(of_target) for target, of_target in structs.items()}


def _containers(index: Index | None, struct: Struct) -> list[Container]:
    try:
        return [] if index is None else index.containers(struct.name, index.merged_definition(struct))
    except KeyError:  # it is not read a second time
        return []
    except TooManyContainers as error:
        raise CannotTell(str(error)) from None


def _is_below(struct: Struct, smallest: int, is_kernel: bool) -> bool:
    if not struct.bit_size or struct.problem is not None:
        return False
    layout = cached_layout(struct)
    return (layout.align.value if is_kernel else layout.alignments[0]) < smallest


def _sizes(smallest: int, reading: Reading) -> frozenset[tuple[int, int]]:
    """Return the sizes of structs whose alignment can be below one, each with that one.

    Outside of Linux, which has many variables, any can hold such structs, also one whose type has no name.
    """
    if not reading.is_kernel:
        return frozenset(((1, smallest),))
    low = (struct for struct in reading.structs if _is_below(struct, smallest, True))
    return frozenset(((struct.bit_size or 8) // 8, smallest) for struct in low)


def is_variable(struct: Struct) -> bool:
    """Return whether a container is a variable."""
    return struct.label.startswith(VARIABLE)


def _is_text(reading: Reading) -> bool:
    return reading.reader == "clang"


def _variables(reading: Reading) -> Iterator[Struct]:
    """Yield the variables of an input as data of their own; in C text, with the members of their types.

    C text states the alignment of a variable, and no address.
    """
    own = (*reading.misplaced, *(reading.arrays if _is_text(reading) else ()))
    for data in own:
        if data.problem is None:
            yield replace(data, fields=tuple(member for part in data.fields for member in part.members))
    if not _is_text(reading):
        return
    arrays = {array.name for array in reading.arrays}
    fields = {name: struct for struct in reading.structs for name in _spellings(struct)}
    for variable in reading.variables:
        types = (variable.type, *variable.underlying_types)
        names = (each.left.removeprefix("const ").removeprefix("volatile ") for each in types)
        struct = next((fields[name] for name in names if name in fields), None)
        if struct is not None and variable.name not in arrays:
            member = replace(variable, bit_offset=0, members=struct.fields, aggregate=struct.aggregate)
            yield _alone(member, reading.target)


def _spellings(struct: Struct) -> tuple[str, ...]:
    tag = f"{struct.aggregate} {struct.name}" if struct.is_tagged else struct.name
    return (tag, *struct.aliases)


def _alone(variable: Field, target: Target) -> Struct:
    name = variable.name or ""
    return Struct(
        name, "struct", variable.bit_size, variable.align, (variable,), target, variable.source,
        label=f"{VARIABLE}{name}",
    )  # fmt: skip
