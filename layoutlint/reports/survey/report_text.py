"""Format `text` of `survey report`: rules that fail, structs that differ, failures and costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint import escapes
from layoutlint.comparison.survey_report import LayoutVariant, RuleStanding, StoreReport, StructVariants
from layoutlint.comparison.survey_tables import WITHOUT
from layoutlint.phrases import quantity
from layoutlint.reports.survey.text import outcome_counts

_LISTED = 20
"""The entries of a list that are printed unless all are."""
_MIB = 1 << 20


def render(report: StoreReport, verbose: bool = False) -> str:
    """Return the text, with a newline at the end; `verbose` prints whole lists."""
    lengths = map(len, (report.structs, report.rules, report.failures, report.without_debug_information))
    most = sum(lengths) + 1 if verbose else _LISTED
    gaps = _failures(report, most), _bare_inputs(report, most)
    lists = (_rules(report, most), _structs(report, most), *gaps)
    texts = (escapes.lines(part) for part in (_inputs(report), *lists, _costs(report)))
    return "\n".join(text for text in texts if text)


def _inputs(report: StoreReport) -> Iterator[str]:
    yield f"{quantity(report.inputs, 'input')}: {outcome_counts(report.outcomes)}"
    for label, counts in (("machines", report.targets), ("releases of Linux", report.releases)):
        if counts:
            yield f"{label}: " + ", ".join(f"{escapes.inline(name)} ({number:,})" for name, number in counts)


def _rules(report: StoreReport, most: int) -> Iterator[str]:
    failing = [rule for rule in report.rules if rule.failing or rule.unknown]
    if not report.rules:
        return
    yield f"rules: {len(failing):,} of {quantity(len(report.rules), 'rule')} fail or are unknown somewhere"
    for rule in failing[:most]:
        yield from _standing(rule)
    yield from _rest(len(failing) - most)


def _standing(rule: RuleStanding) -> Iterator[str]:
    counts = {"broken": rule.broken, "at-risk": rule.at_risk, "unknown": rule.unknown, "kept": rule.kept}
    words = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    note = " (a note)" if rule.severity == "note" else ""
    yield f"  {rule.rule} on {escapes.inline(rule.struct)}, {rule.target}: {words}{note}"
    if rule.since is not None and rule.kept_in is not None:
        yield f"    fails since {rule.since}; last kept in {rule.kept_in}"
    elif rule.since is not None:
        yield f"    fails since {rule.since}, the first release"
    elif rule.releases and rule.failing:
        yield "    does not fail in the last release"
    if rule.inputs:
        yield f"    in {_names(rule.inputs, rule.failing)}"


def _names(names: Sequence[str], total: int) -> str:
    more = f" and {total - len(names):,} more" if total > len(names) else ""
    return ", ".join(map(escapes.inline, names)) + more


def _structs(report: StoreReport, most: int) -> Iterator[str]:
    if not report.structs:
        return
    yield f"structs: {report.structs_total:,} with several layouts"
    for struct in report.structs[:most]:
        yield from _variants(struct)
    yield from _rest(report.structs_total - most)


def _variants(struct: StructVariants) -> Iterator[str]:
    where = struct.differs.replace("-", " ")
    inputs = quantity(struct.inputs, "input")
    yield f"  {escapes.inline(struct.struct)}: {struct.layouts:,} layouts in {inputs}, {where}"
    for variant in struct.variants[:_LISTED]:
        yield f"    {_place(variant)}"
    yield from (f"  {line}" for line in _rest(struct.layouts - len(struct.variants[:_LISTED])))


def _place(variant: LayoutVariant) -> str:
    releases = f", Linux {_releases(variant.releases)}" if variant.releases else ""
    inputs = _names((variant.example,), variant.inputs)
    return f"{quantity(variant.size, 'byte')}: {', '.join(variant.targets)}{releases}; {inputs}"


def _releases(releases: Sequence[str]) -> str:
    return releases[0] if len(releases) == 1 else f"{releases[0]} .. {releases[-1]} ({len(releases):,})"


def _failures(report: StoreReport, most: int) -> Iterator[str]:
    if report.failures:
        yield f"failures: {quantity(report.failures_total, 'input')} not read, or not whole"
    for failed in report.failures[:most]:
        kind = failed.outcome if failed.failure is None else f"{failed.outcome} ({failed.failure})"
        yield f"  {escapes.inline(failed.input)}: {kind}: {escapes.inline(failed.message)}"
    yield from _rest(report.failures_total - most)


def _bare_inputs(report: StoreReport, most: int) -> Iterator[str]:
    names, total = report.without_debug_information, report.outcomes[WITHOUT]
    if names:
        yield f"without debug information: {quantity(total, 'input')}, in which nothing was judged"
        yield from (f"  {escapes.inline(name)}" for name in names[:most])
        yield from _rest(total - len(names[:most]))


def _rest(number: int) -> Iterator[str]:
    if number > 0:
        yield f"  ... {number:,} more (`-v` or `--format json`)"


def _costs(report: StoreReport) -> Iterator[str]:
    totals = report.totals
    if not totals.tasks:
        return
    yield (
        f"costs: {quantity(totals.tasks, 'task')}, {totals.size / _MIB:,.1f} MiB, {totals.seconds:,.1f} s, "
        f"{totals.processor_seconds:,.1f} s of processors"
    )
    yield (
        f"  a task: half within {totals.median_seconds:,.2f} s, nine of ten within "
        f"{totals.percentile_seconds:,.2f} s, at most {totals.memory / _MIB:,.0f} MiB"
    )
    if read := totals.cache_hits + totals.cache_misses:
        yield f"  cache: {totals.cache_hits:,} of {quantity(read, 'reading')} found"
    yield "  processor s     s    MiB read  MiB memory  input"
    for cost in report.costs[:5]:
        size = "??" if cost.size is None else f"{cost.size / _MIB:,.1f}"
        yield (
            f"  {cost.processor_seconds:11,.1f} {cost.seconds:5,.1f} {size:>11} {cost.memory / _MIB:11,.0f}  "
            f"{escapes.inline(cost.input)}"
        )
