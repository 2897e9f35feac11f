"""Placements: which bases there are, what shares a line at each, and every kind against a slow model."""

from __future__ import annotations

from itertools import combinations, pairwise, product
from time import process_time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from layoutlint.geometry import placement
from layoutlint.geometry.containers import Array, Container
from layoutlint.geometry.layout import Layout, Place
from layoutlint.judgement.advice import move_apart
from layoutlint.judgement.context import Access, Context
from layoutlint.judgement.position import Bit
from layoutlint.judgement.verdict import Outcome
from layoutlint.kinds.access import AccessApart
from layoutlint.kinds.adjacent import Adjacent
from layoutlint.kinds.distance import Distance
from layoutlint.kinds.guards import Guards
from layoutlint.kinds.holes import Holes
from layoutlint.kinds.isolated import Isolated
from layoutlint.kinds.line_start import LineStart
from layoutlint.kinds.lines import Lines
from layoutlint.kinds.no_straddle import NoStraddle
from layoutlint.kinds.offset import Offset
from layoutlint.kinds.order import Order
from layoutlint.kinds.separate import Separate
from layoutlint.kinds.size import Size
from layoutlint.kinds.together import Together
from layoutlint.model.record import replace
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Source
from tests.harness.build import context, member, struct
from tests.oracles import slow_model as slow
from tests.oracles.random_structs import structs

HERE = Source("r.toml", 1)


class TestBases:
    @pytest.mark.parametrize(("align", "line_size", "min_align", "bases"), [
        (8, 64, 8, tuple(range(0, 64, 8))),
        (1, 64, 8, tuple(range(0, 64, 8))),
        (4, 64, 1, tuple(range(0, 64, 4))),
        (32, 64, 8, (0, 32)),
        (64, 64, 8, (0,)),
        (128, 64, 8, (0,)),
        (64, 128, 8, (0, 64)),
        (8, 256, 128, (0, 128)),
        (8, 32, 16, (0, 16)),
        (24, 64, 8, tuple(range(0, 64, 8))),  # no alignment that C has; a damaged input can say so
        (0, 64, 16, (0, 16, 32, 48)),
    ])  # fmt: skip
    def test_are_multiples_of_the_larger_alignment(self, align, line_size, min_align, bases):
        layout = Layout(struct("s", 128, member("a", 0, 8), align=align))
        assert placement.placements(layout, line_size, min_align).bases == bases
        assert list(bases) == slow.bases(max(align, min_align), line_size)

    @pytest.mark.parametrize(("align", "why"), [
        (64, "aligned to 64 (stated by the input)"),
        (4, "objects are aligned to 8, the smallest that x86_64 allocates"),
    ])  # fmt: skip
    def test_say_why(self, align, why):
        assert placement.placements(Layout(struct("s", 64, member("a", 0, 8), align=align))).why == why

    @pytest.mark.parametrize(("line_size", "min_align", "reason"), [
        (48, 8, "48 is not a power of two"), (0, 8, "0 is not a power of two"), (64, 12, "12 is not a power of two"),
    ])  # fmt: skip
    def test_refuse_what_is_no_power_of_two(self, line_size, min_align, reason):
        with pytest.raises(ValueError, match=reason):
            placement.placements(Layout(struct("s", 8, member("a", 0, 8))), line_size, min_align)


# Locking rates (kops/s) of one thread on an array of rwsems, on a ThunderX2 with lines of 64 bytes, by the offset of the
# rwsem in its line: Waiman Long, 2019-04-04, "[PATCH-tip v4 11/11] locking/rwsem: Optimize rwsem structure for
# uncontended lock acquisition". Before the patch `owner` is 4 longs behind `count`, after it 1 long.
RWSEM_RATES = [
    # long, before, after
    (0, 17_449, 16_588),
    (1, 17_450, 16_465),
    (2, 17_450, 16_460),
    (3, 17_453, 16_462),
    (4, 14_867, 16_471),
    (5, 14_867, 16_470),
    (6, 14_853, 16_464),
    (7, 14_867, 13_172),
]
SLOW = {"before": 16_000, "after": 14_000}
"""Between the two plateaus of each column."""


