"""The product on one page: inputs are read, rules are applied to structs, and a Report comes out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layoutlint.errors import UsageError
from layoutlint.intent.group_marks import marks_packs
from layoutlint.judgement.finding import Finding, NotCovered, Report
from layoutlint.judgement.rule import Pack, Rule, Severity
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint import query, unused
from layoutlint.lint.coverage import assumptions, coverage_of, not_covered
from layoutlint.lint.embedding import Surroundings
from layoutlint.lint.exit_status import exit_status
from layoutlint.lint.judge import judge_all
from layoutlint.lint.options import Options
from layoutlint.lint.reading import Found, embedded_names, read_inputs
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import Reading, Unread, Version
from layoutlint.model.wanted import Wanted

if TYPE_CHECKING:
    from layoutlint.intent.annotations.rules import Intent, Suppression
    from layoutlint.intent.claims import Claims


@dataclass(frozen=True, slots=True)
class Inputs:
    """What was read, what could not be, and what can embed structs."""

    readings: list[Reading]
    unread: list[Unread]
    around: Surroundings
    claims: Claims | None = None
    """What comments claim about cache lines, where that is to be judged."""


_NOT_THERE = Unread("rules", "nothing was judged: no input has a struct that they name")
FOR_OTHERS = Unread("rules", "nothing was judged: they are for other targets, versions or configurations")


def check(
    paths: Iterable[str], packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> Report:
    """Judge the inputs at some paths by the packs, and Linux kernels by `kernel_packs` as well.

    Raises UsageError when no rule is asked for; whatever cannot be read is in the report.
    """
    return report(read(paths, packs, kernel_packs, options), packs, kernel_packs, options)


def read(
    paths: Iterable[str], packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> Inputs:
    """What the inputs at some paths say of the structs that the packs' rules name."""
    paths = tuple(paths)
    claims = _claims(paths, options)
    wanted = _asked(packs, kernel_packs, claims, options)
    names = embedded_names(packs + kernel_packs)
    options = replace(options, read=replace(options.read, omissions=True))
    readings, unread, around = _read(paths, wanted, names, options)
    return Inputs([_dated(reading, options.kernel) for reading in readings], unread, around, claims)


def _claims(paths: tuple[str, ...], options: Options) -> Claims | None:
    if not options.comments:
        return None
    from layoutlint.intent import claims  # few runs ask for them

    return claims.gather(paths, options.read.sources)


def _dated(reading: Reading, kernel: Version | None) -> Reading:
    """Return the reading of a kernel with the version of the command line, as far as it states none."""
    stated = reading.kernel or ()
    is_more = kernel is not None and len(stated) < 3 and kernel[: len(stated)] == stated
    return replace(reading, kernel=kernel) if reading.is_kernel and is_more else reading


def _asked(
    packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], claims: Claims | None, options: Options
) -> Wanted:
    headers = claims.structs if claims else {}
    return query.of_run(packs, kernel_packs, options.only, headers, options.annotations, options.read.sources)


