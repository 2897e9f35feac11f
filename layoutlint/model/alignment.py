"""Which alignments a struct can have that its input does not state (docs/placements.md).

A set of alignments is their sum: they are powers of two. Everything here errs on the side of more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from layoutlint.model.structs import Field, Struct, Unstated
from layoutlint.model.target import Target

# As plain numbers: the operators of flags take most of the time where thousands of structs are looked at.
_ALIGNED: Final = int(Unstated.ALIGNED)
_AS_LARGE: Final = int(Unstated.AS_LARGE)
_ATOMIC: Final = int(Unstated.ATOMIC)
_BIT_FIELDS: Final = int(Unstated.BIT_FIELDS)
_CAPPED: Final = int(Unstated.CAPPED)
_KEPT: Final = int(Unstated.KEPT)
_PRAGMA: Final = int(Unstated.PRAGMA)
_RAISED: Final = int(Unstated.RAISED)
_TYPEDEF: Final = int(Unstated.TYPEDEF)
_WHOLE: Final = int(Unstated.WHOLE)
_WITHOUT_NAME: Final = int(Unstated.UNNAMED)
_LARGEST_PRAGMA = 16
"""What `#pragma pack` can say at most, in bytes (gcc and clang)."""
_FOR_EMPTY = 256
"""A bound for a struct of no bytes."""
_ALIGNED_BY_UNNAMED = frozenset(("aarch64", "aarch64_be", "arm", "armeb"))
"""Targets where bit-fields without a name, which no debug information shows, align what they stand in (AAPCS,
"Bit-fields")."""
ANY = 511
"""What a typedef can give: up to the longest line of any target; nothing of its size follows."""
_UNNAMED = 15
"""The alignments that those can give: up to that of `long long`."""
_STRICT = frozenset(
    ("arm", "armeb", "riscv64", "riscv32", "sparc64", "mips", "mipsel", "mips64", "mips64el", "loongarch64")
)


def strict(target: Target) -> bool:
    """Whether gcc takes a target as one that needs aligned access (STRICT_ALIGNMENT), as far as is known."""
    return target.name in _STRICT


def of(struct: Struct, bit_size: int) -> tuple[int, int]:
    """Return the likeliest alignment of a struct, and the set of all that it can have."""
    likely, every = possible(
        struct.fields, bit_size, struct.aggregate == "union", struct.align, struct.unstated, struct.target
    )
    if int(struct.unstated) & _ALIGNED and (struct.aliases or not struct.is_tagged):
        every |= ANY  # the typedef may be `aligned`
    if struct.possible:
        every = every & struct.possible or every if struct.unstated else struct.possible
    return (likely if likely & every else every & -every), every


def reordered(struct: Struct, fields: tuple[Field, ...], bit_size: int, align: int) -> Struct:
    """Return a struct with its fields in another order, and the alignments that it can have as declared.

    `align` is the one by which its fields were placed. Places that no compiler chose prove none.
    """
    new = replace(struct, fields=fields, bit_size=bit_size, align=align)
    _, every = of(struct, struct.bit_size or bit_size)
    if every & (every - 1) == 0:
        return new
    return replace(new, align=None, unstated=Unstated.NOTHING, possible=every | align)


def possible(
    fields: Sequence[Field], bit_size: int, is_union: bool, stated: int | None, unstated: int, target: Target
) -> tuple[int, int]:
    """The alignment that a struct has if nothing but its members decides, and the set of all it can have.

    `unstated` is what its input leaves out, `stated` the alignment that it states.
    """
    unstated = int(unstated)
    if unstated & _TYPEDEF:
        likely, _ = possible(fields, bit_size, is_union, stated, unstated & ~_TYPEDEF, target)
        return likely, ANY
    if stated is not None and not unstated & _RAISED:
        return stated, stated
    size = bit_size >> 3
    fits = ((size & -size) << 1) - 1 if size else _FOR_EMPTY * 2 - 1
    natural, widest, found, least = _demands(fields, is_union, unstated, target)
    likely = _highest(natural & fits)
    if not unstated:
        return likely, likely | _highest(widest & fits)
    every = found & fits | 1 | _hidden(fields, fits, size, unstated, target)
    every = every & -least or every
    if stated is not None:  # how far members raise it is not
        every = stated | every & -stated
        return _highest(every), every
    return max(likely, every & -every), every


def _demands(
    fields: Sequence[Field], is_union: bool, unstated: int, target: Target
) -> tuple[int, int, int, int]:
    """What members ask for: the likely alignments, the possible ones, those under pragmas too, and the least.

    Every struct comes here: nothing is called that few members need.
    """
    natural, widest, found, least = 1, 1, 1, 1
    reached, previous = 0, None
    # To how many of its alignments pragmas cut a member down, which can then stand where its type could not.
    cut_to = _LARGEST_PRAGMA.bit_length() if unstated & _PRAGMA else 0
    is_capped, has_gaps = unstated & _CAPPED, unstated and not is_union
    for member in fields:
        start, bits, asked = member.bit_offset, member.bit_size, member.asked
        alone = (member.align or 1) | asked
        own = (member.possible or member.align or 1) | asked
        if member.aggregate and not member.members:
            own |= _hollow(member)
        cut = own | (1 << min(own.bit_length(), cut_to)) - 1
        if not member.is_bitfield:
            allowed = ((start & -start) >> 2) - 1 if start else -1
            own &= allowed
            alone &= allowed
            cut &= allowed
            if asked > least and not is_capped:
                least = asked
        natural |= alone
        widest |= own
        found |= cut
        if start > reached:
            reached = _reach(previous, reached, start)
            if has_gaps and start > reached:
                least = max(least, _before(previous, member, reached, own, unstated, target))
        if bits and start + bits > reached:
            reached = start + bits
        previous = member
    return natural, widest, found, least


def hides_uses(unstated: int) -> bool:
    """Return whether a member, a variable or a typedef of its type can be `aligned` without being shown.

    Of typedefs that is so where clang hides atomic types, also for structs that go by no typedef.
    """
    unstated = int(unstated)
    hidden = _ALIGNED | _TYPEDEF | _RAISED
    return bool(unstated & hidden) or unstated & (_ATOMIC | _KEPT) == _ATOMIC


def of_holes(fields: Sequence[Field], unstated: int, target: Target) -> Iterator[tuple[Field, int]]:
    """Yield members behind holes that only the alignment of their types explains, and the least that does.

    Nothing follows from a place that is no multiple of an alignment: what holds the member can be packed.
    """
    if hides_uses(unstated):
        return
    reached, previous = 0, None
    for member in fields:
        reached = _reach(previous, reached, member.bit_offset)
        if member.bit_offset > reached and not member.is_bitfield and not member.asked:
            own = member.possible or member.align or 1
            least = _before(previous, member, reached, own, unstated, target)
            if least > 1:
                yield member, least
        reached = max(reached, member.bit_offset + (member.bit_size or 0))
        previous = member


def _reach(last: Field | None, reached: int, behind: int) -> int:
    """How far members reach: up to what is behind them, where the size of the last is not known."""
    return reached if last is None or last.bit_size is not None else max(reached, behind)


def values(possible: int) -> tuple[int, ...]:
    """The alignments of a set, from the smallest."""
    return tuple(1 << bit for bit in range(possible.bit_length()) if possible >> bit & 1)


def _hollow(member: Field) -> int:
    """The alignments of a struct or union whose members are not there, as gcc hides transparent unions'."""
    size = (member.bit_size or 0) >> 3
    return 0 if member.members or not member.aggregate or not size else ((size & -size) << 1) - 1