def container_inside(size: int, align: int, offset: int, *arrays: tuple[int | None, int | None]) -> Container:
    """A struct at an offset of another, in arrays of so many elements, so many bytes apart."""
    holder = struct("holder", size, member("a", 0, 1), align=align)
    strides = ((count, None if stride is None else stride * 8) for count, stride in arrays)
    return Container(holder, "x", "x", offset * 8, tuple(Array("x", count, bits) for count, bits in strides), ())


class TestInside:
    @pytest.mark.parametrize(("align", "offset", "arrays", "line_size", "min_align"), [
        # alignment of the container, where in it, elements and bytes from one to the next
        (8, 0, [], 64, 8),
        (8, 20, [], 64, 8),
        (64, 360, [], 64, 8),
        (64, 360, [], 128, 8),
        (4, 6, [], 64, 1),
        (64, 4, [(3, 24)], 64, 8),
        (64, 4, [(100, 24)], 64, 8),
        (64, 4, [(1, 24)], 64, 8),
        (64, 0, [(None, 40)], 64, 8),  # a flexible array: as many as one likes
        (64, 0, [(0, 40)], 64, 8),
        (64, 8, [(4, 1024), (8, 64)], 64, 8),
        (64, 8, [(4, 100), (3, 12)], 64, 8),
        (128, 8, [(2, 100), (3, 12)], 256, 8),
        (64, 8, [(7, 0)], 64, 8),  # elements without size
        (8, 12, [(16, 56)], 64, 16),
    ])  # fmt: skip
    def test_are_where_an_object_laid_out_anywhere_has_it(self, align, offset, arrays, line_size, min_align):
        starts = set()
        for base in slow.bases(max(align, min_align), line_size):
            counts = (range(count or 2 * line_size) for count, _ in arrays)
            for elements in product(*counts):
                steps = sum(element * stride for element, (_, stride) in zip(elements, arrays, strict=True))
                starts.add((base + offset + steps) % line_size)
        found = placement.embedded_placements(container_inside(4096, align, offset, *arrays), line_size, min_align)
        assert found is not None
        assert (found.line_size, found.bases) == (line_size, tuple(sorted(starts)))

    def test_is_not_known_where_a_size_is_not(self):
        assert placement.embedded_placements(container_inside(64, 8, 0, (None, None))) is None
        incomplete = replace(container_inside(64, 8, 0).struct, bit_size=None)
        assert placement.embedded_placements(replace(container_inside(64, 8, 0), struct=incomplete)) is None

    def test_says_why(self):
        found = placement.embedded_placements(container_inside(4096, 64, 360))
        assert found is not None
        assert found.why == "at 360 of holder, which is aligned to 64 (stated by the input)"

    def test_no_size_that_an_input_can_claim_takes_long(self):
        far = container_inside(1 << 40, 1, (1 << 39) + 1, (1 << 38, 3), (1 << 37, 5), (None, 1 << 30))
        start = process_time()
        found = placement.embedded_placements(far, 1 << 12, 1)
        assert found is not None
        assert len(found.bases) == 1 << 12
        assert process_time() - start < 20


class TestRwSemaphore:
    BEFORE = struct("rw_semaphore", 40, member("count", 0, 8), member("wait_list", 8, 16), member("wait_lock", 24, 4),
                    member("osq", 28, 4), member("owner", 32, 8))  # fmt: skip
    AFTER = struct("rw_semaphore", 40, member("count", 0, 8), member("owner", 8, 8), member("osq", 16, 4),
                   member("wait_lock", 20, 4), member("wait_list", 24, 16))  # fmt: skip

    @pytest.mark.parametrize(("patch", "long", "rate"), [
        (patch, long, rate) for long, *rates in RWSEM_RATES for patch, rate in zip(SLOW, rates, strict=True)
    ])  # fmt: skip
    def test_one_line_predicts_the_rate(self, patch, long, rate):
        judged = self.BEFORE if patch == "before" else self.AFTER
        verdict = Together(("count", "owner")).check(context(judged))
        assert (long * 8 in verdict.bases) is (rate < SLOW[patch])

    @pytest.mark.parametrize(("judged", "outcome", "longs"), [
        (BEFORE, Outcome.AT_RISK, (4, 5, 6, 7)), (AFTER, Outcome.AT_RISK, (7,)),
    ])  # fmt: skip
    def test_two_lines_at(self, judged, outcome, longs):
        verdict = Together(("count", "owner")).check(context(judged))
        assert (verdict.outcome, verdict.bases) == (outcome, tuple(8 * long for long in longs))


