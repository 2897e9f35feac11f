"""Orders for several builds are the best of all orders, as a compiler lays them out for each build."""

from __future__ import annotations

import itertools
import json
import random
from itertools import combinations, permutations
from pathlib import Path

import pytest

from layoutlint.intent.toml import rule_file
from layoutlint.lint.options import Options
from layoutlint.model.build import Build
from layoutlint.model.structs import Source
from tests.harness.command import run
from tests.harness.effort import draws
from tests.harness.tools import NEEDS_SOLVER, need
from tests.suggestion.brute_force import compile_orders
from tests.suggestion.builds_agreement import Variants, compare, variants

pytestmark = NEEDS_SOLVER


def faults(some: list[Variants], folder: Path) -> list[str]:
    """What contradicts, with the structs; skips where a compiler does not compile for both sizes of words."""
    for compiler, bits in itertools.product(("gcc", "clang"), (64, 32)):
        need(compiler, f"-m{bits}", "-c")
    layouts = {
        name: compile_orders([each.builds[name] for each in some if name in each.builds], folder)
        for name in ("wide", "narrow", "third")
    }
    results = [(each, compare(each, layouts, folder)) for each in some]
    assert sum(found is not None for _, found in results) > len(some) * 0.8
    return [f"{fault}\n{each.text}\n{each.base.rules}" for each, found in results for fault in found or ()]


@pytest.mark.exhaustive
def test_common_orders_are_the_best_of_all_orders(tmp_path):
    made = (variants(seed, 3, 4) for seed in itertools.count(300))
    assert faults(list(itertools.islice(filter(None, made), 6)), tmp_path) == []


@pytest.mark.exhaustive
def test_common_orders_are_the_best_of_all_orders_of_more_structs(tmp_path):
    made = (variants(seed, 3, 6) for seed in itertools.count(7000))
    assert faults(list(itertools.islice(filter(None, made), draws(12, 100))), tmp_path) == []


TYPES = {"a": ("long", 8), "b": ("int", 4), "c": ("char", 1), "d": ("short", 2), "e": ("long", 8), "f": ("int", 4)}
ARRAYS = (1, 1, 2, 5, 9, 14)
LINE = 64
TWO_BUILDS = '[build.one]\ninput = "one.h"\n[build.two]\ninput = "two.h"\n'


def test_builds_that_declare_other_orders_have_the_best_common_one(tmp_path):
    needed = 0
    for seed in range(8):
        chance = random.Random(seed)
        lengths = {name: chance.choice(ARRAYS) for name in TYPES}
        lacking = chance.choice([*TYPES, ""])
        declared = [[*TYPES], [name for name in chance.sample([*TYPES], len(TYPES)) if name != lacking]]
        pairs = [tuple(chance.sample([name for name in TYPES if name != lacking], 2)) for _ in range(2)]
        best = min((moves for order in permutations(TYPES) if (moves := _moves(order, declared, lengths, pairs)) is not None), default=None)
        made = _suggest_common(tmp_path, declared, lengths, pairs)
        assert made["status"] == ("infeasible" if best is None else "optimal"), seed
        if best is not None:
            assert (len(made["moves"]), _moves(made["order"], declared, lengths, pairs)) == (best, best), seed
            needed += best > 0
    assert needed > 2


def _moves(order, declared, lengths, pairs) -> int | None:
    """Return the members of the first build that move for an order; None if a build has a pair on one line."""
    for own in declared:
        places, end = {}, 0
        for name in (each for each in order if each in own):
            size = TYPES[name][1]
            start = -(-end // size) * size
            places[name] = start // LINE, (start + size * lengths[name] - 1) // LINE
            end = start + size * lengths[name]
        for a, b in pairs:
            if places[a][0] <= places[b][1] and places[b][0] <= places[a][1]:
                return None
    kept = 0
    for count in range(len(order), 0, -1):
        if any(list(some) == sorted(some) for some in combinations([list(declared[0]).index(name) for name in order], count)):
            kept = count
            break
    return len(order) - kept


def _suggest_common(folder: Path, declared, lengths, pairs):
    for name, own in zip(("one", "two"), declared, strict=True):
        lines = "".join(f" {TYPES[each][0]} {each}[{lengths[each]}];\n" for each in own)
        (folder / f"{name}.h").write_text(f"struct s {{\n{lines}}};\n")
    rules = (
        f'[[rule]]\nid = "r{number}"\nstruct = "s"\nkind = "separate"\nfields = [["{a}"], ["{b}"]]\nwhy = "w"\n'
        for number, (a, b) in enumerate(pairs)
    )
    (folder / "rules.toml").write_text('[struct.s]\nplacement = "aligned:64"\n' + "".join(rules))
    (folder / "builds.toml").write_text(TWO_BUILDS)
    words = ("suggest", "--matrix", "builds.toml", "s", "--rules", "rules.toml", "--no-packs", "--force", "--format", "json")
    return json.loads(run(*words, cwd=folder).stdout)


def test_a_search_without_a_result_leaves_an_order_that_keeps_the_rules(tmp_path, monkeypatch):
    """The smallest order was found by one move: only the holes are not proved."""
    from layoutlint.commands.suggest.matrix import suggest_for_builds
    from layoutlint.suggestion.builds import Request  # imports the solver
    from layoutlint.suggestion.orders.problem import Solution
    from layoutlint.suggestion.orders.search import OrderSearch

    monkeypatch.setattr(OrderSearch, "run", lambda self: Solution("unknown"))
    path = tmp_path / "s.h"
    path.write_text("struct s { char a; long b; char c; };\n")
    rules = '[[rule]]\nid = "r"\nstruct = "s"\nkind = "order"\nfields = ["a", "b"]\nwhy = "a test"\n'
    builds = tuple(Build(f"m{bits}", Source("m.toml", 1), (str(path),), flags=(f"-m{bits}",)) for bits in (64, 32))
    request = Request("s", ("size", "moves", "holes"), is_forced=True)
    result = suggest_for_builds("m.toml", builds, request, (rule_file.parse(rules, "r.toml"),), (), Options())
    assert result.status == "feasible"
    assert [(each.aim, each.after, each.bound) for each in result.aims] == [("size", 24, 24), ("moves", 1, 1), ("holes", 2, 0)]
