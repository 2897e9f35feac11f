"""What is said in vain: rules that judge nothing, and what is said of fields that are not there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

from layoutlint.errors import did_you_mean
from layoutlint.geometry.field_types import TYPE, Finder
from layoutlint.geometry.layout import Layout
from layoutlint.intent.toml import rule_file
from layoutlint.judgement.condition import excluded
from layoutlint.judgement.context import Access, CannotTell, Context
from layoutlint.judgement.finding import Finding
from layoutlint.judgement.lookup import Structs
from layoutlint.judgement.rule import UNUSED, Example, Key, Manual, Pack, Rule, Severity, Traits
from layoutlint.judgement.verdict import Outcome, Verdict, settle, unknown
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import Reading
from layoutlint.model.structs import Source, Struct
from layoutlint.model.wanted import Wanted

if TYPE_CHECKING:
    from layoutlint.intent.annotations.rules import Suppression

_NO_STRUCT = "(none)"
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


@dataclass(frozen=True, slots=True)
class Unused:
    """What is written about a struct is about something that is there. No rule file asks for it: runs do."""

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
        "- a declared access of a field that no definition of its struct has.\n"
        "\n"
        "The findings are notes. With `--unused` they are warnings, which fail the run.",
        "Move it to the place that it is about, spell the field as the struct does now, or remove it: an\n"
        "unnecessary suppression hides the next finding.",
        "",
        Example(_BREAKS, Outcome.BROKEN, "`ignore[ring/access]` at `size` of ring ignores no finding"),
        Example(_KEEPS, Outcome.KEPT, "no finding: what is ignored is there"),
    )

    what: str
    """What was written: a suppression, an annotation, a declared access."""

    def check(self, context: Context) -> Verdict:
        """Never asked of a struct: what matches nothing has none."""
        raise CannotTell(f"{self.what} of {context.layout.struct.name} that matches nothing")


def rules(
    asked: tuple[Rule, ...], judged: list[Finding], readings: list[Reading], everything: bool
) -> Iterator[Finding]:
    """A finding for each rule that judged no struct.

    Shipped rules may name what a kernel lacks, and a `when` may leave a rule out: with `everything`, these
    are findings as well; those of shipped rules become notes.
    """
    found = {finding.rule for finding in judged}
    for rule in asked:
        reasons = [excluded(rule.when, reading) for reading in readings]
        left_out = all(reasons)
        if rule in found or not reasons or ((rule.shipped or left_out) and not everything):
            continue
        why = nothing(rule, readings)
        if left_out:
            why = f"its `when` holds in none of the inputs: {'; '.join(dict.fromkeys(filter(None, reasons)))}"
        yield Finding(rule, None, unknown(why), "", is_lack=rule.shipped)


def nothing(rule: Rule, readings: list[Reading]) -> str:
    """Why a rule judged nothing: there is no struct for it, or none of many has what it speaks of."""
    meant = is_pattern(rule.struct) and sum(
        struct.bit_size is not None and struct.answers_to(rule.struct)
        for reading in readings
        if not excluded(rule.when, reading)
        for struct in reading.structs
    )
    if meant:
        return f"no struct of the {meant:,} that `{rule.struct}` means has what the rule speaks of"
    return f"{rule.subject} is in none of the inputs"


def words(
    readings: list[Reading],
    packs: Mapping[int, tuple[Pack, ...]],
    idle: Iterable[Suppression],
    judged: Iterable[Finding],
) -> Iterator[Finding]:
    """A note for each access of a field that no struct has, annotation at nothing, and idle suppression.

    `idle` are the suppressions that ignored none of the findings `judged`, those on kept rules among them.
    """
    yield from _accesses(readings, packs)
    yield from _annotations(readings)
    for one in _told(idle, judged, packs):
        said = f"ignore[{', '.join(one.ignored.rules)}]"
        at = f"`{one.path}` of {one.struct}" if one.path else one.struct
        message = f"`{said}` at {at} ignores no finding"
        advice = "take it out: it would hide the next finding"
        yield _finding("suppression", one.struct, said, one.source, settle(False, message, (), advice))


def _told(
    idle: Iterable[Suppression], judged: Iterable[Finding], packs: Mapping[int, tuple[Pack, ...]]
) -> Iterator[Suppression]:
    """The suppressions that are not needed, or name no rule; of rules that a run leaves out none is told."""
    ids: dict[str, set[str]] = {}
    for finding in judged:
        if finding.struct is not None and finding.verdict.outcome is not Outcome.UNKNOWN:
            ids.setdefault(finding.struct.name, set()).add(finding.rule.id)
    for one in dict.fromkeys(idle):
        named = Wanted(patterns=one.ignored.rules)
        asked = (rule.id for some in packs.values() for pack in some for rule in pack.rules)
        shipped = (rule.id for pack in rule_file.shipped() for rule in pack.rules)
        if any(map(named.matches, ids.get(one.struct, ()))) or not any(
            map(named.matches, chain(asked, shipped))
        ):
            yield one


def noted(finding: Finding) -> Finding:
    """The finding as a note, which does not count: nobody can mend what a kernel lacks."""
    return replace(finding, rule=replace(finding.rule, severity=Severity.NOTE))


def counted(finding: Finding) -> Finding:
    """The finding as a warning, which counts."""
    return replace(finding, rule=replace(finding.rule, severity=Severity.WARNING))


def used_somewhere(builds: list[tuple[Finding, ...]]) -> set[Rule]:
    """Of what is unused in some builds, what is not so in all of them."""
    vain = [{f.rule for f in findings if f.rule.kind.traits.is_built_in} for findings in builds]
    return set[Rule]().union(*vain) - set[Rule].intersection(*vain) if vain else set()


def _finding(what: str, struct: str, said: str, source: Source, verdict: Verdict) -> Finding:
    why = "what matches nothing is checked by nobody, and its author believes that it is"
    rule = Rule(f"unused/{struct}/{said}", struct, Unused(what), Severity.NOTE, why, source, by=what)
    return Finding(rule, None, verdict, "")


def _annotations(readings: list[Reading]) -> Iterator[Finding]:
    """Those that are at something in none of the inputs."""
    known = {annotation.source for r in readings for struct in r.structs for annotation in struct.annotations}
    for stray in dict.fromkeys(stray for reading in readings for stray in reading.strays):
        if stray.source in known:
            continue
        said = stray.text.partition(" -- ")[0]
        at = f"no field that struct {stray.struct} has here" if stray.struct else "no struct and no field"
        advice = "put it at the declaration that it is about, or take it out"
        verdict = settle(False, f"`{said}` stands at {at}", (), advice)
        yield _finding("annotation", stray.struct or _NO_STRUCT, said, stray.source, verdict)


def _accesses(readings: list[Reading], packs: Mapping[int, tuple[Pack, ...]]) -> Iterator[Finding]:
    """Those of shipped packs are left out: kernels differ."""
    lacking: dict[tuple[str, Access], list[Layout]] = {}
    known: set[tuple[str, Access]] = set()
    for reading in readings:
        structs = Structs(reading.structs)
        own = [one for pack in packs[id(reading)] if not pack.shipped for one in pack.structs]
        for intent in (one for one in own if not excluded(one.when, reading)):
            layouts = [] if is_pattern(intent.struct) else _layouts(structs.answering(intent.struct))
            for access in intent.accesses if layouts else ():
                if any(_has(layout, access.path) for layout in layouts):
                    known.add((intent.struct, access))
                else:
                    lacking.setdefault((intent.struct, access), []).extend(layouts)
    for (struct, access), layouts in lacking.items():
        if (struct, access) not in known and access.source is not None and not access.is_optional:
            names = {place.path for layout in layouts for place in layout.expanded(access.path.count("."))}
            message = f"struct {struct} has no field `{access.path}`{did_you_mean(access.path, names)}"
            advice = "name the field as the struct does now, or take it out"
            verdict = replace(settle(False, message, (), advice), is_missing_field=True)
            yield _finding("access", struct, access.path, access.source, verdict)


def _has(layout: Layout, path: str) -> bool:
    """Whether a struct has a field that a path means, or one of the type that it means."""
    if path.startswith(TYPE):
        return any(True for _ in Finder().fields(layout, (path,)))
    return bool(layout.match(path))


def _layouts(structs: Iterable[Struct]) -> list[Layout]:
    return [Layout(struct) for struct in structs if struct.bit_size and not struct.problem]
