"""Format `toml` of `evidence`: a draft of a rule file from contended lines, to be read before it is used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from layoutlint import escapes
from layoutlint.commands.evidence.drafts import Draft, draft_rules
from layoutlint.judgement.evidence import EvidenceReport

_NOTHING = "# No line has a field that is written, and another one whose loads took the line."
_NOT_PLACED = "# No line of the profile was placed at a struct: name one with --struct."
_OF_LINES = ("perf c2c", "perf script")
_NO_ID = re.compile(r"[^a-z0-9]+")


def render(report: EvidenceReport, evidence_files: Iterable[str] = ()) -> str:
    """Return a rule file with the drafted rules.

    `evidence_files` are saved forms of the same evidence, relative to the rule file.
    """
    return escapes.lines(_lines(report, tuple(evidence_files)))


def _lines(report: EvidenceReport, evidence_files: tuple[str, ...]) -> Iterator[str]:
    yield "# Drafts from a profile, the most contended fields first. Keep those that are true."
    drafts = draft_rules(report)
    if not drafts:
        yield _NOTHING if any(each.lines for each in report.structs) else _NOT_PLACED
    ids: dict[str, int] = {}
    for draft in drafts:
        yield ""
        yield from _rule(draft, ids, evidence_files, _formats(report))


def _formats(report: EvidenceReport) -> dict[str, str]:
    """Return the format of each report with lines, by its path."""
    return {each.path: name for each in report.reports for name in each.formats if name in _OF_LINES}


def _rule(
    draft: Draft, ids: dict[str, int], evidence_files: tuple[str, ...], formats: Mapping[str, str]
) -> Iterator[str]:
    suffix = f"{draft.written}-apart" if draft.written else "read-together"
    name = _NO_ID.sub("-", f"{draft.struct}-{suffix}".lower()).strip("-")
    ids[name] = ids.get(name, 0) + 1
    names = ", ".join(map(escapes.toml_string, draft.others))
    yield "[[rule]]"
    yield f"id = {escapes.toml_string(name if ids[name] == 1 else f'{name}-{ids[name]}')}"
    yield f"struct = {escapes.toml_string(draft.struct)}"
    if draft.written:
        yield 'kind = "separate"'
        yield f"fields = [[{escapes.toml_string(draft.written)}], [{names}]]"
        yield 'severity = "warning"'
    else:
        yield 'kind = "lines"'
        yield f"fields = [{names}]"
        yield 'severity = "note"'
    yield f"why = {escapes.toml_string('; '.join((draft.reason, *draft.doubts)))}"
    places = (f"{formats.get(place.rpartition(':')[0], 'perf')}, {place}" for place in draft.places)
    yield f"evidence = [{', '.join(map(escapes.toml_string, places))}]"
    if evidence_files:
        yield f"evidence_files = [{', '.join(map(escapes.toml_string, evidence_files))}]"
