"""Suggested orders of structs and rules that a seed makes, in one build or two: all of each result.

tests/suggestion holds orders against brute force and compilers.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from textwrap import fill

import pytest

from layoutlint.errors import LayoutlintError
from layoutlint.geometry.containers import Index
from layoutlint.judgement.condition import When
from layoutlint.judgement.context import Access
from layoutlint.judgement.rule import Pack, Rule, Severity, StructIntent
from layoutlint.kinds import find_kind
from layoutlint.lint.embedding import Surroundings
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.lint.options import Options
from layoutlint.lint.subject import InputStruct
from layoutlint.lint.subject import Source as InputSource
from layoutlint.model.build import Build
from layoutlint.model.ctype import CType
from layoutlint.model.reading import Reading
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Field, Source, Struct
from layoutlint.suggestion.builds import Request, Subject
from layoutlint.suggestion.orders.result import Suggestion
from layoutlint.suggestion.run import best_order
from tests.harness.build import X86_64
from tests.harness.tools import NEEDS_SOLVER
from tests.harness.whole import inline
from tests.kinds.test_varied_rules import parameters

pytestmark = NEEDS_SOLVER
HERE = Source("r.toml", 1)
SIZES = ((1, "char"), (2, "short"), (4, "int"), (8, "long"), (8, "long"))
KINDS = ("separate", "separate", "separate", "isolated", "line-start", "together", "order", "line-start", "no-straddle", "size", "adjacent", "isolated", "lines", "distance", "holes", "offset", "access", "around")
AIMS = (("moves", "size", "holes"), ("size", "moves"), ("holes", "size"), ("lines", "moves"), ("moves",))


def plain_struct(chance: Random, names: list[str], last: bool) -> Struct:
    """A struct of integers and arrays, as a compiler lays it out."""
    fields: list[Field] = []
    end = 0
    for name in names:
        size, spelling = chance.choice(SIZES)
        count = chance.choice((1, 1, 1, 2, 5, 20))
        at = -(-end // size) * size
        dims = {"dims": (count,), "type": CType(spelling, f"[{count}]")} if count > 1 else {"type": CType(spelling)}
        fields.append(Field(name=name, bit_offset=at * 8, bit_size=size * count * 8, align=size, source=Source("s.h", len(fields) + 2), **dims))  # type: ignore[arg-type]
        end = at + size * count
    if last:
        end = -(-end // 8) * 8
        fields.append(Field("rest", CType("long", "[]"), end * 8, 0, dims=(None,), align=8))
    align = max(field.align or 1 for field in fields)
    return Struct("box", "struct", -(-end // align) * align * 8, align, tuple(fields), X86_64, Source("s.h", 1), "s.o")


def rules(chance: Random, struct: Struct) -> Iterator[Rule]:
    for number in range(chance.randint(1, 4)):
        name = chance.choice(KINDS)
        kind = find_kind("isolated" if name == "around" else name)
        assert kind is not None
        try:
            own = kind(**parameters(chance, kind, struct))
        except ValueError:
            continue
        tolerate, when = chance.choice((0.0, 0.0, 0.5)), chance.choice((When(), When(), When(), When(arch=("arm*",))))
        yield Rule(f"{name}{number}", chance.choice(("box", "box", "b*", "other")), own, Severity.ERROR, "w", HERE, when=when, tolerate=tolerate, around=name == "around")


def holder(struct: Struct) -> Struct:
    """A struct that embeds another one, at 40."""
    held = Field("held", CType("struct box"), 320, struct.bit_size, aggregate="struct", members=struct.fields, align=struct.align)
    return Struct("around", "struct", (struct.bit_size or 0) + 512, 64, (held,), X86_64, HERE, "s.o")


def subject(chance: Random, struct: Struct, build: str, own: tuple[Rule, ...], intent: StructIntent) -> Subject:
    reading = Reading("s.o", "dwarf", X86_64, (struct,))
    judged = JudgedInput(reading, (Pack("p", "r.toml", own, (intent,)),), Surroundings({X86_64: Index((struct, holder(struct)))}))
    options = Options(line_size=chance.choice((None, None, 32)))
    return Subject(Build(build, HERE, ("s.o",)) if build else None, "s.o", InputStruct(InputSource("", "s.o"), judged, struct, ()), options)


def describe(result: Suggestion) -> Iterator[str]:
    yield f"{result.status} {result.order} {result.is_core_minimal} {[rule.id for rule in result.core]} {result.reason}"
    yield f"{[inline(each) for each in (*result.moves, *result.aims, *result.opened)]} {result.no_patch}"
    yield f"{result.new and (result.new.bit_size, [(field.name, field.bit_offset // 8) for field in result.new.fields])}"
    yield from (f"{one.rule.id}: {one.before.outcome.value} {one.before.message} -> {one.after.outcome.value} {one.after.message}" for one in result.rules)
    for each in result.alternatives:
        kept = [one.rule.id for one in each.rules]
        yield f"or {each.size} {each.aligned} {each.padding} {each.line} {each.order} {[move.member for move in each.moves]} {kept} {each.allocation_before} {each.allocation}"
    yield from (f"{each.build.name}: {each.result.status} {each.result.order} {inline(each.result.aims)}" for each in result.builds)
    yield from (*result.notes, *map(str, result.refusals), *map(str, result.hints))


def lines(seed: int) -> Iterator[str]:
    chance = Random(f"suggestion {seed}")
    names = [f"m{number}" for number in range(chance.choice((2, 3, 4, 5, 7)))]
    structs = [plain_struct(chance, names, chance.random() < 0.15)]
    if chance.random() < 0.35:  # another build without a member, or with all
        structs.append(plain_struct(chance, [name for name in names if name != chance.choice(("m1", "none"))], chance.random() < 0.1))
    own = tuple(rules(chance, structs[0]))
    accesses = tuple(Access(name, chance.choice(("hot-read", "hot-write", "cold")), chance.random() < 0.2, HERE, chance.choice(("", "tx"))) for name in names[:3])
    placement = chance.choice((None, None, Storage("slab", HERE, 64), Storage("kmalloc", HERE), Storage("aligned", HERE, 64), Storage("embedded", HERE)))
    intent = StructIntent("box", HERE, None, accesses if chance.random() < 0.6 else (), placement)
    subjects = [subject(chance, each, f"build{number}" if len(structs) > 1 else "", own, intent) for number, each in enumerate(structs)]
    request = Request("box", chance.choice(AIMS), 1.0, is_forced=chance.random() < 0.2, alternative=chance.choice((0,) * 9 + (1, 2)))
    yield f"== {seed}: {request.aims} {request.alternative} {[[(field.name, field.bit_offset // 8, field.bit_size // 8) for field in each.fields] for each in structs]}"
    yield f"{[(rule.id, inline(rule.kind)) for rule in own]} {inline(placement) if placement else ''}"
    try:
        yield from describe(best_order(subjects, "s.o", request))
    except LayoutlintError as error:
        yield f"{type(error).__name__}: {error}"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("part", range(3))
def test_orders_of_seeds(part, golden, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    every = (line for seed in range(part * 25, part * 25 + 25) for line in lines(seed))
    golden(f"suggestions-{part}.txt", "".join(fill(line, 150, subsequent_indent="    ", break_on_hyphens=False) + "\n" for line in every if line))
