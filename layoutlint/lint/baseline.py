"""A report compared with a baseline, and the entries that a run adds to one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layoutlint.comparison.baseline_match import Acceptance, Entry, Instance, match_entries
from layoutlint.comparison.standings import Key, finding_key
from layoutlint.judgement.build_outcomes import sort_worst_first
from layoutlint.judgement.finding import BaselineUse, Finding, Report, State
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint.exit_status import exit_status
from layoutlint.lint.finding_order import order_findings
from layoutlint.lint.options import Options
from layoutlint.model.record import Record, replace

_WORST_FIRST = (State.NEW, State.WORSE, State.NOT_COMPARED, State.KNOWN)


class Comparison(Record, frozen=True):
    """The failures of a report, matched with the entries of a baseline."""

    acceptance: Acceptance
    unneeded: tuple[Entry, ...]
    """The entries whose rules hold now, or are gone."""
    not_judged: tuple[Entry, ...]
    """The entries about which the run says nothing."""


def compare(report: Report, entries: Iterable[Entry], options: Options) -> Comparison:
    """Compare the findings of a report with the entries of a baseline."""
    acceptance = match_entries(_pair_with_builds(report), entries)
    judged = _JudgedParts(report, options)
    unneeded = tuple(entry for entry in acceptance.idle if judged.has(entry))
    kept = tuple(entry for entry in acceptance.idle if not judged.has(entry))
    return Comparison(acceptance, unneeded, kept)


def apply(report: Report, entries: Iterable[Entry], file: str, options: Options) -> Report:
    """Return a report whose findings state how they compare with a baseline, and the exit status for it."""
    compared = set_states(report, entries, file, options)
    return replace(compared, findings=tuple(order_findings(compared.findings, options, report.builds)))


def set_states(report: Report, entries: Iterable[Entry], file: str, options: Options) -> Report:
    """Return the same with the findings in their order of before."""
    comparison = compare(report, entries, options)
    flat = (finding for _, finding in _pair_with_builds(report))
    stated = comparison.acceptance.with_states(flat)
    findings = [_with_state(finding, stated) for finding in report.findings]
    counting = [each for f in findings for each in ([one for _, one in f.builds] if f.builds else [f])]
    use = BaselineUse(
        file, tuple(sorted(entry.label for entry in comparison.unneeded)), len(comparison.not_judged)
    )
    return replace(
        report,
        findings=tuple(findings),
        exit_status=exit_status(counting, report.unread, options, report.coverage.not_covered),
        baseline=use,
    )


def _pair_with_builds(report: Report) -> Iterator[tuple[str, Finding]]:
    """Yield each finding of a report with its build; the name is empty without a matrix."""
    for finding in report.findings:
        yield from finding.builds or (("", finding),)


def _with_state(finding: Finding, stated: Iterator[Finding]) -> Finding:
    """Return a finding as the next of `stated` has it, or with those of its builds.

    The finding of the worst build that is not accepted is shown.
    """
    if not finding.builds:
        return next(stated)
    builds = sort_worst_first((name, next(stated)) for name, _ in finding.builds)
    states = {each.state for _, each in builds}
    state = next((state for state in _WORST_FIRST if state in states), None)
    return replace(builds[0][1], builds=tuple(builds), state=state)


class _JudgedParts:
    """What a run judged of all that a baseline can be about."""

    def __init__(self, report: Report, options: Options) -> None:
        self._options = options
        self._builds = {build.name for build in report.builds} or {""}
        findings = (*report.findings, *report.kept_findings)
        flat = [(name, each) for finding in findings for name, each in finding.builds or (("", finding),)]
        self._known: set[tuple[str, Key]] = {
            (name, finding_key(each)) for name, each in flat if each.verdict.outcome is not Outcome.UNKNOWN
        }
        gaps = [(each.builds, each.rules) for each in report.coverage.not_covered]
        failures = [each.builds for each in report.unread] + [builds for builds, rules in gaps if rules]
        self._incomplete = {name for builds in failures for name in builds or self._builds}
        skips = [(skip.rule_id, name) for skip in report.coverage.skipped for name in skip.builds or ("",)]
        self._skipped = frozenset(skips)

    def has(self, entry: Entry) -> bool:
        """Return whether a run would have found what an entry is about."""
        rule, struct, _, _ = entry.key
        if entry.build not in self._builds - self._incomplete or (rule, entry.build) in self._skipped:
            return False
        if (entry.build, entry.key) in self._known:
            return self._options.mode.sees_all  # a change leaves out other definitions of the name
        return not self._options.skips_missing and self._options.selection.has_name(struct)


def new_entries(report: Report, options: Options) -> tuple[Entry, ...]:
    """Return a baseline that accepts all failures of a report; of unknown ones only if options allow it."""
    instances = compare(report, (), options).acceptance.instances
    return tuple(one.accept() for one in instances if _is_acceptable(one, options))


def updated_entries(report: Report, entries: Iterable[Entry], options: Options) -> tuple[Entry, ...]:
    """Return a baseline that also accepts what is new and worse, and lacks what is no longer needed."""
    comparison = compare(report, entries, options)
    kept = [_current(one, options) for one in comparison.acceptance.instances]
    return (*(entry for entry in kept if entry is not None), *comparison.not_judged)


def pruned_entries(report: Report, entries: Iterable[Entry], options: Options) -> tuple[Entry, ...]:
    """Return a baseline without entries that are no longer needed; the others accept what is there now."""
    comparison = compare(report, entries, options)
    kept = [
        one.accept(one.entry.reason) if one.state is State.KNOWN else one.entry
        for one in comparison.acceptance.instances
        if one.entry is not None
    ]
    return (*kept, *comparison.not_judged)


def _is_acceptable(instance: Instance, options: Options) -> bool:
    """Return whether a failure can be accepted: an unknown one only on demand."""
    return instance.standing.outcome is not Outcome.UNKNOWN or options.strictness.allow_unknown


def _current(instance: Instance, options: Options) -> Entry | None:
    """Return the entry for a failure as it is now; the old one, or None, if it cannot be accepted."""
    is_known = instance.state is State.KNOWN
    if is_known or _is_acceptable(instance, options):
        return instance.accept(instance.entry.reason if instance.entry is not None else "")
    return instance.entry
