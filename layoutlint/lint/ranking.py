"""Ranking the notes of packs that guess (docs/servers.md), with the words that would make each certain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING

from layoutlint.geometry.layout import Layout, Place
from layoutlint.geometry.placement import Placements
from layoutlint.judgement.context import Access, Context, NoDeclaredAccess
from layoutlint.judgement.finding import Finding, Rank, Report
from layoutlint.judgement.messages import finding_message
from layoutlint.judgement.rule import VARIABLES, Pack, Rule, StructIntent
from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.kinds.stride import Stride
from layoutlint.model.ctype import CType
from layoutlint.model.reading import Reading
from layoutlint.model.record import replace
from layoutlint.model.storage import EMBEDDED
from layoutlint.model.structs import Field, Source, Struct, fields_in_braces
from layoutlint.phrases import first_few, quantity

if TYPE_CHECKING:
    from layoutlint.lint.guess_uses import GuessUses

_FEW = 4
"""How many fields a sentence names."""
_MOST_STRUCTS = 8
"""How many structs a sentence names."""
_FAILING = (Outcome.BROKEN, Outcome.AT_RISK)
_NOWHERE = Placements(1, (0,), "")
_STRUCT = re.compile(
    r"(?:(?:const|volatile|_Atomic) )*(?:struct |union )?(\w+)(?: [*](?: const| volatile)*[*]*)?"
)
"""The spelling of a struct type, or of pointers to one."""


def rank(report: Report, packs: Iterable[Pack], most: int, uses: GuessUses | None = None) -> Report:
    """Return a report with the `most` highest notes of packs that guess, by rank, after other findings.

    With `uses`, notes on fields that functions use are ranked by what these do.
    """
    pack_of = {rule: pack for pack in packs if pack.guesses for rule in pack.rules}
    padded = _structs_padded_elsewhere(report.readings)
    findings = [f for f in (*report.findings, *report.kept_findings) if not _elements(f) & padded]
    decided = {subject for f in findings if f.rule not in pack_of for subject in _subjects(f)}
    guesses = [f for f in findings if f.rule in pack_of and f.suppressed is None]
    guesses = [f for f in guesses if not (own := _subjects(f)) or not own <= decided]
    guesses = list(_first_of_each(guesses))
    notes = [finding for finding in guesses if finding.verdict.outcome in _FAILING]
    holders = _holders(report.readings) if notes else {}
    kernels = {reading.path for reading in report.readings if reading.is_kernel}
    has_variables = any(reading.variables for reading in report.readings)
    ranks = (
        replace(
            _rank_of(finding, holders, finding.input not in kernels),
            counts_variables=has_variables,
            uses=None if uses is None else uses.rank(finding),
        )
        for finding in notes
    )
    scored = _sort_by_uses(sorted(zip(ranks, notes, strict=True), key=_sort_key))
    shown = [
        _with_rank(replace(rank, place=place, total=len(scored)), finding, pack_of[finding.rule])
        for place, (rank, finding) in enumerate(scored[:most], 1)
    ]
    summaries = tuple(_summary(pack, guesses, shown) for pack in dict.fromkeys(pack_of.values()))
    certain = (f for f in report.findings if f.rule not in pack_of or f.suppressed is not None)
    return replace(
        report,
        findings=(*certain, *shown),
        kept_findings=tuple(finding for finding in report.kept_findings if finding.rule not in pack_of),
        coverage=replace(report.coverage, guessed=summaries),
    )


def share_placements(packs: tuple[Pack, ...]) -> tuple[Pack, ...]:
    """Return the packs; those that guess have the placements that the other packs declare."""
    placements: dict[str, list[StructIntent]] = {}
    for pack in (pack for pack in packs if not pack.guesses):
        own: dict[str, list[StructIntent]] = {}
        for intent in pack.structs:
            if intent.placement is not None and intent.placement.word != EMBEDDED:
                placement = StructIntent(
                    intent.struct, intent.source, placement=intent.placement, when=intent.when
                )
                own.setdefault(intent.struct, []).append(placement)
        for name, alternatives in own.items():
            placements.setdefault(name, alternatives)
    added = tuple(intent for alternatives in placements.values() for intent in alternatives)
    return tuple(replace(pack, structs=pack.structs + added) if pack.guesses else pack for pack in packs)


def _summary(pack: Pack, guesses: list[Finding], shown: list[Finding]) -> str:
    """Return a sentence with the number of notes of a pack, and the structs that it could not judge."""
    own = [finding for finding in guesses if finding.rule in pack.rules]
    notes = sum(finding.verdict.outcome in _FAILING for finding in own)
    high = sum(finding.rule in pack.rules for finding in shown)
    unknown = [f.struct.name for f in own if f.verdict.outcome is Outcome.UNKNOWN and f.struct is not None]
    names = {finding.struct.name for finding in own if finding.struct is not None}
    structs = f"{quantity(len(names), 'struct')} with fields that it judges"
    text = f"{pack.name}: {quantity(notes, 'note')} on {structs}"
    if notes > high:
        text += f", the {high} highest of which are here (`--guesses N` shows more)"
    return text + (f"; could not judge {first_few(sorted(set(unknown)), _MOST_STRUCTS)}" if unknown else "")


def _sort_by_uses(scored: list[tuple[Rank, Finding]]) -> list[tuple[Rank, Finding]]:
    """Return notes by what functions do to their fields; those of unknown uses keep their places."""
    known = [each for each in scored if each[0].uses is not None]
    best = iter(sorted(known, key=lambda each: -each[0].uses.score if each[0].uses is not None else 0.0))
    return [each if each[0].uses is None else next(best) for each in scored]


def _sort_key(scored: tuple[Rank, Finding]) -> tuple[float, str, str, str]:
    rank, finding = scored
    name = finding.struct.name if finding.struct is not None else ""
    return -rank.score, name, finding.rule.id, finding_message(finding)


def _rank_of(finding: Finding, holders: Mapping[str, set[str]], is_user_space: bool) -> Rank:
    verdict, struct = finding.verdict, finding.struct
    share = len(verdict.bases) / verdict.total if verdict.total else 1.0
    if verdict.orders is not None:
        share = verdict.orders.share
    names = (struct.name, *struct.aliases) if struct is not None else ()
    others = set[str]().union(*(holders.get(name, ()) for name in names)).difference(names)
    return Rank(0, 0, len(others), share, _element_count(finding) if is_user_space else None)


def _element_count(finding: Finding) -> int | None:
    """Return the number of elements of an array, 0 for an unknown one; None for a note on other fields."""
    if not finding.rule.kind.traits.judges_arrays:
        return None
    if not finding.verdict.evidence:
        return 0 if finding.rule.struct == VARIABLES else None  # an allocated array
    dims = finding.verdict.evidence[0].field.dims
    return prod(length or 0 for length in dims) if dims else None


def _subjects(finding: Finding) -> set[tuple[str, ...]]:
    """Return each array or field that a rule judges by itself: what a rule decides about one needs no guess.

    Pairs of fields are not among them: a note can have pairs of which a rule decides some.
    """
    struct, kind = finding.struct, finding.rule.kind
    if struct is None or (kind.traits.line_pairs and not kind.traits.judges_arrays):
        return set()
    evidence = finding.verdict.evidence
    if finding.rule.struct == VARIABLES and evidence:
        return {(kind.name, VARIABLES, place.path) for place in evidence}
    is_about_objects = isinstance(kind, Stride) and kind.array is None and not kind.arrays
    paths = ("",) if is_about_objects else tuple(place.path for place in evidence)
    return {(kind.name, struct.name, path) for path in paths}


def _first_of_each(guesses: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the guesses without notes on arrays that have one by an earlier rule: on their locks, say."""
    noted: dict[tuple[Source | None, tuple[str, ...]], Rule] = {}
    for finding in guesses:
        is_allocated = finding.rule.struct == VARIABLES and not finding.verdict.evidence
        source = None if finding.struct is None or is_allocated else finding.struct.source
        own = [(source, subject) for subject in _subjects(finding)]
        if not own or any(noted.get(each, finding.rule) is finding.rule for each in own):
            yield finding
        if finding.verdict.outcome in _FAILING:
            for each in own:
                noted.setdefault(each, finding.rule)


