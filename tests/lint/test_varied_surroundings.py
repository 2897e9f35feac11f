"""Rules on the surroundings of structs that a seed makes, in containers that it makes: every verdict whole.

tests/oracles/around_oracle.py holds parts of them against a slow model.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from textwrap import fill

import pytest

from layoutlint.errors import LayoutlintError
from layoutlint.geometry.containers import Index
from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import ASSUMED, ObjectRow, Placements
from layoutlint.geometry.siblings import Spot
from layoutlint.judgement.context import Access
from layoutlint.judgement.rule import Pack, Rule, Severity, StructIntent
from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.kinds import KINDS, find_kind
from layoutlint.lint import run
from layoutlint.lint.embedding import Surroundings
from layoutlint.lint.options import Options
from layoutlint.lint.reading import Inputs
from layoutlint.lint.surroundings import (
    _merge_elements,
    _put_outside_first,
    _subtract,
    move_into_container,
    windows_near,
)
from layoutlint.model.ctype import CType
from layoutlint.model.reading import Reading
from layoutlint.model.record import replace
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Field, Source, Struct
from tests.harness.build import X86_64, member, struct
from tests.kinds.test_varied_rules import chosen_paths, parameters
from tests.lint.test_varied_runs import findings

HERE = Source("r.toml", 1)
WORD = ("hot-read", "hot-write", "read-mostly", "cold")
AROUND = [name for name in KINDS if (kind := find_kind(name)) is not None and kind.traits.in_containers]


def inner_struct(chance: Random) -> Struct:
    last = chance.choice((member("m3", 24, 8), Field("m3", CType("long", "[3]"), 24 * 8, 192, dims=(3,), align=8)))
    fields = (member("m0", 0, 8), member("m1", 8, 4), member("m2", 16, 8, member("x", 0, 4), member("y", 4, 4)), last)
    return struct("inner", chance.choice((48, 56, 64, 72, 128)), *fields, align=chance.choice((8, 8, 64)) if chance.random() < 0.8 else None)


def outer_struct(chance: Random, inner: Struct, name: str) -> Struct:
    """Members before and behind one struct, or an array of them, or an array of structs with one."""
    align, size = inner.align or 8, (inner.bit_size or 0) // 8
    step = -(-size // align) * align
    count = chance.choice((1, 1, 2, 5))
    start = -(-chance.choice((0, 8, 24, 100)) // align) * align
    held_type = CType("struct inner", f"[{count}]" if count > 1 else "")
    held = Field("held", held_type, start * 8, step * count * 8, dims=(count,) if count > 1 else (), aggregate="struct", members=inner.fields, align=align)
    fields = [*[member(f"a{at}", at, 8) for at in range(0, start - 7, 8)][:3], held]
    end = start + step * count
    fields += [member("b0", end, 8), Field("b1", CType("int", "[6]"), (end + 8) * 8, 192, dims=(6,), align=4), member("b2", end + 32, 8)]
    total = -(-(end + 40) // align) * align
    if chance.random() < 0.3:  # in an array of structs
        whole = Field("rows", CType("struct row", "[3]"), 0, total * 24, dims=(3,), aggregate="struct", members=tuple(fields), align=align)
        return Struct(name, "struct", total * 24, max(8, align), (whole,), X86_64, Source(f"{name}.h", 1), "a.c")
    return Struct(name, "struct", total * 8, max(8, align), tuple(fields), X86_64, Source(f"{name}.h", 1), "a.c")


def accesses(chance: Random, struct: Struct) -> tuple[Access, ...]:
    paths = [path for path in chosen_paths(chance, struct, 1, 4) if path[0] != "@"]
    return tuple(Access(path, chance.choice(WORD), chance.random() < 0.3, HERE, chance.choice(("", "", "tx", "rx")), True) for path in paths)


def lines(seed: int) -> Iterator[str]:
    chance = Random(f"around {seed}")
    inner = inner_struct(chance)
    structs = (inner, *(outer_struct(chance, inner, name) for name in ("outer", "other")[: chance.randint(1, 2)]))
    own: list[Rule] = []
    while len(own) < 3:
        kind = find_kind(chance.choice(("access", "access", *AROUND)))
        assert kind is not None
        try:
            made = kind(**parameters(chance, kind, inner))
        except ValueError:
            continue
        own.append(Rule(f"{kind.name}{len(own)}", "inner", made, Severity.ERROR, "w", HERE, around=True, tolerate=chance.choice((0.0, 0.0, 0.5)), line_pairs=kind.traits.line_pairs and chance.random() < 0.2))
    placement = chance.choice((None, None, Storage("slab", HERE, 64), Storage("kmalloc", HERE), Storage("aligned", HERE, 64, array=3)))
    intents = tuple(StructIntent(each.name, HERE, None, accesses(chance, each), placement if each is not inner else None) for each in structs)
    reading = Reading("a.o", "dwarf", X86_64, structs)
    inputs = Inputs([reading], [], Surroundings({X86_64: Index(structs)}))
    yield f"== {seed}: {[(each.name, (each.bit_size or 0) // 8, each.align) for each in structs]}"
    try:
        report = run.report(inputs, (Pack("p", "r.toml", tuple(own), intents),), (), Options(finds_allocations=False, line_size=chance.choice((None, None, 128))))
    except LayoutlintError as error:
        yield f"{type(error).__name__}: {error}"
        return
    yield from findings(report)


@pytest.mark.parametrize("part", range(2))
def test_surroundings_of_seeds(part, golden, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    every = (line for seed in range(part * 40, part * 40 + 40) for line in lines(seed))
    golden(f"surroundings-{part}.txt", "".join(fill(line, 150, subsequent_indent="    ", break_on_hyphens=False) + "\n" for line in every if line))


SPOT = Spot("in", 256 * 8, ())
LAYOUT = Layout(struct("inner", 24, member("a", 0, 8), member("b", 8, 16)))
ROWS = [
    # the rows of objects, and the bytes that can be on a line of 64 with 24 bytes at 256
    ((), [(192, 344)]),
    ((ObjectRow(ASSUMED, 48, (0,)),), [(192, 344)]),
    ((ObjectRow("element", 48, (0,)),), [(192, 344), (240, 392), (144, 296)]),
    ((ObjectRow("element", 96, (0,)), ObjectRow(ASSUMED, 32, (0,)), ObjectRow("block", 48, ()), ObjectRow("other", 96, (8,))), [(192, 344), (240, 392), (288, 440), (96, 248), (144, 296)]),
]


@pytest.mark.parametrize(("rows", "expected"), ROWS)
def test_what_can_be_on_a_line_with_an_embedded_struct(rows, expected):
    windows = windows_near(SPOT, LAYOUT, Placements(64, (0,), "w", rows=rows))
    assert sorted(windows) == sorted((8 * low, 8 * high) for low, high in expected)
    assert windows[0] == (192 * 8, 344 * 8)
    assert [(low, high) for low, high in windows_near(replace(SPOT, bit_offset=259 * 8 + 4), LAYOUT, Placements(32, (0,), "w"))] == [(227 * 8, 315 * 8)]


def test_fields_of_an_embedded_struct_as_those_of_its_container():
    moved = [move_into_container(place, spot) for spot in (SPOT, replace(SPOT, path="")) for place in LAYOUT.places]
    assert [(place.path, place.offset, place.size) for place in moved] == [("in.a", 256, 8), ("in.b", 264, 16), ("a", 256, 8), ("b", 264, 16)]


SUBTRACTED = [
    # the chosen fields, and what is left of `x`, `x.p`, `x.q` and `y`
    ((), "x x.p x.q y"),
    (("x",), "y"),
    (("x.p",), "x.q x.q y"),
    (("x.p", "x.q"), "y"),
    (("y",), "x x.p x.q"),
    (("other",), "x x.p x.q y"),
]


@pytest.mark.parametrize(("chosen", "left"), SUBTRACTED)
def test_parts_of_a_field_that_are_not_chosen(chosen, left):
    layout = Layout(struct("whole", 64, member("x", 0, 16, member("p", 0, 8), member("q", 8, 8)), member("y", 16, 8)))
    places = [place for path in ("x", "x.p", "x.q", "y") if (place := layout.find(path)) is not None]
    known = [layout.find(path) or replace(places[0], path=path) for path in chosen]
    assert " ".join(part.path for place in places for part in _subtract(place, known)) == left


def verdict_at(count: int, message: str, *paths: str) -> Verdict:
    layout = Layout(struct("whole", 64, member("in", 0, 16, member("p", 0, 8), member("q", 8, 8)), member("y", 16, 8)))
    evidence = tuple(place for path in paths if (place := layout.find(path)) is not None)
    bases = tuple(range(0, 8 * count, 8))
    return Verdict(Outcome.AT_RISK if count else Outcome.KEPT, message, evidence, bases, 8)


EIGHT = Placements(64, tuple(range(0, 64, 8)), "w")
MERGED = [
    # the failing bases of each element, the element whose message it is, how many bases fail, and whether others fail too
    ((0,), 0, 0, False),
    ((2,), 0, 2, False),
    ((0, 3, 0), 1, 3, False),
    ((2, 3), 1, 3, True),
    ((3, 3), 0, 3, True),
    ((0, 0), 0, 0, False),
]


@pytest.mark.parametrize(("counts", "worst", "failing", "in_others"), MERGED)
def test_the_verdict_on_several_elements_is_that_on_the_worst(counts, worst, failing, in_others):
    got = _merge_elements([verdict_at(count, f"element {number}", "y") for number, count in enumerate(counts)], EIGHT)
    assert (got.message, len(got.bases), got.total, got.in_other_elements, [place.path for place in got.evidence]) == (f"element {worst}", failing, 8, in_others, ["y"])


def test_fields_outside_are_named_first():
    spot = replace(SPOT, path="in", bit_offset=0)
    assert [place.path for place in _put_outside_first(verdict_at(1, "m", "in.p", "y", "in.q"), spot).evidence] == ["y", "in.p", "in.q"]
