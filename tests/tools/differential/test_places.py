"""Structs of a small alignment are judged where programs have them (1,000 cases by the command of places.py)."""

from __future__ import annotations

import pytest

from tests.harness.effort import draws
from tests.harness.tools import need
from tools.differential import places


def test_places_are_those_of_the_compiled_program():
    need("gcc-12", "-O0")
    result = places.examine(10, 4)
    assert result.wrong == []
    assert any(is_other for _, is_other in result.counts)


@pytest.mark.exhaustive
def test_many_places_are_those_of_the_compiled_program():
    need("gcc-12", "-O0")
    assert places.examine(draws(150, 1000), 1).wrong == []


SIZES, CONTAINER, VARIABLE = ["m 4 4 4", "s 8 4"], ["c 4 4"], ["v 4 0 4132"]
EVERY_8 = set(range(0, 64, 8))


@pytest.mark.parametrize(("facts", "source", "others"), [
    (CONTAINER, "program", set(range(4, 64, 8))), (["c 64 20"], "program", {20}), (VARIABLE, "program", {36}), (VARIABLE, "object.o", {4, 36}),
    (VARIABLE, "source.c", set(range(4, 64, 8))), ([], "program", set()),
])  # fmt: skip
def test_places_are_counted_from_what_a_program_prints(facts, source, others):
    case = places.Case("p", "", 0, [], [places.Way("v", "v")] * (facts is VARIABLE))
    assert places.bases([*SIZES, *facts], source, {"v": (4, 32)}, case) == EVERY_8 | others
