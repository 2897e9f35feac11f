"""Format `checkstyle`: the XML of Checkstyle, which many CI servers and review tools read."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.judgement.finding import Report
from layoutlint.reports.check.diagnostics import Diagnostic, Repository, diagnostics, locate
from layoutlint.reports.xml_text import attributes

_SEVERITIES = {"error": "error", "warning": "warning", "note": "info"}


def render(report: Report, *, repository: Repository | None = None) -> str:
    """Return an XML document with a `file` for each file, and an `error` for each diagnostic in it."""
    located, by_file = locate(report, repository), dict[str, list[Diagnostic]]()
    for each in diagnostics(report):
        by_file.setdefault(located.path(each.file), []).append(each)
    return "".join(f"{line}\n" for line in _lines(by_file))


def _lines(by_file: dict[str, list[Diagnostic]]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<checkstyle version="4.3">'
    for file, rows in by_file.items():
        yield f"  <file{attributes(name=file)}>"
        for row in rows:
            line = {} if row.line is None else {"line": str(row.line)}
            values = {
                "severity": _SEVERITIES[row.severity],
                "message": row.message_with_origins,
                "source": row.rule,
            }
            yield f"    <error{attributes(**line, **values)}/>"
        yield "  </file>"
    yield "</checkstyle>"