def _elements(finding: Finding) -> set[str]:
    """Return the names of the type of the elements of a noted array."""
    if not finding.rule.guess or not finding.rule.kind.traits.judges_arrays:
        return set()
    evidence = finding.verdict.evidence
    if finding.rule.struct == VARIABLES and not evidence and finding.struct is not None:  # an allocated array
        return {finding.struct.name, *finding.struct.aliases}
    types = (t for place in evidence[:1] for t in (place.field.type, *place.field.underlying_types))
    return {name for ctype in types if (name := _struct_name(ctype)) is not None}


def _structs_padded_elsewhere(readings: Iterable[Reading]) -> set[str]:
    """Return the structs that another type only pads to lines: their other arrays are without by choice."""
    structs = (struct for reading in readings for struct in reading.structs)
    padded = (_padded_field(struct) for struct in structs if _is_whole_lines(struct))
    types = (t for member in padded if member is not None for t in (member.type, *member.underlying_types))
    return {name for ctype in types if (name := _struct_name(ctype)) is not None}


def _is_whole_lines(struct: Struct) -> bool:
    line = struct.target.line_size * 8
    return struct.bit_size is not None and struct.bit_size > 0 and struct.bit_size % line == 0


def _padded_field(struct: Struct) -> Field | None:
    """Return the only field of a struct or union beside arrays of characters, if it is a struct."""
    content = [field for field in struct.fields if not (field.dims and field.type.left.endswith("char"))]
    is_padded = len(content) == 1 < len(struct.fields) and not content[0].dims
    return content[0] if is_padded and content[0].aggregate is not None else None


