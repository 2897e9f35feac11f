"""What the rules of a run were applied to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from layoutlint.judgement.condition import ALWAYS, assumed, excluded
from layoutlint.judgement.finding import Coverage, Finding, NotCovered
from layoutlint.judgement.lookup import Structs
from layoutlint.judgement.rule import VARIABLES, Pack, Rule
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint.unused import nothing
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import Omission, Reading
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.phrases import counted


def coverage_of(
    readings: list[Reading],
    rules: tuple[Rule, ...],
    findings: list[Finding],
    vain: tuple[Finding, ...],
    not_covered: tuple[NotCovered, ...],
) -> Coverage:
    """Return what the rules of a run were applied to; `vain` are declarations for missing fields."""
    found = {f.rule for f in findings if f.struct is not None}
    skipped = {rule: reason for rule in rules for r in readings if (reason := excluded(rule.when, r))}
    lacking = [r for r in rules if r not in found | skipped.keys() and r.struct != VARIABLES and not r.guess]
    unresolved = [f"{rule.id}: {nothing(rule, readings)}" for rule in lacking]
    judged = [f for f in findings if not f.rule.kind.traits.is_built_in]
    unresolved += [f"{f.rule.id}: {f.verdict.message}" for f in judged if f.verdict.is_missing_field]
    structs = {id(f.struct) for f in judged if f.struct is not None}
    if any(rule.guess for rule in rules):  # which look at all there are
        structs |= {id(s) for r in readings for s in r.structs if s.bit_size is not None or s.problem}
    unresolved += [f"{f.rule.source}: {f.verdict.message}" for f in vain if f.verdict.is_missing_field]
    return Coverage(
        rules=len(rules),
        applied=len({f.rule for f in judged if f.verdict.outcome is not Outcome.UNKNOWN}),
        structs=len(structs),
        unresolved=tuple(dict.fromkeys(unresolved)),
        skipped=tuple(f"{rule.id}: {reason}" for rule, reason in skipped.items() if rule not in found),
        not_covered=not_covered,
    )


def assumptions(reading: Reading, rules: Iterable[Rule]) -> tuple[str, ...]:
    """Return a note with the conditions of rules that an input does not state; () where it states all.

    They are taken to hold. Rules count if the input has a struct that they name.
    """
    structs = Structs(reading.structs)
    conditions = Counter(
        condition
        for rule in rules
        if rule.when is not ALWAYS and not excluded(rule.when, reading) and structs.answering(rule.struct)
        for condition in assumed(rule.when, reading)
    )
    named = [f"{condition} ({counted(number, 'rule')})" for condition, number in sorted(conditions.items())]
    return (f"conditions that it does not state, taken to hold: {', '.join(named)}",) if named else ()


def not_covered(
    readings: list[Reading], packs: Mapping[int, tuple[Pack, ...]], only: str | None
) -> Iterator[NotCovered]:
    """Yield the parts of the readings that were not looked at, with the number of rules that could apply.

    `packs` are those of each reading, by its identity; `only` is the struct or pattern that is judged.
    """
    for reading in readings:
        rules = [rule for pack in packs[id(reading)] for rule in pack.rules if rule.struct != VARIABLES]
        rules = [rule for rule in rules if excluded(rule.when, reading) is None]
        for omission in (*reading.omissions, *_unsound(reading, rules, only)):
            count = sum(_could_apply(rule, omission, only) for rule in rules)
            structs = None if omission.structs is None else tuple(sorted(omission.structs))
            yield NotCovered(reading.path, omission.reason, structs, count)


def _could_apply(rule: Rule, omission: Omission, only: str | None) -> bool:
    if omission.is_harmless or (rule.guess and not omission.is_shared):
        return False
    asked, ruled = Wanted(patterns=(only or "*",)), Wanted(patterns=(rule.struct,))
    if omission.structs is None:
        return only is None or is_pattern(rule.struct) or asked.matches(rule.struct)
    return any(asked.matches(name) and ruled.matches(name) for name in omission.structs)


def _unsound(reading: Reading, rules: list[Rule], only: str | None) -> Iterator[Omission]:
    """Yield what guesses could not judge; other rules report such a struct themselves."""
    if not any(rule.guess for rule in rules):
        return
    asked = [s for s in reading.structs if only is None or s.answers_to(only)]
    # A union whose members a compiler leaves out (losses.py) has nothing for guesses to look at.
    unsound = [s for s in asked if s.problem is not None and (s.fields or s.aggregate == "struct")]
    if unsound:
        yield Omission(_why_unsound(unsound, len(asked)), frozenset(struct.name for struct in unsound))


def _why_unsound(unsound: list[Struct], total: int) -> str:
    count = f"{len(unsound):,} of {counted(total, 'struct')} could not be judged"
    return f"{count}, because their layouts are unreliable: {unsound[0].problem}"
