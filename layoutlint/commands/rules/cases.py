"""The cases of rule packs: C code that is judged, and compared with the expected outcomes."""

from __future__ import annotations

from collections.abc import Iterable

from layoutlint.commands.rules import case_file
from layoutlint.judgement.case import BREAKING, KEEPING, Case, Expectation, Result, RuleWithoutCases, Trial
from layoutlint.judgement.finding import Report
from layoutlint.judgement.messages import finding_message
from layoutlint.judgement.rule import Pack, Rule
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint.name_hints import RULES
from layoutlint.lint.options import Options
from layoutlint.lint.run import check
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import InputText, ReadOptions
from layoutlint.model.record import replace

TARGET = "--target=x86_64-linux-gnu"
"""The target of cases whose flags name none: the same on every machine."""


def run(packs: Iterable[Pack], strict: bool = False) -> tuple[Trial, ...]:
    """Judge the cases of packs.

    Rules of shipped packs, and with `strict` all rules, need a breaking and a keeping case. Raises
    RuleFileError for mistakes in case files.
    """
    loaded = case_file.load_all(packs)
    return tuple(_run_pack(pack, cases, strict or pack.shipped) for pack, cases in loaded)


def _run_pack(pack: Pack, cases: tuple[Case, ...], strict: bool) -> Trial:
    results = tuple(result for case in cases for result in _run_case(pack, case))
    return Trial(pack, len(cases), results, tuple(_rules_without_cases(pack, results)), strict)


def _run_case(pack: Pack, case: Case) -> list[Result]:
    path = case.source.file
    rules = tuple(replace(expected.rule, guess=False) for expected in case.expectations)
    options = Options(read=ReadOptions(flags=(TARGET, *case.flags), texts=(InputText(path, case.text),)))
    report = check((path,), (replace(pack, rules=rules, guesses=False),), (), options)
    return [_compare(case, expected, report) for expected in case.expectations]


def _compare(case: Case, expected: Expectation, report: Report) -> Result:
    """Compare the verdicts on a case with the expected outcome."""
    findings = (*report.findings, *report.kept_findings)
    judged = [f for f in findings if f.rule.id == expected.rule.id and f.struct is not None]
    if is_pattern(expected.rule.struct):  # some structs of the case only serve others
        judged = [finding for finding in judged if finding.verdict.outcome is not Outcome.KEPT] or judged
    messages = [finding_message(finding) for finding in judged]
    messages = messages or _reasons_for_no_verdict(expected.rule, report)
    message = "; ".join(dict.fromkeys(messages))
    return Result(case, expected, tuple(finding.verdict.outcome for finding in judged), message)


def _reasons_for_no_verdict(rule: Rule, report: Report) -> list[str]:
    skipped = [str(skipped) for skipped in report.coverage.skipped if skipped.rule_id == rule.id]
    failures = [unread.reason for unread in report.unread if unread.origin != RULES]
    return skipped or failures or [f"the case does not define struct {rule.struct}"]


def _rules_without_cases(pack: Pack, results: tuple[Result, ...]) -> Iterable[RuleWithoutCases]:
    covered = {(result.expectation.rule, result.expectation.outcome) for result in results}
    for rule in pack.rules:
        is_broken = any((rule, outcome) in covered for outcome in (Outcome.BROKEN, Outcome.AT_RISK))
        is_kept = (rule, Outcome.KEPT) in covered
        missing = (*(() if is_broken else (BREAKING,)), *(() if is_kept else (KEEPING,)))
        if missing:
            yield RuleWithoutCases(rule, missing)
