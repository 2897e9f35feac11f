"""Unused intent: rules that judged nothing, and declarations for missing fields and structs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, ClassVar

from layoutlint.errors import did_you_mean
from layoutlint.geometry.field_types import TYPE, Finder
from layoutlint.geometry.layout import Layout
from layoutlint.intent.toml import shipped_rules
from layoutlint.judgement.context import Access, CannotTell, Context
from layoutlint.judgement.finding import Finding, SuppressionUse
from layoutlint.judgement.rule import (
    SNAPSHOT,
    UNUSED,
    VARIABLES,
    Example,
    Key,
    Manual,
    Rule,
    Severity,
    StructIntent,
    Traits,
)
from layoutlint.judgement.verdict import Outcome, Verdict, judge_once, unknown
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.model.paths import is_pattern
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Source
from layoutlint.model.wanted import Wanted

if TYPE_CHECKING:
    from layoutlint.intent.annotations.rules import Intent, Suppression

_NO_STRUCT = "(none)"
_MOST_COMPARED = 20_000
"""The most pairs of names that are compared; a pair takes some 20 us."""
_BREAKS = """\
struct ring {
    long head;      /* layoutlint: hot-write */
    long size[8];   /* layoutlint: ignore[ring/access] one side at a time */
    long tail;      /* layoutlint: hot-read */
};
"""
_KEEPS = """\
struct ring {
    long head;      /* layoutlint: hot-write */
    /* layoutlint: ignore[ring/access] one side at a time */
    long tail;      /* layoutlint: hot-read */
};
"""


class UnusedIntent(Record, frozen=True):
    """What is written about a struct matches something. Runs check this without a rule."""

    name: ClassVar[str] = UNUSED
    traits: ClassVar[Traits] = Traits(is_built_in=True)
    summary: ClassVar[str] = "what is written about a struct matches something"
    keys: ClassVar[tuple[Key, ...]] = ()
    manual: ClassVar[Manual] = Manual(
        "Every run looks for these, without a rule:\n"
        "\n"
        "- a suppression whose rule was judged there and needs none, or that names no rule; not one of a\n"
        "  rule that this run leaves out;\n"
        "- an annotation in a comment at no field and no struct;\n"
        "- a declared access of a field that no definition of its struct has;\n"
        "- a table `[struct.NAME]` without a rule, where a rule is on a struct with a similar name;\n"
        "- one with `placement`, `array` or `fields` in a file without a rule on the struct, where a rule\n"
        "  in another file is on it: a table counts for the rules of its own file.\n"
        "\n"
        "The findings are notes. With `--unused` they are warnings, which fail the run.",
        "Move it to the place that it is about, spell the field as the struct does now, or remove it: an\n"
        "unnecessary suppression hides the next finding.",
        "",
        Example(_BREAKS, Outcome.BROKEN, "`ignore[ring/access]` at `size` of ring suppresses no finding"),
        Example(_KEEPS, Outcome.KEPT, "no finding: the suppression has an effect"),
    )

    subject: str
    """The sort of intent: a suppression, an annotation, a declared access, a table."""

    def check(self, context: Context) -> Verdict:
        """Raise CannotTell: no struct is judged by this kind."""
        raise CannotTell(f"{self.subject} of {context.layout.struct.name} that matches nothing")


def find_unused_rules(
    rules: tuple[Rule, ...],
    findings: list[Finding],
    inputs: list[JudgedInput],
    everything: bool,
    hints: Mapping[str, str],
) -> Iterator[Finding]:
    """Yield a finding for each rule that judged no struct; `hints` end the messages on missing structs.

    Shipped rules, and rules whose `when` holds for no input, count only with `everything`.
    """
    judging = {finding.rule for finding in findings}
    elsewhere = frozenset[str]().union(*(judged.reading.elsewhere or () for judged in inputs))
    for rule in rules:
        reasons = [judged.exclusion(rule.when) for judged in inputs]
        is_excluded = all(reasons)
        if rule in judging or not reasons or ((rule.shipped or is_excluded) and not everything):
            continue
        if any(fnmatchcase(name, rule.struct) for name in elsewhere):
            continue
        why = reason_for_no_verdict(rule, inputs, hints)
        if is_excluded:
            why = f"its `when` holds in none of the inputs: {'; '.join(dict.fromkeys(filter(None, reasons)))}"
        yield Finding(rule, None, unknown(why), "", is_lack=rule.shipped)


def find_missing_structs(
    required: Iterable[tuple[Rule, str]], findings: list[Finding], inputs: list[JudgedInput]
) -> list[Finding]:
    """Return a finding for each rule that a change requires to judge a struct, and that judged none.

    Each rule has a reason; an empty one is replaced by what the inputs show.
    """
    judging = {finding.rule.id for finding in findings}
    missing = []
    for rule, reason in required:
        is_excluded = bool(inputs) and all(judged.exclusion(rule.when) for judged in inputs)
        if rule.id not in judging and not is_excluded:
            verdict = unknown(reason or reason_for_no_verdict(rule, inputs, {}))
            missing.append(Finding(rule, None, verdict, ""))
    return missing


def reason_for_no_verdict(rule: Rule, inputs: list[JudgedInput], hints: Mapping[str, str]) -> str:
    """Return why a rule judged nothing: no input has its struct, or no struct has the fields it is about."""
    matches = is_pattern(rule.struct) and sum(
        struct.bit_size is not None and struct.matches(rule.struct)
        for judged in inputs
        if not judged.exclusion(rule.when)
        for struct in judged.reading.structs
    )
    if matches:
        return f"none of the {matches:,} structs that match `{rule.struct}` has what the rule is about"
    verb = "are" if rule.struct == VARIABLES else "is"
    return f"{rule.subject} {verb} in none of the inputs{hints.get(rule.struct, '')}"


def find_unused_intent(
    inputs: list[JudgedInput], idle: Iterable[Suppression], findings: Iterable[Finding]
) -> Iterator[Finding]:
    """Yield a note for each declared access and annotation without a field, each table of a misspelt struct,
    and each unused suppression.

    `idle` are the suppressions that suppress none of the findings, kept ones included.
    """
    yield from _unused_accesses(inputs)
    yield from _misspelt_structs(inputs)
    yield from _tables_apart_from_rules(inputs)
    yield from _stray_annotations(inputs)
    for suppression in _unused_suppressions(idle, findings, inputs):
        text = f"ignore[{', '.join(suppression.ignored.rules)}]"
        at = f"`{suppression.path}` of {suppression.struct}" if suppression.path else suppression.struct
        message = f"`{text}` at {at} suppresses no finding"
        verdict = judge_once(False, message, (), "remove it: it would hide the next finding")
        yield _finding("suppression", suppression.struct, text, suppression.source, verdict)


def _unused_suppressions(
    idle: Iterable[Suppression], findings: Iterable[Finding], inputs: list[JudgedInput]
) -> Iterator[Suppression]:
    """Yield the suppressions that are unnecessary or name no rule; not those of rules that the run omits."""
    rules = _RunRules(findings, inputs)
    return (each for each in dict.fromkeys(idle) if not rules.doubt(each, everything=True))


def suppression_uses(
    intents: Iterable[Intent],
    idle: Iterable[Suppression],
    findings: Iterable[Finding],
    inputs: list[JudgedInput],
    everything: bool,
) -> Iterator[SuppressionUse]:
    """Yield every suppression of some intents, with whether the run shows that nothing needs it.

    With `everything`, a rule that is none of the run's does not exist.
    """
    unneeded, rules = frozenset(idle), _RunRules(findings, inputs)
    for suppression in (suppression for intent in intents for suppression in intent.suppressions):
        text = f"ignore[{', '.join(suppression.ignored.rules)}]"
        if suppression in unneeded:
            yield SuppressionUse(suppression.source, text, False, rules.doubt(suppression, everything))
        else:
            yield SuppressionUse(suppression.source, text, True)


class _RunRules:
    """The rules of a run: those judged on each struct, with or without a result, and all others."""

    def __init__(self, findings: Iterable[Finding], inputs: list[JudgedInput]) -> None:
        self._known: dict[str, set[str]] = {}
        self._unknown: dict[str, set[str]] = {}
        for finding in findings:
            if finding.struct is not None:
                is_unknown = finding.verdict.outcome is Outcome.UNKNOWN
                by_struct = self._unknown if is_unknown else self._known
                by_struct.setdefault(finding.struct.name, set()).add(finding.rule.id)
        self._applied = {rule.id for judged in inputs for rule in judged.rules}

    def doubt(self, suppression: Suppression, everything: bool) -> str:
        """Return why nothing shows that an idle suppression is unnecessary; empty if it is."""
        doubts = (self._doubt(rule, suppression.struct, everything) for rule in suppression.ignored.rules)
        return next(filter(None, doubts), "")

    def _doubt(self, rule: str, struct: str, everything: bool) -> str:
        matches = Wanted(patterns=(rule,)).matches
        if any(map(matches, self._unknown.get(struct, ()))):
            return f"`{rule}` could not be judged on {struct}"
        if any(map(matches, self._known.get(struct, ()))):
            return ""
        if any(map(matches, self._applied)):
            return f"`{rule}` did not judge {struct}"
        shipped = (each.id for pack in shipped_rules.shipped_packs() for each in pack.rules)
        if matches(f"{SNAPSHOT}/{struct}") or any(map(matches, shipped)):
            return f"`{rule}` is not among the rules of this run"
        if everything:
            return ""
        near = did_you_mean(rule, self._applied)
        return f"no rule of this run is called `{rule}`{near}; --unused --fix removes it"


def as_note(finding: Finding) -> Finding:
    """Return a finding as a note, which does not change the exit status: users cannot fix a kernel."""
    return replace(finding, rule=replace(finding.rule, severity=Severity.NOTE))


def as_warning(finding: Finding) -> Finding:
    """Return a finding as a warning, which changes the exit status."""
    return replace(finding, rule=replace(finding.rule, severity=Severity.WARNING))


def rules_used_in_some_build(builds: list[tuple[Finding, ...]]) -> set[Rule]:
    """Return the rules of findings on unused intent that some builds have and others do not."""
    unused = [{f.rule for f in findings if f.rule.kind.traits.is_built_in} for findings in builds]
    return set[Rule]().union(*unused) - set[Rule].intersection(*unused) if unused else set()


def _finding(subject: str, struct: str, text: str, source: Source, verdict: Verdict) -> Finding:
    why = "nothing checks it, and its author expects that something does"
    rule = Rule(
        f"unused/{struct}/{text}", struct, UnusedIntent(subject), Severity.NOTE, why, source, by=subject
    )
    return Finding(rule, None, verdict, "")


def _stray_annotations(inputs: list[JudgedInput]) -> Iterator[Finding]:
    """Yield the annotations in comments that are attached to no field and no struct of any input."""
    readings = [judged.reading for judged in inputs]
    annotations = [a for reading in readings for struct in reading.structs for a in struct.annotations]
    attached = {(each.source, path) for each in annotations for path in ("", each.path)}
    for stray in dict.fromkeys(stray for reading in readings for stray in reading.strays):
        if (stray.source, stray.path) in attached:
            continue
        at = f"no field of struct {stray.struct}" if stray.struct else "no struct and no field"
        if stray.path:
            at = f"`{stray.path}`, which struct {stray.struct} does not have"
        advice = "move it to the declaration that it is about, or remove it"
        verdict = judge_once(False, f"`{stray.text}` is attached to {at}", (), advice)
        yield _finding("annotation", stray.struct or _NO_STRUCT, stray.text, stray.source, verdict)


def _unused_accesses(inputs: list[JudgedInput]) -> Iterator[Finding]:
    """Yield the accesses declared for missing fields; not those of shipped packs, since kernels differ."""
    missing: dict[tuple[str, Access], list[Layout]] = {}
    used: set[tuple[str, Access]] = set()
    for judged in inputs:
        intents = (intent for pack in judged.packs if not pack.shipped for intent in pack.structs)
        for intent in (intent for intent in intents if not judged.exclusion(intent.when)):
            structs = [] if is_pattern(intent.struct) else judged.structs.find(intent.struct)
            layouts = [Layout(struct) for struct in structs if struct.bit_size and not struct.problem]
            for access in intent.accesses if layouts else ():
                if any(_has_field(layout, access.path) for layout in layouts):
                    used.add((intent.struct, access))
                else:
                    missing.setdefault((intent.struct, access), []).extend(layouts)
    for (name, access), layouts in missing.items():
        if (name, access) not in used and access.source is not None and not access.is_optional:
            fields = {
                place.path for layout in layouts for place in layout.walk_fields(access.path.count("."))
            }
            message = f"struct {name} has no field `{access.path}`{did_you_mean(access.path, fields)}"
            advice = "correct the name of the field, or remove the declaration"
            verdict = replace(judge_once(False, message, (), advice), is_missing_field=True)
            yield _finding("access", name, access.path, access.source, verdict)


def _misspelt_structs(inputs: list[JudgedInput]) -> Iterator[Finding]:
    """Yield the tables of structs without a rule, where a rule is on one with a similar name and no table.

    Not those of structs that an input is known to have: others are not looked for.
    """
    misspelt: dict[StructIntent, str] = {}
    known: set[str] = set()
    for judged in inputs:
        packs = [pack for pack in judged.packs if not pack.shipped]
        intents = [intent for pack in packs for intent in pack.structs if not is_pattern(intent.struct)]
        tables = {intent.struct for intent in intents}
        ruled = {rule.struct for rule in judged.rules}
        present = {name for name in ruled - tables if not is_pattern(name) and judged.structs.find(name)}
        others = [intent for intent in intents if intent.struct not in ruled]
        if len(others) * len(present) > _MOST_COMPARED:
            return
        for intent in others:
            if judged.structs.find(intent.struct):
                known.add(intent.struct)
            elif hint := did_you_mean(intent.struct, present):
                misspelt[intent] = hint
    for intent, hint in misspelt.items():
        if intent.struct not in known:
            message = f"no rule is on struct {intent.struct}{hint}"
            verdict = judge_once(False, message, (), "correct the name of the struct, or remove the table")
            yield _finding("table", intent.struct, "table", intent.source, verdict)


def _tables_apart_from_rules(inputs: list[JudgedInput]) -> Iterator[Finding]:
    """Yield the tables of structs whose rules are all in other files, for which a table does not count."""
    apart: dict[StructIntent, Rule] = {}
    for judged in inputs:
        # Comments count for all rules, and all tables for their rules.
        packs = [pack for pack in judged.packs if not pack.shipped and pack.path.endswith(".toml")]
        ruled = [{rule.struct: rule for rule in pack.rules} for pack in packs]
        for pack, own in zip(packs, ruled, strict=True):
            has_patterns = any(map(is_pattern, own))
            for intent in () if has_patterns else pack.structs:
                is_used = intent.placement is not None or intent.accesses
                other = next((rules[intent.struct] for rules in ruled if intent.struct in rules), None)
                if is_used and other is not None and intent.struct not in own:
                    apart[intent] = other
    for intent, rule in apart.items():
        at = f"`{rule.id}` is at {rule.source}"
        message = f"the table of struct {intent.struct} counts for rules of its own file, and {at}"
        verdict = judge_once(False, message, (), "move the table to the file of the rule")
        yield _finding("table", intent.struct, "table of other rules", intent.source, verdict)


def _has_field(layout: Layout, path: str) -> bool:
    """Return whether a struct has a field that a path refers to, or a field of its type."""
    if path.startswith(TYPE):
        return any(True for _ in Finder().find_fields(layout, (path,)))
    return bool(layout.match(path))
