"""Code actions: suppress a finding, accept it in the baseline, or reorder members."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from layoutlint.commands.language_server import diagnostics
from layoutlint.commands.language_server.documents import Kept, OpenDocument
from layoutlint.commands.language_server.positions import end_of_code, span, split_lines, units
from layoutlint.comparison.baseline_match import can_be_accepted
from layoutlint.judgement.finding import Finding, Fix
from layoutlint.judgement.verdict import Outcome
from layoutlint.reports.check import acceptance

ACCEPT, SUGGEST = "layoutlint.accept", "layoutlint.suggest"


def actions(
    document: OpenDocument, wanted: types.Range, encoding: str, baseline: str | None
) -> list[types.CodeAction]:
    """Return what mends or accepts the findings in a range."""
    result: list[types.CodeAction] = []
    for kept, finding in _findings(document, wanted, encoding):
        rule, name = finding.rule.id, kept.judged.name
        suppression = _suppression(document, kept, finding, encoding)
        if suppression is not None:
            result.append(
                types.CodeAction(f"Suppress {rule}", types.CodeActionKind.QuickFix, edit=suppression)
            )
        if kept.stale:
            continue
        arguments = [document.uri, rule, name]
        if baseline is not None and can_be_accepted(finding):
            result.append(_command(f"Accept {rule} in the baseline", ACCEPT, arguments))
        if finding.verdict.outcome in (Outcome.BROKEN, Outcome.AT_RISK):
            title = f"Search an order of members of {name} that keeps {rule}"
            result.append(_command(title, SUGGEST, arguments))
    return result


def _command(title: str, command: str, arguments: list[str]) -> types.CodeAction:
    return types.CodeAction(
        title, types.CodeActionKind.QuickFix, command=types.Command(title, command, arguments=arguments)
    )


def _findings(document: OpenDocument, wanted: types.Range, encoding: str) -> Iterator[tuple[Kept, Finding]]:
    """Yield the findings that diagnostics show on the lines of a range."""
    for kept in document.kept.values():
        for finding in kept.judged.findings:
            if diagnostics.counts(finding):
                at = diagnostics.range_of(document, kept, finding, encoding)
                if wanted.start.line <= at.start.line <= wanted.end.line:
                    yield kept, finding


def _suppression(
    document: OpenDocument, kept: Kept, finding: Finding, encoding: str
) -> types.WorkspaceEdit | None:
    """Return the edit that adds a comment behind the declaration of a finding's place."""
    comment = acceptance.suppression(finding)
    is_own = document.paths.get(finding.place.file) == document.real_path
    if comment is None or not is_own or finding.place.line is None:
        return None
    line = document.line_now(kept, finding.place.line - 1)
    if line is None or document.lines[line].endswith("\\"):
        return None
    text = document.lines[line]
    at = types.Position(line, units(text, end_of_code(text, diagnostics.primary_name(finding)), encoding))
    edit = types.TextEdit(types.Range(at, at), f" {comment}")
    return types.WorkspaceEdit(changes={document.uri: [edit]})


def edit_of(fix: Fix, document: OpenDocument, encoding: str) -> types.WorkspaceEdit:
    """Return a fix as an edit of whole lines of an open document."""
    last = min(fix.last_line, len(document.lines) - 1)
    start, end = types.Position(fix.first_line - 1, 0), types.Position(last, 0)
    if fix.last_line >= len(document.lines):
        end = span(document.lines, len(document.lines) - 1, "", encoding).end
    ends = "\r\n" if "\r\n" in document.text else "\n"
    text = ends.join(split_lines(fix.text))
    return types.WorkspaceEdit(changes={document.uri: [types.TextEdit(types.Range(start, end), text)]})
