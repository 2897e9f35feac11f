"""The product on one page: inputs are read, rules are applied to structs, and a Report comes out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from layoutlint import alike, asked, of_places, placed, undecided, unused
from layoutlint.context import Unconcerned
from layoutlint.coverage import NotCovered
from layoutlint.covered import assumptions, coverage_of, not_covered
from layoutlint.errors import RuleFileError, UsageError
from layoutlint.intent import said
from layoutlint.layout import Layout, is_pattern
from layoutlint.model import Reading, ReadOptions, Struct, Unread, Version, Wanted, some_of
from layoutlint.named import Structs
from layoutlint.placed import Surroundings, Where, Wheres
from layoutlint.rule import (
    VARIABLES,
    CannotTell,
    Context,
    Finding,
    NoSuchField,
    Outcome,
    Pack,
    Report,
    Rule,
    Severity,
    Verdict,
    unknown,
)
from layoutlint.undecided import Verdicts
from layoutlint.when import excluded

if TYPE_CHECKING:
    from layoutlint.intent.claims import Claims
    from layoutlint.intent.pack import Intent, Suppression
    from layoutlint.randstruct import Randomisation

_MOST_JUDGED = 2_000_000
"""Findings of one run, each of about 1 KB; the guesses on a kernel are 100,000."""


class Policy(Protocol):
    """What a change cannot edit: the suppressions of a base commit."""

    def counts(self, one: Suppression) -> bool:
        """Return whether a suppression counts."""
        ...

    def sentences(self, dropped: tuple[Suppression, ...]) -> tuple[str, ...]:
        """Return what the report says of the policy; `dropped` are suppressions that do not count."""
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """What a run is asked to do besides its inputs and packs."""

    only: str | None = None
    """Judge only structs that this name or pattern means."""
    fail_on: Outcome = Outcome.AT_RISK
    """The mildest outcome that makes the run fail: at-risk or broken."""
    line_size: int | None = None
    min_align: int | None = None
    allow_unknown: bool = False
    ignore_missing: bool = False
    """A struct that no input defines is passed over (for runs on a few changed files)."""
    unused: bool = False
    """A rule that judges nothing is a finding also where it is shipped, or its `when` leaves it out."""
    read: ReadOptions = field(default_factory=ReadOptions)
    annotations: bool = False
    """Whether what the inputs say themselves of their structs counts."""
    comments: bool = False
    """Whether what comments claim about cache lines is judged."""
    randomised: Randomisation | None = None
    """How the build randomises layouts; None where nothing is said."""
    kernel: Version | None = None
    """The version of the kernels among the inputs that do not tell theirs."""
    suppressions: bool = True
    """Whether `ignore[...]` suppresses findings."""
    policy: Policy | None = None
    """What decides which suppressions count; None where all do."""
    guesses: int = 10
    """How many notes of packs that guess are in the report."""


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
    names = placed.embedded(packs + kernel_packs)
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
    return asked.of_run(packs, kernel_packs, options.only, headers, options.annotations, options.read.sources)


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
    judged = _all_judged(readings, active, options, around)
    assumed = [assumptions(r, [rule for pack in active[id(r)] for rule in pack.rules]) for r in readings]
    idle: list[Suppression] = []
    dropped: tuple[Suppression, ...] = ()
    if intents:
        from layoutlint.intent import taken

        counting, dropped = _counting(intents, options)
        judged, idle = taken.suppressed(judged, counting)
    if len(readings) > 1:
        judged = alike.merged(judged)
    findings = tuple(judged)
    if not options.ignore_missing:
        findings += tuple(unused.rules(rules, judged, readings, options.unused))
    vain = tuple(unused.words(readings, active, idle, judged))
    findings += tuple(map(unused.counted, vain)) if options.unused else vain
    stale = [one for r in readings for one in inputs.claims.stale(r)] if inputs.claims else []
    applied = {pack: None for r in readings for pack in active[id(r)]}
    omitted = tuple(not_covered(readings, active, options.only))
    if options.read.sources or any(reading.reader == "clang" for reading in readings):
        from layoutlint import proposals

        folders = options.read.sources
        readings = proposals.noted(readings, active, folders, options.line_size, options.min_align)
    found = _report(readings, [*inputs.unread, *stale], rules, findings, options, vain, omitted)
    noted = (replace(r, notes=(*r.notes, *notes)) for r, notes in zip(found.readings, assumed, strict=True))
    found = replace(found, readings=tuple(noted))
    if options.policy is not None:
        said = options.policy.sentences(dropped)
        found = replace(found, coverage=replace(found.coverage, policy=said))
    if any(rule.guess for rule in rules):
        from layoutlint import guesses

        return guesses.ranked(found, applied, options.guesses)
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
    from layoutlint import guesses  # few runs ask for them

    return guesses.placed(packs)


def _with_annotations(
    inputs: Inputs, packs: dict[int, tuple[Pack, ...]], options: Options
) -> tuple[dict[int, tuple[Pack, ...]], list[Intent]]:
    """The packs for each input, with what its structs say themselves."""
    active, intents = dict(packs), []
    for reading in inputs.readings if options.annotations else ():
        if any(struct.annotations for struct in reading.structs):
            from layoutlint.intent import taken  # most inputs have none

            active[id(reading)], intent = taken.beside(reading, packs[id(reading)])
            intents += [] if intent is None else [intent]
        speaking, sure = reading, tuple(pack for pack in packs[id(reading)] if not pack.guesses)
        if sure != packs[id(reading)]:  # guesses look at structs whose own words nobody asks for
            speaking = asked.narrowed(reading, _asked(sure, (), None, options))
        active[id(reading)] += tuple(said.spoken(speaking, packs[id(reading)]))
    if inputs.claims is not None:
        for reading in inputs.readings:
            active[id(reading)] += inputs.claims.spoken(reading, packs[id(reading)])
    return active, intents


def _read(paths: tuple[str, ...], wanted: Wanted, embedded: frozenset[str], options: Options) -> placed.Found:
    """The inputs, with the layouts of the build that is judged."""
    if options.randomised is None:
        found = placed.read(paths, wanted, embedded, options.read)
        if not any(reading.shuffled for reading in found[0]):
            return found
        from layoutlint import randomised

        return randomised.refused(found, embedded, options.read)
    from layoutlint import randomised

    return randomised.read(paths, wanted, embedded, options.read, options.randomised, options.line_size)


def _all_judged(
    readings: Sequence[Reading], active: dict[int, tuple[Pack, ...]], options: Options, around: Surroundings
) -> list[Finding]:
    """All inputs by all of their packs; raises RuleFileError with all mistakes that only the inputs show.

    Raises UsageError for too many findings, those that are kept among them.
    """
    mistakes: list[str] = []
    defined = frozenset(s.name for r in readings for s in r.structs if not _only_declared(s))
    told = ((reading, pack) for reading in readings for pack in active[id(reading)])
    every = (f for reading, pack in told for f in judge(reading, pack, options, defined, around, mistakes))
    found = list(islice(every, _MOST_JUDGED + 1))
    if len(found) > _MOST_JUDGED:
        many = f"rules with patterns judge structs more than {_MOST_JUDGED:,} times"
        raise UsageError(f"{many}; write narrower patterns, or choose structs with --struct")
    if mistakes:
        raise RuleFileError(tuple(dict.fromkeys(mistakes)))
    return found


def judge(
    reading: Reading,
    pack: Pack,
    options: Options,
    defined: frozenset[str] = frozenset(),
    around: Surroundings | None = None,
    mistakes: list[str] | None = None,
) -> Iterator[Finding]:
    """Every rule of a pack on every definition of its struct in one input; nothing where there is none.

    `defined` are the structs that some input defines; elsewhere their declarations are passed over. `around`
    is what can embed structs. To `mistakes` those of the rule file are added; they are raised without it.
    """
    wheres = Wheres(pack, reading, around or Surroundings(), options.line_size, options.min_align)
    known = Structs(reading.structs)
    for rule in pack.rules:
        if excluded(rule.when, reading):
            continue
        if rule.struct == VARIABLES:
            from layoutlint import variables  # few rules are about those

            yield from variables.judged(rule, reading, pack, options.line_size, _judged)
            continue
        lenient = rule.shipped or options.ignore_missing
        structs = [s for s in known.answering(rule.struct) if _is_asked(s, options.only)]
        structs = [s for s in structs if not (_only_declared(s) and (lenient or s.name in defined))]
        definitions = Counter(s.name for s in structs)
        for struct in structs:
            try:
                yield from _judged_struct(
                    rule, struct, reading, wheres.of(rule), definitions[struct.name] > 1
                )
            except RuleFileError as error:
                if mistakes is None:
                    raise
                mistakes += error.messages


def _judged_struct(
    rule: Rule, struct: Struct, reading: Reading, where: Where, has_namesakes: bool
) -> Iterator[Finding]:
    """A rule on one definition of a struct, or in each of its containers."""
    may_lack = rule.shipped and reading.is_kernel
    if rule.around:
        from layoutlint import around as surrounded  # few rules are about that

        for found in surrounded.judged(rule, struct, reading, where, _verdict):
            yield replace(found, is_lack=may_lack and found.verdict.is_missing_field)
        return
    verdict = _verdict(rule, struct, where)
    if verdict.is_passed_over:
        return
    if has_namesakes:
        verdict = replace(verdict, message=f"{verdict.message} (the definition {_which(struct)})")
    first, *also = struct.files or (reading.path,)
    is_lack = may_lack and verdict.is_missing_field
    yield Finding(rule, struct, verdict, first, tuple(also), is_lack=is_lack)


def _is_asked(struct: Struct, only: str | None) -> bool:
    return only is None or struct.answers_to(only)


def _only_declared(struct: Struct) -> bool:
    return struct.bit_size is None and struct.problem is None


def _which(struct: Struct) -> str:
    """Tells one definition of a name from the others."""
    at = f"at {struct.source}" if struct.source else f"of {(struct.bit_size or 0) // 8} bytes"
    place = some_of(struct.files) if len(struct.files) > 1 else struct.origin
    return f"{at} in {place}" if place else at


Check = Callable[[Context], Verdict]


def _verdict(rule: Rule, struct: Struct, where: Where, check: Check | None = None) -> Verdict:
    """The verdict over all placements; `check` is what the kind says of it in some, if something else."""
    if struct.problem is not None:
        return unknown(f"the layout of {struct.name} cannot be told: {struct.problem}")
    if struct.bit_size is None:
        return unknown(f"{struct.aggregate} {struct.name} is declared but not defined")
    check = check or rule.kind.check
    try:
        shape = where.surroundings.shape(struct)
        if shape is not None:
            from layoutlint import every_order

            return every_order.verdict(rule, struct, shape, where)
        verdicts = _of_alignments(rule, Layout(struct), where, check, False)
        if not _agreed(rule, verdicts):
            layout = Layout(where.surroundings.settled(struct))
            verdicts = _of_alignments(rule, layout, where, check, True)
    except CannotTell as error:
        return _untold(rule, error)
    return _agreed(rule, verdicts) or undecided.verdict(struct, verdicts)


def _of_alignments(rule: Rule, layout: Layout, where: Where, check: Check, is_settled: bool) -> Verdicts:
    """Return the verdict for each alignment that makes a difference, the likeliest first.

    Raises CannotTell.
    """
    cases = where.cases(layout, is_settled)
    is_one_of_many = is_pattern(rule.struct)
    verdicts = []
    for case in cases:
        # Kinds can look at the alignment itself, of which a case has one at least.
        own = layout if len(cases) == 1 or not case.aligns else layout.aligned_to(case.aligns[-1])
        verdicts.append((case, _judged(rule, check, where.context(own, case.placements, is_one_of_many))))
    return verdicts


def _agreed(rule: Rule, verdicts: Verdicts) -> Verdict | None:
    """Return the verdict in which all alignments agree; None where they do not."""
    outcomes = {verdict.outcome for _, verdict in verdicts}
    if len(outcomes) == 1:
        return verdicts[0][1]
    if rule.guess and outcomes == {Outcome.BROKEN, Outcome.AT_RISK}:  # a note either way
        return next(verdict for _, verdict in verdicts if verdict.outcome is Outcome.AT_RISK)
    return None


def _judged(rule: Rule, check: Check, context: Context) -> Verdict:
    """The verdict for one set of placements."""
    try:
        verdict = check(context)
    except CannotTell as error:
        return _untold(rule, error)
    if verdict.total:
        verdict = of_places.told(verdict, check, context)
    if verdict.outcome is Outcome.AT_RISK and len(verdict.bases) <= rule.tolerate * verdict.total:
        message = f"{verdict.message}; the rule tolerates {rule.tolerate:.1%} of the placements"
        return replace(verdict, outcome=Outcome.KEPT, message=message, advice="")
    return verdict


def _untold(rule: Rule, error: CannotTell) -> Verdict:
    """Unknown; of one of many structs, nothing where the rule speaks of what it has none of."""
    verdict = unknown(str(error), isinstance(error, NoSuchField))
    return replace(verdict, is_passed_over=isinstance(error, Unconcerned) and is_pattern(rule.struct))


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


def order(finding: Finding) -> tuple[str, int, str, str, str, str]:
    """By what findings are sorted: file, line, struct, rule."""
    place = finding.place
    name = finding.struct.name if finding.struct else finding.rule.struct
    return place.file, place.line or 0, name, finding.rule.id, finding.input, finding.verdict.message


def exit_status(
    findings: Iterable[Finding],
    unread: Sequence[Unread],
    options: Options,
    omitted: Iterable[NotCovered] = (),
) -> int:
    """1 for findings, else 3 for what could not be told, else 0 (design of the command line)."""
    counted = [f for f in findings if f.suppressed is None and f.rule.severity is not Severity.NOTE]
    outcomes = {finding.verdict.outcome for finding in counted}
    if Outcome.BROKEN in outcomes or (Outcome.AT_RISK in outcomes and options.fail_on is Outcome.AT_RISK):
        return 1
    is_unknown = Outcome.UNKNOWN in outcomes or unread or any(each.rules for each in omitted)
    if is_unknown and not options.allow_unknown:
        return 3
    return 0
