"""A whole run: read the inputs, judge their structs by rules, and return a Report."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from layoutlint.judgement.finding import Finding, Report
from layoutlint.judgement.rule import Pack, Rule, Severity
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint import guessing, intents, query, unused
from layoutlint.lint.coverage import coverage_gaps, coverage_of
from layoutlint.lint.exit_status import exit_status
from layoutlint.lint.finding_order import order_findings
from layoutlint.lint.intents import Judged
from layoutlint.lint.judge import judge_all
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.lint.name_hints import (
    RULES,
    failure_without_verdicts,
    missing_struct_hints,
    refuse_without_rules,
    selects_nothing,
)
from layoutlint.lint.notes import readings_with_notes
from layoutlint.lint.options import Options
from layoutlint.lint.reading import Inputs, embedded_names, read_structs
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import Reading, Unread, Version
from layoutlint.model.record import replace

FOR_OTHERS = Unread(RULES, "nothing was judged: they are for other targets, versions or configurations")


def check(
    paths: Iterable[str], packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> Report:
    """Read and judge the inputs at some paths by packs, and Linux kernels also by `kernel_packs`.

    Failures to read are in the report. Raises UsageError if no rule applies to the inputs.
    """
    return report(read(paths, packs, kernel_packs, options), packs, kernel_packs, options)


def read(
    paths: Iterable[str], packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> Inputs:
    """Read the structs that the rules of packs name from the inputs at some paths."""
    paths = tuple(paths)
    claims = intents.read_claims(paths, options)
    wanted = query.structs_to_read(packs, kernel_packs, claims.structs if claims else {}, options)
    request = options.mode.request(wanted, options)
    inputs = read_structs(paths, request, embedded_names(packs + kernel_packs), options)
    inputs = options.mode.narrow(inputs, wanted)
    readings = [with_kernel_version(reading, options.kernel) for reading in inputs.readings]
    return replace(inputs, readings=readings, claims=claims)


def with_kernel_version(reading: Reading, version: Version | None) -> Reading:
    """Return the reading of a kernel with a version that completes the version which the input states."""
    stated = reading.kernel or ()
    completes = version is not None and len(stated) < 3 and version[: len(stated)] == stated
    return replace(reading, kernel=version) if reading.is_kernel and completes else reading


def report(
    inputs: Inputs, packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> Report:
    """Judge inputs that were read. Raises UsageError if no rule applies to them."""
    return report_on(intents.add(inputs, packs, kernel_packs, options), inputs, options)


def report_on(judged: Judged, read_result: Inputs, options: Options) -> Report:
    """Judge inputs with what people wrote on them. Raises UsageError if no rule applies."""
    rules = _applicable_rules(judged.inputs, read_result, options)
    inputs = guessing.add_arrays(judged.inputs, rules, options)
    judged = replace(judged, inputs=inputs)
    of_mode, unread = options.mode.judge(read_result, options)
    found = intents.suppress([*judge_all(inputs, options), *of_mode], judged, options)
    findings = merge_inputs(found.findings) if len(inputs) > 1 else list(found.findings)
    unused_intent = tuple(unused.find_unused_intent(inputs, found.idle, findings))
    if options.strictness.unused:
        unused_intent = tuple(map(unused.as_warning, unused_intent))
    hints = missing_struct_hints(rules, {finding.rule for finding in findings}, inputs, options)
    findings += unused.find_missing_structs(options.mode.requirements(options.strictness), findings, inputs)
    rules = options.mode.select_rules(rules, findings)
    if not options.skips_missing:
        finds_none = selects_nothing(inputs, options)  # of which the report gives one reason
        needed = tuple(
            rule
            for rule in rules
            if not (options.mode.is_removed(rule.struct) or (finds_none and is_pattern(rule.struct)))
        )
        findings += unused.find_unused_rules(needed, findings, inputs, options.strictness.unused, hints)
    findings += unused_intent
    rules += tuple(dict.fromkeys(finding.rule for finding in of_mode))
    functions = guessing.read_uses(judged.packs, options)
    gaps = () if functions is None else functions.unread
    read_result = replace(read_result, unread=[*read_result.unread, *unread, *gaps])
    result = _report(inputs, read_result, rules, findings, unused_intent, hints, options)
    result = options.mode.finish(result, read_result)
    result = intents.state(result, judged, found, read_result, options)
    return _with_repairs(guessing.rank(result, inputs, rules, functions, options), inputs, options)


def _with_repairs(report: Report, inputs: list[JudgedInput], options: Options) -> Report:
    """Return a report with changes that mend its findings."""
    if not any(each.verdict.outcome in (Outcome.BROKEN, Outcome.AT_RISK) for each in report.findings):
        return report
    from layoutlint.lint import repairs  # many runs find nothing

    return repairs.with_repairs(report, inputs, options)


def _applicable_rules(inputs: list[JudgedInput], read_result: Inputs, options: Options) -> tuple[Rule, ...]:
    """Return each rule of the inputs that may be about a selected struct. Raises UsageError for no rules."""
    rules = tuple(dict.fromkeys(rule for each in inputs for rule in each.rules))
    has_strays = any(each.reading.strays for each in inputs)
    is_wanting = not (rules or has_strays or read_result.unread or _drafts(inputs, rules))
    if inputs and is_wanting and options.mode.needs_rules:
        refuse_without_rules(inputs, options)
    return tuple(rule for rule in rules if options.selection.may_include(rule.struct))


def _drafts(inputs: list[JudgedInput], rules: tuple[Rule, ...]) -> tuple[str, ...]:
    """Return the rule files of inputs without any rules that have only comments."""
    packs = () if rules else (pack for each in inputs for pack in each.packs)
    return tuple(dict.fromkeys(pack.path for pack in packs if pack.is_draft))


def _report(
    inputs: list[JudgedInput],
    read_result: Inputs,
    rules: tuple[Rule, ...],
    findings: list[Finding],
    unused_intent: tuple[Finding, ...],
    hints: dict[str, str],
    options: Options,
) -> Report:
    """Return the report on findings: sorted, with the coverage and the exit status."""
    omitted = tuple(coverage_gaps(inputs, options.selection))
    ordered = order_findings(findings, options)
    coverage = coverage_of(inputs, rules, ordered, unused_intent, omitted, hints)
    coverage = replace(coverage, drafts=_drafts(inputs, rules))
    states_lacks = options.strictness.unused
    ordered = [unused.as_note(f) if f.is_lack else f for f in ordered if states_lacks or not f.is_lack]
    unread = [*read_result.unread, *options.mode.unread, *intents.stale_files(inputs, read_result)]
    if _judged_nothing(inputs, rules, ordered, coverage.structs, options):
        are_skipped = rules and len(coverage.skipped) == len(rules)
        unread.append(FOR_OTHERS if are_skipped else failure_without_verdicts(rules, inputs, options))
    return Report(
        readings=readings_with_notes(inputs, ordered, options),
        findings=tuple(f for f in ordered if f.verdict.outcome is not Outcome.KEPT),
        kept_findings=tuple(f for f in ordered if f.verdict.outcome is Outcome.KEPT),
        coverage=coverage,
        exit_status=exit_status(ordered, unread, options, omitted),
        unread=tuple(unread),
        rules=rules,
        packs=tuple(distinct_packs(pack.select_for(each.reading) for each in inputs for pack in each.packs)),
    )


def _judged_nothing(
    inputs: list[JudgedInput],
    rules: tuple[Rule, ...],
    findings: list[Finding],
    structs: int,
    options: Options,
) -> bool:
    """Return whether no struct was judged although one should have been."""
    has_none = not structs or selects_nothing(inputs, options)
    if not inputs or not has_none or options.skips_missing:
        return False
    if not options.only and _drafts(inputs, rules):
        return False
    is_judged = any(finding.rule.severity is not Severity.NOTE for finding in findings)
    are_removed = bool(rules) and all(options.mode.is_removed(rule.struct) for rule in rules)
    are_elsewhere = any(each.reading.elsewhere is not None for each in inputs)
    return not (is_judged or are_removed or are_elsewhere)


def distinct_packs(packs: Iterable[Pack]) -> Iterable[Pack]:
    """Return each pack once, by identity: to compare thousands of rules takes long."""
    return {id(pack): pack for pack in packs}.values()


def merge_inputs(findings: Iterable[Finding]) -> list[Finding]:
    """Merge findings that differ only in their inputs: each stays once, with all inputs that have it."""
    same_findings: dict[Hashable, list[Finding]] = {}
    for finding in findings:
        struct = finding.struct and replace(finding.struct, origin="", files=())
        key = finding.rule, struct, finding.verdict, finding.definition
        same_findings.setdefault(key, []).append(finding)
    return [_merge_same(same) for same in same_findings.values()]


def _merge_same(findings: list[Finding]) -> Finding:
    files = dict.fromkeys(file for finding in findings for file in (finding.input, *finding.also))
    return replace(findings[0], input=next(iter(files)), also=tuple(files)[1:])
