"""Alignments that the uses of structs prove or exclude, where debug information does not state them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from layoutlint.geometry.definitions import Shapes, element_bits
from layoutlint.geometry.layout import Layout
from layoutlint.model import alignment
from layoutlint.model.reading import Reading, Unread
from layoutlint.model.structs import Field, Struct, Unstated
from layoutlint.model.wanted import Wanted

_WIDEST_ATOMIC = 16
"""Bytes of the largest atomic struct that is aligned to more than its members ask for (gcc, clang)."""


class Evidence:
    """What members and variables tell of the alignments of their types: of each the set that remains."""

    def __init__(self, readings: Iterable[Reading]) -> None:
        self._kept = tuple(readings)  # whose fields are told apart by their identity
        self._shapes = Shapes()
        self._remaining: dict[tuple[str | None, int | None], dict[int, int]] = {}
        """The sets by aggregate and bits, then by shape."""
        for reading in self._kept:
            for struct in reading.structs:
                hidden = Unstated.NOTHING if reading.is_kernel else struct.unstated & Unstated.ATOMIC
                for member, least in _holes(struct):
                    if not hidden or (element_bits(member) or 0) > _WIDEST_ATOMIC * 8:
                        self._take(member, -least)
            is_hidden = any(alignment.hides_uses(struct.unstated) for struct in reading.structs)
            for variable in () if is_hidden else reading.misplaced:
                start = variable.bit_offset >> 3
                self._take(variable, ((start & -start) << 1) - 1)

    def settled(self, struct: Struct) -> Struct:
        """Return a struct with the alignments that remain; itself where its uses tell nothing."""
        used = self._remaining.get((struct.aggregate, struct.bit_size))
        if used is None or not struct.unstated or struct.realigned or alignment.hides_uses(struct.unstated):
            return struct
        mask = used.get(self._shapes.of(struct.fields))
        every = 0 if mask is None else sum(Layout(struct).alignments) & mask
        return replace(struct, possible=every) if every else struct

    def _take(self, used: Field, mask: int) -> None:
        """Take what one use of a type tells; nothing where it has an alignment of its own there."""
        spelled = (used.type, *used.stands_for)
        if used.asked or not used.possible or any("_Atomic" in each.left for each in spelled):
            return  # a typedef that is `aligned` is one whose alignment is known
        sets = self._remaining.setdefault((used.aggregate, element_bits(used)), {})
        shape = self._shapes.of(used.members)
        sets[shape] = sets.get(shape, -1) & mask


def _holes(struct: Struct) -> Iterator[tuple[Field, int]]:
    """Yield the structs in a struct that holes before them prove to be aligned, and to how much at least."""
    waiting: list[tuple[tuple[Field, ...], str | None]] = [(struct.fields, struct.aggregate)]
    while waiting:
        fields, aggregate = waiting.pop()
        if aggregate == "struct":
            found = alignment.of_holes(fields, struct.unstated, struct.target)
            yield from (each for each in found if each[0].members)
        waiting += [(one.members, one.aggregate) for one in fields if one.type.left.endswith("{...}")]


@dataclass(slots=True)
class Proofs:
    """The evidence of some inputs, which is read when it is first asked for: few verdicts depend on it."""

    readings: tuple[Reading, ...]
    """What was read of them, with the structs that evidence is asked for."""
    is_everything: bool
    """Whether they have all structs of the inputs."""
    read: Callable[[tuple[str, ...], Wanted], tuple[list[Reading], list[Unread]]]
    """What reads more of the inputs at some paths."""
    _evidence: list[Evidence] = field(default_factory=list)
    _known: dict[int, tuple[Struct, Struct]] = field(default_factory=dict)
    """By the identity of a struct, itself and what was made of it."""

    def settled(self, struct: Struct) -> Struct:
        """Return a struct with the alignments that its uses leave; always the same one for one struct."""
        if id(struct) not in self._known:
            if not self._evidence:
                self._evidence.append(Evidence(self._uses()))
            self._known[id(struct)] = struct, self._evidence[0].settled(struct)
        return self._known[id(struct)][1]

    def _uses(self) -> Iterator[Reading]:
        """Yield what shows how structs of several possible alignments are used."""
        for reading in self.readings:
            if "dwarf" not in reading.reader or not any(map(_is_open, reading.structs)):
                continue
            if self.is_everything:  # it has all that holds them; addresses would take as long again
                yield reading
                continue
            open_ = tuple(filter(_is_open, reading.structs))
            names = frozenset(struct.name for struct in open_)
            pairs = frozenset(_pair(struct) for struct in open_)
            more, _ = self.read((reading.path,), Wanted(held=names, misplaced=pairs))
            yield from more


def _is_open(struct: Struct) -> bool:
    """Return whether a struct has several possible alignments, of which its uses can tell something."""
    if not struct.bit_size or struct.problem or alignment.hides_uses(struct.unstated):
        return False
    return len(Layout(struct).alignments) > 1


def _pair(struct: Struct) -> tuple[int, int]:
    return (struct.bit_size or 8) // 8, Layout(struct).alignments[-1]
