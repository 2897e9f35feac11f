"""Words of cases: structs that a rule pack carries to show its rules at work, and what came of them."""

from __future__ import annotations

from dataclasses import dataclass

from layoutlint.judgement.rule import Pack, Rule
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.structs import Source

BREAKING, KEEPING = "breaking", "keeping"


@dataclass(frozen=True, slots=True)
class Expected:
    """What a rule must say of a case."""

    rule: Rule
    outcome: Outcome
    source: Source


@dataclass(frozen=True, slots=True)
class Case:
    """A struct as C, and what rules must say of it."""

    name: str
    source: Source
    text: str
    """What all cases of the file have in common, and the case's own C, on the lines where they stand."""
    expected: tuple[Expected, ...]
    flags: tuple[str, ...] = ()
    """Of the compiler."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a rule said of a case, and what it should."""

    case: Case
    expected: Expected
    actual: tuple[Outcome, ...]
    """One for each definition that it judged; none when it judged nothing."""
    message: str

    @property
    def passed(self) -> bool:
        """Whether it said what it should."""
        return set(self.actual) == {self.expected.outcome}


@dataclass(frozen=True, slots=True)
class Uncovered:
    """A rule that no case shows at work."""

    rule: Rule
    lacks: tuple[str, ...]
    """`breaking`, `keeping`, or both."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of the cases of one pack."""

    pack: Pack
    cases: int
    results: tuple[Result, ...]
    uncovered: tuple[Uncovered, ...]
    is_strict: bool
    """Whether a rule without its cases is a failure."""

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return all(result.passed for result in self.results) and not (self.is_strict and self.uncovered)
