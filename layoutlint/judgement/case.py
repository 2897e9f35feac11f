"""Cases: structs in a rule pack that show its rules at work, and their results."""

from __future__ import annotations

from layoutlint.judgement.rule import Pack, Rule
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.record import Record
from layoutlint.model.structs import Source

BREAKING, KEEPING = "breaking", "keeping"


class Expectation(Record, frozen=True):
    """The expected outcome of a rule in a case."""

    rule: Rule
    outcome: Outcome
    source: Source


class Case(Record, frozen=True):
    """A struct in C, and the expected outcomes of rules on it."""

    name: str
    source: Source
    text: str
    """The C text that all cases of the file share, and the case's own C, on their original lines."""
    expectations: tuple[Expectation, ...]
    flags: tuple[str, ...] = ()
    """Compiler flags."""


class Result(Record, frozen=True):
    """The expected and the actual outcomes of a rule on a case."""

    case: Case
    expectation: Expectation
    actual: tuple[Outcome, ...]
    """One outcome for each judged definition; empty if the rule judged nothing."""
    message: str

    @property
    def passes(self) -> bool:
        """Whether all outcomes are as expected."""
        return set(self.actual) == {self.expectation.outcome}


class RuleWithoutCases(Record, frozen=True):
    """A rule without a breaking or a keeping case."""

    rule: Rule
    lacks: tuple[str, ...]
    """`breaking`, `keeping`, or both."""


class Trial(Record, frozen=True):
    """The results of all cases of one pack."""

    pack: Pack
    cases: int
    results: tuple[Result, ...]
    rules_without_cases: tuple[RuleWithoutCases, ...]
    is_strict: bool
    """Whether a rule without its cases is a failure."""

    @property
    def passes(self) -> bool:
        """Whether nothing failed."""
        return all(result.passes for result in self.results) and not (
            self.is_strict and self.rules_without_cases
        )