def _highest(found: int) -> int:
    return 1 << found.bit_length() - 1


def _hidden(fields: Sequence[Field], fits: int, size: int, unstated: int, target: Target) -> int:
    """The alignments that what is not stated can give, of those that fit the size."""
    if unstated & _ALIGNED:
        return fits
    found = 0
    if unstated & _AS_LARGE and size & -size == size <= 2 * target.pointer_size:
        found |= size
    if unstated & _WITHOUT_NAME:  # of types that can be `aligned` themselves
        return fits
    if target.name in _ALIGNED_BY_UNNAMED:
        found |= _UNNAMED
    if unstated & _BIT_FIELDS:
        found |= 0 if fields else _UNNAMED  # of bit-fields without a name alone, which count for `ms_struct`
        for member in fields:
            if not member.is_bitfield and not (unstated & _WHOLE and may_be_whole(member)):
                continue
            if unstated & _PRAGMA:  # the struct is then aligned, and the bit-field need not be
                found |= _LARGEST_PRAGMA * 2 - 1
            if member.bit_offset % 8 == 0:
                found |= ((member.bit_offset & -member.bit_offset) >> 2) - 1 if member.bit_offset else fits
    return found & fits


def may_be_whole(member: Field) -> bool:
    """Whether a member can be a bit-field that is as wide as its type."""
    is_plain = member.aggregate is None and not member.dims and not member.is_function_pointer
    return is_plain and bool(member.bit_size) and "*" not in str(member.type)


def _before(
    previous: Field | None, member: Field, reached: int, own: int, unstated: int, target: Target
) -> int:
    """The alignment that a member must give its struct because of the gap before it; 1 where none follows.

    A bit-field without a name can fill any gap, and is not shown: where the member does not ask for an
    alignment, nothing may stand between its line and that of the one before.
    """
    if member.is_bitfield:
        align = (member.align or 1) * 8
        crosses = reached % align + (member.bit_size or 0) > align
        is_next = member.bit_offset == -(-reached // align) * align
        is_whole = target.max_align >= 8 or align < 32  # as large as it is aligned to
        return align >> 3 if is_whole and crosses and is_next and _adjacent(previous, member) else 1
    most = 1 << 30 if unstated & _ALIGNED else _highest(own) if own else 1
    return _gap(reached, member.bit_offset, most) if _adjacent(previous, member) else 1


def _gap(reached: int, start: int, most: int) -> int:
    """The smallest alignment up to `most` that explains empty bytes between two places; 1 for none."""
    empty = (start >> 3) - (reached + 7 >> 3)
    if empty <= 0:
        return 1
    align = 1 << empty.bit_length()
    return align if align <= most and start % (align * 8) == 0 else 1


def _adjacent(previous: Field | None, member: Field) -> bool:
    """Whether two members are declared in lines that follow one another, so that nothing stands between."""
    if previous is None or previous.source is None or member.source is None:
        return False
    first, second = previous.source, member.source
    if first.line is None or second.line is None or first.file != second.file:
        return False
    return second.line == first.line + 1
