"""Merges annotations with rule files, and marks suppressed findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layoutlint.errors import RuleFileError
from layoutlint.intent.annotations.rules import Intent, Suppression, intent_of
from layoutlint.intent.annotations.syntax import parse
from layoutlint.judgement.context import Access
from layoutlint.judgement.finding import Finding
from layoutlint.judgement.rule import ACCESSES, Pack
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.paths import is_pattern, is_within
from layoutlint.model.reading import Reading
from layoutlint.model.record import replace
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted


def merge_annotations(reading: Reading, packs: tuple[Pack, ...]) -> tuple[tuple[Pack, ...], Intent | None]:
    """Return the packs with the accesses that annotations of an input declare, and the annotations' intent.

    Raises RuleFileError for mistakes in annotations, and if they contradict a pack.
    """
    own = (access.access for pack in packs for struct in pack.structs for access in struct.accesses)
    intent = intent_of(reading.structs, reading.path, tuple(dict.fromkeys((*ACCESSES, *own))))
    if intent is None:
        return packs, None
    mistakes = [text for pack in packs for text in _contradictions(reading, pack, intent.pack)]
    if mistakes:
        raise RuleFileError(tuple(dict.fromkeys(mistakes)))
    annotated = intent.pack.structs
    return (*(replace(pack, structs=pack.structs + annotated) for pack in packs), intent.pack), intent


def _contradictions(reading: Reading, pack: Pack, annotations: Pack) -> Iterator[str]:
    for struct in reading.structs:
        by_path = {access.path: access for access in _own_accesses(annotations, struct)}
        for access in pack.accesses(struct) if by_path else ():
            declared = by_path.get(access.path)
            if declared is not None and not is_pattern(access.path) and declared.access != access.access:
                field = f"`{access.path}` of {struct.aggregate} {struct.name}"
                other = f"`{declared.access}` at {declared.source}"
                yield f"{access.source}: {field} is `{access.access}`, and {other}"


def _own_accesses(annotations: Pack, struct: Struct) -> Iterator[Access]:
    return (
        access
        for intent in annotations.intents_for(struct)
        if intent.struct == struct.name
        for access in intent.accesses
    )


def mark_suppressed(
    findings: list[Finding], intents: Iterable[Intent], today: str
) -> tuple[list[Finding], list[Suppression]]:
    """Return the findings, marked if an annotation suppresses them, and the unused suppressions.

    A suppression whose last day was before `today` (YYYY-MM-DD) suppresses nothing, and is not unused.
    """
    by_struct: dict[str, list[Suppression]] = {}
    for suppression in (suppression for intent in intents for suppression in intent.suppressions):
        by_struct.setdefault(suppression.struct, []).append(suppression)
    marked, used = [], set()
    for finding in findings:
        fails = finding.verdict.outcome is not Outcome.KEPT
        name = finding.struct.name if finding.struct is not None and fails else None
        matching = [
            suppression for suppression in by_struct.get(name or "", ()) if _concerns(suppression, finding)
        ]
        used.update(matching)
        marked.append(_apply_suppression(finding, matching, today))
    return marked, [
        suppression for group in by_struct.values() for suppression in group if suppression not in used
    ]


def _apply_suppression(finding: Finding, matching: list[Suppression], today: str) -> Finding:
    """Return a finding with the reason of the first suppression that counts, or else of one that expired."""
    for suppression in matching:
        if not suppression.ignored.is_expired(today):
            return replace(finding, suppressed=f"{suppression.ignored.reason} ({suppression.source})")
    if not matching:
        return finding
    ignored, source = matching[0].ignored, matching[0].source
    return replace(finding, expired=f"{ignored.reason} ({source}), until {ignored.until}")


def _stands_at(suppression: Suppression, struct: Struct) -> bool:
    """Return whether a suppression is an annotation of this definition, and not of another of its name."""
    return any(
        annotation.path == suppression.path
        and annotation.source in (None, suppression.source)
        and parse(annotation.text).ignored == suppression.ignored
        for annotation in struct.annotations
    )


def _concerns(suppression: Suppression, finding: Finding) -> bool:
    """Return whether a suppression on a struct with the name of a finding's applies to the finding."""
    if finding.struct is None or not _stands_at(suppression, finding.struct):
        return False
    if not any(Wanted(patterns=(rule,)).matches(finding.rule.id) for rule in suppression.ignored.rules):
        return False
    paths = [place.path for place in finding.verdict.evidence]
    return not suppression.path or any(is_within(path, suppression.path, any_element=True) for path in paths)
