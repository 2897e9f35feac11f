"""Rules that the contended lines of a profile ask for: drafts, each with what the profile cannot tell."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.judgement.evidence import (
    LEAST_STORES,
    EvidenceReport,
    FieldTouch,
    PlacedLine,
    StructEvidence,
    accesses_of,
    are_apart,
)
from layoutlint.model.paths import are_in_other_elements, is_within, overlap
from layoutlint.model.record import Record, field
from layoutlint.phrases import quantity

_WHOLE = 99.0
_LEAST_TOGETHER = 2


class Draft(Record):
    """A rule for one struct: a written field and the fields of others, or fields that are only read."""

    struct: str
    written: str
    """Empty for fields that are only read."""
    loads: dict[str, int] = field(default_factory=dict)
    """The loads that took the line, of each other field."""
    stores: dict[tuple[str, str], int] = field(default_factory=dict)
    """The stores on each line, by the place of the line and the written path."""
    places: dict[str, None] = field(default_factory=dict)
    """Where the reports have the lines."""
    doubts: dict[str, None] = field(default_factory=dict)

    @property
    def others(self) -> tuple[str, ...]:
        """The other fields, those with the most loads first."""
        return tuple(sorted(self.loads, key=lambda path: -self.loads[path]))

    @property
    def reason(self) -> str:
        """The accesses in a sentence."""
        loads = ", ".join(f"{self.loads[path]:,} of `{path}`" for path in self.others)
        if not self.written:
            return f"read together and never written in the profile; loads that took the line: {loads}"
        stores = quantity(sum(self.stores.values()), "store")
        return f"{stores} to `{self.written}`; loads that took its line: {loads}"


def draft_rules(report: EvidenceReport) -> list[Draft]:
    """Return what the contended lines of a profile ask for, the most contended fields first.

    A draft is for a field that is written, and for fields on its line whose loads took the line from another
    processor; or for fields that are only read.
    """
    builds = {each.path: each.build_note for each in report.reports if each.build != "same"}
    structs = [each for each in report.structs if each.struct.address is None]  # others are variables
    drafts = [draft for each in structs for draft in _struct_drafts(each, builds)]
    return sorted(drafts, key=lambda draft: (not draft.written, -sum(draft.loads.values())))


def _struct_drafts(evidence: StructEvidence, builds: dict[str, str]) -> Iterator[Draft]:
    drafts: dict[str | int, Draft] = {}
    drafted: set[frozenset[str]] = set()
    touched = [each for placed in evidence.lines for each in placed.fields]
    written_members = {_member(each) for each in touched if each.touch.has_stores}
    for placed in evidence.lines:
        if not placed.is_contended:
            continue
        doubts = dict.fromkeys(_doubts(placed, builds))
        for written, read in _contended_pairs(placed):
            one, other = _distinct_parts(written.path, read.path)
            if not _have_other_users(placed, one, other):
                continue
            if frozenset((one, other)) in drafted and (one not in drafts or other not in drafts[one].loads):
                continue  # the rule of the field that is written more often keeps them apart
            drafted.add(frozenset((one, other)))
            draft = drafts.setdefault(one, Draft(evidence.struct.name, one))
            draft.loads[other] = draft.loads.get(other, 0) + read.touch.counts.contended_loads
            draft.stores[_add_source(draft, placed, doubts), written.path] = written.touch.counts.stores
        only_read = _fields_only_read(placed, written_members)
        if len(only_read) >= _LEAST_TOGETHER:
            draft = drafts.setdefault(placed.shift, Draft(evidence.struct.name, ""))
            for member, loads in only_read.items():
                draft.loads[member] = draft.loads.get(member, 0) + loads
            _add_source(draft, placed, doubts)
    yield from drafts.values()


def _add_source(draft: Draft, placed: PlacedLine, doubts: dict[str, None]) -> str:
    """Add a line and what is not certain of it; return its place."""
    place = f"{placed.report}:{placed.line}"
    draft.places[place] = None
    draft.doubts.update(doubts)
    return place


def _contended_pairs(placed: PlacedLine) -> Iterator[tuple[FieldTouch, FieldTouch]]:
    """Yield the fields that take a line away, the most written first, with those whose loads took it back.

    Elements of one array are no pair: where the next one begins is a matter of its size.
    """
    stores = sum(touched.touch.counts.stores for touched in placed.fields)
    writers = [
        touched
        for touched in placed.fields
        if touched.touch.has_stores and touched.touch.counts.stores >= LEAST_STORES * stores
    ]
    for written in sorted(writers, key=lambda each: -each.touch.counts.stores):
        for read in placed.fields:
            are_parts = overlap(written.path, read.path) or are_in_other_elements(written.path, read.path)
            if read.touch.has_snoops and not are_parts:
                yield written, read


def _have_other_users(placed: PlacedLine, one: str, other: str) -> bool:
    """Return whether two fields have different CPUs, or threads, on a line; also if these are not known."""
    ours, theirs = (
        accesses_of(touched.touch for touched in placed.fields if is_within(touched.path, path))
        for path in (one, other)
    )
    return ours is None or theirs is None or are_apart(ours, theirs)


def _fields_only_read(placed: PlacedLine, written: set[str]) -> dict[str, int]:
    """Return the members on a line that no line of the profile shows written, with the loads that took it."""
    loads: dict[str, int] = {}
    for touched in placed.fields:
        member = _member(touched)
        if touched.touch.has_snoops and member not in written and "[" not in member:
            loads[member] = loads.get(member, 0) + touched.touch.counts.contended_loads
    return loads


def _member(touched: FieldTouch) -> str:
    return touched.path.partition(".")[0]


def _distinct_parts(one: str, other: str) -> tuple[str, str]:
    """Return the largest parts of a struct that hold one field and not the other: members, if they can be."""
    ours, theirs = one.split("."), other.split(".")
    same = next(at for at, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]) + 1
    return ".".join(ours[:same]), ".".join(theirs[:same])


def _doubts(placed: PlacedLine, builds: dict[str, str]) -> Iterator[str]:
    """Yield what the profile cannot tell."""
    if placed.certainty == "likely":
        yield "the place of the object on the line is likely, not certain"
    if placed.identity == "struct":
        yield "no code shows that the line is one of this struct"
    if placed.covered < _WHOLE:
        yield f"the report is an excerpt with {placed.covered:.0f} % of the samples"
    if placed.report in builds:
        yield f"the build of the profile is not verified: {builds[placed.report]}"
    is_known = accesses_of(touched.touch for touched in placed.fields) is not None
    if not is_known and max((touched.touch.cpus for touched in placed.fields), default=0) <= 1:
        yield "the report does not show which processors touch which field"
