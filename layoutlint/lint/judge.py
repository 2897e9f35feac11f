"""Rules judged on structs: a verdict over all placements and possible alignments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from layoutlint.errors import RuleFileError, UsageError
from layoutlint.geometry.layout import Layout, shared
from layoutlint.geometry.placement import Placements
from layoutlint.judgement.condition import excluded
from layoutlint.judgement.context import CannotTell, Context, NoSuchField, Unconcerned
from layoutlint.judgement.finding import Finding
from layoutlint.judgement.lookup import Structs
from layoutlint.judgement.rule import VARIABLES, Pack, Rule
from layoutlint.judgement.verdict import Outcome, Verdict, unknown
from layoutlint.lint import open_alignments
from layoutlint.lint.embedding import Surroundings
from layoutlint.lint.open_alignments import Verdicts
from layoutlint.lint.options import Options
from layoutlint.lint.placing import Where, Wheres
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import Reading
from layoutlint.model.structs import Struct
from layoutlint.phrases import some_of

_MOST_JUDGED = 2_000_000
"""Findings of one run, each of about 1 KB; the guesses on a kernel are 100,000."""


def judge_all(
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
            from layoutlint.lint import variables  # few rules are about those

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
        from layoutlint.lint import surroundings  # few rules are about that

        for found in surroundings.judged(rule, struct, reading, where, _verdict):
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
            from layoutlint.lint import every_order

            return every_order.verdict(rule, struct, shape, where)
        verdicts = _of_alignments(rule, shared(struct), where, check, False)
        if not _agreed(rule, verdicts):
            layout = shared(where.surroundings.settled(struct))
            verdicts = _of_alignments(rule, layout, where, check, True)
    except CannotTell as error:
        return _untold(rule, error)
    return _agreed(rule, verdicts) or open_alignments.verdict(struct, verdicts)


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
        verdict = _of_places(verdict, check, context)
    if verdict.outcome is Outcome.AT_RISK and len(verdict.bases) <= rule.tolerate * verdict.total:
        message = f"{verdict.message}; the rule tolerates {rule.tolerate:.1%} of the placements"
        return replace(verdict, outcome=Outcome.KEPT, message=message, advice="")
    return verdict


def _of_places(verdict: Verdict, check: Callable[[Context], Verdict], context: Context) -> Verdict:
    """A verdict with the reason for its bases, and the places in which the rule fails.

    What fails at a base in one place can hold at the same base in another, where nothing stands beside the
    object: it is at risk then, and not broken.
    """
    parts = context.placements.parts
    is_placed = context.storage is not None
    if not any(part.rows for part in parts):
        return replace(verdict, basis=context.placements.basis(verdict.bases), is_placed=is_placed)
    bases = [_violating(part, check, context) for part in parts]
    failing = tuple(part for part, found in zip(parts, bases, strict=True) if found)
    outcome = verdict.outcome
    if outcome is Outcome.BROKEN and any(p.bases != b for p, b in zip(parts, bases, strict=True)):
        outcome = Outcome.AT_RISK
    basis = context.placements.basis(verdict.bases, failing)
    return replace(verdict, outcome=outcome, basis=basis, is_placed=is_placed)


def _violating(part: Placements, check: Callable[[Context], Verdict], context: Context) -> tuple[int, ...]:
    try:
        return check(replace(context, placements=part)).bases
    except CannotTell:  # nothing stands beside it there
        return ()


def _untold(rule: Rule, error: CannotTell) -> Verdict:
    """Unknown; of one of many structs, nothing where the rule speaks of what it has none of."""
    verdict = unknown(str(error), isinstance(error, NoSuchField))
    return replace(verdict, is_passed_over=isinstance(error, Unconcerned) and is_pattern(rule.struct))