# Offsets of `address_space` on x86-64: Linux 6.1, 6.12 and 7.2 as their debug information has them, and 6.8-rc2 as the
# patch "fs/address_space: move i_mmap_rwsem to mitigate a false sharing with i_mmap" found it.
ADDRESS_SPACE = [
    # kernel, i_mmap, i_mmap_rwsem, size of it, outcome, bases
    ("6.1", 72, 88, 40, Outcome.AT_RISK, (0, 8, 16, 24, 32, 48, 56)),
    ("6.8-rc2, before the patch", 72, 120, 40, Outcome.AT_RISK, (0, 48, 56)),
    ("6.12, after it", 72, 144, 40, Outcome.KEPT, ()),
    ("7.2", 64, 120, 32, Outcome.AT_RISK, (0, 56)),
]


@pytest.mark.parametrize(("tree", "lock", "size", "outcome", "bases"), [row[1:] for row in ADDRESS_SPACE],
                         ids=[row[0] for row in ADDRESS_SPACE])  # fmt: skip
def test_address_space(tree, lock, size, outcome, bases):
    judged = struct("address_space", 192, member("i_mmap", tree, 16), member("i_mmap_rwsem", lock, size))
    verdict = Separate((("i_mmap",), ("i_mmap_rwsem",))).check(context(judged))
    assert (verdict.outcome, verdict.bases) == (outcome, bases)


class TestAGapOfALineIsTheWrongTest:
    def test_less_is_enough_for_words(self):
        """6.12: 56 bytes lie between the tree and the lock, and no line ever holds both."""
        judged = struct("s", 192, member("i_mmap", 72, 16), member("i_mmap_rwsem", 144, 40))
        assert 144 - (72 + 16) < 64
        assert Separate((("i_mmap",), ("i_mmap_rwsem",))).check(context(judged)).outcome is Outcome.KEPT

    @pytest.mark.parametrize(("align", "starts", "outcome"), [
        (8, 64, Outcome.KEPT), (8, 56, Outcome.AT_RISK), (4, 64, Outcome.AT_RISK), (4, 68, Outcome.KEPT),
        (16, 48, Outcome.AT_RISK), (16, 56, Outcome.AT_RISK), (16, 64, Outcome.KEPT),
    ])  # fmt: skip
    def test_the_alignment_decides(self, align, starts, outcome):
        judged = struct("s", starts + 8, member("a", 0, 8), member("b", starts, 8), align=align)
        assert Separate((("a",), ("b",))).check(context(judged, min_align=1)).outcome is outcome


