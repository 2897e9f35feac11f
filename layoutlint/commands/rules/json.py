"""Format `json` of `rules test` (docs/json.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from layoutlint.judgement.case import BREAKING, KEEPING, Result, RuleWithoutCases, Trial
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.json_object import JsonObject, Natural, Positive, one_of
from layoutlint.reports.json_values import document_text


class Document(JsonObject, frozen=True, tag_field="schema", tag="layoutlint/rules-test/1"):
    """The results of the cases of rule files.

    Sizes and offsets are in bytes, unless the key says bits. An unknown value is null.
    """

    packs: Sequence[PackJson]
    """The packs that were tested, in the order given."""
    exit: Annotated[int, one_of(0, 1)]
    """The exit status: 0 if every pack passed, else 1."""


class PackJson(JsonObject, frozen=True):
    """A pack."""

    name: str
    """The pack's name."""
    path: str
    """Its rule file."""
    rules: Natural
    """The number of its rules."""
    cases: Natural
    """The number of its cases."""
    passed: bool
    """True if nothing failed."""
    results: Sequence[ResultJson]
    """One entry for each rule that a case names."""
    uncovered: Sequence[UncoveredJson]
    """Rules without a breaking or a keeping case."""


class ResultJson(JsonObject, frozen=True):
    """A rule and a case."""

    case: str
    """The case's name."""
    rule: str
    """The rule's id."""
    file: str
    """The file that states the expected outcome."""
    line: Positive
    """Line number, from 1."""
    expected: Annotated[str, one_of(*Outcome)]
    """The expected outcome."""
    actual: Sequence[Annotated[str, one_of(*Outcome)]]
    """The outcome on each definition that was judged. Empty if none was."""
    message: str
    """What was found, or why nothing was judged."""
    passed: bool
    """True if every outcome is the expected one."""


class UncoveredJson(JsonObject, frozen=True):
    """A rule without a case."""

    rule: str
    """The rule's id."""
    file: str
    """The rule's file."""
    line: Positive
    """Line number, from 1."""
    lacks: Annotated[Sequence[Annotated[str, one_of(BREAKING, KEEPING)]], Meta(min_length=1)]
    """The cases that are missing."""


def render(trials: Sequence[Trial]) -> str:
    """Return the results as one JSON object."""
    document = Document(
        packs=[_pack(trial) for trial in trials],
        exit=0 if all(trial.passes for trial in trials) else 1,
    )
    return document_text(document)


def _pack(trial: Trial) -> PackJson:
    return PackJson(
        name=trial.pack.name,
        path=trial.pack.path,
        rules=len(trial.pack.rules),
        cases=trial.cases,
        passed=trial.passes,
        results=[_result(result) for result in trial.results],
        uncovered=[_missing_cases(lack) for lack in trial.rules_without_cases],
    )


def _result(result: Result) -> ResultJson:
    expected = result.expectation
    return ResultJson(
        case=result.case.name,
        rule=expected.rule.id,
        file=expected.source.file,
        line=expected.source.line,  # type: ignore[arg-type]  # a case states one
        expected=expected.outcome.value,
        actual=[outcome.value for outcome in result.actual],
        message=result.message,
        passed=result.passes,
    )


def _missing_cases(lack: RuleWithoutCases) -> UncoveredJson:
    source = lack.rule.source
    return UncoveredJson(
        rule=lack.rule.id,
        file=source.file,
        line=source.line,  # type: ignore[arg-type]  # a rule of a file states one
        lacks=lack.lacks,
    )
