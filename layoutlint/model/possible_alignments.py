"""The alignments that a struct can have where its input does not state one (docs/concepts.md).

Alignments are powers of two, so a set of them is stored as their sum. When in doubt, functions here return
too many rather than too few.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Struct, Unstated
from layoutlint.model.target import Target

# Plain numbers: on thousands of structs, the operators of IntFlag would take most of the time.
_ALIGNED: Final = int(Unstated.ALIGNED)
_AS_LARGE: Final = int(Unstated.AS_LARGE)
_ATOMIC: Final = int(Unstated.ATOMIC)
_BIT_FIELDS: Final = int(Unstated.BIT_FIELDS)
_CAPPED: Final = int(Unstated.CAPPED)
_ATOMIC_UNROUNDED: Final = int(Unstated.ATOMIC_UNROUNDED)
_PRAGMA: Final = int(Unstated.PRAGMA)
_RAISED: Final = int(Unstated.RAISED)
_TYPEDEF: Final = int(Unstated.TYPEDEF)
_WHOLE: Final = int(Unstated.WHOLE)
_WITHOUT_NAME: Final = int(Unstated.UNNAMED)
_LARGEST_PRAGMA = 16
"""The largest N of `#pragma pack(N)` in gcc and clang, in bytes."""
_FOR_EMPTY = 256
"""An upper bound for the alignment of an empty struct, in bytes."""
_ALIGNED_BY_UNNAMED = frozenset(("aarch64", "aarch64_be", "arm", "armeb"))
"""Targets where unnamed bit-fields align the struct (AAPCS, "Bit-fields"); debug information omits them."""
ANY = 511
"""The alignments that a typedef can have: up to the longest cache line of any target, whatever the size."""
_UNNAMED = 15
"""The alignments that unnamed bit-fields can cause: up to that of `long long`."""
_LARGEST_INTEGER = 8
"""The size in bytes of the largest integer of which every target aligns the mode to its size."""
_LARGEST_MODE = 256
"""The size in bytes of the largest vector that can be in registers."""
_STRICT = frozenset(
    ("arm", "armeb", "riscv64", "riscv32", "sparc64", "mips", "mipsel", "mips64", "mips64el", "loongarch64")
)


def strict(target: Target) -> bool:
    """Return whether gcc treats a target as needing aligned access (STRICT_ALIGNMENT), as far as is known."""
    return target.name in _STRICT


def struct_alignments(struct: Struct, bit_size: int) -> tuple[int, int]:
    """Return the likeliest alignment of a struct, and the set of all that it can have."""
    likely, every = possible(
        struct.fields, bit_size, struct.aggregate == "union", struct.align, struct.unstated, struct.target
    )
    if int(struct.unstated) & _ALIGNED and (struct.aliases or not struct.is_tagged):
        every |= ANY  # the typedef may be `aligned`
    if struct.possible:
        every = every & struct.possible or every if struct.unstated else struct.possible
    return (likely if likely & every else every & -every), every


def reorder(struct: Struct, fields: tuple[Field, ...], bit_size: int, align: int) -> Struct:
    """Return a struct with its fields in another order, and the alignments that it can have as declared.

    `align` is the alignment with which the fields were placed. Offsets that no compiler chose prove no
    alignment.
    """
    new = replace(struct, fields=fields, bit_size=bit_size, align=align)
    _, every = struct_alignments(struct, struct.bit_size or bit_size)
    if every & (every - 1) == 0:
        return new
    return replace(new, align=None, unstated=Unstated.NOTHING, possible=every | align)


_MOST_CACHED = 1 << 15
"""The most results that are kept; a kernel has 20,000 structs and unions."""
_Result = tuple[int, int]
_cache: dict[tuple[int | None, ...], tuple[tuple[Field, ...], Target, _Result]] = {}


def possible(
    fields: tuple[Field, ...],
    bit_size: int,
    is_union: bool,
    stated: int | None,
    unstated: int,
    target: Target,
) -> tuple[int, int]:
    """Return the alignment of a struct that only its members decide, and the set of all it can have.

    `stated` is the alignment that the input states, `unstated` the facts that it omits. The result is kept:
    readers, comparisons and reports ask again.
    """
    key = id(fields), bit_size, is_union, stated, int(unstated), id(target)
    cached = _cache.get(key)  # which holds the fields and the target, so their identities stay unique
    if cached is None:
        if len(_cache) >= _MOST_CACHED:
            _cache.clear()
        result = _find_possible(fields, bit_size, is_union, stated, int(unstated), target)
        cached = _cache[key] = fields, target, result
    return cached[2]


def forget() -> None:
    """Forget all results, and the structs that they are of: a process that lives long reads them again."""
    _cache.clear()


def _find_possible(
    fields: tuple[Field, ...],
    bit_size: int,
    is_union: bool,
    stated: int | None,
    unstated: int,
    target: Target,
) -> _Result:
    if unstated & _TYPEDEF:
        likely, _ = possible(fields, bit_size, is_union, stated, unstated & ~_TYPEDEF, target)
        return likely, ANY
    if stated is not None and not unstated & _RAISED:
        return stated, stated
    size = bit_size >> 3
    fits = ((size & -size) << 1) - 1 if size else _FOR_EMPTY * 2 - 1
    natural, widest, under_pragma, least = _demands(fields, unstated)
    likely = _highest(natural & fits)
    if not unstated:
        return likely, likely | _highest(widest & fits)
    hidden = _hidden_alignments(fields, is_union, fits, size, unstated, target)
    alignments = under_pragma & fits | 1 | hidden
    alignments = alignments & -least or alignments
    if stated is not None:  # members may raise it
        alignments = stated | alignments & -stated
        return _highest(alignments), alignments
    return max(likely, alignments & -alignments), alignments


def _demands(fields: Sequence[Field], unstated: int) -> tuple[int, int, int, int]:
    """Return the alignments that members ask for: likely, possible, possible under pragmas, and the least.

    A gap in front of a member proves nothing: an unnamed bit-field, which no debug information contains, can
    fill it. Runs for every struct, so it calls no function that few members need.
    """
    natural, widest, under_pragma, least = 1, 1, 1, 1
    # A pragma cuts a member to one of so many alignments; it can then stand where its type could not.
    cut_to = _LARGEST_PRAGMA.bit_length() if unstated & _PRAGMA else 0
    is_capped = unstated & _CAPPED
    for member in fields:
        start, explicit = member.bit_offset, member.requested_align
        alone = (member.align or 1) | explicit
        own = (member.possible or member.align or 1) | explicit
        if member.aggregate and not member.members:
            own |= _hollow(member)
        under_cut = own | (1 << min(own.bit_length(), cut_to)) - 1
        if not member.is_bitfield:
            allowed = ((start & -start) >> 2) - 1 if start else -1
            own &= allowed
            alone &= allowed
            under_cut &= allowed
            if explicit > least and not is_capped:
                least = explicit
        natural |= alone
        widest |= own
        under_pragma |= under_cut
    return natural, widest, under_pragma, least


def hides_uses(unstated: int) -> bool:
    """Return whether a member, variable or typedef of the type can be `aligned` without the input showing it.

    This includes typedefs where clang hides atomic types, also for structs without a typedef.
    """
    unstated = int(unstated)
    hidden = _ALIGNED | _TYPEDEF | _RAISED
    return bool(unstated & hidden) or unstated & (_ATOMIC | _ATOMIC_UNROUNDED) == _ATOMIC


def values(possible: int) -> tuple[int, ...]:
    """Return the alignments of a set, smallest first."""
    return tuple(1 << bit for bit in range(possible.bit_length()) if possible >> bit & 1)


def _hollow(member: Field) -> int:
    """Return the alignments of a struct or union with missing members (gcc omits those of transparent
    unions).
    """
    size = (member.bit_size or 0) >> 3
    return 0 if member.members or not member.aggregate or not size else ((size & -size) << 1) - 1


def _highest(alignments: int) -> int:
    return 1 << alignments.bit_length() - 1


def _hidden_alignments(
    fields: Sequence[Field], is_union: bool, fits: int, size: int, unstated: int, target: Target
) -> int:
    """Return the alignments that facts missing in the input can cause, limited to those that fit the size."""
    if unstated & _ALIGNED:
        return fits
    alignments = _unnamed_alignments(fields, size, is_union, fits)
    if unstated & _AS_LARGE and size & -size == size and _has_machine_mode(fields, size, target):
        alignments |= (2 * size - 1) & -min(size, _LARGEST_INTEGER)
    if unstated & _WITHOUT_NAME:  # their types can be `aligned` themselves
        return fits
    if target.name in _ALIGNED_BY_UNNAMED:
        alignments |= _UNNAMED
    if unstated & _BIT_FIELDS:
        for member in fields:
            if not member.is_bitfield and not (unstated & _WHOLE and may_be_whole(member)):
                continue
            if unstated & _PRAGMA:  # the struct is aligned, the bit-field need not be
                alignments |= _LARGEST_PRAGMA * 2 - 1
            if member.bit_offset % 8 == 0:
                alignments |= (
                    ((member.bit_offset & -member.bit_offset) >> 2) - 1 if member.bit_offset else fits
                )
    return alignments & fits


def _unnamed_alignments(fields: Sequence[Field], size: int, is_union: bool, fits: int) -> int:
    """Return the alignments that unnamed bit-fields can cause, which debug information omits.

    In an `ms_struct`, they align the struct like named ones. One with bits leaves a gap that the alignments
    of the named members do not explain. One without bits can only be behind a bit-field.
    """
    alignments, reached, natural = 0, 0, 1
    for member in fields:
        align = max((member.possible or member.align or 1) | member.requested_align, 1)
        natural |= align
        if is_union:
            reached = max(reached, member.bit_size or 0)
            continue
        start = member.bit_offset
        if start > reached:
            alignments |= _gap_alignments(reached, start, align)
        if member.bit_size is None:  # its end, and gaps behind it, are not known
            reached = size * 8
        elif start + member.bit_size >= reached:
            reached = start + member.bit_size
            if member.is_bitfield and reached % 16 == 0:
                alignments |= (reached >> 2 & -(reached >> 2)) - 1
    if size * 8 > reached:
        alignments |= _gap_alignments(0 if is_union else reached, size * 8, natural, reached)
    return alignments & fits


def _gap_alignments(start: int, stop: int, align: int, reached: int | None = None) -> int:
    """Return the alignments of unnamed bit-fields that can be in a gap, or behind it if they have no bits.

    The set is empty if `align`, a set of alignments in bytes, explains that the gap ends at `stop`. All
    offsets are in bits; `reached` is where the members end, if unnamed bit-fields can be before that.
    """
    step = _highest(align) * 8
    if -(-(start if reached is None else reached) // step) * step >= stop:
        return 0
    first, last = -(-start // 8), stop // 8
    largest = _FOR_EMPTY
    while largest > 1 and -(-first // largest) * largest > last:
        largest //= 2
    return 2 * largest - 1


def _has_machine_mode(fields: Sequence[Field], size: int, target: Target) -> bool:
    """Return whether gcc may hold a struct of some bytes in a register (compute_record_mode()).

    It does for the sizes of integers, and if one member of another kind, like a vector or a complex number,
    fills the struct.
    """
    if size <= 2 * target.pointer_size:
        return True
    return size <= _LARGEST_MODE and any(not f.bit_offset and f.bit_size == size * 8 for f in fields)


def may_be_whole(member: Field) -> bool:
    """Return whether a member can be a bit-field that is as wide as its type."""
    is_plain = member.aggregate is None and not member.dims and not member.is_function_pointer
    return is_plain and bool(member.bit_size) and "*" not in str(member.type)
