"""The shape of a kind's table: a struct in memory, the rule's keys, and the facts of the verdict."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from layoutlint.judgement.context import Access, CannotTell
from layoutlint.judgement.rule import Kind
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.structs import Struct
from tests.harness.build import context
from tests.harness.facts import facts

KEPT, BROKEN, AT_RISK = Outcome.KEPT, Outcome.BROKEN, Outcome.AT_RISK
EVERY8 = tuple(range(0, 64, 8))
"""All bases of an object aligned to 8 on lines of 64."""
ONCE = (0,)
"""The only base of an object aligned to the line."""


class Case(NamedTuple):
    id: str
    struct: Struct
    keys: dict[str, Any]
    outcome: Outcome
    bases: tuple[int, ...]
    message: str
    accesses: tuple[Access, ...] = ()
    advice: str | None = None


def table(cases: list[Any]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[case[0] for case in cases])


def check(kind: type[Kind], case: Case) -> None:
    """Every verdict is as the table says, and whatever fails comes with advice."""
    verdict = kind(**case.keys).check(context(case.struct, *case.accesses))  # type: ignore[call-arg]
    assert (verdict.outcome, verdict.bases) == (case.outcome, case.bases)
    assert facts(verdict.message) == facts(case.message)
    assert bool(verdict.advice) is (case.outcome is not KEPT)
    if case.advice is not None:
        assert facts(verdict.advice) == facts(case.advice)


class Refusal(NamedTuple):
    id: str
    keys: dict[str, Any]
    reason: str


def assert_refused(kind: type[Kind], refusal: Refusal) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
        kind(**refusal.keys)
    assert str(caught.value) == refusal.reason


class Untold(NamedTuple):
    id: str
    struct: Struct
    keys: dict[str, Any]
    reason: str
    accesses: tuple[Access, ...] = ()


def cannot_tell(kind: type[Kind], untold: Untold) -> None:
    with pytest.raises(CannotTell) as caught:
        kind(**untold.keys).check(context(untold.struct, *untold.accesses))  # type: ignore[call-arg]
    assert str(caught.value) == untold.reason
