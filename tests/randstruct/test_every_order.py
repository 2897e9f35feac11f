"""Verdicts without a seed: equal to the brute force of `every_order` where it can be done, near it elsewhere."""

from __future__ import annotations

import random
from fractions import Fraction
from math import log, sqrt

import pytest

from layoutlint.judgement.rule import Pack, Rule, Severity
from layoutlint.judgement.verdict import Outcome
from layoutlint.kinds.adjacent import Adjacent
from layoutlint.kinds.allocation import Allocation
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
from layoutlint.lint import every_order
from layoutlint.lint.embedding import Surroundings
from layoutlint.lint.placing import RulePlacements
from layoutlint.model.record import replace
from layoutlint.model.structs import Source
from layoutlint.randstruct import gcc_plugin, probability
from layoutlint.randstruct.c_abi import CannotLayOut
from layoutlint.randstruct.marked import read_names
from layoutlint.randstruct.randomisation import Randomisation
from layoutlint.randstruct.unseeded import UnseededInput
from tests.harness.effort import draws
from tests.randstruct import every_order as brute

MODES = {
    "gcc-full": ("gcc-full", "6.12"),
    "gcc-performance": ("gcc-performance", "6.12"),
    "gcc-performance of old": ("gcc-performance", "5.4.0"),
    "clang": ("clang", None),
}
BASES = range(0, 64, 8)


