"""Builds that randomise layouts, by a known seed or an unknown one: the inputs and findings of whole runs, in memory."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from layoutlint.errors import LayoutlintError
from layoutlint.geometry.containers import Index
from layoutlint.judgement.rule import Pack, Rule, Severity, StructIntent
from layoutlint.kinds.order import Order
from layoutlint.kinds.separate import Separate
from layoutlint.kinds.size import Size
from layoutlint.lint import random_build, run
from layoutlint.lint.embedding import Surroundings
from layoutlint.lint.options import Options
from layoutlint.lint.reading import Inputs
from layoutlint.model.randomised import ShufflingEvidence
from layoutlint.model.record import replace
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Source
from layoutlint.model.wanted import Wanted
from layoutlint.randstruct import gcc_plugin
from layoutlint.randstruct.marked import read_names
from layoutlint.randstruct.randomisation import Randomisation
from layoutlint.randstruct.seed import Seed
from tests.lint.test_varied_runs import findings
from tests.randstruct import every_order as brute
from tests.randstruct.test_every_order import MODES

HERE = Source("r.toml", 1)
SEEDS = (None, "0123456789abcdef02468ace13579bdffedcba9876543210ffeeddccbbaa9988", "7".zfill(64))
RULES = (
    Rule("apart", "inner", Separate((("f0",), ("f1",))), Severity.ERROR, "w", HERE, tolerate=0.0),
    Rule("first", "inner", Order(("f0", "f2")), Severity.ERROR, "w", HERE),
    Rule("small", "outer", Size(max=64), Severity.ERROR, "w", HERE),
    Rule("apart-outside", "outer", Separate((("before",), ("held",))), Severity.WARNING, "w", HERE),
    Rule("beside", "inner", Separate((("f0",), ("f1",))), Severity.ERROR, "w", HERE, around=True),
)


def outer_type(seed: int) -> brute.Type:
    """A type that has another one beside other members; one of them or both are shuffled."""
    chance = random.Random(f"random build {seed}")
    made = brute.Drawer(chance).type("inner", chance.choice((3, 4)), 0, False, chance.random() < 0.8)
    inner = brute.Type("inner", tuple(member for member in made.members if member.size), made.marked)
    _, size, align = brute.place(list(inner.members), False)
    members = (brute.Member("before", 8, 8), brute.Member("held", size, align, inner=inner), brute.Member("last", 4, 4), brute.Member("end", 2, 2))
    return brute.Type("outer", members[: chance.choice((2, 3, 4))], chance.random() < 0.7)


def describe(inputs: Inputs, packs: tuple[Pack, ...], options: Options) -> Iterator[str]:
    for each in inputs.readings:
        yield from (f"note: {note}" for note in each.notes)
        for struct in each.structs:
            yield f"{struct.name} of {struct.bit_size}: {[(field.name, field.bit_offset) for field in struct.fields]} {struct.problem}"
    report = run.report(inputs, packs, (), options)
    yield f"exit {report.exit_status}"
    yield from findings(report)


@pytest.fixture
def build(monkeypatch):
    def lines(seed: int, mode: str, number: int | None, placement: str, shuffled: ShufflingEvidence | None = None) -> Iterator[str]:
        """A run on a type of a seed, in a build with one of SEEDS; without a number, in one that the options do not state."""
        reading, _, marked = brute.reading(outer_type(seed))
        reading = replace(reading, shuffled=shuffled)
        surroundings = Surroundings({reading.target: Index(reading.structs)})
        monkeypatch.setattr(random_build, "read_inputs", lambda *_: Inputs([reading], [], surroundings))
        monkeypatch.setattr(random_build.inputs, "read", lambda paths, wanted, options: ([replace(reading, shuffled=None)], []))
        name, version = MODES[mode]
        storage = Storage(placement, HERE) if placement else None
        pack = Pack("p", "r.toml", RULES, (StructIntent("inner", HERE, None, (), storage),))
        how = None
        if number is not None:
            digits = SEEDS[number]
            plugin = gcc_plugin.plugin_of_version(version) if version else gcc_plugin.ANY
            how = Randomisation(name, None if digits is None else Seed(digits), plugin, read_names([marked]))
        options = Options(randomised=how, finds_allocations=False)
        try:
            found = random_build.read(("random.o",), Wanted(), frozenset({"inner"}), options)
            if how is None:
                found = random_build.mark_unknown_orders(found, frozenset({"inner"}), options.read)
            yield from describe(found, (pack,), options)
        except LayoutlintError as error:
            yield f"{type(error).__name__}: {error}"

    return lines


@pytest.mark.parametrize("placement", ["embedded", "", "kmalloc"])
@pytest.mark.parametrize("mode", ["gcc-full", "gcc-performance", "clang"])
def test_builds(mode, placement, build, golden_row):
    lines = []
    for seed in range(3):
        for number in range(len(SEEDS)):
            lines += [f"== {seed} {number}", *build(seed, mode, number, placement)]
    golden_row("\n".join(lines))


BY_GCC, BY_CLANG = ShufflingEvidence("gcc", None, None, "a symbol of it"), ShufflingEvidence("clang", None, None, "its order")


@pytest.mark.parametrize(("number", "shuffled"), [(None, BY_GCC), (None, BY_CLANG), (0, BY_GCC), (1, BY_GCC), (1, BY_CLANG), (None, replace(BY_GCC, mode="gcc-performance"))])
def test_builds_that_show_that_they_were_shuffled(number, shuffled, build, golden_row):
    lines = [line for seed in range(3) for line in build(seed, "gcc-full", number, "embedded", shuffled)]
    golden_row("\n".join(lines))
