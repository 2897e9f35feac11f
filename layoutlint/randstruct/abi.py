"""Where members stand that are laid out in some order, by the rules of C compilers.

All of TARGETS lay out bit-fields so that none crosses more units of its declared type than that has
(PCC_BITFIELD_TYPE_MATTERS in GCC), and packed ones without gaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from layoutlint.model import Field, Target

_UNITS = {
    "char": 1, "signed char": 1, "unsigned char": 1, "_Bool": 1, "short int": 2, "short unsigned int": 2,
    "int": 4, "unsigned int": 4, "long long int": 8, "long long unsigned int": 8,
}  # fmt: skip


class CannotLayOut(Exception):
    """What a layout needs and the input does not tell, as the end of a sentence."""


class Packing(NamedTuple):
    """How alignments are cut down: to so many bytes (`packed`, `#pragma pack`), None for not at all."""

    most: int | None = None


NATURAL, PACKED = Packing(), Packing(1)
PARTLY = (Packing(2), Packing(4), Packing(8))


@dataclass(frozen=True, slots=True)
class Laid:
    """Where members stand, in the order in which they were given; all in bits but the alignment."""

    offsets: tuple[int, ...]
    bit_size: int
    align: int


@dataclass(frozen=True, slots=True)
class Rules:
    """What a layout depends on besides its members; alignments are in bytes."""

    target: Target
    is_union: bool = False
    packing: Packing = NATURAL
    stated: int | None = None
    """The alignment that the struct asks for, or has already."""
    is_exact: bool = False
    """Whether members of packed structs have the alignment that is left to them."""
    narrows: bool = False
    """Whether bit-fields count with the smallest integers that hold them, as when GCC lays out anew."""

    def lay_out(self, fields: Sequence[Field]) -> Laid:
        """The layout of members in their order.

        Raises CannotLayOut when the size or alignment of a member is not known.
        """
        end = reached = 0
        align = self.stated or 1
        offsets: list[int] = []
        for field in fields:
            own = self._alignment(field)
            start = 0 if self.is_union else self._start(field, end, own)
            offsets.append(start)
            end = start + (field.bit_size or 0)
            reached = max(reached, end)
            align = max(align, own)
        return Laid(tuple(offsets), _up(reached, align * 8), align)

    def start(self, field: Field, end: int) -> int:
        """Where a member starts that follows on one that ends at `end`, in bits; raises as `lay_out` does."""
        return self._start(field, end, self._alignment(field))

    def _start(self, field: Field, end: int, align: int) -> int:
        if not field.is_bitfield:
            return _up(end, align * 8)
        if self.packing == PACKED:
            return end
        size, step = field.bit_size or 0, align * 8
        unit = narrowed(size) if self.narrows else _unit(field, self.target)
        crosses = (end % step + size + step - 1) // step > unit * 8 // step
        return _up(end, step) if crosses else end

    def _alignment(self, field: Field) -> int:
        """The alignment of a member; one that its type does not have by itself outlives packing."""
        align = field.align
        if field.bit_size is None or align is None:
            what = "size" if field.bit_size is None else "alignment"
            raise CannotLayOut(f"the {what} of `{field.name}` is not known")
        if field.is_bitfield and self.narrows:
            align = min(narrowed(field.bit_size), self.target.max_align)
        if self.packing.most is None or (self.packing == PACKED and self.is_exact and not field.is_bitfield):
            return align
        size = element_size(field)
        is_scalar = size and field.aggregate is None and not field.is_bitfield
        if is_scalar and align > min(size & -size, self.target.max_align):
            return align
        return min(align, self.packing.most)


def narrowed(bits: int) -> int:
    """Bytes in the smallest integer that holds so many bits."""
    size = 1
    while size * 8 < bits:
        size *= 2
    return size


def element_size(field: Field) -> int:
    """Bytes in a member, of an array in one element; 0 where there is none."""
    count = 1
    for dimension in field.dims:
        count *= dimension or 0
    return (field.bit_size or 0) // 8 // count if count else 0


def _unit(field: Field, target: Target) -> int:
    """Bytes in the declared type of a bit-field."""
    align = field.align or 1
    if align < target.max_align or align >= 8:
        return align
    name = field.type.left.removeprefix("const ").removeprefix("volatile ")
    if name in _UNITS:
        return _UNITS[name]
    if name in ("long int", "long unsigned int"):
        return target.pointer_size
    if name.startswith("enum "):
        return 4
    raise CannotLayOut(f"the size of `{name}`, the type of bit-field `{field.name}`, is not known")


def fitting(
    candidates: Iterable[Sequence[Field]], bit_size: int, rules: Rules, packings: Iterable[Packing]
) -> list[tuple[Packing, int]]:
    """The ways of packing by which members come to stand where they do, and the alignment that comes of each.

    `candidates` are the members as they may have been when their struct was laid out.
    """
    found: dict[Packing, int] = {}
    for packing in packings:
        for fields in candidates:
            laid = replace(rules, packing=packing).lay_out(fields)
            offsets = tuple(field.bit_offset for field in fields)
            if (laid.offsets, laid.bit_size, laid.align) == (offsets, bit_size, rules.stated or laid.align):
                found.setdefault(packing, laid.align)
    return list(found.items())


def _up(value: int, step: int) -> int:
    return -(-value // step) * step
