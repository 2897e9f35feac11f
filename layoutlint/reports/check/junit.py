"""Format `junit`: the XML of JUnit, which CI servers show as test results.

A rule on a struct is a test: kept is passed, broken or at risk a failure, unknown an error, and a suppressed
or known finding is skipped. Notes pass, and what they found is their output; likewise rules that
are kept only because they tolerate failing placements.

There is no standard. The elements and attributes are those of Jenkins' schema (junit-10.xsd of its xunit
plugin), which refuses others, so the place of a finding is in its text.
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint import escapes
from layoutlint.judgement.finding import Finding, Report
from layoutlint.judgement.rule import Severity
from layoutlint.judgement.verdict import Outcome
from layoutlint.reports.check.diagnostics import Diagnostic, diagnostics, finding_diagnostic
from layoutlint.reports.xml_text import attributes, escape


def render(report: Report) -> str:
    """Return an XML document with one test suite."""
    cases = [(each, _result(each)) for each in report.findings]
    cases += [
        (each, "" if each.verdict.tolerance is None else "system-out") for each in report.kept_findings
    ]
    failures = [each for each in diagnostics(report) if not each.struct]
    rows = [result for _, result in cases] + ["error"] * len(failures)
    counts = {
        "tests": len(rows), "failures": rows.count("failure"), "errors": rows.count("error"),
        "skipped": rows.count("skipped"),
    }  # fmt: skip
    return "".join(f"{line}\n" for line in _lines(report, cases, failures, counts))


def _lines(
    report: Report, cases: list[tuple[Finding, str]], failures: list[Diagnostic], counts: dict[str, int]
) -> Iterator[str]:
    numbers = attributes(**{name: str(count) for name, count in counts.items()})
    total = attributes(**{name: str(count) for name, count in counts.items() if name != "skipped"})
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<testsuites name="layoutlint"{total}>'
    yield f'  <testsuite name="layoutlint"{numbers}>'
    for finding, result in cases:
        yield from _case(finding_diagnostic(finding, report.builds), result, _acceptance(finding))
    for failure in failures:
        yield from _case(failure, "error", "")
    yield "  </testsuite>"
    yield "</testsuites>"


def _result(finding: Finding) -> str:
    """Return the element in the test case of a finding that is not kept."""
    if finding.is_accepted:
        return "skipped"
    if finding.rule.severity is Severity.NOTE:
        return "system-out"
    return "error" if finding.verdict.outcome is Outcome.UNKNOWN else "failure"


def _acceptance(finding: Finding) -> str:
    """Return why a finding does not count: the reason of its suppression, or the baseline."""
    return finding.suppressed or ("accepted by the baseline" if finding.is_accepted else "")


def _case(diagnostic: Diagnostic, result: str, acceptance: str) -> Iterator[str]:
    name = f"{diagnostic.rule} on {diagnostic.struct}" if diagnostic.struct else diagnostic.file
    head = attributes(classname=diagnostic.rule, name=name)
    if not result:
        yield f"    <testcase{head}/>"
        return
    yield f"    <testcase{head}>"
    line = "" if diagnostic.line is None else f":{diagnostic.line}"
    file = escapes.inline(diagnostic.file)
    text = "\n".join((f"{file}{line}: {diagnostic.message}", *diagnostic.origins))
    if result == "skipped":
        yield f"      <skipped{attributes(message=acceptance)}/>"
    elif result == "system-out":
        yield f"      <system-out>{_rows(text)}</system-out>"
    else:
        advice = f"\n{diagnostic.advice}" if diagnostic.advice else ""
        values = attributes(message=diagnostic.message, type=diagnostic.severity)
        yield f"      <{result}{values}>{_rows(text + advice)}</{result}>"
    yield "    </testcase>"


def _rows(text: str) -> str:
    """Return text for an element; its lines are lines of the output, so none may begin a command."""
    return "\n".join(escape(escapes.line(row)) for row in text.split("\n"))
