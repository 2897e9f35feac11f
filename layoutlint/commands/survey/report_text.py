"""Format `text` of `survey report`: rules that fail, structs that differ, failures and costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint import escapes
from layoutlint.commands.survey.text import outcome_counts
from layoutlint.model.record import Record
from layoutlint.phrases import quantity, shorten_middle
from layoutlint.reports.styled import wrap
from layoutlint.surveys.report import LayoutVariant, RuleStanding, StoreReport, StructVariants

_LISTED = 20
"""The entries of a list that are printed unless all are."""
_MIB = 1 << 20
_LEAST = 30
"""The fewest columns of a name."""
_INDENT = 8
"""The most columns before a name that is alone on a line, and after it."""
_NUMBERS = 47
"""The columns of numbers before a name in the table of costs."""


class _Extent(Record, frozen=True):
    """How much is printed."""

    most: int
    """The most entries of a list."""
    width: int
    """The columns of text."""
    is_verbose: bool

    def name(self, name: str, taken: int = 0) -> str:
        """Return the name of an input, in the columns that are left unless whole names are wanted."""
        name = escapes.inline(name)
        return name if self.is_verbose else shorten_middle(name, max(self.width - taken, _LEAST))


def render(report: StoreReport, verbose: bool = False, width: int = 100) -> str:
    """Return the text in some columns, with a newline at the end; `verbose` prints whole lists and names."""
    lengths = map(len, (report.structs, report.rules, report.failures, report.without_debug_information))
    extent = _Extent(sum(lengths) + 1 if verbose else _LISTED, width, verbose)
    gaps = _failures(report, extent), _bare_inputs(report, extent)
    lists = (_rules(report, extent), _structs(report, extent), *gaps)
    texts = (escapes.lines(wrap(part, width)) for part in (_inputs(report), *lists, _costs(report, extent)))
    return "\n".join(text for text in texts if text)


def _inputs(report: StoreReport) -> Iterator[str]:
    yield f"{quantity(report.inputs, 'input')}: {outcome_counts(report.outcomes)}"
    for label, counts in (("machines", report.targets), ("releases of Linux", report.releases)):
        if counts:
            named = [f"{escapes.inline(each.name)} ({each.inputs:,})" for each in counts]
            yield f"{label}: {', '.join(named)}"


def _rules(report: StoreReport, extent: _Extent) -> Iterator[str]:
    failing = [rule for rule in report.rules if rule.failing or rule.unknown]
    if not report.rules:
        return
    yield f"rules: {len(failing):,} of {quantity(len(report.rules), 'rule')} fail or are unknown somewhere"
    for rule in failing[: extent.most]:
        yield from _standing(rule, extent)
    yield from _rest(len(failing) - extent.most)


def _standing(rule: RuleStanding, extent: _Extent) -> Iterator[str]:
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
        yield f"    in {_names(rule.inputs, rule.failing, extent)}"


def _names(names: Sequence[str], total: int, extent: _Extent) -> str:
    more = f" and {total - len(names):,} more" if total > len(names) else ""
    return ", ".join(extent.name(name, _INDENT) for name in names) + more


def _structs(report: StoreReport, extent: _Extent) -> Iterator[str]:
    if not report.structs:
        return
    yield f"structs: {report.structs_total:,} with several layouts"
    for struct in report.structs[: extent.most]:
        yield from _variants(struct, extent)
    yield from _rest(report.structs_total - extent.most)


def _variants(struct: StructVariants, extent: _Extent) -> Iterator[str]:
    where = struct.differs.replace("-", " ")
    inputs = quantity(struct.inputs, "input")
    yield f"  {escapes.inline(struct.struct)}: {struct.layouts:,} layouts in {inputs}, {where}"
    for variant in struct.variants[:_LISTED]:
        yield f"    {_place(variant, extent)}"
    yield from (f"  {line}" for line in _rest(struct.layouts - len(struct.variants[:_LISTED])))


def _place(variant: LayoutVariant, extent: _Extent) -> str:
    releases = f", Linux {_releases(variant.releases)}" if variant.releases else ""
    inputs = _names((variant.example,), variant.inputs, extent)
    return f"{quantity(variant.size, 'byte')}: {', '.join(variant.targets)}{releases}; {inputs}"


def _releases(releases: Sequence[str]) -> str:
    return releases[0] if len(releases) == 1 else f"{releases[0]} .. {releases[-1]} ({len(releases):,})"


def _failures(report: StoreReport, extent: _Extent) -> Iterator[str]:
    if report.failures:
        yield f"failures: {quantity(report.failures_total, 'input')} not read, or not whole"
    for failed in report.failures[: extent.most]:
        kind = failed.outcome if failed.failure is None else f"{failed.outcome} ({failed.failure})"
        yield f"  {extent.name(failed.input, _INDENT)}: {kind}: {escapes.inline(failed.message)}"
    yield from _rest(report.failures_total - extent.most)


def _bare_inputs(report: StoreReport, extent: _Extent) -> Iterator[str]:
    names, total = report.without_debug_information, report.outcomes.without_debug_information
    if names:
        yield f"without debug information: {quantity(total, 'input')}, in which nothing was judged"
        yield from (f"  {extent.name(name, _INDENT)}" for name in names[: extent.most])
        yield from _rest(total - len(names[: extent.most]))


def _rest(number: int) -> Iterator[str]:
    if number > 0:
        yield f"  ... {number:,} more (`-v` or `--format json`)"


def _costs(report: StoreReport, extent: _Extent) -> Iterator[str]:
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
            f"{extent.name(cost.input, _NUMBERS)}"
        )
