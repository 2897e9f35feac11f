"""A whole run: read the inputs, judge their structs by rules, and return a Report."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from time import strftime
from typing import TYPE_CHECKING

from layoutlint.errors import UsageError
from layoutlint.intent.group_marks import group_mark_packs
from layoutlint.judgement.finding import Finding, Report
from layoutlint.judgement.messages import finding_message
from layoutlint.judgement.rule import Pack, Rule, Severity
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint import query, unused
from layoutlint.lint.coverage import assumption_notes, coverage_gaps, coverage_of
from layoutlint.lint.exit_status import exit_status
from layoutlint.lint.judge import judge_all
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.lint.name_hints import (
    RULES,
    failure_without_verdicts,
    missing_struct_hints,
    selects_nothing,
)
from layoutlint.lint.options import ChangeScope, Options
from layoutlint.lint.reading import (
    Inputs,
    embedded_names,
    read_compared,
    read_inputs,
    split_compared,
    split_unnarrowed,
)
from layoutlint.model.build import Build
from layoutlint.model.reading import Reading, Unread, Version
from layoutlint.model.record import replace

if TYPE_CHECKING:
    from layoutlint.intent.annotations.rules import Intent, Suppression
    from layoutlint.intent.claims import Claims
    from layoutlint.lint.guess_uses import GuessUses

_UNREACHED = "the change reaches no wanted struct"
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
    claims = _read_claims(paths, options)
    headers = claims.structs if claims else {}
    wanted = query.structs_to_read(packs, kernel_packs, headers, options)
    embedded = embedded_names(packs + kernel_packs)
    options = replace(options, read=replace(options.read, finds_omissions=True))
    to_read = wanted
    if options.held is not None:
        from layoutlint.lint import held_layouts  # few runs hold layouts

        to_read = held_layouts.wanted_with_held(wanted, options.held, options)
    if options.surveyed is not None:
        to_read = query.with_surveyed(wanted, options.surveyed)
    if options.compares and options.randomised is not None:
        from layoutlint.lint import random_build

        to_read = query.with_all(wanted, options)
        inputs = split_compared(random_build.read(paths, to_read, embedded, options), wanted)
    elif options.compares:
        inputs = read_compared(paths, wanted, query.with_all(wanted, options), embedded, options.read)
    elif options.randomised is None:
        inputs = read_inputs(paths, to_read, embedded, options.read)
    else:
        from layoutlint.lint import random_build

        inputs = random_build.read(paths, to_read, embedded, options)
    if options.randomised is None and any(reading.shuffled for reading in inputs.readings):
        from layoutlint.lint import random_build

        inputs = random_build.mark_unknown_orders(inputs, embedded, options.read)
    if options.held is not None or options.surveyed is not None:
        inputs = split_unnarrowed(inputs, wanted)
    readings = [with_kernel_version(reading, options.kernel) for reading in inputs.readings]
    return replace(inputs, readings=readings, claims=claims)


def _read_claims(paths: tuple[str, ...], options: Options) -> Claims | None:
    if not options.comments:
        return None
    from layoutlint.intent import claims  # few runs judge comments

    return claims.read(paths, options.read.sources)


def with_kernel_version(reading: Reading, version: Version | None) -> Reading:
    """Return the reading of a kernel with a version that completes the version which the input states."""
    stated = reading.kernel or ()
    completes = version is not None and len(stated) < 3 and version[: len(stated)] == stated
    return replace(reading, kernel=version) if reading.is_kernel and completes else reading


def report(
    read_result: Inputs, packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> Report:
    """Judge inputs that were read. Raises UsageError if no rule applies to them."""
    judged = judged_inputs(read_result, packs, kernel_packs, options)
    return report_on(judged, read_result, packs, kernel_packs, options)


def report_on(
    judged_and_intents: tuple[list[JudgedInput], list[Intent]], read_result: Inputs,
    packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options,
) -> Report:  # fmt: skip
    """Judge inputs with what `judged_inputs` returns for them. Raises UsageError if no rule applies."""
    inputs, intents = judged_and_intents
    rules = _applicable_rules(inputs, read_result, options)
    if any(rule.guess for rule in rules):
        from layoutlint.lint import allocated_arrays  # few runs guess

        inputs = allocated_arrays.with_allocated_arrays(inputs, options)
    findings = judge_all(inputs, options)
    held, unheld = _held_findings(read_result, options)
    findings += held
    idle: list[Suppression] = []
    dropped: dict[Suppression, str] = {}
    today = None
    if intents:
        from layoutlint.intent.annotations import suppression

        counting, dropped = _apply_policy(intents, inputs, options)
        today = _current_date(counting, options)
        findings, idle = suppression.mark_suppressed(findings, counting, today or "")
    judged = tuple(findings) if intents else ()
    if len(inputs) > 1:
        findings = merge_inputs(findings)
    notes = list(unused.find_unused_intent(inputs, idle, findings))
    unused_intent = tuple(map(unused.as_warning, notes) if options.unused else notes)
    hints = missing_struct_hints(rules, {finding.rule for finding in findings}, inputs, options)
    if options.change is not None:
        required = () if options.ignore_missing else options.change.required
        findings += unused.find_missing_structs(required, findings, inputs)
        rules = _rules_of_change(rules, required, findings, options.change)
    if not options.skips_missing:
        needed = tuple(rule for rule in rules if not options.is_removed(rule.struct))
        findings += unused.find_unused_rules(needed, findings, inputs, options.unused, hints)
    findings += unused_intent
    rules += tuple(dict.fromkeys(finding.rule for finding in held))
    functions = _guess_uses(packs, kernel_packs, options) if options.uses else None
    gaps = () if functions is None else functions.unread
    read_result = replace(read_result, unread=[*read_result.unread, *unheld, *gaps])
    result = _report(inputs, read_result, rules, findings, unused_intent, hints, options)
    if options.held is not None:
        from layoutlint.lint import held_layouts

        result = held_layouts.with_all_structs(result, read_result.unnarrowed)
    if today is not None:
        result = replace(result, coverage=replace(result.coverage, today=today))
    uses = unused.suppression_uses(intents, idle, judged, inputs, options.unused)
    result = replace(result, suppressions=tuple(uses)) if intents else result
    if options.policy is not None:
        flag_uses = dict(use for reading in read_result.readings for use in reading.flag_uses)
        sentences = options.policy.sentences(dropped, flag_uses)
        result = replace(result, coverage=replace(result.coverage, policy=sentences))
    if any(rule.guess for rule in rules):
        from layoutlint.lint import ranking

        applied = dict.fromkeys(pack for each in inputs for pack in each.packs)
        return ranking.rank(result, applied, options.guesses, functions)
    return result


def _rules_of_change(
    rules: tuple[Rule, ...],
    required: Iterable[tuple[Rule, str]],
    findings: list[Finding],
    change: ChangeScope,
) -> tuple[Rule, ...]:
    """Return the rules of a run on a change: if it judges a part, those that judged something there."""
    every = tuple(dict.fromkeys((*rules, *(rule for rule, _ in required))))
    judging = {finding.rule for finding in findings}
    return every if change.is_whole else tuple(rule for rule in every if rule in judging)


def _guess_uses(packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options) -> GuessUses:
    """Return what functions do to the fields of guesses."""
    from layoutlint.lint import guess_uses  # few runs name the sources

    return guess_uses.read(options.uses, packs + kernel_packs, options)


def judged_inputs(
    read_result: Inputs, packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> tuple[list[JudgedInput], list[Intent]]:
    """Return each input with its packs and those of annotations, marks and comments; and the annotations."""
    inputs, intents = [], []
    for number, reading in enumerate(read_result.readings):
        own = _with_placements(packs + (kernel_packs if reading.is_kernel else ()))
        active = own
        if options.annotations:
            if any(struct.annotations for struct in reading.structs):
                from layoutlint.intent.annotations import suppression  # most inputs have none

                active, intent = suppression.merge_annotations(reading, own)
                intents += [] if intent is None else [intent]
            certain = tuple(pack for pack in own if not pack.guesses)
            marked = reading
            if certain != own:  # packs that guess read structs whose marks nobody asks for
                wanted = query.structs_to_read(certain, (), {}, options)
                marked = query.narrow(reading, wanted, keep_annotated=False)
            active += group_mark_packs(marked, own)
        if read_result.claims is not None:
            active += read_result.claims.packs_for(reading, own)
        inputs.append(JudgedInput(reading, active, read_result.surroundings.select(number)))
    return inputs, intents


def _with_placements(packs: tuple[Pack, ...]) -> tuple[Pack, ...]:
    """Return the packs; those that guess know the placements which the others declare."""
    if not any(pack.guesses for pack in packs):
        return packs
    from layoutlint.lint import ranking  # few runs guess

    return ranking.share_placements(packs)


def _applicable_rules(inputs: list[JudgedInput], read_result: Inputs, options: Options) -> tuple[Rule, ...]:
    """Return each rule of the inputs that may be about a selected struct. Raises UsageError for no rules."""
    rules = tuple(dict.fromkeys(rule for each in inputs for rule in each.rules))
    has_strays = any(each.reading.strays for each in inputs)
    is_about_layouts = options.compares or options.held or options.surveyed is not None
    is_part = options.change is not None and not options.change.is_whole
    may_lack_rules = has_strays or is_part or is_about_layouts
    if inputs and not rules and not read_result.unread and not may_lack_rules:
        policy = f" (policy {'; '.join(options.policy.sentences({}))})" if options.policy else ""
        raise UsageError(
            "no rules apply to these inputs; give some with --rules FILE or --pack NAME"
            f"{_macro_hint(inputs)}{_source_hint(options.read.sources)}{policy}"
        )
    return tuple(rule for rule in rules if options.selection.may_include(rule.struct))


def _macro_hint(inputs: list[JudgedInput]) -> str:
    """Return what a C file lacks that uses the macro of annotations; empty if none does."""
    from layoutlint.readers.clang import text_search

    paths = [each.reading.path for each in inputs if each.reading.path.endswith((".c", ".h"))]
    using = next((path for path in paths if b"LAYOUTLINT(" in text_search.content(path)), None)
    remedy = "has no effect unless it includes layoutlint.h, which `layoutlint init --header` writes"
    return "" if using is None else f"; `LAYOUTLINT(...)` in {using} {remedy}"


def _source_hint(folders: tuple[str, ...]) -> str:
    """Return why source directories gave no rules; empty without any."""
    if not folders:
        return ""
    from layoutlint.intent.annotations.comments import Sources

    annotated = next(Sources(folders).annotated_files(), None)
    if annotated is None:
        below = ", ".join(folders)
        return f"; no comment in the C files below {below} has an annotation (`layoutlint: ...`)"
    return f"; the annotations in {annotated} are about no struct of these inputs"


def _held_findings(read_result: Inputs, options: Options) -> tuple[list[Finding], list[Unread]]:
    """Return the findings on the structs that a snapshot holds, and the inputs that it cannot hold."""
    if options.held is None:
        return [], []
    from layoutlint.lint import held_layouts  # few runs hold layouts

    readings = read_result.unnarrowed
    findings = held_layouts.judge(options.held, readings, options)
    return findings, list(held_layouts.other_targets(options.held, readings))


def _apply_policy(
    intents: list[Intent], inputs: list[JudgedInput], options: Options
) -> tuple[list[Intent], dict[Suppression, str]]:
    """Return the intents with the suppressions that count, and those that the policy drops, with the reason.

    Raises UsageError and ReadError.
    """
    if not options.suppressions:
        return [replace(intent, suppressions=()) for intent in intents], {}
    if options.policy is None:
        return intents, {}
    from layoutlint.lint import base_suppressions  # few runs have a policy

    dropped = base_suppressions.find_missing(intents, inputs, options.policy, options)
    return [
        replace(intent, suppressions=tuple(each for each in intent.suppressions if each not in dropped))
        for intent in intents
    ], dropped


def _current_date(intents: Iterable[Intent], options: Options) -> str | None:
    """Return the day by which suppressions with an end are judged; None if none has one."""
    suppressions = (suppression for intent in intents for suppression in intent.suppressions)
    if all(suppression.ignored.until is None for suppression in suppressions):
        return None
    return options.today or strftime("%Y-%m-%d")


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
    ordered = sorted(findings, key=sort_key)
    coverage = coverage_of(inputs, rules, ordered, unused_intent, omitted, hints)
    ordered = [unused.as_note(f) if f.is_lack else f for f in ordered if options.unused or not f.is_lack]
    is_judged = any(finding.rule.severity is not Severity.NOTE for finding in ordered)
    claims = read_result.claims
    unread = [
        *read_result.unread,
        *(options.change.unread if options.change is not None else ()),
        *(each for i in inputs if claims for each in claims.stale_files(i.reading)),
    ]
    has_none = not coverage.structs or selects_nothing(inputs, options)
    are_removed = bool(rules) and all(options.is_removed(rule.struct) for rule in rules)
    are_elsewhere = any(each.reading.elsewhere is not None for each in inputs)
    if inputs and has_none and not (is_judged or are_removed or are_elsewhere or options.skips_missing):
        are_skipped = rules and len(coverage.skipped) == len(rules)
        unread.append(FOR_OTHERS if are_skipped else failure_without_verdicts(rules, inputs, options))
    if options.change is not None and not (ordered or unread or any(gap.rules for gap in omitted)):
        coverage = replace(coverage, unreached=_UNREACHED)
    return Report(
        readings=_readings_with_notes(inputs, ordered, options),
        findings=tuple(f for f in ordered if f.verdict.outcome is not Outcome.KEPT),
        kept_findings=tuple(f for f in ordered if f.verdict.outcome is Outcome.KEPT),
        coverage=coverage,
        exit_status=exit_status(ordered, unread, options, omitted),
        unread=tuple(unread),
        rules=rules,
        packs=tuple(distinct_packs(pack.select_for(each.reading) for each in inputs for pack in each.packs)),
    )


def distinct_packs(packs: Iterable[Pack]) -> Iterable[Pack]:
    """Return each pack once, by identity: to compare thousands of rules takes long."""
    return {id(pack): pack for pack in packs}.values()


def _readings_with_notes(
    inputs: list[JudgedInput], findings: list[Finding], options: Options
) -> tuple[Reading, ...]:
    """Return the readings with the notes that judging them adds, and the name of the build."""
    added = [assumption_notes(each) for each in inputs]
    is_source = any(each.reading.reader == "clang" for each in inputs)
    if options.read.sources or (is_source and options.finds_allocations):
        from layoutlint.lint import allocation_notes

        structs = (finding.struct for finding in findings if finding.verdict.bases)
        failing = frozenset(struct.name for struct in structs if struct is not None)
        of_allocations = allocation_notes.allocation_notes(inputs, options, failing)
        added = [first + second for first, second in zip(of_allocations, added, strict=True)]
    return tuple(
        replace(each.reading, notes=each.reading.notes + notes, build=options.build)
        if notes or options.build is not None
        else each.reading
        for each, notes in zip(inputs, added, strict=True)
    )


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


def sort_key(finding: Finding, builds: tuple[Build, ...] = ()) -> tuple[str, int, str, str, str, str]:
    """Return the key that sorts findings by file, line, struct and rule."""
    place = finding.place
    name = finding.struct.name if finding.struct else finding.rule.struct
    return place.file, place.line or 0, name, finding.rule.id, finding.input, finding_message(finding, builds)
