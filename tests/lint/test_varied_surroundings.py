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
from layoutlint.judgement.context import Access
from layoutlint.judgement.rule import Pack, Rule, Severity, StructIntent
from layoutlint.kinds import KINDS, find_kind
from layoutlint.lint import run
from layoutlint.lint.embedding import Surroundings
from layoutlint.lint.options import Options
from layoutlint.lint.reading import Inputs
from layoutlint.model.ctype import CType
from layoutlint.model.reading import Reading
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
