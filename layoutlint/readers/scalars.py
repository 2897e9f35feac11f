"""Sizes and alignments that psABIs and compilers give to types, and debug information does not state.

A set of alignments is their sum, as in `Field.possible`; 0 stands for the set of the one alignment beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from layoutlint.model import alignment
from layoutlint.model.structs import Field
from layoutlint.model.target import Target

_LONG_DOUBLE = 12
"""Bytes of it on i386."""
_WORDS = ("i386",)
"""Targets whose integers and `double` are aligned to a word in structs, and other scalars to their size."""
_NARROW_VECTORS = {"arm": 8, "armeb": 8, "aarch64": 16, "aarch64_be": 16}
"""The largest alignment of vectors in bytes (AAPCS, "Containerized vectors"; AAPCS64, "Short vectors")."""
_ROUNDED = {
    "x86_64": 16, "x32": 16, "i386": 8, "aarch64": 16, "aarch64_be": 16, "arm": 8, "armeb": 8, "riscv64": 16,
    "riscv32": 16, "sparc64": 8, "powerpc": 4, "mips": 4, "mipsel": 4, "mips64": 8, "mips64el": 8,
    "loongarch64": 8,
}  # fmt: skip
"""The largest atomic type in bytes that clang rounds up (MaxAtomicPromoteWidth in clang/lib/Basic/Targets),
where that is the same in clang 13 to 22."""
_MOST_ROUNDED = 16
_LARGEST_BIT_FIELD = 8
"""Bytes of the widest type of bit-fields that i386 aligns to less than its size."""
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
"""What clang calls scalars -> what GCC does."""


class Aligned(NamedTuple):
    """A size in bits, None where it is not known; an alignment in bytes; and those that are possible."""

    bit_size: int | None
    align: int
    possible: int = 0


def natural(target: Target, size: int, is_integer: bool, is_wide: bool | None = False) -> tuple[int, int]:
    """The alignment of a scalar of some bytes in a struct, and those that are possible.

    `is_integer` says that it is an integer, a pointer, or one of the types that i386 treats like them,
    `double` and narrower. `is_wide` says whether `-malign-double` is in force there; None for not known.
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
    """The alignment of a `_BitInt` in so many bytes, and those that are possible; `is_wide` as above."""
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

    The type has `bit_size` and is aligned to `align`. `stated` is what GCC states of a bit-field as wide as
    its type: where the bit-field stands. GCC then states nothing of the struct.
    """
    if stated is not None:
        return stated * 2 - 1
    size = (bit_size or 0) >> 3
    return (align or 1) | size & _LARGEST_BIT_FIELD if size > target.max_align else 0


def vector(target: Target, size: int) -> tuple[int, int]:
    """The alignment of a vector of so many bytes, and those that are possible."""
    align = min(size & -size or 1, _NARROW_VECTORS.get(target.name, 1 << 30))
    if target.name in _WORDS and size == 8:
        return 8, 4 | 8  # gcc without MMX takes it for an integer
    if target.name == "s390x" and align > 8:
        return align, 8 | align  # with and without vector registers
    return align, (align | 8 if target.name.startswith("unknown") and align > 8 else 0)


def atomic(
    target: Target, bit_size: int | None, align: int, possible: int, is_rounded: bool | None
) -> Aligned:
    """An atomic type made of one of a size, and of an alignment that is the likeliest of some.

    `is_rounded` says whether a compiler made it that rounds sizes up (clang), or one that does not (gcc);
    None for not known.
    """
    if bit_size is None:
        return Aligned(None, align)
    made = {True: (_rounded,), False: (_kept,), None: (_kept, _rounded)}[is_rounded]
    likely = made[0](target, bit_size // 8, align)
    every, size = 0, likely.bit_size
    for bit in range((possible or align).bit_length()):
        if (possible or align) >> bit & 1:
            for found in (make(target, bit_size // 8, 1 << bit) for make in made):
                every |= found.possible or found.align
                size = size if found.bit_size == size else None
    return Aligned(size, likely.align, 0 if every == likely.align else every)


def _kept(target: Target, size: int, align: int) -> Aligned:
    """As gcc has it: find_atomic_core_type() in gcc/tree.cc raises the alignment, where an integer fits."""
    if size & (size - 1) or not 1 <= size <= _MOST_LOCK_FREE:
        return Aligned(size * 8, align)
    most = 16 if target.name in _WORDS else target.max_align
    raised = max(align, min(size, most))
    if target.name == "s390x" and size == 16:
        return Aligned(size * 8, raised, raised | 16)
    return Aligned(size * 8, raised)


def _rounded(target: Target, size: int, align: int) -> Aligned:
    """As clang has it: ASTContext::getTypeInfoImpl() rounds up what its target may have lock-free."""
    if size == 0:
        return Aligned(8, align)
    most = _ROUNDED.get(target.name)
    up = 1 << (size - 1).bit_length()
    if up > _MOST_ROUNDED or (most is not None and up > most):
        return Aligned(size * 8, align)
    if most is None and up > 8:  # 8 or 16 by the version of clang
        return Aligned(size * 8 if up == size else None, align, align | up)
    return Aligned(up * 8, up)


def padded(bit_size: int | None, most: int) -> int:
    """The bits of a type that is rounded up to a power of two of at most so many bytes; 0 where it is not."""
    if not bit_size or bit_size % 8 or not bit_size & (bit_size - 1) or bit_size > most * 8:
        return 0
    return 1 << bit_size.bit_length()


def atomic_bits(bit_size: int) -> int:
    """The bits of a struct or union that clang rounds up where it is atomic; 0 where it does not."""
    return padded(bit_size, _MOST_ROUNDED) if bit_size else 8


def may_be_larger(fields: Sequence[Field], sizes: Sequence[int], bit_size: int, is_union: bool) -> list[bool]:
    """Which members may have another size, given in bits, 0 for none: it fits, and says what is behind them.

    A vector of three is an array in BTF, and an atomic struct is a struct before DWARF 5: both are padded.
    """
    found = []
    for field, size, end in zip(fields, sizes, _ends(fields, bit_size, is_union), strict=True):
        fits = size > 0 and field.bit_offset + size <= end
        found.append(fits and (_is_natural(field, size) or not _is_explained(fields, field, end)))
    return found


def may_straddle(
    fields: Sequence[Field], bit_size: int, is_union: bool, states_aligned: bool = True
) -> list[bool]:
    """Which members may be bit-fields as wide as their types that end a byte later than they seem to.

    Clang up to 15 writes them like members, with the byte in which they begin. Where a struct is packed,
    bit-fields without a name can stand in that byte before them: a gap that no alignment asks for shows it.
    `states_aligned`: the input states which alignments members ask for.
    """
    if is_union:
        return [False] * len(fields)
    found, is_before = [], False
    for field, end in zip(fields, _ends(fields, bit_size, is_union), strict=True):
        is_gap = field.bit_offset + (field.bit_size or 0) + 8 <= end
        is_strange = is_gap and not _is_explained(fields, field, end)
        can_be = alignment.may_be_whole(field) and not field.is_bitfield
        is_explained = not is_before and _may_be_explained(fields, field, end, states_aligned)
        found.append(can_be and is_strange and not is_explained)
        is_before = is_strange
    return found


def _may_be_explained(fields: Sequence[Field], field: Field, end: int, states_aligned: bool) -> bool:
    """Whether the gap behind a member can be what an alignment asks for that the input does not state.

    That is one of a typedef, or of a vector, which BTF takes for an array; and `#pragma pack` cuts it down.
    """
    gap, most = end - field.bit_offset - (field.bit_size or 0), 0
    for other in fields:
        if other.bit_offset == end:
            is_open = not states_aligned or other.stands_for or other.dims
            stated = (other.possible or other.align or 1) | other.asked
            most = max(most, end & -end if is_open else 8 * stated)
    return gap < min(most, end & -end)


def _ends(fields: Sequence[Field], bit_size: int, is_union: bool) -> Iterator[int]:
    """Up to where each member can reach, in bits: to the next one, or the end of the whole."""
    starts = sorted({field.bit_offset for field in fields})
    for number, field in enumerate(fields, 1):
        behind = (start for start in starts if start > field.bit_offset and not is_union)
        end = next(behind, bit_size)
        if not is_union and number < len(fields):
            end = min(end, fields[number].bit_offset)
        yield end


def _is_natural(field: Field, size: int) -> bool:
    """Whether a member stands where one of that size would."""
    count = 1
    for dimension in field.dims:
        count *= dimension or 1
    return field.bit_offset % (size & -size if count == 1 else 8) == 0


def _is_explained(fields: Sequence[Field], field: Field, end: int) -> bool:
    """Whether the gap behind a member is what the next one's alignment asks for."""
    gap = end - field.bit_offset - (field.bit_size or 0)
    aligns = [(other.align or 1) * 8 for other in fields if other.bit_offset == end]
    aligns = aligns or [end & -end]  # what the size of the whole allows
    return any(gap < align and end % align == 0 for align in aligns)
