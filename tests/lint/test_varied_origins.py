"""Saved evidence that a seed makes, attached to findings that it makes: every origin whole."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from textwrap import fill

import pytest

from layoutlint.errors import LayoutlintError, ReadError
from layoutlint.geometry.layout import Layout
from layoutlint.judgement.finding import Coverage, Finding, Report
from layoutlint.judgement.rule import Rule, Severity
from layoutlint.judgement.verdict import Orders, Outcome, SharedLine, Verdict
from layoutlint.kinds.separate import Separate
from layoutlint.kinds.together import Together
from layoutlint.lint import origins
from layoutlint.model.ctype import CType
from layoutlint.model.reading import Reading
from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Source
from layoutlint.readers.profiles import saved
from layoutlint.readers.profiles.saved import (
    Accessed,
    Event,
    FieldSamples,
    Line,
    Machine,
    Measured,
    MeasuredLayout,
    MeasuredPlacement,
    MeasureRun,
    Profile,
    ProfiledInput,
    ProfiledStruct,
    ProfileReport,
    Ratio,
    Samples,
    Saved,
    Spread,
    Touch,
)
from tests.harness.build import X86_64, member, struct
from tests.harness.whole import inline

ARRAY = Field("many", CType("long", "[4]"), 24 * 8, 4 * 64, dims=(4,), align=8)
BOX = struct("box", 64, member("a", 0, 8), member("b", 8, 8), member("in", 16, 8, member("x", 16, 4), member("y", 20, 4)), ARRAY)
PATHS = ("a", "b", "in.x", "in.y", "many[0]", "many[2]")
SHARED = (SharedLine("a", "b", (0, 8, 16)), SharedLine("a", "in", (0,)), SharedLine("b", "many", (0, 8), 64), SharedLine("in.x", "many[2]", (16,)))


def place(chance: Random) -> dict[str, object]:
    """A field as it is, or seldom as it is not."""
    path = chance.choice(PATHS)
    found = Layout(BOX).find(path)
    assert found is not None
    odds = chance.random()
    return {"path": path if odds > 0.01 else "gone", "offset": found.offset + 8 * (odds > 0.99), "size": found.size if odds < 0.98 else None}


def samples(chance: Random) -> Samples:
    return Samples(*(chance.choice((0, 0, 3, 70)) for _ in Samples.__struct_fields__))


def touch(chance: Random) -> Touch:
    own = place(chance)
    return Touch(**own, at=own["offset"], counts=samples(chance), written=chance.random() < 0.6, read_modified=chance.random() < 0.6)  # type: ignore[arg-type]


def line(chance: Random) -> Line:
    return Line(
        "c2c.txt", chance.randint(1, 90), hex(4096 + 8 * chance.choice((0, 1, 2))), chance.choice((64,) * 12 + (128,)), samples(chance),
        chance.choice((0, 0, 8)), chance.choice((0, 8)), "unique", chance.choice(("base", "code", "struct")),
        tuple(touch(chance) for _ in range(chance.randint(2, 6))), chance.choice(((), (), ("lookup",))),
    )  # fmt: skip


def profile(chance: Random) -> Profile:
    events = (Event("types.txt", "stores"), Event("types.txt", "loads"), Event("other.txt", "both"))
    typed = tuple(
        FieldSamples(**own, event=chance.choice((0, 1, 1, 0, 2)), at=own["offset"], samples=chance.choice((None, 5, 9)), report_lines=(chance.randint(1, 99),))  # type: ignore[arg-type]
        for own in (place(chance) for _ in range(chance.choice((0, 4, 8))))
    )
    lines = tuple(line(chance) for _ in range(chance.choice((0, 1, 2))))
    own = ProfiledStruct(chance.choice(("box",) * 9 + ("other",)), chance.choice(("struct",) * 9 + ("union",)),
                         chance.choice((64,) * 12 + (72,)), lines, typed)  # fmt: skip
    reports = (ProfileReport("c2c.txt", ("perf c2c",), chance.choice((None, "May 1"))), ProfileReport("types.txt", ("perf report", "perf annotate"), None))
    return Profile((ProfiledInput("box.o", chance.choice((None, None, "ab12", "cd34"))),), reports[: chance.randint(0, 2)], events, (own,))


def layout(chance: Random, label: str | None) -> MeasuredLayout:
    accesses = tuple(
        Accessed(**place(chance), core=chance.randint(0, 1), distance=chance.choice((0, 0, 64)))  # type: ignore[arg-type]
        for _ in range(chance.randint(2, 6))
    )
    placements = tuple(MeasuredPlacement(base, chance.random() < 0.7) for base in (0, 8, 16))
    return MeasuredLayout(label, chance.choice((64,) * 12 + (72,)), accesses, placements)  # type: ignore[arg-type]


def measurement(chance: Random) -> Measured:
    labels = chance.choice(((None,), ("before", "after")))
    ratios = tuple(
        Ratio(label, chance.choice(("affected", "affected", "unaffected")), chance.choice(("unaffected", "reference")), chance.choice((0, 100, 2000)),
              Spread(chance.choice((0.25, 0.5, 0.991, 1.0, 1.5))), chance.random() < 0.8)
        for label in labels for _ in range(chance.randint(0, 4))
    )  # fmt: skip
    return Measured(
        chance.choice(("box",) * 9 + ("other",)), chance.choice((None, "apart", "apart", "apart", "else")), chance.choice(("contention", "sweep")),
        Machine(chance.choice((None, "a processor")), chance.choice((64,) * 12 + (128,))), MeasureRun(chance.choice((None, "2026-05-01"))),
        chance.choice((None,) * 6 + ("too noisy",)), tuple(layout(chance, label) for label in labels), ratios,
    )  # fmt: skip


def finding(chance: Random) -> Finding:
    is_apart = chance.random() < 0.6
    kind = Separate((("a",), ("b",))) if is_apart else Together(("a", "b"))
    rule = Rule("apart", "box", kind, Severity.ERROR, "w", Source("r.toml", 1), evidence_files=chance.choice(((), (), ("own.json",), ("own.json", "more.json"))))
    shared = tuple(chance.sample(SHARED, chance.randint(1, 3))) if is_apart else ()
    found = [Layout(BOX).find(path) for path in chance.sample(PATHS, 2)]
    evidence = tuple(each for each in found if each is not None)
    outcome = chance.choice((*(Outcome.AT_RISK, Outcome.BROKEN) * 4, Outcome.KEPT, Outcome.UNKNOWN))
    verdict = Verdict(outcome, "m", evidence, chance.choice(((0, 8), (16,))), 8, 64, shared=shared)
    if chance.random() < 0.05:
        verdict = replace(verdict, orders=Orders("clang", "exact", 0.5, 0.0, None, (), None, BOX))
    own = chance.choice((BOX,) * 8 + (None, replace(BOX, bit_size=None)))
    return Finding(rule, own, verdict, chance.choice(("box.o", "other.o")))


def files(chance: Random, names: tuple[str, ...]) -> tuple[Saved, ...]:
    return tuple(Saved(name, chance.choice((profile, measurement))(chance)) for name in names)


def lines(seed: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    chance = Random(f"origins {seed}")
    findings = [finding(chance) for _ in range(chance.randint(1, 3))]
    if chance.random() < 0.2:
        findings = [replace(findings[0], builds=tuple((f"build{number}", each) for number, each in enumerate(findings)))]
    readings = tuple(Reading(path, "dwarf", X86_64, (), build_id=chance.choice((None, "ab12", "ff00"))) for path in ("box.o", "other.o"))
    given = files(chance, ("one.json", "two.json", "own.json")[: chance.randint(1, 3)])
    of_rules = {each.path: each for each in files(chance, ("own.json", "more.json"))}
    if chance.random() < 0.05:
        of_rules.pop("more.json")

    def load(path: str) -> Saved:
        if path not in of_rules:
            raise ReadError(path, "no such file")
        return of_rules[path]

    monkeypatch.setattr(saved, "load", load)
    report = Report(readings, tuple(findings), (), Coverage(1, 1, 1), 0)
    yield f"== {seed}"
    try:
        result = origins.attach(report, given)
    except LayoutlintError as error:
        yield str(error)
        return
    for each in result.findings:
        yield from (inline(origin) for origin in each.origins) if each.origins else ["none"]
    yield inline(result.evidence)


@pytest.mark.parametrize("part", range(4))
def test_origins_of_seeds(part, golden, monkeypatch):
    every = (line for seed in range(part * 90, part * 90 + 90) for line in lines(seed, monkeypatch))
    golden(f"origins-{part}.txt", "".join(fill(line, 150, subsequent_indent="    ", break_on_hyphens=False) + "\n" for line in every))
