"""What measurements that a seed makes say about a finding, whole: in which of them it is measured, and how strong the effect is."""

from __future__ import annotations

from random import Random

from layoutlint.geometry.layout import Layout
from layoutlint.judgement.finding import Finding
from layoutlint.judgement.rule import Rule, Severity
from layoutlint.kinds.separate import Separate
from layoutlint.kinds.together import Together
from layoutlint.lint.origins import _measurement_origins
from layoutlint.model.structs import Source
from layoutlint.readers.profiles.saved import (
    Accessed,
    Machine,
    Measured,
    MeasuredLayout,
    MeasuredPlacement,
    MeasureRun,
    Ratio,
    Spread,
)
from tests.harness.build import context
from tests.harness.whole import inline
from tests.kinds.structs import WORDS

SEEDS = 1000
KINDS = (Separate((("a",), ("b",))), Separate((("a",), ("d",))), Together(("a", "d")), Together(("a", "b")))
LABELS = (None, "before", "after")


def access(chance: Random) -> Accessed:
    path = chance.choice("aabbd")
    at = 8 * "abcd".index(path) + (chance.random() < 0.03) * 8
    return Accessed(path=path, offset=at, size=8, core=int(path != "a") ^ (chance.random() < 0.1), distance=chance.choice((0, 0, 0, 0, 32)))


def layout_of(chance: Random) -> MeasuredLayout:
    placements = tuple(MeasuredPlacement(base, chance.random() < 0.5) for base in range(0, 64, 8))
    accesses = tuple(access(chance) for _ in range(chance.randint(2, 6)))
    return MeasuredLayout(chance.choice(LABELS), chance.choice((32, 32, 32, 32, 32, 40)), accesses, placements)


def ratio(chance: Random) -> Ratio:
    median = chance.choice((0.25, 0.5, 0.999, 1.0, 1.5))
    of, to = chance.choice(("affected", "affected", "unaffected")), chance.choice(("unaffected", "reference"))
    return Ratio(chance.choice(LABELS), of, to, chance.choice((0, 1, 1000)), Spread(median), chance.random() < 0.8)


def measurement(chance: Random) -> Measured:
    machine = Machine(chance.choice((None, "a processor")), chance.choice((64, 64, 64, 128)))
    run = MeasureRun(chance.choice((None, "2026-01-02")))
    layouts = tuple(layout_of(chance) for _ in range(chance.choice((0, 1, 1, 2))))
    ratios = tuple(ratio(chance) for _ in range(chance.randint(0, 9)))
    struct, rule = chance.choice(("words",) * 9 + ("other",)), chance.choice((None, "r", "r", "r", "other"))
    refusal = "no" if chance.random() < 0.05 else None
    return Measured(struct, rule, chance.choice(("contention", "sweep")), machine, run, refusal, layouts, ratios)


def test_measurements_of_seeds(golden):
    lines = []
    for seed in range(SEEDS):
        chance = Random(seed)
        kind = chance.choice(KINDS)
        finding = Finding(Rule("r", "words", kind, Severity.ERROR, "w", Source("r.toml", 1)), WORDS, kind.check(context(WORDS)), "a.h")
        content = measurement(chance)
        found = [*_measurement_origins(finding, Layout(WORDS), content, "m.json")]
        if found:
            lines.append(f"{seed}, {kind.name}, {content.mode}: {inline(found)}\n")
    golden("measurements.txt", "".join(lines))
