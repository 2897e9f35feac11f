"""The coverage of a run: which rules judged which structs, and what could not be covered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from layoutlint.judgement.condition import ALWAYS, assumed_conditions
from layoutlint.judgement.finding import Coverage, CoverageGap, Finding, SkippedRule, Unresolved
from layoutlint.judgement.messages import finding_message
from layoutlint.judgement.rule import VARIABLES, Rule
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.lint.options import Selection
from layoutlint.lint.unused import reason_for_no_verdict
from layoutlint.model.reading import Omission
from layoutlint.model.struct_table import StructTable
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.phrases import quantity


def coverage_of(
    inputs: list[JudgedInput],
    rules: tuple[Rule, ...],
    findings: list[Finding],
    unused_intent: tuple[Finding, ...],
    omitted: tuple[CoverageGap, ...],
    hints: Mapping[str, str],
) -> Coverage:
    """Return the coverage of a run; `unused_intent` are findings on declarations that match nothing."""
    judging = {f.rule for f in findings if f.struct is not None}
    reasons = {rule: reason for rule in rules for i in inputs if (reason := i.exclusion(rule.when))}
    structless = [
        r for r in rules if r not in judging | reasons.keys() and r.struct != VARIABLES and not r.guess
    ]
    unresolved = [Unresolved(rule.id, reason_for_no_verdict(rule, inputs, hints)) for rule in structless]
    judged = [f for f in findings if not f.rule.kind.traits.is_built_in]
    unresolved += [Unresolved(f.rule.id, finding_message(f)) for f in judged if f.verdict.is_missing_field]
    unresolved += [
        Unresolved(str(f.rule.source), finding_message(f))
        for f in unused_intent
        if f.verdict.is_missing_field
    ]
    return Coverage(
        rules=len(rules),
        applied=len({f.rule for f in judged if f.verdict.outcome is not Outcome.UNKNOWN}),
        structs=_count_structs(inputs, rules, judged),
        unresolved=tuple(dict.fromkeys(unresolved)),
        skipped=tuple(SkippedRule(r.id, reason) for r, reason in reasons.items() if r not in judging),
        not_covered=omitted,
        overridden=tuple(dict.fromkeys(text for i in inputs for pack in i.packs for text in pack.overridden)),
    )


def _count_structs(inputs: list[JudgedInput], rules: tuple[Rule, ...], findings: list[Finding]) -> int:
    """Return how many structs of the inputs were judged."""
    by_input: dict[str, StructTable[bool]] = {}
    structs = [(finding.input, finding.struct) for finding in findings if finding.struct is not None]
    if any(rule.guess for rule in rules):  # guesses judge every struct of an input
        readings = [judged.reading for judged in inputs]
        structs += [
            ((*struct.files, reading.path)[0], struct)
            for reading in readings
            for struct in reading.structs
            if struct.bit_size is not None or struct.problem
        ]
    for path, struct in structs:
        table = by_input.setdefault(path, StructTable())
        if not table.find(struct):
            table.add(struct, True)
    return sum(map(len, by_input.values()))


def assumption_notes(judged: JudgedInput) -> tuple[str, ...]:
    """Return a note with the conditions of rules that an input does not state; () if it states all.

    They are taken to hold. Rules count if the input has a struct that they name.
    """
    conditions = Counter(
        condition
        for rule in judged.rules
        if rule.when is not ALWAYS and not judged.exclusion(rule.when) and judged.structs.find(rule.struct)
        for condition in assumed_conditions(rule.when, judged.reading)
    )
    texts = [f"{condition} ({quantity(number, 'rule')})" for condition, number in sorted(conditions.items())]
    return (f"conditions that it does not state, taken to hold: {', '.join(texts)}",) if texts else ()


def coverage_gaps(inputs: list[JudgedInput], selection: Selection) -> Iterator[CoverageGap]:
    """Yield the parts of inputs that were not read, with the number of rules that could apply to them."""
    for judged in inputs:
        rules = [
            rule for rule in judged.rules if rule.struct != VARIABLES and judged.exclusion(rule.when) is None
        ]
        for omission in (*judged.reading.omissions, *_unreliable_structs(judged, rules, selection)):
            count = sum(_could_apply(rule, omission, selection) for rule in rules)
            structs = None if omission.structs is None else tuple(sorted(omission.structs))
            yield CoverageGap(judged.reading.path, omission.reason, structs, count)


def _could_apply(rule: Rule, omission: Omission, selection: Selection) -> bool:
    skips_local = rule.guess or rule.kind.traits.compares_definitions
    if omission.is_harmless or (skips_local and not omission.is_shared):
        return False
    if omission.structs is None:
        return selection.may_include(rule.struct)
    named = Wanted(patterns=(rule.struct,))
    return any(selection.has_name(name) and named.matches(name) for name in omission.structs)


def _unreliable_structs(judged: JudgedInput, rules: list[Rule], selection: Selection) -> Iterator[Omission]:
    """Yield the structs that guesses could not judge; other rules report such a struct themselves."""
    if not any(rule.guess for rule in rules):
        return
    selected = [struct for struct in judged.reading.structs if selection.has(struct)]
    unreliable = [s for s in selected if s.problem is not None and not s.omits_members]
    if unreliable:
        names = frozenset(struct.name for struct in unreliable)
        yield Omission(_unreliable_reason(unreliable, len(selected)), names)


def _unreliable_reason(structs: list[Struct], total: int) -> str:
    count = f"{len(structs):,} of {quantity(total, 'struct')} could not be judged"
    return f"{count}, because their layouts are unreliable: {structs[0].problem}"
