"""Several builds in few words: `*` for every value of an axis."""

from __future__ import annotations

from itertools import product

import pytest

from layoutlint.model.build import Build, short_name
from layoutlint.model.structs import Source
from tests.harness.pace import limit_time


def build(name: str, *values: str) -> Build:
    return Build(name, Source("matrix.toml", 1), ("a.h",), values)


AXES = (("arm", "s390x", "x86"), ("smp", "up"), ("plain", "lockdep"))
COMBINED = tuple(build("-".join(values), *values) for values in product(*AXES))
ALONE = tuple(build(name) for name in ("cloud", "next", "newest", "a", "b", "c", "d", "e"))
CUT = tuple(one for one in COMBINED if one.name != "arm-up-lockdep")


def names(builds, *wanted: str) -> list[str]:
    """The builds whose names have one of the words, each as a whole part."""
    return [one.name for one in builds if any(set(word.split("-")) <= set(one.name.split("-")) for word in wanted)]


NAMED = [
    # all builds, those that are named, how
    (COMBINED, names(COMBINED, "arm", "s390x", "x86"), "all 12 builds"),
    (COMBINED, names(COMBINED, "lockdep"), "*-*-lockdep (6)"),
    (COMBINED, names(COMBINED, "arm"), "arm-*-* (4)"),
    (COMBINED, names(COMBINED, "smp-plain"), "*-smp-plain (3)"),
    (COMBINED, names(COMBINED, "arm-up-plain"), "arm-up-plain"),
    (COMBINED, names(COMBINED, "arm", "lockdep"), "*-*-lockdep, arm-*-* (8)"),
    (COMBINED, names(COMBINED, "arm-up", "x86-smp-plain"), "arm-up-*, x86-smp-plain (3)"),
    (COMBINED + ALONE, [*names(COMBINED, "up"), "next"], "*-up-*, next (7)"),
    (COMBINED + ALONE, [one.name for one in COMBINED], "*-*-* (12)"),
    (CUT, names(CUT, "lockdep"), "*-*-lockdep (5)"),
    (CUT, names(CUT, "arm-up"), "arm-up-plain"),
    (ALONE, ["next", "cloud"], "cloud, next"),
    (ALONE, [one.name for one in ALONE[1:]], "next, newest, a, b, c, d and 1 more (7)"),
    (ALONE[:1], ["cloud"], "cloud"),
    (tuple(build(name, name) for name in "xyz"), ["x", "z"], "x, z"),
]


@pytest.mark.parametrize(("builds", "chosen", "words"), NAMED, ids=[case[2] for case in NAMED])
def test_named(builds, chosen, words):
    assert short_name(chosen, builds) == words


MANY = tuple(build("-".join(values), *values) for values in product("abcdefghij", "abcdefghij", "0123456789"))


def test_a_thousand_builds_are_named_at_once():
    with limit_time(2):
        message = short_name([one.name for one in MANY if one.values[0] != one.values[1]], MANY)
    assert message == "a-b-*, a-c-*, a-d-*, a-e-*, a-f-*, a-g-* and 840 more (900)"
