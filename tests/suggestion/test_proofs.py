"""Proofs for structs of many members that are alike: a search through all their orders would not end."""

from __future__ import annotations

import pytest

from layoutlint.intent.toml import rule_file
from layoutlint.lint.options import Options
from tests.harness.tools import NEEDS_SOLVER

pytestmark = NEEDS_SOLVER
LONGS = " ".join(f"long m{number};" for number in range(14))
MIXED = " ".join(f"long a{number}; char b{number};" for number in range(8))
APART = 'kind = "separate"\nfields = [["m0"], ["m5", "m6", "m7"], ["m10", "m11"]]\n'
CASES = [
    # members, a rule, what is wanted, the status, moves, size
    # three groups fit on no two lines of 8 bytes at every placement
    (LONGS, APART, "moves", "infeasible", 0, 112),
    (LONGS, 'kind = "isolated"\nfields = ["m3"]\n', "moves", "infeasible", 0, 112),
    (LONGS, 'kind = "separate"\nfields = [["m0"], ["m4", "m5"]]\n', "moves", "optimal", 1, 112),
    # all that is not char is behind one another, in any order
    (MIXED, 'kind = "together"\nfields = ["b0", "b7"]\n', "size", "optimal", 7, 72),
    (MIXED, 'kind = "isolated"\nfields = ["a0"]\n', "size", "infeasible", 7, 72),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("members", "rule", "aim", "status", "moves", "size"), CASES)
def test_members_that_are_alike(tmp_path, members, rule, aim, status, moves, size):
    from layoutlint.suggestion import run
    from layoutlint.suggestion.builds import Request  # imports the solver
    from layoutlint.suggestion.run import suggest

    path = tmp_path / "s.h"
    path.write_text(f"struct s {{ {members} }};\n")
    packs = (rule_file.parse(f'[[rule]]\nid = "r"\nstruct = "s"\nwhy = "a test"\n{rule}', "rules.toml"),)
    aims = (aim, *(other for other in ("moves", "size", "holes") if other != aim))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(run, "alternatives", lambda *_: ())
        result = suggest(str(path), Request("s", aims, is_forced=True), packs, (), Options())
    assert result.status == status
    assert all(each.after == each.bound for each in result.aims)
    values = {each.aim: each.after for each in result.aims}
    assert (values["moves"], values["size"]) == (moves, size)


BOUNDS = [
    # what the order reaches, the bound of the solver, what is proved before, and the bound that is stated
    (12, 0, 3, 3),
    (12, 5, 3, 5),
    (2, 0, 3, 2),
]


@pytest.mark.parametrize(("value", "own", "proved", "stated"), BOUNDS)
def test_what_few_moves_prove_stays_proved(value, own, proved, stated):
    """The solver can end with a bound below one that its model has."""
    from layoutlint.suggestion.orders import search  # imports the solver
    from layoutlint.suggestion.orders.problem import ReachedAim, Solution

    solution = Solution("feasible", (0, 1), (ReachedAim("moves", value, own), ReachedAim("size", 64, 0)))
    assert search._with_bound(solution, proved).reached == (ReachedAim("moves", value, stated), ReachedAim("size", 64, 0))
