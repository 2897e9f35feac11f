"""Format `csv` of `survey report`: a row for each verdict that is not kept (RFC 4180)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

import msgspec

from layoutlint import escapes
from layoutlint.surveys.report import FailingVerdict

_FORMULA = ("=", "+", "-", "@")


def render(verdicts: Iterable[FailingVerdict]) -> str:
    """Return the rows below a row with their names."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FailingVerdict.__struct_fields__)
    for verdict in verdicts:
        writer.writerow([_cell(value) for value in msgspec.structs.astuple(verdict)])
    return text.getvalue()


def _cell(value: object) -> object:
    """Return a value without control characters that no spreadsheet takes for a formula (OWASP)."""
    if not isinstance(value, str):
        return value
    shown = escapes.inline(value)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown
