"""Values that several JSON outputs have, and their text."""

from __future__ import annotations

import json
from typing import Any, TypedDict

import msgspec

from layoutlint import escapes
from layoutlint.model.structs import Source

# One encoder: `json.dumps` with an option builds one for every call.
_encode = json.JSONEncoder(ensure_ascii=False, default=msgspec.to_builtins).encode


class FileAndLine(TypedDict):
    """The keys for a place in a file."""

    file: str | None
    line: int | None


def document_text(document: Any) -> str:
    """Return the text of a JSON output: indented, with visible characters only and a newline at the end."""
    compact = row_text(document)
    try:  # to indent takes `json` four times as long as all else
        return msgspec.json.format(compact, indent=2) + "\n"
    except msgspec.DecodeError:  # a name that is no UTF-8 is a lone surrogate in JSON
        text = json.dumps(document, indent=2, ensure_ascii=False, default=msgspec.to_builtins)
        return escapes.json_text(text) + "\n"


def row_text(row: object) -> str:
    """Return the text of a JSON value on one line, with visible characters only."""
    return escapes.json_text(_encode(row))


def file_and_line(source: Source | None) -> FileAndLine:
    """Return the keys for the place of a declaration, null if the input does not state it."""
    return {"file": source.file if source else None, "line": source.line if source else None}
