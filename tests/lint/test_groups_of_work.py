"""What is read once, and what is left out: arrays that sources allocate, builds that read the same, findings of one rule."""

from __future__ import annotations

import pytest

from layoutlint.judgement.finding import Finding
from layoutlint.judgement.rule import Rule, Severity
from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.kinds.size import Size
from layoutlint.lint import allocated_arrays, matrix
from layoutlint.lint.options import Options
from layoutlint.model.build import Build, RandomisationOptions
from layoutlint.model.reading import Reading
from layoutlint.model.record import replace
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Source
from layoutlint.sources.allocations.allocation import Allocation
from layoutlint.sources.allocations.user_space import PRIVATE
from tests.harness.build import X86_64, member, struct

AT = Source("a.c", 7)
HEAP = Storage("malloc", AT, array=4)
SLOT = struct("slot", 16, member("a", 0, 8), member("b", 8, 8))
STRUCTS = (SLOT, replace(SLOT, bit_size=256), replace(struct("bad", 8, member("a", 0, 8)), problem="no"), replace(struct("open", 8), bit_size=None))
CALLS = [
    # the call, the arrays
    (Allocation("slot", "calloc", AT, HEAP), [("the array of slot that calloc allocates", 128, AT)]),
    (Allocation("slot", "malloc", AT, replace(HEAP, array=None)), []),
    (Allocation("slot", "malloc", AT, None), []),
    (Allocation("", "calloc", AT, HEAP), []),
    (Allocation("other", "calloc", AT, HEAP), []),
    (Allocation("bad", "calloc", AT, HEAP), []),
    (Allocation("open", "calloc", AT, HEAP), []),
    *((Allocation("slot", call, AT, HEAP), []) for call in sorted(PRIVATE)[:2]),
]


@pytest.mark.parametrize(("call", "arrays"), CALLS, ids=range(len(CALLS)))
def test_arrays_that_calls_allocate(call, arrays):
    reading = Reading("a.o", "dwarf", X86_64, STRUCTS)
    found = [*allocated_arrays._arrays(reading, [call, call])]
    assert [(each.struct.label, each.struct.bit_size, each.struct.source) for each in found] == arrays * 2
    assert all(each.storage == HEAP for each in found)


def test_headers_beside_c_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.c", "a.h", "b.txt", "sub/b.c", "sub/b.h", "other/c.S", "other/c.h"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    beside = allocated_arrays._headers_beside(["a.c", "sub/b.c", "sub/again.c", "other/c.S", "gone/d.c"])
    assert [*beside] == ["a.h", "sub/b.h"]


PLAIN, SHUFFLED = RandomisationOptions(), RandomisationOptions(mode="clang")
BUILDS = [
    # the fields of builds, without and with options for all of them: the numbers that are read together
    ([{}, {}], [[0, 1]]),
    ([{"line_size": 64}, {"line_size": 128}], [[0, 1]]),
    ([{"min_align": 1}, {"min_align": 8}], [[0, 1]]),
    ([{"flags": ("-DA",)}, {}, {"flags": ("-DA",)}], [[0, 2], [1]]),
    ([{"target": "x86_64"}, {"target": "aarch64"}], [[0], [1]]),
    ([{"inputs": ("a.h",)}, {"inputs": ("b.h",)}], [[0], [1]]),
    ([{"randomised": SHUFFLED, "line_size": 64}, {"randomised": SHUFFLED, "line_size": 128}], [[0], [1]]),
    ([{"randomised": SHUFFLED, "line_size": 64}, {"randomised": SHUFFLED, "line_size": 64}], [[0, 1]]),
]


@pytest.mark.parametrize(("builds", "groups"), BUILDS, ids=range(len(BUILDS)))
def test_builds_that_read_the_same(builds, groups):
    made = tuple(Build(str(number), AT, **{"inputs": ("a.h",), **build}) for number, build in enumerate(builds))
    found = matrix._group_by_text(made, Options())
    assert [[int(build.name) for build in group] for group in found] == groups


RULE = Rule("r", "slot", Size(max=8), Severity.ERROR, "w", AT)
PATTERN = replace(RULE, id="p", struct="s*")
OTHER = replace(SLOT, name="slots")
FINDINGS = [
    # rules and structs of findings, the numbers of those that are one
    ([(RULE, SLOT), (RULE, SLOT)], [[0, 1]]),
    ([(RULE, SLOT), (RULE, OTHER)], [[0, 1]]),
    ([(RULE, SLOT), (RULE, None)], [[0, 1]]),
    ([(PATTERN, SLOT), (PATTERN, OTHER), (PATTERN, SLOT)], [[0, 2], [1]]),
    ([(PATTERN, None), (PATTERN, None)], [[0, 1]]),
    ([(PATTERN, None), (PATTERN, SLOT)], [[0], [1]]),
    ([(RULE, SLOT), (PATTERN, SLOT)], [[0], [1]]),
]


@pytest.mark.parametrize(("given", "groups"), FINDINGS, ids=range(len(FINDINGS)))
def test_findings_of_builds_that_are_one(given, groups):
    findings = [(str(number), Finding(rule, of, Verdict(Outcome.BROKEN, "m"), "a.h")) for number, (rule, of) in enumerate(given)]
    assert [[int(name) for name, _ in group] for group in matrix._group_by_rule(findings)] == groups
