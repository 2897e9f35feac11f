"""What the rules of a run were applied to."""

from __future__ import annotations

from layoutlint.model import Reading
from layoutlint.rule import UNUSED, VARIABLES, Coverage, Finding, Outcome, Rule
from layoutlint.unused import nothing
from layoutlint.when import excluded


def coverage_of(
    readings: list[Reading], rules: tuple[Rule, ...], findings: list[Finding], vain: tuple[Finding, ...]
) -> Coverage:
    """What the rules of a run were applied to; `vain` is what is said of fields that are not there."""
    found = {f.rule for f in findings if f.struct is not None}
    skipped = {rule: reason for rule in rules for r in readings if (reason := excluded(rule.when, r))}
    lacking = [r for r in rules if r not in found | skipped.keys() and r.struct != VARIABLES and not r.guess]
    unresolved = [f"{rule.id}: {nothing(rule, readings)}" for rule in lacking]
    judged = [f for f in findings if f.rule.kind.name != UNUSED]
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
    )
