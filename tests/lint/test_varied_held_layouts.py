"""Snapshots of structs that a seed makes, held against structs that it edits: every finding whole."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from textwrap import fill

import pytest

from layoutlint.lint import held_layouts
from layoutlint.lint.held_layouts import Held
from layoutlint.model.reading import Chosen, Reading
from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Source, Struct
from layoutlint.model.target import target_named
from layoutlint.model.wanted import Wanted
from tests.harness.build import X86_64
from tests.harness.run_options import run_options
from tests.harness.varied_structs import struct_of_seed

NAMES = ("alpha", "beta", "gamma", "delta")


def definition(chance: Random, name: str) -> Struct:
    struct = struct_of_seed(chance.randint(0, 400))
    return replace(struct, name=name, target=X86_64, source=chance.choice((None, Source(f"a/{name}.h", 3), Source("other.h", 4))))


def insert(chance: Random, struct: Struct) -> Struct:
    """A struct with a new field, behind which all are moved."""
    at = chance.randint(0, len(struct.fields))
    start = struct.fields[at].bit_offset if at < len(struct.fields) else struct.bit_size or 0
    moved = tuple(replace(field, bit_offset=field.bit_offset + 64) for field in struct.fields[at:])
    new = Field("added", struct.fields[0].type, start, 64, align=8, source=Source("a.h", 50))
    return replace(struct, fields=(*struct.fields[:at], new, *moved), bit_size=(struct.bit_size or 0) + 64)


def edit(chance: Random, struct: Struct) -> list[Struct]:
    """The definitions that the inputs have in place of a struct."""
    fields = struct.fields
    at = chance.randrange(len(fields))
    without = replace(struct, fields=(*fields[:at], *fields[at + 1 :]))
    edits = (
        [struct], [struct], [], [insert(chance, struct)], [insert(chance, insert(chance, struct))], [without], [struct, without],
        [replace(struct, fields=(*fields[:at], replace(fields[at], name="renamed"), *fields[at + 1 :]))],
        [replace(struct, bit_size=(struct.bit_size or 0) + 512)], [replace(struct, align=(struct.align or 8) * 2)],
        [replace(struct, problem="no header")], [replace(struct, bit_size=None, fields=(), align=None)], [replace(struct, is_tagged=False)],
        [struct, replace(insert(chance, struct), source=Source("b/other.h", 1))], [replace(struct, files=("one.o", "two.o"))],
        [replace(struct, fields=fields[::-1])], [struct, replace(struct, problem="another")],
    )  # fmt: skip
    return chance.choice(edits)


def describe(findings: Iterator[held_layouts.Finding]) -> Iterator[str]:
    for each in findings:
        verdict = each.verdict
        yield f"{each.rule.id} {each.input} {each.also} {each.struct and each.struct.source}: {verdict.outcome.value}: {verdict.message}"
        yield f"  {[place.path for place in verdict.evidence]} {verdict.advice} {each.rule.why} {each.rule.source} {each.rule.by}"


def lines(seed: int) -> Iterator[str]:
    chance = Random(f"held {seed}")
    recorded = [definition(chance, name) for name in chance.sample(NAMES, chance.randint(1, 3))]
    current = [each for struct in recorded for each in edit(chance, struct)] + [definition(chance, chance.choice(NAMES))] * (chance.random() < 0.3)
    targets = [X86_64, X86_64, X86_64, target_named("aarch64")]
    cut = chance.randint(0, len(current))
    readings = tuple(
        Reading(f"input{number}.o", "dwarf", chance.choice(targets), tuple(part)) for number, part in enumerate((current[:cut], current[cut:]))
    )
    names = (*(struct.name for struct in recorded), chance.choice(NAMES))
    chosen = chance.choice((None, Chosen(names), Chosen(names[:1]), Chosen(names, unrecorded=frozenset(names[-1:]))))
    held = Held(Reading("s.json", "dwarf snapshot", X86_64, tuple(recorded), chosen=chosen), "layoutlint snapshot a.o --update s.json")
    options = run_options(only=chance.choice(((), (), (), ("alpha",), ("*a",))), ignore_missing=chance.random() < 0.3)
    wanted = held_layouts.wanted_with_held(Wanted(frozenset({"own"}), unless=(("alpha", bool), ("own", bool))), held, options)
    yield f"== {seed}: {options.only[0] if options.only else None} {options.strictness.ignore_missing} {sorted(wanted.names)} {[name for name, _ in wanted.unless]}"
    yield from describe(held_layouts.judge(held, readings, options))  # type: ignore[arg-type]
    yield from map(str, held_layouts.other_targets(held, readings))


@pytest.mark.parametrize("part", range(4))
def test_findings_of_seeds(part, golden):
    every = (line for seed in range(part * 30, part * 30 + 30) for line in lines(seed))
    golden(f"held-{part}.txt", "".join(fill(line, 150, subsequent_indent="    ", break_on_hyphens=False) + "\n" for line in every))