class TestWhatWouldDo:
    """The numbers in the advice, against every base."""

    LINES = st.sampled_from([16, 32, 64, 128, 256])

    @given(st.integers(1, 300), st.sampled_from([1, 2, 4, 8, 16, 64]), LINES)
    def test_clear_of_is_the_smallest_offset_that_never_shares(self, end, align, line_size):
        bases = slow.bases(align, line_size)
        found = placement.first_clear_offset(end, placement.Placements(line_size, tuple(bases), ""))

        def ever_shares(start):
            return any((base + end - 1) // line_size == (base + start) // line_size for base in bases)

        assert not any(ever_shares(start) for start in range(found, found + line_size))
        assert found == end or ever_shares(found - 1)

    @given(st.integers(0, 300), st.integers(1, 300), LINES)
    def test_fitting_alignment_is_the_smallest_that_does(self, start, size, line_size):
        def is_cut(align):
            bases = slow.bases(align, line_size)
            return any((base + start) // line_size != (base + start + size - 1) // line_size for base in bases)

        fitting = [align for align in (1, 2, 4, 8, 16, 32, 64, 128, 256) if align <= line_size and not is_cut(align)]
        found = placement.fitting_alignment(start, start + size, placement.Placements(line_size, (0,), ""))
        assert found == (fitting[0] if fitting else None)

    @given(structs(), st.data())
    def test_moving_as_far_as_advised_parts_two_fields(self, judged, data):
        layout = Layout(judged)
        assume(len(layout.places) > 1)
        a, b = data.draw(st.permutations(layout.places))[:2]
        low, high = (a, b) if a.offset <= b.offset else (b, a)
        where = placement.placements(layout)
        advice = move_apart(a, b, where)
        more = int(advice.split(" bytes ")[0].rsplit(" ", 1)[1])
        moved = replace(high, bit_offset=high.bit_offset + more * 8)
        assert advice.startswith(f"move `{high.path}` ")
        assert not placement.shared_bases(low, moved, where)


class World:
    """A random struct on random lines, as the slow model sees it, and a source of random rules on it."""

    def __init__(self, data, judged, line_size):
        self.data, self.line_size = data, line_size
        self.tops, self.named = slow.nodes(judged), slow.nodes_by_path(judged)
        self.size = judged.bit_size // 8
        self.is_open = any(node.goes_on for node in self.named.values())

    def draw(self, strategy):
        return self.data.draw(strategy)

    def number(self, least, most):
        return self.draw(st.integers(least, most))

    def fields(self, least, most=4, whole=False):
        """Some paths; `whole` leaves out flexible arrays."""
        paths = [path for path, node in self.named.items() if not (whole and node.goes_on)]
        assume(len(paths) >= least)
        return tuple(self.draw(st.lists(st.sampled_from(paths), min_size=least, max_size=most, unique=True)))

    def lines(self, path, base):
        return slow.lines(self.named[path], base, self.line_size)

    def all_lines(self, paths, base):
        return frozenset().union(*(self.lines(path, base) for path in paths))

    def others(self, chosen):
        return list(slow.other_nodes(self.tops, set(chosen)))


def separate(world):
    fields = world.fields(2, 6)
    cut = world.number(1, len(fields) - 1)
    groups = fields[:cut], fields[cut:]
    assume(not any(slow.parts_of_one_another(*pair) for pair in product(*groups)))
    return Separate(groups), lambda base: world.all_lines(groups[0], base) & world.all_lines(groups[1], base)


def together_rule(world):
    fields = world.fields(2)
    return Together(fields), lambda base: len(world.all_lines(fields, base)) > 1


def isolated_rule(world):
    chosen, but = world.fields(1, 3), world.fields(0, 2)
    assume(not set(chosen) & set(but))
    others = world.others((*chosen, *but))
    return Isolated(chosen, but), lambda base: any(
        slow.lines(other, base, world.line_size) & world.all_lines(chosen, base) for other in others
    )


def isolated_from_all(world):
    assume(not world.is_open)
    chosen = world.fields(1, 3)
    others = world.others(chosen)

    def violates(base):
        lines = world.all_lines(chosen, base)
        theirs = [byte for line in lines for byte in range(line * world.line_size, (line + 1) * world.line_size)]
        outside = any(byte < base or byte >= base + world.size for byte in theirs)
        return outside or any(slow.lines(other, base, world.line_size) & lines for other in others)

    return Isolated(chosen, neighbours=True), violates


def line_start(world):
    fields = world.fields(1, 2)
    bits = world.line_size * 8
    return LineStart(fields), lambda base: any((base * 8 + world.named[f].bits.start) % bits for f in fields)


def no_straddle(world):
    fields = world.fields(1, 3, whole=True)
    return NoStraddle(fields), lambda base: any(len(world.lines(path, base)) > 1 for path in fields)


def lines(world):
    fields, most = world.fields(1, 5, whole=True), world.number(1, 3)
    return Lines(fields, most), lambda base: len(world.all_lines(fields, base)) > most


def size_in_lines(world):
    assume(not world.is_open)
    most = world.number(1, 3)
    return Size(max_lines=most), lambda base: (
        len({(base + byte) // world.line_size for byte in range(world.size)}) > most
    )


def access(world):
    fields = world.fields(2, 6)
    words = {path: world.draw(st.sampled_from(["hot-read", "read-mostly", "hot-write", "cold"])) for path in fields}
    world.accesses = tuple(Access(path, word) for path, word in words.items())
    pairs = [
        (a, b) for a, b in product(fields, fields)
        if words[a] in ("hot-read", "read-mostly") and words[b] == "hot-write"
    ]  # fmt: skip
    # Of an array and one of its elements the others count: tests/geometry/test_siblings.py has a model of elements.
    assume(not any(slow.parts_of_one_another(a, b) and "[" in a + b for a, b in pairs))
    pairs = [pair for pair in pairs if not slow.parts_of_one_another(*pair)]
    return AccessApart(), lambda base: any(world.lines(a, base) & world.lines(b, base) for a, b in pairs)


def guards(world):
    lock, *data = world.fields(2)
    assume(not any(slow.parts_of_one_another(lock, path) for path in data))
    assume(world.named[lock].bytes)
    data = [path for path in data if world.named[path].bytes]
    assume(data)
    if world.draw(st.booleans()):
        return Guards(lock, tuple(data), True), lambda base: any(
            world.lines(lock, base) & world.lines(path, base) for path in data
        )
    return Guards(lock, tuple(data), False), lambda base: any(
        len(world.all_lines((lock, path), base)) > 1 for path in data
    )


WITH_BASES = [
    separate, together_rule, isolated_rule, isolated_from_all, line_start, no_straddle, lines, size_in_lines, access, guards,
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("rule", WITH_BASES, ids=lambda rule: rule.__name__)
@given(
    data=st.data(), judged=structs(), line_size=st.sampled_from([16, 32, 64, 128, 256]),
    min_align=st.sampled_from([1, 2, 4, 8, 16]),
)  # fmt: skip
@settings(max_examples=40)
def test_verdicts_over_bases_are_the_slow_models(rule, data, judged, line_size, min_align):
    world = World(data, judged, line_size)
    world.accesses = ()
    kind, violates = rule(world)
    layout = Layout(judged)
    verdict = kind.check(Context(layout, placement.placements(layout, line_size, min_align), world.accesses))
    bases = slow.bases(max(judged.align, min_align), line_size)
    violating = tuple(base for base in bases if violates(base))
    outcome = Outcome.KEPT if not violating else Outcome.BROKEN if len(violating) == len(bases) else Outcome.AT_RISK
    assert (verdict.outcome, verdict.bases, verdict.total) == (outcome, violating, len(bases))


def order(world):
    fields = world.fields(2, 4, whole=True)
    ends = [(world.named[path].bits.start, world.named[path].bits.stop) for path in fields]
    return Order(fields), all(a[1] <= b[0] for a, b in pairwise(ends))


def adjacent(world):
    fields, most = world.fields(2, 4, whole=True), world.number(0, 12)
    others = world.others(fields)
    chosen = sorted((world.named[path].bits for path in fields), key=lambda bits: (bits.start, bits.stop))
    holds, end = True, chosen[0].stop
    for bits in chosen[1:]:
        between = set(range(end, bits.start))
        strangers = any(between & set(node.bits) or (node.goes_on and node.bits.start < bits.start and between) for node in others)
        gap = {bit // 8 for bit in between} - {(end - 1) // 8 if end % 8 else None, bits.start // 8 if bits.start % 8 else None}
        holds = holds and not strangers and len(gap) <= most
        end = max(end, bits.stop)
    return Adjacent(fields, most), holds


def distance(world):
    fields, least, most = world.fields(2, 3), world.number(0, 8), world.number(8, 40)
    starts = [world.named[path].bits.start // 8 for path in fields]
    return Distance(fields, least, most), all(least <= abs(a - b) <= most for a, b in combinations(starts, 2))


def offset(world):
    (field,), at = world.fields(1, 1), world.number(0, 24)
    return Offset((field,), at), world.named[field].bits.start // 8 == at


def offsets(world):
    """Each in a table, in bytes or in bits."""
    positions, holds = [], True
    for path in world.fields(1, 3):
        start, byte, bit = world.named[path].bits.start, world.number(0, 24), world.number(0, 15)
        if byte > 16:
            byte, bit = start // 8, start % 8  # where it is
        positions.append((path, byte if bit > 7 else Bit(byte, bit)))
        holds = holds and (start // 8 == byte if bit > 7 else start == 8 * byte + bit)
    return Offset(at=tuple(positions)), holds


def holes(world):
    most = world.number(0, 8)
    used = {byte for node in world.tops for byte in node.bytes if not node.goes_on}
    last = max(-(-node.bits.stop // 8) for node in world.tops)
    return Holes(most), len(set(range(last)) - used) <= most


def size(world):
    most, multiple = world.number(0, 64), world.number(1, 16)
    return Size(max=most, multiple_of=multiple), world.size <= most and world.size % multiple == 0


WITHOUT_BASES = [order, adjacent, distance, offset, offsets, holes, size]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("rule", WITHOUT_BASES, ids=lambda rule: rule.__name__)
@given(data=st.data(), judged=structs())
@settings(max_examples=50)
def test_verdicts_without_bases_are_the_slow_models(rule, data, judged):
    kind, holds = rule(World(data, judged, 64))
    verdict = kind.check(context(judged))
    assert (verdict.outcome, verdict.bases, verdict.total) == (Outcome.KEPT if holds else Outcome.BROKEN, (), 0)


HUGE = 1 << 64
EVERY_KIND = [
    Separate((("a",), ("b",))), Together(("a", "b")), Adjacent(("a", "b")), Order(("a", "b")),
    Isolated(("a",), neighbours=True), LineStart(("a", "b")), NoStraddle(("a", "b")), Distance(("a", "b"), 1),
    Offset(("b",), 1), Size(max_lines=1), Lines(("a", "b"), 1), Holes(), AccessApart(),
]  # fmt: skip


@pytest.mark.parametrize("kind", EVERY_KIND, ids=lambda kind: kind.name)
@pytest.mark.parametrize("line_size", [1, 64, 1 << 16])
def test_no_size_that_an_input_can_claim_takes_long(kind, line_size):
    """A field of 2 to the 64 bytes, on lines of 1 byte to 64 KiB: counted, never enumerated."""
    judged = struct("huge", 3 * HUGE, member("a", 0, HUGE), member("b", 2 * HUGE, HUGE))
    accesses = (Access("a", "hot-read"), Access("b", "hot-write"))
    started = process_time()
    verdict = kind.check(context(judged, *accesses, line_size=line_size))
    assert verdict.outcome is not Outcome.UNKNOWN
    assert process_time() - started < 20


@pytest.mark.parametrize("gap", [0, 1, 61, 62, 63, 64, 65])
def test_two_bytes_share_a_line_where_some_base_brings_them_together(gap):
    first, second = (Place(name, 8 * at, 8, member(name, at, 1)) for name, at in (("a", 0), ("b", 1 + gap)))
    every = placement.Placements(64, tuple(range(64)), "")
    together = tuple(base for base in range(64) if base // 64 == (base + 1 + gap) // 64)
    assert placement.shared_bases(first, second, every) == together


@pytest.mark.parametrize(("places", "violating", "basis"), [
    (1, (), "w0"), (3, (), "w0; w1; w2"), (4, (), "w0; w1; w2; and 1 more"), (5, (), "w0; w1; w2; and 2 more"),
    (5, (8,), "fails in 1 of 5 places: w1"), (5, (0, 8, 16, 24), "fails in 4 of 5 places: w0; w1; w2; and 1 more"),
])  # fmt: skip
def test_the_first_three_places_are_named(places, violating, basis):
    parts = tuple(placement.Placements(64, (8 * number,), f"w{number}") for number in range(places))
    assert placement.Placements(64, tuple(range(0, 8 * places, 8)), "", parts).basis(violating) == basis


@pytest.mark.parametrize("storage", [Storage("slab", HERE, array=3), Storage("slab", HERE), Storage("line", HERE), Storage("kmalloc", HERE, array=2)])
def test_objects_without_a_size_are_in_no_row(storage):
    found = placement.placements(Layout(struct("empty", 0)), storage=storage)
    assert [row for row in found.rows if not row.step] == []
