"""Packs that guess (docs/generic.md): the highest of their notes, and what would make each certain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from layoutlint.geometry.layout import Layout, Place
from layoutlint.geometry.placement import Placements
from layoutlint.judgement.context import Access, Context, NothingDeclared
from layoutlint.judgement.finding import Finding, Rank, Report
from layoutlint.judgement.rule import Pack, Rule, StructIntent
from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.model.ctype import CType
from layoutlint.model.reading import Reading
from layoutlint.model.storage import EMBEDDED
from layoutlint.model.structs import Struct, written
from layoutlint.phrases import counted, some_of

_FEW = 4
"""Fields that a sentence names."""
_NAMED = 8
"""Structs that it names."""
_TELLING = (Outcome.BROKEN, Outcome.AT_RISK)
_NOWHERE = Placements(1, (0,), "")
_STRUCT = re.compile(
    r"(?:(?:const|volatile|_Atomic) )*(?:struct |union )?(\w+)(?: [*](?: const| volatile)*[*]*)?"
)
"""The spelling of a struct, and of a pointer to it or to such pointers."""


def ranked(report: Report, packs: Iterable[Pack], most: int) -> Report:
    """A report with the highest notes of packs that guess, by rank, behind all else that it has."""
    by = {rule: pack for pack in packs if pack.guesses for rule in pack.rules}
    every = (*report.findings, *report.kept)
    guessed = [finding for finding in every if finding.rule in by and finding.suppressed is None]
    notes = [finding for finding in guessed if finding.verdict.outcome in _TELLING]
    holders = _holders(report.readings) if notes else {}
    scored = sorted(((_rank(finding, holders), finding) for finding in notes), key=_order)
    shown = [
        _noted(replace(rank, place=place, of=len(scored)), finding, by[finding.rule])
        for place, (rank, finding) in enumerate(scored[:most], 1)
    ]
    said = tuple(_told(pack, guessed, shown) for pack in dict.fromkeys(by.values()))
    return replace(
        report,
        findings=(*(f for f in report.findings if f.rule not in by or f.suppressed is not None), *shown),
        kept=tuple(finding for finding in report.kept if finding.rule not in by),
        coverage=replace(report.coverage, guessed=said),
    )


def placed(packs: tuple[Pack, ...]) -> tuple[Pack, ...]:
    """The packs, of which those that guess know where the others say that objects start, by themselves."""
    stated: dict[str, list[StructIntent]] = {}
    for pack in (pack for pack in packs if not pack.guesses):
        own: dict[str, list[StructIntent]] = {}
        for intent in pack.structs:
            if intent.placement is not None and intent.placement.word != EMBEDDED:
                alone = StructIntent(
                    intent.struct, intent.source, placement=intent.placement, when=intent.when
                )
                own.setdefault(intent.struct, []).append(alone)
        for name, alternatives in own.items():
            stated.setdefault(name, alternatives)
    more = tuple(intent for alternatives in stated.values() for intent in alternatives)
    return tuple(replace(pack, structs=pack.structs + more) if pack.guesses else pack for pack in packs)


def _told(pack: Pack, guessed: list[Finding], shown: list[Finding]) -> str:
    of_it = [finding for finding in guessed if finding.rule in pack.rules]
    notes = sum(finding.verdict.outcome in _TELLING for finding in of_it)
    high = sum(finding.rule in pack.rules for finding in shown)
    untold = [f.struct.name for f in of_it if f.verdict.outcome is Outcome.UNKNOWN and f.struct is not None]
    names = {finding.struct.name for finding in of_it if finding.struct is not None}
    on = f"{counted(len(names), 'struct')} that {'has' if len(names) == 1 else 'have'} what it looks for"
    said = f"{pack.name}: {counted(notes, 'note')} on {on}"
    said += f", the {high} highest of which are here (`--guesses N` has more)" if notes > high else ""
    return said + (f"; not told of {some_of(sorted(set(untold)), _NAMED)}" if untold else "")


def _order(scored: tuple[Rank, Finding]) -> tuple[float, str, str, str]:
    rank, finding = scored
    name = finding.struct.name if finding.struct is not None else ""
    return -rank.score, name, finding.rule.id, finding.verdict.message


def _rank(finding: Finding, holders: Mapping[str, set[str]]) -> Rank:
    verdict, struct = finding.verdict, finding.struct
    share = len(verdict.bases) / verdict.total if verdict.total else 1.0
    if verdict.orders is not None:
        share = verdict.orders.share
    names = (struct.name, *struct.aliases) if struct is not None else ()
    found = set[str]().union(*(holders.get(name, ()) for name in names)).difference(names)
    return Rank(0, 0, len(found), share)


def _holders(readings: Iterable[Reading]) -> dict[str, set[str]]:
    """The structs that hold another one, or point to it, by the name of that, which may be a typedef's."""
    found: dict[str, set[str]] = {}
    known: dict[CType, str | None] = {}
    for reading in readings:
        for struct in reading.structs:
            for _, member in written(struct.fields):
                for each in (member.type, *member.stands_for):
                    if each not in known:
                        named = (
                            _STRUCT.fullmatch(each.left) if not each.right.startswith((")", "(")) else None
                        )
                        known[each] = named and named[1]
                    name = known[each]
                    if name is not None:
                        found.setdefault(name, set()).add(struct.name)
    return found


def _noted(rank: Rank, finding: Finding, pack: Pack) -> Finding:
    verdict, struct = finding.verdict, finding.struct
    if struct is None:
        return replace(finding, rank=rank)
    advice = f"{_certain(finding.rule, struct, verdict, pack)}; if it is, {verdict.advice}"
    return replace(finding, rank=rank, verdict=replace(verdict, advice=advice))


def _certain(rule: Rule, struct: Struct, verdict: Verdict, pack: Pack) -> str:
    """What to write down so that it is a rule, and no guess."""
    words = list(_annotations(rule, struct, verdict.evidence, pack))
    if words:
        said = f"to be certain, write {' and '.join(words)} if they are used so"
    else:
        key = rule.kind.traits.evidence_key
        names = ", ".join(f'"{place.path}"' for place in verdict.evidence[: 1 if key == "array" else _FEW])
        value = names if key == "array" else f"[{names}]"
        said = (
            f'to be certain, write a rule with `struct = "{struct.name}"`, `kind = "{rule.kind.name}"`, '
            f"`{key} = {value}` if they are used by many processors"
        )
    if verdict.total > 1:
        said += (
            f", and `[struct.{struct.name}]` with the `placement` that objects have "
            f"(`layoutlint allocations` looks for it)"
        )
    return said


def _annotations(rule: Rule, struct: Struct, evidence: tuple[Place, ...], pack: Pack) -> Iterator[str]:
    """Of a rule on accesses, the comments that declare them."""
    sides = (("hot-write", "writers"), ("hot-read", "readers"))
    words = {said: getattr(rule.kind, key, ()) for said, key in sides}
    uses = _uses(Context(Layout(struct), _NOWHERE, pack.accesses(struct))) if any(words.values()) else {}
    for said, by in words.items():
        places = [place for place in evidence if any(access.access in by for access in uses.get(place, ()))]
        if places:
            names = ", ".join(f"`{place.path}`" for place in places[:_FEW])
            yield f"`/* layoutlint: {said} */` at {names}" + (" and others" if len(places) > _FEW else "")


def _uses(context: Context) -> Mapping[Place, tuple[Access, ...]]:
    try:
        return context.uses()
    except NothingDeclared:
        return {}
