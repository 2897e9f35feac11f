"""Runs that know the slab caches of a kernel: what is judged there, what a rule file still decides, and the notes."""

from __future__ import annotations

import msgspec
import pytest

from layoutlint.geometry.slab_caches import SlabCaches
from layoutlint.judgement.rule import Pack, Rule, Severity, StructIntent
from layoutlint.judgement.verdict import Outcome
from layoutlint.kinds.together import Together
from layoutlint.lint import run as lint
from layoutlint.lint.options import Options
from layoutlint.model.reading import Reading
from layoutlint.model.record import replace
from layoutlint.model.slabs import Document
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Source
from layoutlint.model.target import target_named
from layoutlint.readers import dispatch
from tests.harness.build import X86_64, member, struct
from tests.harness.slab_files import cache, document
from tests.lint.test_placing import LOCK, RULE, holder

NODE = struct("node", 624, member("count", 8, 8), member("owner", 16, 8), align=8)
"""The two words are on different lines where a node starts at 48."""
ON_NODE = Rule("r", "node", Together(("count", "owner")), Severity.ERROR, "both are touched", Source("m.toml", 9))
NODES = cache("node", size=624, stride=624, order=1)


def report_on(monkeypatch, structs, rule, caches, stated=(), reading=None, **more):
    """What a run reports on structs of a kernel, given caches and what a rule file states."""
    read = replace(Reading("a", "btf", X86_64, tuple(structs), is_kernel=True, kernel=(6, 12, 5)), **(reading or {}))
    monkeypatch.setattr(dispatch, "read", lambda path, wanted, options: read)
    intents = tuple(StructIntent(name, Source("m.toml", 3), placement=Storage(word, Source("m.toml", 3))) for name, word in stated)
    slabs = SlabCaches("s.json", msgspec.convert(document(*caches, **more), Document))
    return lint.check(("a",), (Pack("m", "m.toml", (rule,), intents),), (), Options(slabs=slabs, finds_allocations=False))


def verdict_of(report):
    ((finding),) = (*report.findings, *report.kept_findings)
    return finding.verdict


@pytest.mark.parametrize(("stated", "bases", "total", "note"), [
    ((), (48,), 4, ""),
    ((("node", "slab"),), (48,), 4, ""),
    ((("node", "line"),), (), 1, "m.toml:3: `line` of struct node counts, and contradicts: in the kernel's slab cache node (624 bytes"),
    ((("node", "percpu"),), (48,), 8, ""),  # which leaves all of these places possible
])  # fmt: skip
def test_a_rule_is_judged_where_the_cache_has_objects(monkeypatch, stated, bases, total, note):
    report = report_on(monkeypatch, [NODE], ON_NODE, [NODES], stated)
    verdict = verdict_of(report)
    assert (verdict.bases, verdict.total) == (bases, total)
    assert [text[: len(note)] for text in report.readings[0].notes] == ([note] if note else [])


def test_the_verdict_names_the_cache(monkeypatch):
    verdict = verdict_of(report_on(monkeypatch, [NODE], ON_NODE, [NODES]))
    assert verdict.is_placed
    assert verdict.basis == "in the kernel's slab cache node (624 bytes from one object to the next, 13 in a slab)"


@pytest.mark.parametrize(("caches", "reading", "more", "note"), [
    ([cache("node", size=616, stride=624, order=1)], {}, {}, "slab cache node is not used for struct node: its objects have 616 bytes, and the struct 624"),
    ([NODES], {"kernel": (6, 1, 5)}, {}, "the slab caches of s.json are not used: they are of Linux 6.12.5-test, and the input is Linux 6.1.5"),
    ([NODES], {"is_kernel": False}, {}, "the slab caches of s.json are not used: it is no Linux kernel"),
    ([NODES], {"target": target_named("aarch64")}, {}, "the slab caches of s.json are not used: they are of x86_64, and the input is for aarch64"),
])  # fmt: skip
def test_caches_that_are_not_used_are_noted(monkeypatch, caches, reading, more, note):
    structs = [replace(NODE, target=reading.get("target", X86_64))]
    report = report_on(monkeypatch, structs, ON_NODE, caches, reading=reading, **more)
    assert (verdict_of(report).total, report.readings[0].notes) == (8, (note,))


@pytest.mark.parametrize("reading", [{"kernel": None}, {"kernel": (6, 12)}, {"target": target_named("unknown64-le")}])
def test_what_an_input_does_not_state_is_no_contradiction(monkeypatch, reading):
    structs = [replace(NODE, target=reading.get("target", X86_64))]
    report = report_on(monkeypatch, structs, ON_NODE, [NODES], reading=reading)
    assert (verdict_of(report).total, report.readings[0].notes) == (4, ())


def test_another_line_is_noted(monkeypatch):
    report = report_on(monkeypatch, [NODE], ON_NODE, [NODES], line_size=128)
    assert report.readings[0].notes == ("the machine of s.json has lines of 128 bytes: judge those with --line-size 128",)


HELD = {
    # what contains locks beside their own cache, with its caches: the outcome, and the containers
    "nothing": ([], [], Outcome.KEPT, None),
    "kept there, too": ([holder("one", 128, 40, align=8)], [cache("one", size=128, stride=128)], Outcome.KEPT, ["", "one.x"]),
    "cut there": ([holder("two", 192, 56, align=8)], [cache("two", size=192, stride=192)], Outcome.AT_RISK, ["", "two.x"]),
    "anywhere": ([holder("three", 72, 0, align=8)], [], Outcome.AT_RISK, ["", "three.x"]),
    "a flexible array": ([holder("four", 72, 0, None, align=8)], [], Outcome.AT_RISK, ["", "four.x[]"]),
}


@pytest.mark.parametrize("name", HELD)
def test_a_cache_does_not_have_what_stands_in_other_structs(monkeypatch, name):
    containers, caches, outcome, rows = HELD[name]
    verdict = verdict_of(report_on(monkeypatch, [LOCK, *containers], RULE, [cache("lock", size=16, stride=64), *caches]))
    assert verdict.outcome == outcome
    assert [row.container for row in verdict.containers or ()] == (rows or [])


def test_each_container_is_judged_in_its_cache(monkeypatch):
    """The lock is cut where it starts at 56: in no `one`, in all of `two`, in a part of `three`, which has no cache."""
    containers = [holder("one", 128, 40, align=8), holder("two", 192, 56, align=8), holder("three", 72, 56, align=8)]
    caches = [cache("one", size=128, stride=128), cache("two", size=192, stride=192, objects=99), cache("three", size=64, stride=64)]
    report = report_on(monkeypatch, [LOCK, *containers], RULE, caches, [("lock", "embedded")])
    verdict = verdict_of(report)
    rows = {row.container: (row.outcome, row.bases, row.violating, [each.in_use for each in row.caches]) for row in verdict.containers}
    assert rows == {
        "one.x": (Outcome.KEPT, (40,), (), [7]),
        "two.x": (Outcome.BROKEN, (56,), (56,), [99]),
        "three.x": (Outcome.AT_RISK, tuple(range(0, 64, 8)), (56,), []),
    }
    assert report.readings[0].notes == ("slab cache three is not used for struct three: its objects have 64 bytes, and the struct 72",)
