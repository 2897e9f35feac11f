"""Suggested orders are the best of all orders, as a compiler lays them out and the rules judge them."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from layoutlint.intent.toml import rule_file
from layoutlint.lint.options import Options
from layoutlint.model.reading import ReadOptions
from tests.harness.effort import draws
from tests.harness.tools import NEEDS_SOLVER, fault, need
from tests.suggestion.agreement import Answer, Comparison, answer
from tests.suggestion.brute_force import compile_orders
from tests.suggestion.specimens import PRELUDE, Specimen, make_specimen

pytestmark = NEEDS_SOLVER


@pytest.fixture(autouse=True)
def _without_alternatives(monkeypatch):
    """Leave out what alignment adds: it is searched anew for each aligned member."""
    from layoutlint.suggestion import run  # imports the solver

    monkeypatch.setattr(run, "alternatives", lambda *_: ())


def faults(specimens: list[Specimen], folder: Path) -> list[str]:
    """What contradicts, with the structs; skips where a compiler does not compile for both sizes of words."""
    for compiler, bits in {(one.compiler, one.bits) for one in specimens}:
        need(compiler, f"-m{bits}", "-c")
    layouts = compile_orders(specimens, folder)
    answers = [each for one in specimens if (each := answer(one, folder)) is not None]
    assert len(answers) > len(specimens) * 0.8
    wrong = [
        f"{reason}\n{each.specimen.text()}\n{each.specimen.rules}"
        for each in answers
        for reason in Comparison(each, layouts[each.specimen.name]).faults()
    ]
    return wrong + patched_faults(answers, folder)


def patched_faults(answers: Iterable[Answer], folder: Path) -> list[str]:
    """Which patched sources compile to other offsets than promised."""
    wrong = []
    for bits in (64, 32):
        some = [each for each in answers if each.specimen.bits == bits and each.result.patch is not None]
        text = [PRELUDE]
        for each in some:
            assert each.result.patch is not None
            assert each.result.patch.text.startswith(PRELUDE)
            text += [each.result.patch.text.removeprefix(PRELUDE), *_assertions(each)]
        source = folder / f"patched{bits}.c"
        source.write_text("\n".join(text))
        for compiler in ("gcc", "clang"):
            command = [compiler, f"-m{bits}", "-w", "-fsyntax-only", str(source)]
            if fault(compiler, command[1:3]) is None:
                done = subprocess.run(command, capture_output=True, text=True)
                wrong += [f"{compiler} -m{bits}: {done.stderr[:2000]}"] if done.returncode else []
    return wrong


def _assertions(given: Answer) -> Iterable[str]:
    """Yield assertions in C for the promised offsets and the size; bit-fields have no `offsetof`."""
    name, new = given.specimen.name, given.result.new
    assert new is not None
    yield f'_Static_assert(sizeof(struct {name}) == {(new.bit_size or 0) // 8}, "size of {name}");'
    for field in new.fields:
        first = field if field.name else field.members[0]
        member = first.name
        if not first.is_bitfield:
            offset = f"__builtin_offsetof(struct {name}, {member})"
            yield f'_Static_assert({offset} == {field.bit_offset // 8}, "{name}.{member}");'


def test_suggestions_are_the_best_of_all_orders(tmp_path):
    assert faults([make_specimen(seed, 2, 5) for seed in range(6)], tmp_path) == []


RUN = "short a : 2;\n\tshort b : 10;\n\tlong long c : 61;"
RUNS = [
    # text of a struct, the fields of its `adjacent` rule, more keys of the rule, the status
    (f"{RUN}\n\tint d[1];", ("c", "b"), "max_gap = 1\ntolerate = 0.5", "infeasible"),
    (f"{RUN}\n\tint d[1];", ("c", "b"), "max_gap = 1", "infeasible"),
    (f"{RUN}\n\tint d[1];", ("c", "b"), "max_gap = 2", "optimal"),
    (f"{RUN}\n\tint d[1];", ("c", "b", "a"), "", "optimal"),
    # behind `e` the run begins so that `b` ends where `c` begins
    ("short a : 4;\n\tint b : 24;\n\tint c : 8 __attribute__((aligned(4)));\n\tchar e;", ("b", "c"), "max_gap = 0", "optimal"),
]


@pytest.mark.parametrize(("text", "fields", "keys", "status"), RUNS)
def test_gaps_inside_a_run_of_bit_fields(tmp_path, text, fields, keys, status):
    names = ", ".join(f'"{name}"' for name in fields)
    rules = f'[[rule]]\nid = "r"\nstruct = "s"\nkind = "adjacent"\nwhy = "x"\nfields = [{names}]\n{keys}\n'
    path = tmp_path / "s.h"
    path.write_text(f"struct s {{\n\t{text}\n}};\n")
    from layoutlint.suggestion.builds import Request  # imports the solver
    from layoutlint.suggestion.run import suggest

    packs = (rule_file.parse(rules, "rules.toml"),)
    result = suggest(str(path), Request("s"), packs, (), Options(read=ReadOptions(flags=("-m32",))))
    assert (result.status, [rule.id for rule in result.core]) == (status, ["r"] if status == "infeasible" else [])


@pytest.mark.exhaustive
@pytest.mark.long
@pytest.mark.parametrize(("first", "count", "fewest", "most"), [(1000, draws(80, 480), 2, 7), (5000, draws(4, 20), 8, 9)])
def test_suggestions_are_the_best_of_all_orders_of_more_structs(tmp_path, first, count, fewest, most):
    every = (make_specimen(seed, fewest, most) for seed in itertools.count(first))
    few = (one for one in every if len(one.units) - one.is_open <= 7)  # of 7 units there are 5,040 orders
    assert faults(list(itertools.islice(few, count)), tmp_path) == []
