"""Whole verdicts over every order of shuffled structs: numbers, witness, placements and advice.

tests/randstruct/test_every_order.py holds outcomes and shares against brute force.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from layoutlint.geometry.containers import Index
from layoutlint.judgement.context import Access, CannotTell
from layoutlint.judgement.rule import Kind, Pack, Rule, Severity, StructIntent
from layoutlint.judgement.verdict import Verdict
from layoutlint.kinds.access import AccessApart
from layoutlint.kinds.isolated import Isolated
from layoutlint.kinds.offset import Offset
from layoutlint.kinds.order import Order
from layoutlint.kinds.separate import Separate
from layoutlint.kinds.size import Size
from layoutlint.lint import every_order
from layoutlint.lint.embedding import Surroundings
from layoutlint.lint.placing import RulePlacements
from layoutlint.model.ctype import CType
from layoutlint.model.record import replace
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Field, Source, Struct, Unstated
from layoutlint.randstruct import gcc_plugin, probability
from layoutlint.randstruct.marked import read_names
from layoutlint.randstruct.randomisation import Randomisation
from layoutlint.randstruct.unseeded import UnseededInput
from tests.randstruct import every_order as brute
from tests.randstruct.test_every_order import KINDS, MODES

HERE = Source("r.toml", 1)


def describe(found: Verdict) -> Iterator[str]:
    yield f"{found.outcome.value}: {found.message} [{', '.join(place.path for place in found.evidence)}]"
    yield f"  at {found.bases} of {found.total}, {found.possible}, line {found.line_size}, {found.is_placed}, {found.tolerance}"
    yield f"  {found.basis}; {found.advice}"
    if found.orders is not None:
        each = found.orders
        yield f"  {each.mode} {each.counted} {each.share:.6f} {each.error:.6f} {each.drawn} {' '.join(each.witness)} {each.base}"
        yield f"  {each.shown.bit_size} {[(field.name, field.bit_offset) for field in each.shown.fields]}"


def judge(kind: Kind, type_: brute.Type, mode: str, placement: str = "", tolerate: float = 0.0, pattern: str = "", stated: bool = True,
          **more: object) -> list[str]:  # fmt: skip
    """The verdict on a type that a mode shuffles, as lines; or why there is none."""
    name, version = MODES[mode]
    reading, struct, marked = brute.reading(type_)
    plugin = gcc_plugin.plugin_of_version(version) if version else gcc_plugin.ANY
    free = UnseededInput(reading, (), Randomisation(name, None, plugin, read_names([marked])))
    word, _, align = placement.partition(":")
    storage = Storage(word, HERE, int(align) if align else None, **more) if word else None  # type: ignore[arg-type]
    accesses = (Access("f0", "hot-write", True, HERE), Access("f1", "hot-read", False, HERE), Access("f2", "read-mostly", False, HERE))
    rule = Rule("r", pattern or type_.name, kind, Severity.ERROR, "a test", HERE, tolerate=tolerate)
    pack = Pack("p", "p.toml", (rule,), (StructIntent(type_.name, HERE, None, accesses, storage),))
    around = Struct("around", "struct", (struct.bit_size or 0) + 640, 64, (
        Field("before", CType("long"), 0, 64, align=8),
        Field("held", CType(f"struct {struct.name}"), 320, struct.bit_size, aggregate="struct", members=struct.fields, align=struct.align or 8),
    ), struct.target, Source("around.h", 1), "a.c")  # fmt: skip
    where = RulePlacements(pack, Surroundings({struct.target: Index((struct, around))}))
    shape = free.shape_of(struct)
    if shape is None:
        return ["not shuffled"]
    if not stated:
        struct = replace(struct, align=None, unstated=Unstated.ALIGNED)
    try:
        return list(describe(every_order.judge_every_order(rule, struct, shape, where)))
    except CannotTell as error:
        return [f"CannotTell: {error}"]


def types(number: int, sizes: tuple[int, ...], depth: int, has_bits: bool) -> Iterator[brute.Type]:
    for index in range(number):
        chance = random.Random(f"whole {index} {sizes}")
        yield brute.Drawer(chance).type(f"t{index}", chance.choice(sizes), depth, has_bits)


MORE = {
    "access": lambda a, b: AccessApart(),
    "isolated of a pattern": lambda a, b: Isolated(("f*",)),
    "hot fields apart": lambda a, b: Separate((("@hot-write",), ("@hot-read",))),
    "an element": lambda a, b: Offset((f"{b}[1]",), 8),
    "a missing field": lambda a, b: Order((a, "gone")),
}
EVERY = {**{name: make for name, (make, _) in KINDS.items()}, **MORE}


@pytest.mark.parametrize("mode", ["gcc-full", "gcc-performance", "clang"])
@pytest.mark.parametrize("kind", list(EVERY))
def test_all_orders(kind, mode, golden_row):
    lines = []
    for type_ in types(3, (3, 4), 1, True):
        lines += [f"== {type_.name}", *judge(EVERY[kind]("f0", "f2"), type_, mode)]
    golden_row("\n".join(lines))


@pytest.mark.parametrize("kind", ["separate", "order", "size", "isolated", "distance", "lines", "offset"])
def test_drawn_orders(kind, golden_row, monkeypatch):
    """So many orders that some are drawn, and some are made in which a rule is likely to fail, or to hold."""
    monkeypatch.setattr(probability, "MOST_STEPS", 0)
    monkeypatch.setattr(every_order, "_DRAWN", (20, 40))
    lines = []
    for type_ in types(2, (6, 9), 1, False):
        for mode in ("gcc-full", "gcc-performance", "clang"):
            lines += [f"== {type_.name} {mode}", *judge(KINDS[kind][0]("f1", "f3"), type_, mode)]
    golden_row("\n".join(lines))


def test_a_rule_that_fails_in_no_drawn_order(golden_row, monkeypatch):
    monkeypatch.setattr(probability, "MOST_STEPS", 0)
    monkeypatch.setattr(every_order, "_DRAWN", (20, 20))
    monkeypatch.setattr(every_order, "_CONSTRUCTED", 0)
    type_ = brute.Type("small", tuple(brute.Member(f"f{n}", 8, 8) for n in range(9)), True)
    golden_row("\n".join(judge(Size(max=80), type_, "gcc-full")))


PLACED = [
    # how objects are placed, the tolerance, and whether the input states the alignment
    ("slab:64", 0.0, True), ("aligned:64", 0.0, True), ("aligned:128", 0.0, True), ("kmalloc", 0.0, True), ("malloc", 0.0, True), ("page", 0.0, True),
    ("embedded", 0.0, True), ("embedded", 0.0, False), ("slab:8", 0.0, False), ("", 0.0, False), ("", 0.1, True), ("", 0.5, True), ("", 1.0, True),
]  # fmt: skip


@pytest.mark.parametrize(("placement", "tolerate", "stated"), PLACED)
def test_placements(placement, tolerate, stated, golden_row):
    lines = []
    for type_ in types(2, (3, 4), 0, False):
        for kind in ("separate", "together", "size", "order"):
            lines += [f"== {type_.name} {kind}", *judge(KINDS[kind][0]("f0", "f2"), type_, "gcc-full", placement, tolerate, "", stated)]
    golden_row("\n".join(lines))
