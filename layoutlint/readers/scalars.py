"""Sizes and alignments of types by psABIs and compilers, which debug information does not state.

A set of alignments is stored as their sum, as in `Field.possible`; 0 means only the alignment beside it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

from layoutlint.model import possible_alignments
from layoutlint.model.structs import Field
from layoutlint.model.target import Target

_LONG_DOUBLE = 12
"""Its size in bytes on i386."""
_WORDS = ("i386",)
"""Targets that align integers and `double` to a word in structs, and other scalars to their size."""
_NARROW_VECTORS = {"arm": 8, "armeb": 8, "aarch64": 16, "aarch64_be": 16}
"""The largest alignment of vectors in bytes (AAPCS, "Containerized vectors"; AAPCS64, "Short vectors")."""
_ROUNDED = {
    "x86_64": 16, "x32": 16, "i386": 8, "aarch64": 16, "aarch64_be": 16, "arm": 8, "armeb": 8, "riscv64": 16,
    "riscv32": 16, "sparc64": 8, "powerpc": 4, "mips": 4, "mipsel": 4, "mips64": 8, "mips64el": 8,
    "loongarch64": 8,
}  # fmt: skip
"""The largest atomic type in bytes that clang rounds up (MaxAtomicPromoteWidth in clang/lib/Basic/Targets),
where clang 13 to 22 agree."""
_MOST_ROUNDED = 16
_LARGEST_BIT_FIELD = 8
"""The size in bytes of the widest bit-field type that i386 aligns to less than its size."""
_MOST_LOCK_FREE = 16


GCC_NAMES = {
    "short": "short int",
    "unsigned short": "short unsigned int",
    "long": "long int",
    "unsigned long": "long unsigned int",
    "long long": "long long int",
    "unsigned long long": "long long unsigned int",
    "unsigned __int128": "__int128 unsigned",
    "bool": "_Bool",
}
"""GCC's names of scalar types, by clang's."""


class SizeAndAlignment(NamedTuple):
    """A size in bits, None if unknown, an alignment in bytes, and the set of possible alignments."""

    bit_size: int | None
    align: int
    possible: int = 0


def natural(target: Target, size: int, is_integer: bool, is_wide: bool | None = False) -> tuple[int, int]:
    """Return the alignment of a scalar of some bytes in a struct, and the possible alignments.

    `is_integer`: it is an integer, a pointer, or another type that i386 treats alike, up to `double`.
    `is_wide`: whether `-malign-double` is in force; None if unknown.
    """
    align = size & -size or 1
    if target.name in _WORDS and align > target.max_align:
        if not is_integer:
            return align, 0
        if is_wide is None:
            return target.max_align, target.max_align | 8
        return (8 if is_wide else target.max_align), 0
    if target.name in _WORDS and is_wide is None and size == _LONG_DOUBLE and not is_integer:
        return align, align | 8  # clang's, with the flag
    return min(align, target.max_align) or 1, 0


def bit_int(target: Target, size: int, is_wide: bool | None = False) -> tuple[int, int]:
    """Return the alignment of a `_BitInt` of some bytes, and the possible ones; `is_wide` as in `natural`."""
    align = min(size & -size or 1, target.pointer_size if target.name in _WORDS else 8)
    if target.name in _WORDS and size & -size > align:
        return (8, 0) if is_wide else (align, align | 8 if is_wide is None else 0)
    if size <= 8:
        return align, 0
    if target.name in ("aarch64", "aarch64_be"):
        return 16, 0
    return (8, 8 | 16) if target.name.startswith(("loongarch", "unknown")) else (align, 0)


def ms_struct(target: Target, bit_size: int | None, align: int | None, stated: int | None) -> int:
    """Return the alignments that a bit-field can give an `ms_struct`, besides those of its type.

    `bit_size` and `align` are those of the type. `stated` is the alignment of the bit-field's offset, which
    GCC states if it is as wide as its type. GCC then states none for the struct.
    """
    if stated is not None:
        return stated * 2 - 1
    size = (bit_size or 0) >> 3
    return (align or 1) | size & _LARGEST_BIT_FIELD if size > target.max_align else 0


def vector(target: Target, size: int) -> tuple[int, int]:
    """Return the alignment of a vector of some bytes, and the possible alignments."""
    align = min(size & -size or 1, _NARROW_VECTORS.get(target.name, 1 << 30))
    if target.name in _WORDS and size == 8:
        return 8, 4 | 8  # gcc without MMX takes it for an integer
    if target.name == "s390x" and align > 8:
        return align, 8 | align  # with and without vector registers
    return align, (align | 8 if target.name.startswith("unknown") and align > 8 else 0)


def atomic(
    target: Target, bit_size: int | None, align: int, possible: int, is_rounded: bool | None
) -> SizeAndAlignment:
    """Return size and alignments of an atomic type, made of a type with this size and these alignments.

    `is_rounded`: whether the compiler rounds sizes up (clang) or not (gcc); None if unknown.
    """
    if bit_size is None:
        return SizeAndAlignment(None, align)
    rules = {True: (_atomic_of_clang,), False: (_atomic_of_gcc,), None: (_atomic_of_gcc, _atomic_of_clang)}[
        is_rounded
    ]
    likely = rules[0](target, bit_size // 8, align)
    alignments, size = 0, likely.bit_size
    for bit in range((possible or align).bit_length()):
        if (possible or align) >> bit & 1:
            for candidate in (rule(target, bit_size // 8, 1 << bit) for rule in rules):
                alignments |= candidate.possible or candidate.align
                size = size if candidate.bit_size == size else None
    return SizeAndAlignment(size, likely.align, 0 if alignments == likely.align else alignments)


def _atomic_of_gcc(target: Target, size: int, align: int) -> SizeAndAlignment:
    """Return an atomic type as gcc lays it out.

    find_atomic_core_type() in gcc/tree.cc raises the alignment if an integer fits.
    """
    if size & (size - 1) or not 1 <= size <= _MOST_LOCK_FREE:
        return SizeAndAlignment(size * 8, align)
    largest = 16 if target.name in _WORDS else target.max_align
    raised = max(align, min(size, largest))
    if target.name == "s390x" and size == 16:
        return SizeAndAlignment(size * 8, raised, raised | 16)
    return SizeAndAlignment(size * 8, raised)


def _atomic_of_clang(target: Target, size: int, align: int) -> SizeAndAlignment:
    """Return an atomic type as clang lays it out.

    ASTContext::getTypeInfoImpl() rounds up sizes that can be lock-free on the target.
    """
    if size == 0:
        return SizeAndAlignment(8, align)
    largest = _ROUNDED.get(target.name)
    rounded_size = 1 << (size - 1).bit_length()
    if rounded_size > _MOST_ROUNDED or (largest is not None and rounded_size > largest):
        return SizeAndAlignment(size * 8, align)
    if largest is None and rounded_size > 8:  # 8 or 16 by the version of clang
        return SizeAndAlignment(size * 8 if rounded_size == size else None, align, align | rounded_size)
    return SizeAndAlignment(rounded_size * 8, rounded_size)


def round_up_bits(bit_size: int | None, most: int) -> int:
    """Return the bits of a type rounded up to a power of two, at most `most` bytes; 0 if not rounded."""
    if not bit_size or bit_size % 8 or not bit_size & (bit_size - 1) or bit_size > most * 8:
        return 0
    return 1 << bit_size.bit_length()


def atomic_bits(bit_size: int) -> int:
    """Return the bits of a struct or union that clang rounds up if it is atomic; 0 if it does not."""
    return round_up_bits(bit_size, _MOST_ROUNDED) if bit_size else 8


def may_be_larger(fields: Sequence[Field], sizes: Sequence[int], bit_size: int, is_union: bool) -> list[bool]:
    """Return for each member whether it may have another size, in bits (0: none): one that fits before the
    next.

    A vector of three is an array in BTF, and an atomic struct is a struct before DWARF 5: both are padded.
    """
    doubtful, by_start = [], _fields_by_start(fields)
    for field, size, end in zip(fields, sizes, _ends(fields, bit_size, is_union), strict=True):
        fits = size > 0 and field.bit_offset + size <= end
        following = by_start.get(end, ())
        doubtful.append(fits and (_is_natural(field, size) or not _is_explained(following, field, end)))
    return doubtful


def may_straddle(
    fields: Sequence[Field], bit_size: int, is_union: bool, states_aligned: bool = True
) -> list[bool]:
    """Return for each member whether it may be a bit-field as wide as its type that ends a byte later.

    Clang up to 15 describes it like a member, with the byte where it begins. In a packed struct, unnamed
    bit-fields can precede it in that byte; a gap that no alignment explains is evidence of that.
    `states_aligned`: the input states which alignments members request.
    """
    if is_union:
        return [False] * len(fields)
    doubtful, follows_unexplained, by_start = [], False, _fields_by_start(fields)
    for field, end in zip(fields, _ends(fields, bit_size, is_union), strict=True):
        is_gap = field.bit_offset + (field.bit_size or 0) + 8 <= end
        following = by_start.get(end, ())
        is_unexplained = is_gap and not _is_explained(following, field, end)
        can_be = possible_alignments.may_be_whole(field) and not field.is_bitfield
        is_explained = not follows_unexplained and _may_be_explained(following, field, end, states_aligned)
        doubtful.append(can_be and is_unexplained and not is_explained)
        follows_unexplained = is_unexplained
    return doubtful


def _fields_by_start(fields: Sequence[Field]) -> dict[int, list[Field]]:
    by_start: dict[int, list[Field]] = {}
    for field in fields:
        by_start.setdefault(field.bit_offset, []).append(field)
    return by_start


def _may_be_explained(following: Sequence[Field], field: Field, end: int, states_aligned: bool) -> bool:
    """Return whether an alignment that the input does not state may explain the gap before the members at
    `end`.

    A typedef or a vector, which is an array in BTF, can have one; `#pragma pack` can lower it.
    """
    gap, largest = end - field.bit_offset - (field.bit_size or 0), 0
    for other in following:
        is_open = not states_aligned or other.underlying_types or other.dims
        stated = (other.possible or other.align or 1) | other.requested_align
        largest = max(largest, end & -end if is_open else 8 * stated)
    return gap < min(largest, end & -end)


def _ends(fields: Sequence[Field], bit_size: int, is_union: bool) -> Iterator[int]:
    """Yield the bit up to which each member can extend: the start of the next, or the end of the struct."""
    starts = sorted({field.bit_offset for field in fields})
    for number, field in enumerate(fields, 1):
        later = len(starts) if is_union else bisect_right(starts, field.bit_offset)
        end = starts[later] if later < len(starts) else bit_size
        if not is_union and number < len(fields):
            end = min(end, fields[number].bit_offset)
        yield end


def _is_natural(field: Field, size: int) -> bool:
    """Return whether the offset of a member suits one of that size."""
    count = 1
    for dimension in field.dims:
        count *= dimension or 1
    return field.bit_offset % (size & -size if count == 1 else 8) == 0


def _is_explained(following: Sequence[Field], field: Field, end: int) -> bool:
    """Return whether the alignment of the members at `end` explains the gap before them."""
    gap = end - field.bit_offset - (field.bit_size or 0)
    aligns = [(other.align or 1) * 8 for other in following]
    aligns = aligns or [end & -end]  # what the size of the struct allows
    return any(gap < align and end % align == 0 for align in aligns)


def innermost_bits(bit_size: int | None, dims: tuple[int | None, ...]) -> int | None:
    """Return the bits of an element of a type that may be an array of arrays; None if unknown."""
    count = prod(length or 0 for length in dims)
    return bit_size // count if bit_size and count else None
