"""The cases of rule packs on trial: each is read as C and judged as any input is."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from dataclasses import replace

from layoutlint.intent.toml import case_file
from layoutlint.judgement.case import BREAKING, KEEPING, Case, Expected, Result, Trial, Uncovered
from layoutlint.judgement.finding import Report
from layoutlint.judgement.rule import Pack, Rule
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint.options import Options
from layoutlint.lint.run import check
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import ReadOptions

TARGET = "--target=x86_64-linux-gnu"
"""Cases are for this target unless their flags name another: the same on every machine."""


def run(packs: Iterable[Pack], strict: bool = False) -> tuple[Trial, ...]:
    """The cases of all packs, tried; rules of shipped ones, and with `strict` all, need cases of both sorts.

    Raises RuleFileError for mistakes in case files.
    """
    loaded = case_file.load_all(packs)
    return tuple(_trial(pack, cases, strict or pack.shipped) for pack, cases in loaded)


def _trial(pack: Pack, cases: tuple[Case, ...], strict: bool) -> Trial:
    with tempfile.TemporaryDirectory(prefix="layoutlint-") as folder:
        results = tuple(result for case in cases for result in _results(pack, case, folder))
    return Trial(pack, len(cases), results, tuple(_uncovered(pack, results)), strict)


def _results(pack: Pack, case: Case, folder: str) -> list[Result]:
    path = os.path.join(folder, "case.c")
    with open(path, "w", encoding="utf-8") as file:
        file.write(case.text)
    rules = tuple(replace(expected.rule, guess=False) for expected in case.expected)
    options = Options(read=ReadOptions(flags=(TARGET, *case.flags)))
    report = check((path,), (replace(pack, rules=rules, guesses=False),), (), options)
    named = {path: case.source.file, os.path.relpath(path): case.source.file}
    return [_result(case, expected, report, named) for expected in case.expected]


def _result(case: Case, expected: Expected, report: Report, named: dict[str, str]) -> Result:
    every = (*report.findings, *report.kept)
    found = [f.verdict for f in every if f.rule.id == expected.rule.id and f.struct is not None]
    if is_pattern(expected.rule.struct):  # all structs of the case, of which some can be beside the point
        found = [verdict for verdict in found if verdict.outcome is not Outcome.KEPT] or found
    messages = [verdict.message for verdict in found] or _why_nothing(expected.rule, report)
    message = "; ".join(dict.fromkeys(messages))
    for path, name in named.items():
        message = message.replace(path, name)
    return Result(case, expected, tuple(verdict.outcome for verdict in found), message)


def _why_nothing(rule: Rule, report: Report) -> list[str]:
    told = [reason for reason in report.coverage.skipped if reason.startswith(f"{rule.id}: ")]
    return (
        told
        or [str(u.reason) for u in report.unread if u.origin != "rules"]
        or [f"the case does not define struct {rule.struct}"]
    )


def _uncovered(pack: Pack, results: tuple[Result, ...]) -> Iterable[Uncovered]:
    shown = {(result.expected.rule, result.expected.outcome) for result in results}
    for rule in pack.rules:
        breaks = any((rule, outcome) in shown for outcome in (Outcome.BROKEN, Outcome.AT_RISK))
        keeps = (rule, Outcome.KEPT) in shown
        lacks = (*(() if breaks else (BREAKING,)), *(() if keeps else (KEEPING,)))
        if lacks:
            yield Uncovered(rule, lacks)
