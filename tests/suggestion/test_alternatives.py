"""Orders with more alignment or padding: which are tried, in which order, and what forbids one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from types import SimpleNamespace

import pytest

from layoutlint.judgement.verdict import Outcome
from layoutlint.model.record import Record, replace
from layoutlint.sources.order_uses import OrderUse
from layoutlint.sources.order_uses.facts import Scope
from layoutlint.suggestion import alternatives
from layoutlint.suggestion.alternatives import Budget, _is_parted, _Trial, _without_move_of
from layoutlint.suggestion.orders.result import Alternative, Move
from tests.harness.build import member, struct

BOX = struct("box", 64, member("a", 0, 8), member("b", 8, 8), member("c", 16, 8))


class Tried(_Trial, frozen=True):
    """A trial that does not search: what is aligned or added helps if it is among `helping`."""

    helping: frozenset[object]
    tried: list[object]
    units: tuple[int, ...] = ()
    align: int = 8

    @property
    def _candidates(self) -> list[int]:
        return list(self.units)

    def _align(self, units: Sequence[int], effort: float) -> Iterator[Alternative]:
        self.tried.append((tuple(units), effort))
        return iter((tuple(units),) if tuple(units) in self.helping else ())  # type: ignore[arg-type]

    def _pad(self, size: int) -> Iterator[Alternative]:
        self.tried.append(size)
        return iter((size,) if size in self.helping else ())  # type: ignore[arg-type]


def trial(units: tuple[int, ...], helping: Sequence[object], line: int = 64, align: int = 8) -> Tried:
    each = SimpleNamespace(arrangement=SimpleNamespace(align=align))
    return Tried(each, False, line, frozenset(), Budget(4.0), None, frozenset(helping), [], units)  # type: ignore[arg-type]


def test_the_struct_and_each_member_are_aligned_in_turn():
    one = trial((2, 5), [(), (5,)])
    assert list(one.with_one_aligned()) == [(), (5,)]
    assert one.tried == [((), 0.1), ((2,), 0.1), ((5,), 0.1)]


def test_all_searches_share_the_effort():
    """Each gets a part of it, and less of what is left; what gets nothing is named."""
    budget = Budget(4.0)
    assert budget.allot(0.1, "a") == 0.4
    budget.take(3.75)
    assert (budget.allot(0.1, "b"), budget.allot(0.05, "c"), budget.untried) == (0.25, 0.2, [])
    budget.take(0.5)
    assert (budget.allot(0.1, "d"), budget.allot(0.05, "e"), budget.untried) == (0, 0, ["d", "e"])


PADDING = [
    # the line, the alignment, the sizes that help, the sizes that are tried, and the one that is taken
    (64, 8, (), [64], []),
    (64, 8, (64,), [64, 8, 16, 24, 32, 40, 48, 56, 64], [64]),
    (64, 8, (64, 24, 40), [64, 8, 16, 24], [24]),
    (64, 8, (24,), [64], []),
    (64, 4, (64, 4), [64, 4], [4]),
    (64, 1, (64, 8), [64, 4, 8], [8]),
    (64, 2, (64,), [64, *range(4, 65, 4)], [64]),
    (64, 32, (64, 32), [64, 32], [32]),
    (64, 64, (64,), [], []),
    (64, 128, (64,), [], []),
    (128, 64, (128, 64), [128, 64], [64]),
    (128, 1, (128,), [128, *range(8, 129, 8)], [128]),
    (100, 1, (100, 98), [100, *range(7, 99, 7)], [98]),
]


@pytest.mark.parametrize(("line", "align", "helping", "tried", "taken"), PADDING)
def test_the_smallest_padding_that_helps(line, align, helping, tried, taken):
    one = trial((), helping, line, align)
    assert list(one.with_padding()) == taken
    assert one.tried == tried


def trials_of(tried: Sequence[tuple[int, ...]]) -> list[object]:
    return [(units, 0.05) for units in tried]


FOUR = (1, 2, 3, 4)
SEVERAL = [
    # the members, what helps, what is tried, and what is taken
    ((), [], [], []),
    ((1,), [], [], []),
    ((1, 2), [(1, 2)], [(1, 2)], [(1, 2)]),
    ((1, 2), [], [(1, 2)], []),
    ((1, 2, 3), [(1, 3), (2, 3), (1, 2, 3)], [(1, 2), (1, 3), (2, 3)], [(1, 3), (2, 3)]),
    ((1, 2, 3), [(1, 2, 3)], [(1, 2), (1, 3), (2, 3), (1, 2, 3)], [(1, 2, 3)]),
    ((1, 2, 3), [], [(1, 2), (1, 3), (2, 3), (1, 2, 3)], []),
    (FOUR, [FOUR], [*combinations(FOUR, 2), FOUR, (2, 3, 4), (1, 3, 4), (1, 2, 4), (1, 2, 3)], [FOUR]),
    (FOUR, [FOUR, (1, 3, 4)], [*combinations(FOUR, 2), FOUR, (2, 3, 4), (1, 3, 4)], [(1, 3, 4)]),
    (tuple(range(9)), [(0, 1), (3, 8), (4, 6), (4, 7), (4, 8)], list(combinations(range(9), 2))[:30], [(0, 1), (3, 8), (4, 6), (4, 7), (4, 8)]),
    (tuple(range(9)), [(5, 6), (5, 7)], [*list(combinations(range(9), 2))[:30], tuple(range(9))], []),
]


@pytest.mark.parametrize(("units", "helping", "tried", "taken"), SEVERAL)
def test_several_aligned_members(units, helping, tried, taken):
    one = trial(units, helping)
    got = one.with_several_aligned()
    assert one.tried == trials_of(tried)
    assert got == [each for each in taken if each in tried]


def alternative(size: int, moves: int = 0, aligned: tuple[str, ...] = (), padding: str | None = None) -> Alternative:
    return Alternative(aligned, padding, 64, ("a", "b", "c"), (Move("a", None),) * moves, replace(BOX, bit_size=8 * size), (), "optimal", "", "")


A, B, C = alternative(128, 1, ("a",)), alternative(64, 2, ("c",)), alternative(64, 2, ("b",))
D, E, PAD = alternative(64, 1), alternative(256, 0, ("a", "b")), alternative(192, 0, (), "pad")
FOUND = [
    # with one aligned, with padding, with several aligned, and all of them
    ([], [], [], ()),
    ([A, B, C, D], [], [E], (D, C, B, A)),
    ([A], [PAD], [E], (A, PAD)),
    ([], [PAD], [E], (PAD, E)),
    ([], [PAD], [], (PAD,)),
    ([], [], [E, A], (A, E)),
]


@pytest.mark.parametrize(("one", "padding", "several", "expected"), FOUND)
@pytest.mark.parametrize(("line_size", "line"), [(None, 64), (128, 128)])
def test_all_alternatives_the_smallest_first(one, padding, several, expected, line_size, line, monkeypatch):
    def check(trial: _Trial) -> None:
        assert (trial.line, trial.is_forced) == (line, True)

    for name, orders in (("with_one_aligned", one), ("with_padding", padding), ("with_several_aligned", several)):
        monkeypatch.setattr(_Trial, name, lambda self, orders=orders: check(self) or orders)
    each = SimpleNamespace(ruled=[SimpleNamespace(is_embedded=False)], subject=SimpleNamespace(options=SimpleNamespace(line_size=line_size)), arrangement=SimpleNamespace(struct=BOX))
    assert alternatives.alternatives(each, (), Budget(4.0), True) == expected  # type: ignore[arg-type]
    each.ruled.append(SimpleNamespace(is_embedded=True))
    assert alternatives.alternatives(each, (), Budget(4.0), True) == ()  # type: ignore[arg-type]


def rule_outcome(outcome: Outcome, *paths: str) -> SimpleNamespace:
    return SimpleNamespace(
        rule=SimpleNamespace(id="".join(paths)), before=SimpleNamespace(outcome=outcome, evidence=[SimpleNamespace(path=path) for path in paths])
    )


LETTERS = "abcdefghijklmnopqrst"
MANY = struct("many", 160, *(member(name, 8 * at, 8) for at, name in enumerate(LETTERS)))


def units(**more: dict[int, object]) -> SimpleNamespace:
    """The arrangement of MANY: each member is a unit, except for those that are said to be otherwise."""
    fields, is_plain = more.get("fields", {}), more.get("is_plain", {})
    made = [SimpleNamespace(fields=fields.get(at, (at,)), members=fields.get(at, (at,)), is_plain=is_plain.get(at, True)) for at in range(len(LETTERS))]
    return SimpleNamespace(units=made, struct=MANY, top=SimpleNamespace(nodes=[at for at in range(len(LETTERS)) if at not in more.get("inside", {})]))


CANDIDATES = [
    # the rules, the units, and those with fields of rules that are not kept, of the rule on `p` and `q` first
    ([], units(), []),
    ([rule_outcome(Outcome.KEPT, "a", "d")], units(), []),
    ([rule_outcome(Outcome.BROKEN, "a.x", "d[2].y", "gone")], units(), [0, 3]),
    ([rule_outcome(Outcome.AT_RISK, "c"), rule_outcome(Outcome.KEPT, "e"), rule_outcome(Outcome.UNKNOWN, "f")], units(), [2, 5]),
    ([rule_outcome(Outcome.BROKEN, *LETTERS)], units(), list(range(12))),
    ([rule_outcome(Outcome.BROKEN, *LETTERS[:6])], units(fields={1: (1, 2)}, is_plain={3: False}, inside={4: 1}), [0, 2, 5]),
    ([rule_outcome(Outcome.BROKEN, "a", "b"), rule_outcome(Outcome.BROKEN, "p", "q"), rule_outcome(Outcome.BROKEN, "b", "p")], units(), [15, 16, 0, 1]),
    ([rule_outcome(Outcome.KEPT, "p", "q"), rule_outcome(Outcome.BROKEN, "c")], units(), [2]),
]


@pytest.mark.parametrize(("rules", "arrangement", "expected"), CANDIDATES)
def test_members_that_can_be_aligned(rules, arrangement, expected):
    each = SimpleNamespace(arrangement=arrangement, ruled=rules)
    assert _Trial(each, False, 64, frozenset(("pq",)), Budget(4.0), None)._candidates == expected  # type: ignore[arg-type]


def use(scope: Scope, place: str = "anywhere", members: tuple[str, ...] = (), **more: object) -> OrderUse:
    return OrderUse("text", "a.c", 1, "t", members, scope, place, **more)  # type: ignore[arg-type]


PARTED = [
    # a use of BOX, and whether a new member changes its meaning: at the start, behind `a`, behind `a` and `b`, at the end
    (use("offset"), (False, False, False, False)),
    (use("size"), (False, False, False, False)),
    (use("first"), (True, False, False, False)),
    (use("range"), (False, True, True, False)),
    (use("all"), (False, True, True, False)),
    (use("range", "start"), (True, True, True, False)),
    (use("range", "start", ("a", "b")), (True, True, False, False)),
    (use("range", "anywhere", ("a", "b")), (False, True, False, False)),
    (use("range", "anywhere", ("b", "c")), (False, False, True, False)),
    (use("order", "end", ("b", "c")), (False, False, True, False)),
    (use("range", "start", ("c",)), (True, True, True, False)),
]


@pytest.mark.parametrize(("each", "expected"), PARTED)
def test_what_a_new_member_parts(each, expected):
    assert tuple(_is_parted(each, tuple("abc"), frozenset("abc"[:count])) for count in range(4)) == expected


FORBIDDEN = [
    # a use of BOX, the new order with offsets, and whether the use forbids it
    ((), "cba", (0, 8, 16), None, False),
    ((use("order", members=("a", "b")),), "cab", (0, 8, 16), None, False),
    ((use("order", members=("a", "b")),), "bac", (0, 8, 16), None, True),
    ((use("order", members=("a", "b"), is_note=True),), "bac", (0, 8, 16), None, False),
    ((use("offset", members=("b",)),), "abc", (0, 64, 72), None, True),
    ((use("offset", members=("b",)),), "abc", (0, 8, 64), None, False),
    ((use("size"),), "abc", (0, 8, 64), None, True),
    ((use("range", members=("a", "b")),), "a_bc", (0, 8, 64, 72), "_", True),
    ((use("range", members=("b", "c")),), "a_bc", (0, 8, 64, 72), "_", False),
    ((use("range", members=("b", "c")), use("range", members=("a", "b"))), "a_bc", (0, 8, 64, 72), "_", True),
    ((use("range", members=("a", "b"), is_note=True),), "a_bc", (0, 8, 64, 72), "_", False),
    ((use("order", members=("b", "a")),), "a_bc", (0, 8, 64, 72), "_", True),
]


@pytest.mark.parametrize(("uses", "order", "offsets", "padding", "expected"), FORBIDDEN)
def test_what_uses_forbid(uses, order, offsets, padding, expected):
    arrangement = SimpleNamespace(struct=BOX)
    each = SimpleNamespace(names=tuple("abc"), arrangement=arrangement, around=SimpleNamespace(search=SimpleNamespace(uses=uses)))
    new = struct("box", 128, *(member(name, at, 8) for name, at in zip(order, offsets, strict=True)))
    one = Alternative((), padding, 64, tuple(order), (), new, (), "optimal", "", "")
    assert _Trial(each, False, 64, frozenset(), Budget(4.0), None)._is_forbidden(one) is expected  # type: ignore[arg-type]


def test_a_new_member_moves_for_nothing():
    order = SimpleRecord(members=(("a",), ("pad",), ("b", "pad")), weights=(3, 4, 5))
    for padding, weights in (("pad", (3, 0, 5)), (None, (3, 4, 5)), ("b", (3, 4, 5))):
        got = _without_move_of(padding, SimpleTask(order=order))  # type: ignore[arg-type]
        assert got == SimpleTask(order=replace(order, weights=weights))


class SimpleRecord(Record, frozen=True):
    """The common order of a task, as far as moves count."""

    members: tuple[tuple[str, ...], ...]
    weights: tuple[int, ...]


class SimpleTask(Record, frozen=True):
    """A task with it."""

    order: SimpleRecord
