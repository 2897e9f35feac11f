"""Fixes of findings: the lines of a file that an order changes, and which findings and orders can have one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import pytest

from layoutlint.errors import ReadError, UsageError
from layoutlint.judgement.finding import Coverage, EmbeddedPlace, Finding, Fix, Report
from layoutlint.judgement.rule import Rule, Severity
from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.kinds.size import Size
from layoutlint.lint.options import Options
from layoutlint.model.reading import Reading
from layoutlint.model.record import replace
from layoutlint.model.structs import Source
from layoutlint.sources.order_uses import LookedAt
from layoutlint.suggestion import fixes
from layoutlint.suggestion.fixes import with_fixes
from layoutlint.suggestion.orders.result import Move, Patch, Refusal, Suggestion
from tests.harness.build import X86_64, member, struct

HERE = Source("r.toml", 1)
BOX = struct("box", 16, member("a", 0, 8), member("b", 8, 8))
RULE = Rule("small", "box", Size(max=8), Severity.ERROR, "w", HERE)
GOOD = Suggestion(
    "a.c", BOX, "optimal", BOX, moves=(Move("b", None), Move("c", "a")), looked_at=LookedAt(sources=1),
    patch=Patch("box.h", "1\n2\n3\n", "1\n3\n2\n", "diff"),
)  # fmt: skip


def apply(lines: list[str], fix: Fix | None) -> list[str]:
    """Lines with a fix, as an editor puts it in."""
    if fix is None:
        return lines
    return [*lines[: fix.first_line - 1], *fix.text.splitlines(keepends=True), *lines[fix.last_line :]]


def texts(letters: str, most: int) -> Iterable[list[str]]:
    return ([f"{each}\n" for each in word] for length in range(most + 1) for word in product(letters, repeat=length))


def test_every_change_of_a_text_is_the_shortest_run_of_lines():
    for old, new in product(texts("ab", 4), repeat=2):
        fix = fixes._replaced_lines("f", "".join(old), "".join(new), "d")
        assert (fix is None) is (old == new)
        assert apply(old, fix) == new
        if fix is not None:
            assert (fix.file, fix.description) == ("f", "d")
            same = [at for at in range(len(old) + 1) if old[:at] == new[:at]][-1]
            assert fix.first_line == same + 1
            tail = [at for at in range(min(len(old), len(new)) - same + 1) if old[len(old) - at :] == new[len(new) - at :]][-1]
            assert fix.last_line == len(old) - tail


def finding(number: int = 0, outcome: Outcome = Outcome.BROKEN, **more: object) -> Finding:
    verdict = Verdict(outcome, "m")
    return replace(Finding(RULE, BOX, verdict, f"{number}.c"), **more)


def report(*findings: Finding) -> Report:
    readings = tuple(Reading(f"{number}.c", "clang", X86_64, (BOX,)) for number in range(60))
    return Report((*readings, Reading("a.o", "dwarf", X86_64, (BOX,))), findings, (), Coverage(1, 1, 1), 1)


OTHER = replace(BOX, name="other")
CAN_HAVE = [
    # a finding, and whether it can have a fix
    (finding(), True),
    (finding(outcome=Outcome.AT_RISK), True),
    (finding(outcome=Outcome.KEPT), False),
    (finding(outcome=Outcome.UNKNOWN), False),
    (finding(struct=None), False),
    (finding(input="a.o"), False),
    (finding(builds=("one",)), False),
    (finding(around=EmbeddedPlace("box", "held", 8, HERE, 1, 1)), False),
    (finding(rule=replace(RULE, guess=True)), False),
    (finding(suppressed="why"), False),
]  # fmt: skip


@pytest.mark.parametrize(("each", "has_fix"), CAN_HAVE)
def test_which_findings_have_a_fix(each, has_fix, monkeypatch):
    monkeypatch.setattr(fixes, "suggest", lambda *_: GOOD)
    (got,) = with_fixes(report(each), (), (), Options()).findings
    assert got.fix == (Fix("example.h", 2, 3, "3\n2\n", "Move `b`, `c`.") if has_fix else None)
    assert replace(got, fix=None) == each


RESULTS = [
    # a suggestion, and whether it is a fix
    (GOOD, True),
    (replace(GOOD, status="feasible"), True),
    (replace(GOOD, status="unknown"), False),
    (replace(GOOD, status="infeasible"), False),
    (replace(GOOD, looked_at=LookedAt()), False),
    (replace(GOOD, looked_at=LookedAt(), is_order_free=True), True),
    (replace(GOOD, refusals=(Refusal("text", "r", "f", 1),)), False),
    (replace(GOOD, refusals=(Refusal("text", "r", "f", 1),), is_order_free=True), False),
    (replace(GOOD, patch=None), False),
    (replace(GOOD, struct=replace(BOX, source=None)), False),
    (replace(GOOD, patch=Patch("box.h", "1\n", "1\n", "")), False),
    (ReadError("a.c", "gone"), False),
    (UsageError("no such struct"), False),
]  # fmt: skip


@pytest.mark.parametrize(("result", "is_fix"), RESULTS)
def test_which_orders_are_fixes(result, is_fix, monkeypatch):
    def suggest(path, request, packs, kernel_packs, options):
        assert (path, request.struct, request.effort, packs, kernel_packs, options) == ("0.c", "box", 1.0, ("p",), ("k",), Options())
        if isinstance(result, Exception):
            raise result
        return result

    monkeypatch.setattr(fixes, "suggest", suggest)
    (got,) = with_fixes(report(finding()), ("p",), ("k",), Options()).findings
    assert (got.fix is not None) is is_fix


def test_each_struct_is_searched_once_and_at_most_fifty():
    searched: list[tuple[str, str]] = []

    def suggest(path, request, *_):
        searched.append((path, request.struct))
        return GOOD

    each = [finding(number) for number in range(52)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fixes, "suggest", suggest)
        got = with_fixes(report(each[0], replace(each[0], struct=OTHER), *each), (), (), Options()).findings
    assert searched == [("0.c", "box"), ("0.c", "other"), *((f"{number}.c", "box") for number in range(1, 49))]
    assert [one.fix is not None for one in got] == [True] * 51 + [False] * 3
