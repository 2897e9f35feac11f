"""Alignments excluded by the addresses of variables, where debug information does not state them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from layoutlint.geometry.definitions import FieldShapes, element_bits
from layoutlint.geometry.layout import Layout
from layoutlint.model import possible_alignments
from layoutlint.model.reading import Reading, Unread
from layoutlint.model.record import Record, field, replace
from layoutlint.model.structs import Field, Struct
from layoutlint.model.wanted import Wanted


class Evidence:
    """The alignments that the variables of one input leave possible for each type."""

    def __init__(self, readings: Iterable[Reading]) -> None:
        self._readings = tuple(readings)  # fields are compared by identity
        self._shapes = FieldShapes()
        self._remaining: dict[tuple[str | None, int | None, int], list[tuple[frozenset[str], int]]] = {}
        """The names of types with masks of possible alignments, by aggregate, size in bits, and shape."""
        for reading in self._readings:
            if any(possible_alignments.hides_uses(struct.unstated) for struct in reading.structs):
                continue
            for variable in reading.misplaced:
                for part in variable.fields:
                    for member in part.members:
                        self._record(member, (variable.address or 0) + (member.bit_offset >> 3))

    def narrow_alignments(self, struct: Struct) -> Struct:
        """Return a struct with its remaining alignments, or the struct itself if no variable excludes one."""
        if (
            not self._remaining
            or not struct.unstated
            or struct.realigned_from
            or possible_alignments.hides_uses(struct.unstated)
        ):
            return struct
        key = struct.aggregate, struct.bit_size, self._shapes.number_of(struct.fields)
        mask = -1
        for names, possible in self._remaining.get(key, ()):
            if not names.isdisjoint((struct.name, *struct.aliases)):
                mask &= possible
        remaining = sum(Layout(struct).alignments) & mask
        return replace(struct, possible=remaining) if remaining and mask != -1 else struct

    def _record(self, variable: Field, start: int) -> None:
        """Narrow the alignments of the type of a variable at an address, unless it has one of its own."""
        types = (variable.type, *variable.underlying_types)
        if variable.requested_align or not variable.possible or any("_Atomic" in each.left for each in types):
            return  # the alignment of an `aligned` typedef is known
        names = frozenset(each.left.rpartition(" ")[2] for each in types)
        key = variable.aggregate, element_bits(variable), self._shapes.number_of(variable.members)
        self._remaining.setdefault(key, []).append((names, ((start & -start) << 1) - 1))


class Proofs(Record):
    """The evidence of each input of a run, read on the first request: few verdicts depend on it."""

    readings: tuple[Reading, ...]
    """The readings that contain the structs to narrow."""
    has_variables: bool
    """Whether the readings contain the variables that can exclude alignments."""
    read: Callable[[tuple[str, ...], Wanted], tuple[list[Reading], list[Unread]]]
    """Reads more from the inputs at some paths."""
    _evidence: dict[int, Evidence] = field(default_factory=dict)
    """By the number of the reading."""
    _inputs: dict[int, int] = field(default_factory=dict)
    """The number of the reading of each struct, by the identity of the struct."""
    _narrowed: dict[int, tuple[Struct, Struct]] = field(default_factory=dict)
    """Each struct and its narrowed form, by the identity of the struct."""

    def narrow_alignments(self, struct: Struct) -> Struct:
        """Return a struct with its remaining alignments: the same object for each call with one struct.

        The variables of an input exclude alignments of its own structs only: in others, a struct with the
        same members can be packed.
        """
        if id(struct) not in self._narrowed:
            number = self._input_of(struct)
            narrowed = struct if number is None else self._evidence_of(number).narrow_alignments(struct)
            self._narrowed[id(struct)] = struct, narrowed
        return self._narrowed[id(struct)][1]

    def _input_of(self, struct: Struct) -> int | None:
        """Return the number of the reading of a struct; None if it is a definition of several files."""
        if not self._inputs:
            self._inputs.update((id(own), n) for n, each in enumerate(self.readings) for own in each.structs)
        if len(struct.files) > 1:
            return None
        if id(struct) in self._inputs or len(self.readings) == 1:
            return self._inputs.get(id(struct), 0)
        paths = [reading.path for reading in self.readings]
        return paths.index(struct.files[0]) if struct.files and struct.files[0] in paths else None

    def _evidence_of(self, number: int) -> Evidence:
        """Return the evidence of a reading, which is read if it is missing."""
        if number not in self._evidence:
            self._evidence[number] = Evidence(self._with_variables(self.readings[number]))
        return self._evidence[number]

    def _with_variables(self, reading: Reading) -> list[Reading]:
        """Return what shows the variables of the structs with several possible alignments."""
        if "dwarf" not in reading.reader or not any(map(_has_open_alignment, reading.structs)):
            return []
        if self.has_variables:
            return [reading]
        names = frozenset(struct.name for struct in reading.structs if _has_open_alignment(struct))
        wanted = Wanted(names, misplaced=partial(_constant, open_alignments(reading)))
        readings, _ = self.read((reading.path,), wanted)
        return [each for each in readings if each.target == reading.target]


def open_alignments(reading: Reading) -> frozenset[tuple[int, int]]:
    """Return the sizes of the structs with several possible alignments, each with the largest of those.

    Variables at other addresses prove a smaller alignment (`Wanted.misplaced`).
    """
    return frozenset(map(_size_and_alignment, filter(_has_open_alignment, reading.structs)))


def _constant(alignments: frozenset[tuple[int, int]], reading: Reading) -> frozenset[tuple[int, int]]:
    return alignments


def _has_open_alignment(struct: Struct) -> bool:
    """Return whether a struct has several possible alignments that its uses can narrow."""
    if not struct.bit_size or struct.problem or possible_alignments.hides_uses(struct.unstated):
        return False
    return len(Layout(struct).alignments) > 1


def _size_and_alignment(struct: Struct) -> tuple[int, int]:
    """Return the size and the largest possible alignment of a struct, in bytes."""
    return (struct.bit_size or 8) // 8, Layout(struct).alignments[-1]
