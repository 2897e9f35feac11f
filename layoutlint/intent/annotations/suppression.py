"""Annotations beside rule files: what both say is held together, and what is ignored does not count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from layoutlint.errors import RuleFileError
from layoutlint.intent.annotations.rules import Intent, Suppression, intent_of
from layoutlint.judgement.context import Access
from layoutlint.judgement.finding import Finding
from layoutlint.judgement.rule import ACCESSES, Pack
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.paths import is_pattern, is_within
from layoutlint.model.reading import Reading
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted


def beside(reading: Reading, packs: tuple[Pack, ...]) -> tuple[tuple[Pack, ...], Intent | None]:
    """The packs, which know what annotations of an input declare, and what these say by themselves.

    Raises RuleFileError for mistakes in annotations, and where they contradict a pack.
    """
    own = (access.access for pack in packs for struct in pack.structs for access in struct.accesses)
    intent = intent_of(reading.structs, reading.path, tuple(dict.fromkeys((*ACCESSES, *own))))
    if intent is None:
        return packs, None
    mistakes = [text for pack in packs for text in _contradictions(reading, pack, intent.pack)]
    if mistakes:
        raise RuleFileError(tuple(dict.fromkeys(mistakes)))
    more = intent.pack.structs
    return (*(replace(pack, structs=pack.structs + more) for pack in packs), intent.pack), intent


def _contradictions(reading: Reading, pack: Pack, said: Pack) -> Iterator[str]:
    for struct in reading.structs:
        ours = {access.path: access for access in _own(said, struct)}
        for access in pack.accesses(struct) if ours else ():
            own = ours.get(access.path)
            if own is not None and not is_pattern(access.path) and own.access != access.access:
                at = f"`{access.path}` of {struct.aggregate} {struct.name}"
                yield f"{access.source}: {at} is `{access.access}`, and `{own.access}` at {own.source}"


def _own(said: Pack, struct: Struct) -> Iterator[Access]:
    return (a for intent in said.about(struct) if intent.struct == struct.name for a in intent.accesses)


def suppressed(findings: list[Finding], intents: Iterable[Intent]) -> tuple[list[Finding], list[Suppression]]:
    """The findings, which say why if annotations want them ignored; and the annotations that ignore none."""
    ignored: dict[str, list[Suppression]] = {}
    for one in (one for intent in intents for one in intent.suppressions):
        ignored.setdefault(one.struct, []).append(one)
    told, used = [], set()
    for finding in findings:
        fails = finding.verdict.outcome is not Outcome.KEPT
        at = finding.struct.name if finding.struct is not None and fails else None
        concerned = [one for one in ignored.get(at or "", ()) if _concerns(one, finding)]
        used.update(concerned)
        first = f"{concerned[0].ignored.reason} ({concerned[0].source})" if concerned else finding.suppressed
        told.append(replace(finding, suppressed=first))
    return told, [one for some in ignored.values() for one in some if one not in used]


def _concerns(one: Suppression, finding: Finding) -> bool:
    """Whether a suppression at the struct of a finding is about it."""
    if not any(Wanted(patterns=(rule,)).matches(finding.rule.id) for rule in one.ignored.rules):
        return False
    paths = [place.path for place in finding.verdict.evidence]
    return not one.path or any(is_within(path, one.path, any_element=True) for path in paths)
