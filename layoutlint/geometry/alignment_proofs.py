"""Alignments proved or excluded by the uses of structs, where debug information does not state them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from layoutlint.geometry.definitions import Shapes, element_bits
from layoutlint.geometry.layout import Layout
from layoutlint.model import possible_alignments
from layoutlint.model.reading import Reading, Unread
from layoutlint.model.record import Record, field, replace
from layoutlint.model.structs import Field, Struct, Unstated
from layoutlint.model.wanted import Wanted

_WIDEST_ATOMIC = 16
"""Size in bytes of the largest atomic struct that gcc and clang align to more than its members need."""


class Evidence:
    """The alignments that remain possible for each type, given its members and variables."""

    def __init__(self, readings: Iterable[Reading]) -> None:
        self._readings = tuple(readings)  # fields are compared by identity
        self._shapes = Shapes()
        self._remaining: dict[tuple[str | None, int | None], dict[int, int]] = {}
        """Masks of possible alignments by aggregate and size in bits, then by shape."""
        for reading in self._readings:
            for struct in reading.structs:
                hidden = Unstated.NOTHING if reading.is_kernel else struct.unstated & Unstated.ATOMIC
                for member, least in _members_after_holes(struct):
                    if not hidden or (element_bits(member) or 0) > _WIDEST_ATOMIC * 8:
                        self._record_use(member, -least)
            is_hidden = any(possible_alignments.hides_uses(struct.unstated) for struct in reading.structs)
            for variable in () if is_hidden else reading.misplaced:
                start = variable.bit_offset >> 3
                self._record_use(variable, ((start & -start) << 1) - 1)

    def narrow_alignments(self, struct: Struct) -> Struct:
        """Return a struct with its remaining alignments, or the struct itself if its uses exclude none."""
        masks_by_shape = self._remaining.get((struct.aggregate, struct.bit_size))
        if (
            masks_by_shape is None
            or not struct.unstated
            or struct.realigned_from
            or possible_alignments.hides_uses(struct.unstated)
        ):
            return struct
        mask = masks_by_shape.get(self._shapes.number_of(struct.fields))
        remaining = 0 if mask is None else sum(Layout(struct).alignments) & mask
        return replace(struct, possible=remaining) if remaining else struct

    def _record_use(self, member: Field, mask: int) -> None:
        """Narrow the alignments of a type by one use, unless that use has an alignment of its own."""
        types = (member.type, *member.underlying_types)
        if member.requested_align or not member.possible or any("_Atomic" in ctype.left for ctype in types):
            return  # the alignment of an `aligned` typedef is known
        sets = self._remaining.setdefault((member.aggregate, element_bits(member)), {})
        shape = self._shapes.number_of(member.members)
        sets[shape] = sets.get(shape, -1) & mask


def _members_after_holes(struct: Struct) -> Iterator[tuple[Field, int]]:
    """Yield the member structs whose alignment a hole before them proves, with the least alignment."""
    waiting: list[tuple[tuple[Field, ...], str | None]] = [(struct.fields, struct.aggregate)]
    while waiting:
        fields, aggregate = waiting.pop()
        if aggregate == "struct":
            proofs = possible_alignments.alignments_of_holes(fields, struct.unstated, struct.target)
            yield from (proof for proof in proofs if proof[0].members)
        waiting += [(member.members, member.aggregate) for member in fields if member.type.is_untagged]


class Proofs(Record):
    """The evidence of some inputs, read on the first request: few verdicts depend on it."""

    readings: tuple[Reading, ...]
    """The readings that contain the structs to narrow."""
    has_uses: bool
    """Whether the readings contain all structs of the inputs, and so their uses."""
    read: Callable[[tuple[str, ...], Wanted], tuple[list[Reading], list[Unread]]]
    """Reads more structs from the inputs at some paths."""
    _evidence: list[Evidence] = field(default_factory=list)
    _narrowed: dict[int, tuple[Struct, Struct]] = field(default_factory=dict)
    """Each struct and its narrowed form, by the identity of the struct."""

    def narrow_alignments(self, struct: Struct) -> Struct:
        """Return a struct with its remaining alignments: the same object for each call with one struct."""
        if id(struct) not in self._narrowed:
            if not self._evidence:
                self._evidence.append(Evidence(self._read_uses()))
            self._narrowed[id(struct)] = struct, self._evidence[0].narrow_alignments(struct)
        return self._narrowed[id(struct)][1]

    def _read_uses(self) -> Iterator[Reading]:
        """Yield readings that show how the structs with several possible alignments are used."""
        for reading in self.readings:
            if "dwarf" not in reading.reader or not any(map(_has_open_alignment, reading.structs)):
                continue
            if self.has_uses:
                yield reading
                continue
            if reading.uses is not None:
                yield replace(reading, structs=(*reading.structs, *reading.uses))
                continue
            names = frozenset(struct.name for struct in reading.structs if _has_open_alignment(struct))
            misplaced = partial(_constant, open_alignments(reading))
            readings, _ = self.read((reading.path,), Wanted(with_containers=names, misplaced=misplaced))
            yield from readings


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
