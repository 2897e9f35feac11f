"""Findings as diagnostics of the protocol, which server.py publishes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol import types

from layoutlint import escapes
from layoutlint.commands.language_server.documents import Kept, OpenDocument, uri_of
from layoutlint.commands.language_server.positions import span
from layoutlint.judgement.document import Failure
from layoutlint.judgement.finding import Finding
from layoutlint.judgement.rule import Severity
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.structs import Source
from layoutlint.reports.check import diagnostics as reported
from layoutlint.reports.check.diagnostics import NOT_READ

SOURCE = "layoutlint"
RULE_FILE = "rule-file"
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}
_LINK = re.compile(r"https?://[^\s<>\"`]+[^\s<>\"`.,;:)]")
_MOST = 1_000
"""The most diagnostics of one file."""


def document_diagnostics(document: OpenDocument, encoding: str) -> list[types.Diagnostic]:
    """Return the diagnostics of a C file, in the order of its text."""
    messages = [*_struct_diagnostics(document, encoding), *_failure_diagnostics(document, encoding)]
    messages.sort(key=lambda each: (each.range.start.line, each.range.start.character, str(each.code)))
    return messages[:_MOST]


def _struct_diagnostics(document: OpenDocument, encoding: str) -> Iterator[types.Diagnostic]:
    for kept in document.kept.values():
        for finding in kept.judged.findings:
            if counts(finding):
                yield _diagnostic(document, kept, finding, encoding)
    result = document.result
    for finding in () if result is None else result.others:
        if counts(finding):
            yield _diagnostic(document, None, finding, encoding)


def counts(finding: Finding) -> bool:
    """Return whether a finding is shown: no kept rule, and nothing that people accept."""
    return finding.verdict.outcome is not Outcome.KEPT and not finding.is_accepted


def _diagnostic(
    document: OpenDocument, kept: Kept | None, finding: Finding, encoding: str
) -> types.Diagnostic:
    row = reported.finding_diagnostic(finding, ())
    stale = kept.stale if kept is not None else ""
    texts = [row.message, *row.origins]
    texts += [f"Why: {finding.rule.why}"] if finding.rule.states_why else []
    texts += [row.advice] if row.advice else []
    texts += [f"Stale: judged before the text had this error: {stale}"] if stale else []
    severity = _SEVERITIES[finding.rule.severity]
    if row.is_unknown:
        severity = types.DiagnosticSeverity.Information
    is_built_in = finding.rule.kind.traits.is_built_in
    return types.Diagnostic(
        range=range_of(document, kept, finding, encoding),
        message="\n".join(escapes.inline(" ".join(text.split())) for text in texts),
        severity=severity,
        code=finding.rule.id,
        code_description=_description(finding),
        source=SOURCE,
        tags=[types.DiagnosticTag.Unnecessary] if is_built_in else None,
        related_information=list(_related_information(document, kept, finding, encoding)) or None,
        data={"rule": finding.rule.id, "struct": row.struct, "stale": bool(stale)},
    )


def _description(finding: Finding) -> types.CodeDescription | None:
    """Return the first link in the evidence of a rule."""
    links = filter(None, map(_LINK.search, (*finding.rule.evidence, finding.rule.why)))
    link = next(links, None)
    return None if link is None else types.CodeDescription(href=link[0])


def primary_name(finding: Finding) -> str:
    """Return the word at the place of a finding: the field, else the struct."""
    for place in finding.verdict.evidence:
        if place.field.source is not None:
            return place.field.name or ""
    return finding.struct.name if finding.struct is not None else ""


def line_of(document: OpenDocument, kept: Kept | None, source: Source) -> int:
    """Return the line of a place in the document as it is now, from 0."""
    line = (source.line or 1) - 1
    return line if kept is None else document.map_from(kept.lines).nearest_line(line)


def range_of(document: OpenDocument, kept: Kept | None, finding: Finding, encoding: str) -> types.Range:
    """Return the place of a finding in the document as it is now."""
    if finding.place.file not in _own_names(document):  # a rule of another file on this struct
        own = kept.judged.struct if kept is not None else None
        if own is not None and own.source is not None:
            return span(document.lines, line_of(document, kept, own.source), own.name, encoding)
    return span(document.lines, line_of(document, kept, finding.place), primary_name(finding), encoding)


def _own_names(document: OpenDocument) -> set[str]:
    return {name for name, path in document.paths.items() if path == document.real_path}


def _related_information(
    document: OpenDocument, kept: Kept | None, finding: Finding, encoding: str
) -> Iterator[types.DiagnosticRelatedInformation]:
    """Yield the other fields of a finding, and the rule."""
    paths, own = document.paths, _own_names(document)
    for place in finding.verdict.evidence[1:]:
        source = place.field.source
        if source is not None and source.file in paths and source != finding.place:
            if source.file in own:
                uri, line = document.uri, line_of(document, kept, source)
                at = span(document.lines, line, place.field.name or "", encoding)
            else:
                uri, at = uri_of(paths[source.file]), _whole_line(source)
            message = escapes.inline(f"`{place.path}` at {place.extent}")
            yield types.DiagnosticRelatedInformation(types.Location(uri, at), message)
    source = finding.rule.source
    if source.file in paths and source.file not in own:
        message = escapes.inline(f"stated by this {finding.rule.by}")
        location = types.Location(uri_of(paths[source.file]), _whole_line(source))
        yield types.DiagnosticRelatedInformation(location, message)


def _whole_line(source: Source) -> types.Range:
    line = (source.line or 1) - 1
    return types.Range(types.Position(line, 0), types.Position(line + 1, 0))


def _failure_diagnostics(document: OpenDocument, encoding: str) -> Iterator[types.Diagnostic]:
    """Yield what could not be read, and mistakes in rule files."""
    failures: tuple[Failure, ...] = (Failure(document.failure),) if document.failure else ()
    if document.result is not None and not failures:
        failures = document.result.failures
    for failure in failures:
        yield _information(document, (failure.line or 1) - 1, NOT_READ, failure.text, encoding)
    for mistake in document.mistakes[:1]:
        rest = len(document.mistakes) - 1
        more = f" (and {rest} more)" if rest else ""
        text = f"a mistake in the rule file; what was read before it counts: {mistake}{more}"
        yield _information(document, 0, RULE_FILE, text, encoding)


def _information(document: OpenDocument, line: int, code: str, text: str, encoding: str) -> types.Diagnostic:
    return types.Diagnostic(
        range=span(document.lines, min(line, len(document.lines) - 1), "", encoding),
        message=escapes.inline(" ".join(text.split())),
        severity=types.DiagnosticSeverity.Information,
        code=code,
        source=SOURCE,
    )


def rule_file_diagnostics(
    document: OpenDocument, rows: tuple[tuple[int, str], ...], encoding: str
) -> list[types.Diagnostic]:
    """Return the diagnostics of a rule file."""
    return [
        types.Diagnostic(
            range=span(document.lines, min(line, len(document.lines)) - 1, "", encoding),
            message=escapes.inline(message),
            severity=types.DiagnosticSeverity.Error,
            code=RULE_FILE,
            source=SOURCE,
        )
        for line, message in rows[:_MOST]
    ]
