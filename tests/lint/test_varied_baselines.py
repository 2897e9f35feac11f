"""Baselines of reports that a seed makes, applied to reports of other definitions: states, statuses and new entries."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from textwrap import fill

import pytest

from layoutlint.errors import LayoutlintError
from layoutlint.geometry.containers import Index
from layoutlint.judgement.finding import Report
from layoutlint.judgement.rule import Pack
from layoutlint.lint import baseline, run
from layoutlint.lint.embedding import Surroundings
from layoutlint.lint.options import ChangeScope, Mode, Options
from layoutlint.lint.reading import Inputs
from layoutlint.model.reading import Reading, Unread
from layoutlint.model.record import replace
from tests.harness.build import X86_64
from tests.harness.run_options import run_options
from tests.harness.whole import inline
from tests.lint.test_varied_runs import pack, reading


def judge(chance: Random, readings: list[Reading], packs: tuple[Pack, ...], options: Options) -> Report:
    surroundings = Surroundings({X86_64: Index(tuple(struct for each in readings for struct in each.structs))})
    unread = [Unread("gone.o", "no such file")] if chance.random() < 0.1 else []
    return run.report(Inputs(readings, unread, surroundings), packs, (), options)


def edit(chance: Random, packs: tuple[Pack, ...]) -> tuple[Pack, ...]:
    """The packs, seldom without their first rule."""
    return tuple(replace(each, rules=each.rules[chance.random() < 0.2 :]) for each in packs)


def lines(seed: int) -> Iterator[str]:
    chance = Random(f"baseline {seed}")
    before = [reading(chance, 0)]
    packs = (replace(pack(chance, 0, before), shipped=False),)
    own = run_options(finds_allocations=False, allow_unknown=chance.random() < 0.5)
    later = run_options(own, only=chance.choice(((), (), ("inner",))), ignore_missing=chance.random() < 0.2,
                    mode=chance.choice((Mode(), Mode(), Mode(), ChangeScope(frozenset({"inner", "outer"}), ()))))  # fmt: skip
    after = [before[0] if chance.random() < 0.4 else replace(reading(chance, 0), is_kernel=before[0].is_kernel)]
    try:
        entries = baseline.new_entries(judge(chance, before, packs, own), own)
        report = judge(chance, after, edit(chance, packs), later)
    except LayoutlintError:
        return
    yield f"== {seed}: {len(entries)} entries, unknown ones {own.strictness.allow_unknown}, {later.only} {later.strictness.ignore_missing} {not later.mode.sees_all}"
    yield from (inline(each) for each in entries)
    applied = baseline.apply(report, entries, "base.json", later)
    yield f"exit {report.exit_status} -> {applied.exit_status}, {inline(applied.baseline)}"
    yield ", ".join(f"{each.rule.id} {each.verdict.outcome.value} {each.state and each.state.value}" for each in applied.findings)
    known = set(entries)
    for name, made in {"updated": baseline.updated_entries, "pruned": baseline.pruned_entries}.items():
        result = made(report, entries, later)
        yield f"{name}: {len(known & set(result))} as before, {'; '.join(inline(each) for each in result if each not in known)}"


@pytest.mark.parametrize("part", range(3))
def test_baselines_of_seeds(part, golden, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    every = (line for seed in range(part * 40, part * 40 + 40) for line in lines(seed))
    golden(f"baselines-{part}.txt", "".join(fill(line, 150, subsequent_indent="    ", break_on_hyphens=False) + "\n" for line in every if line))
