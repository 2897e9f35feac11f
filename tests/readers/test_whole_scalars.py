"""Sizes and alignments of scalars on every target, and which members may be larger than their input says.

The texts in `golden/` are for review: `pytest --rewrite-goldens` writes them. test_scalars.py holds a part of them against compilers.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator

from layoutlint.model.ctype import CType
from layoutlint.model.record import replace
from layoutlint.model.structs import Field
from layoutlint.model.target import TARGETS, Target
from layoutlint.readers import scalars

SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 17, 20, 24, 31, 32, 33, 40, 64, 96)
ALIGNS = [
    # an alignment, and the possible ones
    (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0), (4, 4 | 8), (8, 4 | 8), (16, 8 | 16), (1, 1 | 2),
]  # fmt: skip


def show(each: tuple[int | None, ...]) -> str:
    return "/".join("?" if number is None else str(number) for number in each)


def rows(target: Target) -> Iterator[str]:
    """Each function, with its results for all sizes."""
    for is_wide in (False, True, None):
        for is_integer in (True, False):
            yield f"natural {is_integer} {is_wide}: {' '.join(show(scalars.natural(target, size, is_integer, is_wide)) for size in SIZES)}"
        yield f"bit_int {is_wide}: {' '.join(show(scalars.bit_int(target, size, is_wide)) for size in SIZES)}"
    yield f"vector: {' '.join(show(scalars.vector(target, size)) for size in SIZES)}"
    for stated in (None, 1, 2, 4, 8):
        pairs = ((bits, align) for bits in (None, 8, 32, 64, 128) for align in (None, 1, 4, 8))
        yield f"ms_struct {stated}: {' '.join(str(scalars.ms_struct(target, *pair, stated)) for pair in pairs)}"
    for align, possible in ALIGNS:
        for is_rounded in (True, False, None):
            some = (scalars.atomic(target, 8 * size, align, possible, is_rounded) for size in SIZES[:20])
            yield f"atomic {align}|{possible} {is_rounded}: {' '.join(map(show, some))}"
    assert scalars.atomic(target, None, 4, 8, True) == (None, 4, 0)


def test_every_target(golden):
    """Targets with the same results are named together."""
    names = defaultdict(list)
    for target in TARGETS:
        for row in rows(target):
            names[row].append(target.name)
    everywhere = [target.name for target in TARGETS]
    golden("scalars.txt", "".join(f"{row}  <- {'all' if own == everywhere else ' '.join(own)}\n" for row, own in sorted(names.items())))


def random_fields(chance: random.Random) -> tuple[list[Field], int]:
    """Members with small gaps between them, some of which no alignment explains."""
    fields, end = [], 0
    for number in range(chance.randrange(1, 6)):
        align = chance.choice((1, 1, 2, 4, 8, None))
        start = end + 8 * chance.choice((0, 0, 0, 1, 2, 3, 4, 7))
        start += -start % (8 * (align or 1)) if chance.random() < 0.6 else chance.choice((0, 0, 0, 3))
        size = chance.choice((8, 8, 16, 24, 32, 48, 64, 96, None))
        fields.append(Field(
            f"f{number}", CType("int", ""), start, size, dims=chance.choice(((), (), (), (2,), (1, 1), (None,))),
            align=align, possible=chance.choice((0, 0, 0, 4 | 8)), requested_align=chance.choice((0, 0, 0, 8, 16)),
            underlying_types=chance.choice(((), (), (CType("long", ""),))),
        ))  # fmt: skip
        end = start + (size or 8) if chance.random() < 0.9 else start
    return fields, end + 8 * chance.choice((0, 0, 1, 4))


def test_members_that_may_be_larger(golden):
    chance = random.Random(13)
    lines: list[str] = []
    for _ in range(120):
        fields, bit_size = random_fields(chance)
        sizes = [chance.choice((0, 16, 32, 64, 128)) for _ in fields]
        shown = " ".join(
            f"{each.bit_offset}+{each.bit_size}@{each.align}|{each.possible}|{each.requested_align}{list(each.dims)}{'t' * bool(each.underlying_types)}"
            for each in fields
        )  # fmt: skip
        results = [scalars.may_be_larger(fields, sizes, bit_size, is_union) for is_union in (False, True)]
        results += [scalars.may_straddle(fields, bit_size, False, states) for states in (False, True)]
        assert scalars.may_straddle(fields, bit_size, True) == [False] * len(fields)
        lines.append(f"{shown} in {bit_size}, {sizes}: {' '.join(''.join('01'[each] for each in own) for own in results)}\n")
    golden("larger-members.txt", "".join(lines))


def test_bits_of_elements():
    dims = [(), (4,), (2, 3), (None,), (0,), (7,)]
    bits = {(size, each): scalars.innermost_bits(size, each) for size in (None, 0, 96, 97) for each in dims}
    assert {key: value for key, value in bits.items() if value is not None} == {
        (96, ()): 96, (97, ()): 97, (96, (4,)): 24, (97, (4,)): 24, (96, (2, 3)): 16, (97, (2, 3)): 16, (96, (7,)): 13, (97, (7,)): 13,
    }  # fmt: skip


def test_an_option_that_is_not_named():
    """`-malign-double` is taken to be off."""
    for target in TARGETS:
        for size in SIZES:
            assert scalars.natural(target, size, True) == scalars.natural(target, size, True, False)
            assert scalars.bit_int(target, size) == scalars.bit_int(target, size, False)


def test_sizes_that_are_rounded():
    """Whole bytes that are no power of two, up to the largest size."""
    for most in (1, 2, 8, 16):
        rounded = {bits: scalars.round_up_bits(bits, most) for bits in range(300)}
        assert {bits for bits, to in rounded.items() if to} == {8 * size for size in range(most + 1) if size & (size - 1)}
        assert all(to == 8 * min(1 << power for power in range(6) if 8 << power > bits) for bits, to in rounded.items() if to)
    assert scalars.round_up_bits(None, 8) == 0
    assert [scalars.atomic_bits(bits) for bits in (0, 8, 24, 96, 120, 128, 136)] == [8, 0, 32, 128, 128, 0, 0]


def test_bit_fields_do_not_straddle_unseen():
    chance = random.Random(29)
    for _ in range(60):
        fields, bit_size = random_fields(chance)
        assert not any(scalars.may_straddle([replace(field, is_bitfield=True) for field in fields], bit_size, False))