def report(
    inputs: Inputs, packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> Report:
    """The judgement on inputs that have been read; raises UsageError as `check` does."""
    readings, around = inputs.readings, inputs.around
    known = {id(r): _informed(packs + (kernel_packs if r.is_kernel else ())) for r in readings}
    active, intents = _with_annotations(inputs, known, options)
    rules = tuple(dict.fromkeys(rule for r in readings for pack in active[id(r)] for rule in pack.rules))
    if readings and not rules and not inputs.unread and not any(reading.strays for reading in readings):
        policy = f" (policy {'; '.join(options.policy.sentences(()))})" if options.policy else ""
        remedy = "give some with --rules FILE or --pack NAME"
        raise UsageError(f"no rules apply to these inputs; {remedy}{policy}")
    rules = tuple(rule for rule in rules if _could_apply(rule, options.only))
    judged = judge_all(readings, active, options, around)
    assumed = [assumptions(r, [rule for pack in active[id(r)] for rule in pack.rules]) for r in readings]
    idle: list[Suppression] = []
    dropped: tuple[Suppression, ...] = ()
    if intents:
        from layoutlint.intent.annotations import suppression

        counting, dropped = _counting(intents, options)
        judged, idle = suppression.suppressed(judged, counting)
    if len(readings) > 1:
        judged = merged(judged)
    findings = tuple(judged)
    if not options.ignore_missing:
        findings += tuple(unused.rules(rules, judged, readings, options.unused))
    vain = tuple(unused.words(readings, active, idle, judged))
    findings += tuple(map(unused.counted, vain)) if options.unused else vain
    stale = [one for r in readings for one in inputs.claims.stale(r)] if inputs.claims else []
    applied = {pack: None for r in readings for pack in active[id(r)]}
    omitted = tuple(not_covered(readings, active, options.only))
    if options.read.sources or any(reading.reader == "clang" for reading in readings):
        from layoutlint.lint import allocation_notes

        folders = options.read.sources
        readings = allocation_notes.noted(readings, active, folders, options.line_size, options.min_align)
    found = _report(readings, [*inputs.unread, *stale], rules, findings, options, vain, omitted)
    noted = (replace(r, notes=(*r.notes, *notes)) for r, notes in zip(found.readings, assumed, strict=True))
    found = replace(found, readings=tuple(noted))
    if options.policy is not None:
        said = options.policy.sentences(dropped)
        found = replace(found, coverage=replace(found.coverage, policy=said))
    if any(rule.guess for rule in rules):
        from layoutlint.lint import ranking

        return ranking.ranked(found, applied, options.guesses)
    return found


def _counting(intents: list[Intent], options: Options) -> tuple[list[Intent], tuple[Suppression, ...]]:
    """The intents with the suppressions that count, and those that the policy does not have."""
    if not options.suppressions:
        return [replace(intent, suppressions=()) for intent in intents], ()
    if options.policy is None:
        return intents, ()
    every = [one for intent in intents for one in intent.suppressions]
    dropped = tuple(one for one in every if not options.policy.counts(one))
    return [
        replace(intent, suppressions=tuple(one for one in intent.suppressions if one not in dropped))
        for intent in intents
    ], dropped


def _informed(packs: tuple[Pack, ...]) -> tuple[Pack, ...]:
    """The packs, with what those that guess take from others."""
    if not any(pack.guesses for pack in packs):
        return packs
    from layoutlint.lint import ranking  # few runs ask for them

    return ranking.placed(packs)


def _with_annotations(
    inputs: Inputs, packs: dict[int, tuple[Pack, ...]], options: Options
) -> tuple[dict[int, tuple[Pack, ...]], list[Intent]]:
    """The packs for each input, with what its structs say themselves."""
    active, intents = dict(packs), []
    for reading in inputs.readings if options.annotations else ():
        if any(struct.annotations for struct in reading.structs):
            from layoutlint.intent.annotations import suppression  # most inputs have none

            active[id(reading)], intent = suppression.beside(reading, packs[id(reading)])
            intents += [] if intent is None else [intent]
        speaking, sure = reading, tuple(pack for pack in packs[id(reading)] if not pack.guesses)
        if sure != packs[id(reading)]:  # guesses look at structs whose own words nobody asks for
            speaking = query.narrowed(reading, _asked(sure, (), None, options))
        active[id(reading)] += tuple(marks_packs(speaking, packs[id(reading)]))
    if inputs.claims is not None:
        for reading in inputs.readings:
            active[id(reading)] += inputs.claims.spoken(reading, packs[id(reading)])
    return active, intents


def _read(paths: tuple[str, ...], wanted: Wanted, embedded: frozenset[str], options: Options) -> Found:
    """The inputs, with the layouts of the build that is judged."""
    if options.randomised is None:
        found = read_inputs(paths, wanted, embedded, options.read)
        if not any(reading.shuffled for reading in found[0]):
            return found
        from layoutlint.lint import random_build

        return random_build.refused(found, embedded, options.read)
    from layoutlint.lint import random_build

    return random_build.read(paths, wanted, embedded, options.read, options.randomised, options.line_size)


def _could_apply(rule: Rule, only: str | None) -> bool:
    return only is None or is_pattern(rule.struct) or Wanted(patterns=(only,)).matches(rule.struct)


def _report(
    readings: list[Reading],
    unread: list[Unread],
    rules: tuple[Rule, ...],
    findings: tuple[Finding, ...],
    options: Options,
    vain: tuple[Finding, ...],
    omitted: tuple[NotCovered, ...],
) -> Report:
    ordered = sorted(findings, key=order)
    coverage = coverage_of(readings, rules, ordered, vain, omitted)
    lacks = {id(finding): unused.noted(finding) for finding in ordered if finding.is_lack}
    ordered = [lacks.get(id(f), f) for f in ordered if options.unused or not f.is_lack]
    told = any(finding.rule.severity is not Severity.NOTE for finding in ordered)
    if readings and not coverage.structs and not told and not options.ignore_missing:
        are_skipped = rules and len(coverage.skipped) == len(rules)
        unread = [*unread, FOR_OTHERS if are_skipped else _NOT_THERE]
    return Report(
        readings=tuple(readings),
        findings=tuple(f for f in ordered if f.verdict.outcome is not Outcome.KEPT),
        kept=tuple(f for f in ordered if f.verdict.outcome is Outcome.KEPT),
        coverage=coverage,
        exit_status=exit_status(ordered, unread, options, omitted),
        unread=tuple(unread),
        rules=rules,
    )


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Each finding once, with all inputs that have it."""
    same_findings: dict[Hashable, list[Finding]] = {}
    for finding in findings:
        struct = finding.struct and replace(finding.struct, origin="", files=())
        same_findings.setdefault((finding.rule, struct, finding.verdict), []).append(finding)
    return [_as_one(same) for same in same_findings.values()]


def _as_one(same: list[Finding]) -> Finding:
    files = dict.fromkeys(file for finding in same for file in (finding.input, *finding.also))
    return replace(same[0], input=next(iter(files)), also=tuple(files)[1:])


def order(finding: Finding) -> tuple[str, int, str, str, str, str]:
    """By what findings are sorted: file, line, struct, rule."""
    place = finding.place
    name = finding.struct.name if finding.struct else finding.rule.struct
    return place.file, place.line or 0, name, finding.rule.id, finding.input, finding.verdict.message
