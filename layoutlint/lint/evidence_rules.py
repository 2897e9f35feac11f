"""Evidence of profiles for rules that fail, and for declared accesses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import placements
from layoutlint.judgement.context import Access, CannotTell, Context
from layoutlint.judgement.evidence import (
    Contradiction,
    EventSummary,
    FieldTouch,
    PlacedLine,
    RuleEvidence,
    SeenPair,
    State,
    StructEvidence,
    TypedCount,
)
from layoutlint.judgement.finding import Finding
from layoutlint.judgement.rule import Pack
from layoutlint.judgement.verdict import Outcome, SharedLine
from layoutlint.model.paths import is_within
from layoutlint.model.reading import Reading
from layoutlint.model.structs import Struct
from layoutlint.phrases import quantity

_MOST_PAIRS = 20
"""Pairs of one rule that are reported."""


def rule_evidence(findings: Iterable[Finding], evidence: Sequence[StructEvidence]) -> Iterator[RuleEvidence]:
    """Yield what profiles say about each finding on a struct of which they have accesses."""
    by_struct = {id(each.struct): each for each in evidence}
    for finding in findings:
        own = by_struct.get(id(finding.struct))
        if (
            own is None
            or finding.struct is None
            or finding.verdict.outcome in (Outcome.KEPT, Outcome.UNKNOWN)
        ):
            continue
        state, pairs = state_of(finding, own)
        outcome, shown = finding.verdict.outcome.value, tuple(pairs[:_MOST_PAIRS])
        doubt = _doubt(finding, own) if state == "inconclusive" else ""
        yield RuleEvidence(finding.rule, finding.struct, outcome, state, shown, doubt)


def state_of(finding: Finding, own: StructEvidence) -> tuple[State, list[SeenPair]]:
    """Return the state of a finding by a profile, and the pairs of fields that show it."""
    shared = _shared_in_object(finding)
    line_size = finding.verdict.line_size
    certain: list[SeenPair] = []
    possible: list[SeenPair] = []
    is_apart = bool(own.lines and shared)
    for line in own.lines:
        for pair in shared:
            if line_size is None or line.object_address % line_size not in pair.bases:
                continue
            is_apart = False
            seen = list(_pairs_on_line(line, pair))
            (certain if _is_of_struct(line) else possible).extend(seen)
    if certain:
        return "measured", certain
    if possible:
        return "possible", possible
    profiled = [seen for pair in shared for seen in _pairs_of_types(own.counts, pair)]
    if profiled:
        return "profiled", profiled
    return ("apart" if is_apart else "inconclusive"), []


def _shared_in_object(finding: Finding) -> list[SharedLine]:
    """Return the pairs of fields of one object that a rule keeps apart and that share a line."""
    return [each for each in finding.verdict.shared if each.distance == 0]


def _doubt(finding: Finding, own: StructEvidence) -> str:
    """Return why a profile says nothing about a finding."""
    shared = _shared_in_object(finding)
    if not shared:
        return "no two fields of one object make the rule fail"
    shown = {each.path for line in own.lines for each in line.fields} | {each.path for each in own.counts}
    for pair in shared:
        if all(any(_is_part(path, side) for path in shown) for side in (pair.first, pair.second)):
            return "the profile shows both fields, but not that writing one disturbs readers of the other"
    return "the profile does not show both fields"


def _is_of_struct(line: PlacedLine) -> bool:
    """Return whether a line is known to be one of the struct."""
    return line.identity != "struct" and not line.unmet


def _pairs_on_line(line: PlacedLine, pair: SharedLine) -> Iterator[SeenPair]:
    """Yield the pair if one field was written, and loads of the other took the line."""
    for written, read in ((pair.first, pair.second), (pair.second, pair.first)):
        writers = [each for each in line.fields if each.touch.has_stores and _is_part(each.path, written)]
        readers = [each for each in line.fields if each.touch.has_snoops and _is_part(each.path, read)]
        if line.is_contended and writers and readers:
            yield SeenPair(
                written, read, _stores(writers), _snoops(readers), line.report, line.line, line.base
            )


def _is_part(path: str, outer: str) -> bool:
    return is_within(path, outer, any_element=True)


def _stores(touches: list[FieldTouch]) -> int:
    return sum(each.touch.counts.stores for each in touches)


def _snoops(touches: list[FieldTouch]) -> int:
    return sum(each.touch.counts.contended_loads for each in touches)


def _pairs_of_types(counts: Sequence[TypedCount], pair: SharedLine) -> Iterator[SeenPair]:
    """Yield the pair if events for stores have one field, and events for loads the other."""
    for written, read in ((pair.first, pair.second), (pair.second, pair.first)):
        stores = [each for each in counts if each.role == "store" and _is_part(each.path, written)]
        loads = [each for each in counts if each.role == "load" and _is_part(each.path, read)]
        if stores and loads:
            first = stores[0]
            yield SeenPair(
                written, read, _samples(stores), _samples(loads), first.report, first.lines[0], None
            )


def _samples(counts: list[TypedCount]) -> int | None:
    """Return the samples of one event; None if they are not stated, or of several events."""
    if len({each.event for each in counts}) > 1 or any(each.samples is None for each in counts):
        return None
    return sum(each.samples or 0 for each in counts)


def contradictions(
    evidence: Sequence[StructEvidence],
    packs: Sequence[Pack],
    reading: Reading,
    events: Sequence[EventSummary],
) -> Iterator[Contradiction]:
    """Yield declared accesses that profiles contradict: fields that are only read, and are written."""
    for own in evidence:
        for pack in packs:
            accesses = pack.select_for(reading).accesses(own.struct)
            for path, access in _declared_accesses(own.struct, accesses):
                yield from _contradicts(own, path, access, events)


def _declared_accesses(struct: Struct, accesses: tuple[Access, ...]) -> Iterator[tuple[str, Access]]:
    """Yield the fields with their declared accesses."""
    if not any(access.access for access in accesses):
        return
    layout = Layout(struct)
    try:
        uses = Context(layout, placements(layout), accesses).uses()
    except CannotTell:
        return
    for place, declared in uses.items():
        for access in declared:
            yield place.path, access


def _contradicts(
    own: StructEvidence, path: str, access: Access, events: Sequence[EventSummary]
) -> Iterator[Contradiction]:
    word = access.access
    if word not in ("read-mostly", "cold"):
        return
    for line in own.lines:
        touched = [each for each in line.fields if _is_part(each.path, path)]
        written = [each for each in touched if each.touch.has_stores]
        if not _is_of_struct(line):
            continue
        if written:
            number, snoops = _stores(written), _snoops(touched)
            observation = (
                f"{quantity(number, 'store')}, {quantity(snoops, 'load')} from a cache that had modified it"
            )
            yield Contradiction(own.struct, path, access, observation, line.report, written[0].touch.lines[0])
        elif word == "cold" and any(each.touch.has_snoops for each in touched):
            observation = f"{quantity(_snoops(touched), 'load')} from a cache that had modified the line"
            yield Contradiction(own.struct, path, access, observation, line.report, touched[0].touch.lines[0])
    for count in own.counts:
        if count.role == "store" and _is_part(count.path, path):
            event = events[count.event].name or "the event of the report"
            samples = "stores" if count.samples is None else quantity(count.samples, "store")
            share = "" if count.share is None else f" ({count.share:.2f} %)"
            yield Contradiction(
                own.struct, path, access, f"{samples}{share} of `{event}`", count.report, count.lines[0]
            )
