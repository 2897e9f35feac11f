"""Format `gitlab`: a Code Quality report, which GitLab shows in merge requests.

Source: docs.gitlab.com, "Code Quality", section "Code Quality report format".
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from layoutlint import escapes
from layoutlint.judgement.finding import Report
from layoutlint.reports.check.diagnostics import Diagnostic, Repository, diagnostics, locate
from layoutlint.reports.json_values import document_text

_SEVERITIES = {"error": "major", "warning": "minor", "note": "info"}


def render(report: Report, *, repository: Repository | None = None) -> str:
    """Return a JSON array; paths are from the top of the repository, and a missing line is 1."""
    located, seen = locate(report, repository), Counter[str]()
    rows = [_row(each, located, seen) for each in diagnostics(report)]
    return document_text(rows)


def _row(diagnostic: Diagnostic, repository: Repository, seen: Counter[str]) -> dict[str, Any]:
    from hashlib import sha256  # loads OpenSSL

    number = seen[diagnostic.identity]  # fingerprints must differ
    seen[diagnostic.identity] += 1
    identity = f"{diagnostic.identity} {number}" if number else diagnostic.identity
    return {
        "description": escapes.inline(diagnostic.message_with_origins),
        "check_name": diagnostic.rule,
        "fingerprint": sha256(identity.encode(errors="surrogatepass")).hexdigest(),
        "severity": _SEVERITIES[diagnostic.severity],
        "location": {"path": repository.path(diagnostic.file), "lines": {"begin": diagnostic.line or 1}},
    }