def _holders(readings: Iterable[Reading]) -> dict[str, set[str]]:
    """Return the structs and variables that contain or point to a struct, by its tag or typedef."""
    holders: dict[str, set[str]] = {}
    names: dict[CType, str | None] = {}
    for holder, member in _members(readings):
        for ctype in (member.type, *member.underlying_types):
            if ctype not in names:
                names[ctype] = _struct_name(ctype)
            name = names[ctype]
            if name is not None:
                holders.setdefault(name, set()).add(holder)
    return holders


def _members(readings: Iterable[Reading]) -> Iterator[tuple[str, Field]]:
    """Yield the fields of all structs with the name of their struct, and all variables with their own."""
    for reading in readings:
        for struct in reading.structs:
            for _, member in fields_in_braces(struct.fields):
                yield struct.name, member
        for variable in reading.variables:
            yield f"variable {variable.name}", variable


def _struct_name(ctype: CType) -> str | None:
    """Return the name of the struct that a type is, or points to; None for other types."""
    match = None if ctype.right.startswith((")", "(")) else _STRUCT.fullmatch(ctype.left)
    return match and match[1]


def _with_rank(rank: Rank, finding: Finding, pack: Pack) -> Finding:
    verdict, struct = finding.verdict, finding.struct
    if struct is None:
        return replace(finding, rank=rank)
    return replace(finding, rank=rank, confirmation=_confirmation(finding.rule, struct, verdict, pack))


def _confirmation(rule: Rule, struct: Struct, verdict: Verdict, pack: Pack) -> str:
    """Return what to write down, so that a guess becomes a rule."""
    by_access = _places_by_access(rule, struct, verdict.evidence, pack)
    are_equals = by_access["hot-write"] == by_access["hot-read"]
    annotations = [] if are_equals else list(_annotations(by_access))
    if rule.struct == VARIABLES and not verdict.evidence:
        if struct.fields and not struct.fields[0].name and struct.source is not None:
            return "to be certain, look at the code: a rule needs a struct as the element of such an array"
        return (
            f'to be certain, write a rule with `struct = "{struct.name}"` and `kind = "stride"`, and '
            f"`[struct.{struct.name}]` with the `placement` and `array` that `layoutlint allocations "
            f"--struct {struct.name}` lists, if many processors use the array"
        )
    if rule.struct == VARIABLES:
        names = ", ".join(f'"{place.path}"' for place in verdict.evidence[:1])
        return (
            f'to be certain, write a rule with `kind = "{rule.kind.name}"`, `variables = [{names}]` if many '
            "processors use it"
        )
    if are_equals and by_access["hot-write"]:
        groups = ", ".join(f'["{place.path}"]' for place in by_access["hot-write"][:_FEW])
        text = (
            f'to be certain, write a rule with `struct = "{struct.name}"`, `kind = "separate"`, '
            f"`fields = [{groups}]` if different processors use them"
        )
    elif annotations:
        text = f"to be certain, write {' and '.join(annotations)} if they are used so"
    else:
        key = rule.kind.traits.evidence_key
        names = ", ".join(f'"{place.path}"' for place in verdict.evidence[: 1 if key == "array" else _FEW])
        value = names if key == "array" else f"[{names}]"
        text = (
            f'to be certain, write a rule with `struct = "{struct.name}"`, `kind = "{rule.kind.name}"`, '
            f"`{key} = {value}` if they are used by many processors"
        )
    if verdict.total > 1:
        text += (
            f", and `[struct.{struct.name}]` with the `placement` that objects have "
            f"(`layoutlint allocations` lists it)"
        )
    return text


def _annotations(places_by_access: Mapping[str, list[Place]]) -> Iterator[str]:
    """Yield the comments that declare the accesses which a rule on accesses assumes."""
    for word, places in places_by_access.items():
        if places:
            names = ", ".join(f"`{place.path}`" for place in places[:_FEW])
            yield f"`/* layoutlint: {word} */` at {names}" + (" and others" if len(places) > _FEW else "")


def fields_by_access(finding: Finding, pack: Pack) -> tuple[tuple[str, ...], ...]:
    """Return the written and the read fields of a note by a rule on accesses; of others two empty groups."""
    if finding.struct is None:
        return (), ()
    places = _places_by_access(finding.rule, finding.struct, finding.verdict.evidence, pack)
    return tuple(tuple(dict.fromkeys(place.path for place in group)) for group in places.values())


def _places_by_access(
    rule: Rule, struct: Struct, evidence: tuple[Place, ...], pack: Pack
) -> dict[str, list[Place]]:
    """Return the fields of a finding by the access that a rule on accesses assumes."""
    parameters = (("hot-write", "writers"), ("hot-read", "readers"))
    accesses = {word: getattr(rule.kind, parameter, ()) for word, parameter in parameters}
    uses = _uses(Context(Layout(struct), _NOWHERE, pack.accesses(struct))) if any(accesses.values()) else {}
    return {
        word: [p for p in evidence if any(access.access in assumed for access in uses.get(p, ()))]
        for word, assumed in accesses.items()
    }


def _uses(context: Context) -> Mapping[Place, tuple[Access, ...]]:
    try:
        return context.uses()
    except NoDeclaredAccess:
        return {}