class Look:
    """One layout of a type at a base, as the brute force has it."""

    def __init__(self, type_, placed, align):
        self.type, self.placed, self.align = type_, placed, align

    def bytes(self, path):
        return brute.bytes_of(self.placed, self.type, path)

    def lines(self, path, base):
        return {(base + byte) // 64 for byte in self.bytes(path)}

    def start(self, path):
        return self.placed.starts[path]

    def others(self, *paths):
        return [member.name for member in self.type.members if member.name not in paths]

    def end(self, path):
        return max(self.bytes(path)) + 1


def _is_apart(look, a, b, base):
    return bool(look.lines(a, base) & look.lines(b, base))


def _is_between(look, a, b):
    low, high = sorted((a, b), key=look.start)
    gap = range(look.end(low), min(look.bytes(high)))
    held = any(set(gap) & look.bytes(other) for other in look.others(a, b))
    return held or len(gap) > 64


# name: rule on the fields a and b, and whether it fails in a layout at a base (None: whatever the base)
KINDS = {
    "separate": (lambda a, b: Separate(((a,), (b,))), _is_apart),
    "together": (lambda a, b: Together((a, b)), lambda o, a, b, base: len(o.lines(a, base) | o.lines(b, base)) > 1),
    "no-straddle": (lambda a, b: NoStraddle((a,)), lambda o, a, b, base: len(o.lines(a, base)) > 1),
    "line-start": (lambda a, b: LineStart((b,)), lambda o, a, b, base: bool((base * 8 + o.start(b)) % 512)),
    "lines": (lambda a, b: Lines((a, b), 1), lambda o, a, b, base: len(o.lines(a, base) | o.lines(b, base)) > 1),
    "isolated": (lambda a, b: Isolated((a,)), lambda o, a, b, base: any(_is_apart(o, a, c, base) for c in o.others(a))),
    "size": (lambda a, b: Size(max_lines=1), lambda o, a, b, base: (base + o.placed.size - 1) // 64 > 0),
    "order": (lambda a, b: Order((a, b)), lambda o, a, b, base: o.start(b) < o.start(a)),
    "distance": (lambda a, b: Distance((a, b), max=16), lambda o, a, b, base: abs(o.start(a) // 8 - o.start(b) // 8) > 16),
    "offset": (lambda a, b: Offset((a,), 0), lambda o, a, b, base: o.start(a) // 8 != 0),
    "adjacent": (lambda a, b: Adjacent((a, b), max_gap=64), lambda o, a, b, base: _is_between(o, a, b)),
    "guards": (lambda a, b: Guards(a, (b,), True), _is_apart),
    "guards that is not contended": (
        lambda a, b: Guards(a, (b,), False), lambda o, a, b, base: len(o.lines(a, base) | o.lines(b, base)) > 1
    ),
    "allocation": (lambda a, b: Allocation(max_class=32), lambda o, a, b, base: o.placed.size > 32),
    "holes": (
        lambda a, b: Holes(7),
        lambda o, a, b, base: sum(
            all(byte not in o.bytes(c) for c in o.others()) for byte in range(max(o.end(c) for c in o.others()))
        ) > 7,
    ),
}  # fmt: skip


def verdict(kind, type_, mode, version, where=None):
    rule = Rule("r", type_.name, kind, Severity.ERROR, "a test", Source("r.toml", 1))
    reading, struct, marked = brute.reading(type_)
    free = UnseededInput(reading, (), Randomisation(mode, None, gcc_plugin.plugin_of_version(version) if version else gcc_plugin.ANY, read_names([marked])))
    where = where or RulePlacements(Pack("p", "p.toml", (rule,)), Surroundings())
    return every_order.judge_every_order(rule, struct, free.shape_of(struct), where)


def expectation(fails, a, b, type_, mode, align):
    """The share of the placements in which a rule fails, over every order."""
    bases = range(0, 64, max(align, 8))
    share = Fraction(0)
    for placed, chance in brute.layouts(type_, mode):
        look = Look(type_, placed, align)
        share += chance * Fraction(sum(fails(look, a, b, base) for base in bases), len(bases))
    return share


def oracle_mode(name):
    return name if name in ("gcc-full", "gcc-performance", "clang") else "gcc-performance-old"


def cases(number, kinds, sizes, has_bits):
    """Random types, each with two of its fields and a kind, for each mode."""
    for index in range(number):
        chance = random.Random(f"{index} {sizes} {has_bits}")
        type_ = brute.Drawer(chance).type(f"t{index}", chance.choice(sizes), max(sizes) < 7, has_bits)
        plain = [m.name for m in type_.members if not (m.dims and m.dims[0] is None)]
        kind = kinds[index % len(kinds)]
        if len(plain) < 2 or (kind in ("size", "allocation") and len(plain) < len(type_.members)):
            continue
        a, b = chance.sample(plain, 2)
        yield pytest.param(type_, a, b, kind, id=f"{type_.name}-{kind}")


def holds_as_expected(type_, a, b, kind, mode):
    make, fails = KINDS[kind]
    declared = brute.declare(type_)
    name, version = MODES[mode]
    found = verdict(make(a, b), type_, name, version)
    share = expectation(fails, a, b, type_, oracle_mode(mode), declared.align)
    outcome = Outcome.KEPT if not share else Outcome.BROKEN if share == 1 else Outcome.AT_RISK
    assert found.orders.counted == "exact"
    assert (found.outcome, found.orders.share) == (outcome, float(share))


@pytest.mark.parametrize("mode", ["gcc-full", "clang"])
@pytest.mark.parametrize(("type_", "a", "b", "kind"), list(cases(draws(30, 72), list(KINDS), (2, 3, 4, 5), False)))
def test_outcome_and_share_are_those_of_all_orders(type_, a, b, kind, mode):
    holds_as_expected(type_, a, b, kind, mode)


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize(("type_", "a", "b", "kind"), list(cases(draws(18, 36), list(KINDS), (3, 4, 5), True)))
def test_bit_fields(type_, a, b, kind, mode):
    holds_as_expected(type_, a, b, kind, mode)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize(("type_", "a", "b", "kind"), list(cases(4, ["separate", "order", "together", "adjacent"], (7,), False)))
def test_seven_fields(type_, a, b, kind, mode):
    holds_as_expected(type_, a, b, kind, mode)


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", ["gcc-full", "clang"])
@pytest.mark.parametrize(("type_", "a", "b", "kind"), list(cases(2, ["distance", "order"], (8,), False)))
def test_eight_fields(type_, a, b, kind, mode):
    holds_as_expected(type_, a, b, kind, mode)


def one_by_chance(type_, mode, chance):
    """A layout by one random order, of a type that holds no other that is shuffled."""
    members = list(range(len(type_.members)))
    tail = [members.pop()] if type_.members[-1].dims and type_.members[-1].dims[0] is None else []
    chance.shuffle(members)
    order = (*members, *tail)
    starts, size, _ = brute.place([type_.members[p] for p in order], True)
    return brute.Placed(order, dict(zip((type_.members[p].name for p in order), starts, strict=True)), size, {})


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["separate", "together", "isolated", "distance", "size"])
@pytest.mark.parametrize("count", [10, 20, 30])
def test_drawn_shares_are_near_those_of_many_more_orders(kind, count, monkeypatch):
    """Counting is forbidden; other orders and one base each, drawn by other numbers, are the measure."""
    monkeypatch.setattr(probability, "MOST_STEPS", 0)
    chance = random.Random(f"{kind} {count}")
    type_ = brute.Type("large", tuple(brute.Drawer(chance).member(f"f{n}", 0, False) for n in range(count)), True)
    a, b = chance.sample([member.name for member in type_.members], 2)
    make, fails = KINDS[kind]
    found = verdict(make(a, b), type_, "gcc-full", "6.12")
    assert found.orders.counted == "sampled"
    align, number = brute.declare(type_).align, draws(2_500, 10_000)
    bases = range(0, 64, max(align, 8))
    looks = (Look(type_, one_by_chance(type_, "gcc-full", chance), align) for _ in range(number))
    share = sum(fails(look, a, b, chance.choice(bases)) for look in looks) / number
    off = 3.3 * (max(share * (1 - share), 1 / number) / number) ** 0.5
    assert abs(found.orders.share - share) <= found.orders.error + off


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", ["gcc-full", "gcc-performance", "clang"])
@pytest.mark.parametrize(("type_", "a", "b", "kind"), list(cases(draws(6, 12), ["separate", "together", "order", "size"], (4, 5), False)))
def test_drawn_shares_are_near_the_exact_ones(type_, a, b, kind, mode, monkeypatch):
    """By the compilers' own algorithms with random numbers; a rule that cannot fail is unknown then, or proved."""
    make, fails = KINDS[kind]
    share = expectation(fails, a, b, type_, mode, brute.declare(type_).align)
    monkeypatch.setattr(probability, "MOST_STEPS", 0)
    found = verdict(make(a, b), type_, *MODES[mode])
    if share == 0:
        assert (found.outcome, found.orders) == (Outcome.UNKNOWN, None)
        assert "whether in any is not known" in found.message
    else:
        assert found.outcome is Outcome.AT_RISK
        assert abs(found.orders.share - share) <= found.orders.error


def test_orders_that_are_seldom_drawn_are_constructed(monkeypatch):
    """Of 500 fields two are on one line in 1.4 % of the placements: in none of the ten orders drawn here."""
    monkeypatch.setattr(probability, "MOST_STEPS", 0)
    monkeypatch.setattr(every_order, "_DRAWN", (10, 10))
    type_ = brute.Type("large", tuple(brute.Member(f"f{n}", 8, 8) for n in range(500)), True)
    found = verdict(Separate((("f3",), ("f400",))), type_, "gcc-full", "6.12")
    assert (found.outcome, found.orders.share) == (Outcome.AT_RISK, 0)


@pytest.mark.parametrize(("kind", "error"), [
    # fails in half of the orders: Hoeffding's inequality; in all of them: Bernstein's
    (Order(("f0", "f1")), sqrt(log(400) / (2 * 500))),
    (Size(max_lines=1), 7 * log(800) / (3 * 499)),
], ids=["order", "size"])  # fmt: skip
def test_the_error_is_the_smaller_of_two_bounds(kind, error, monkeypatch):
    """A chance of 1 % is left over, half of it for each of the two inequalities, and half of that for each side."""
    monkeypatch.setattr(probability, "MOST_STEPS", 0)
    monkeypatch.setattr(every_order, "_DRAWN", (500, 500))
    found = verdict(kind, brute.Drawer(random.Random(3)).type("drawn", 4, 0, True), "gcc-full", "6.12")
    assert (found.orders.drawn, found.orders.error) == (500, pytest.approx(error))


@pytest.mark.parametrize("names", [("f0", "f1"), ("f1", "f0"), ("f2", "f20"), ("f20", "f2")])
def test_the_witness_is_the_first_drawn_order_in_which_the_rule_fails(names, shape, monkeypatch):
    monkeypatch.setattr(probability, "MOST_STEPS", 0)
    monkeypatch.setattr(every_order, "_DRAWN", (20, 20))
    orders = ([shape.fields[at].name for at in layouts[shape].order] for _, layouts in probability.sample_layouts(shape, 20))
    failing = [order for order in orders if order.index(names[0]) > order.index(names[1])]
    assert 1 < len(failing) < 20
    found = verdict(Order(names), brute.Drawer(random.Random(4)).type("kept", 25, 0, True), "gcc-full", "6.12")
    assert list(found.orders.witness) == failing[0]


@pytest.mark.exhaustive
def test_the_same_in_every_run(monkeypatch):
    monkeypatch.setattr(every_order, "_DRAWN", (1_000, 1_000))
    type_ = brute.Drawer(random.Random(4)).type("again", 25, 0, True)
    first, second = (verdict(Isolated(("f1",)), type_, "gcc-performance", "6.12") for _ in range(2))
    assert first == second
    assert first.orders.counted == "sampled"


@pytest.fixture
def shape():
    reading, struct, marked = brute.reading(brute.Drawer(random.Random(4)).type("kept", 25, 0, True))
    return UnseededInput(reading, (), Randomisation("gcc-full", None, gcc_plugin.plugin_of_version("6.12"), read_names([marked]))).shape_of(struct)


@pytest.fixture
def shapes_drawn(monkeypatch):
    """Of which shape each layout is that was drawn."""
    every, found = probability._sample_endlessly, []

    def count(shape):
        for one in every(shape):
            found.append(shape)
            yield one

    monkeypatch.setattr(probability, "_sample_endlessly", count)
    monkeypatch.setattr(probability, "_caches", {})
    return found


def rows(drawn):
    """What layouts are, whatever holds them."""
    return [
        ([list(order) for order in chosen.values()], [(laid.bit_size, *laid.offsets) for laid in known.values()])
        for chosen, known in drawn
    ]


@pytest.mark.parametrize(
    ("kept", "numbers", "count"),
    [
        # places that are kept, how many layouts are asked for one after the other, how many are drawn
        (10**6, (300, 300, 300), 300),
        (10**6, (200, 300, 100), 300),
        (0, (200, 200), 400),
    ],
)
def test_layouts_are_drawn_once_for_all_rules_on_a_struct(kept, numbers, count, shape, shapes_drawn, monkeypatch):
    monkeypatch.setattr(probability, "_MOST_CACHED_PLACES", kept)
    anew = rows(one for one, _ in zip(probability._sample_endlessly(shape), range(300), strict=False))
    shapes_drawn.clear()
    for number in numbers:
        assert rows(probability.sample_layouts(shape, number)) == anew[:number]
    assert len(shapes_drawn) == count
    assert bool(probability._caches) == bool(kept)


def test_what_was_asked_for_last_is_kept(shape, shapes_drawn, monkeypatch):
    other = replace(shape)
    monkeypatch.setattr(probability, "_MOST_CACHED_PLACES", 100 * (len(shape.fields) + probability._OVERHEAD))
    for one in (shape, other, other, shape):
        list(probability.sample_layouts(one, 100))
    assert shapes_drawn == [shape] * 100 + [other] * 100 + [shape] * 100


def test_a_layout_that_cannot_be_is_so_for_every_rule(shape, shapes_drawn, monkeypatch):
    monkeypatch.setattr(type(shape), type(shape).lay_out_all.__name__, refuses_third(type(shape).lay_out_all, shapes_drawn))
    for _ in range(2):
        shapes_drawn.clear()
        with pytest.raises(CannotLayOut, match="the third"):
            list(probability.sample_layouts(shape, 10))
        assert len(shapes_drawn) == 2


def refuses_third(lay_out, shapes_drawn):
    def refusing(shape, chosen):
        if len(shapes_drawn) == 2:
            raise CannotLayOut("the third")
        return lay_out(shape, chosen)

    return refusing
