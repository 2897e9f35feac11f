"""Values that several JSON outputs have, and their text."""

from __future__ import annotations

import json
from typing import Any, TypedDict

import msgspec

from layoutlint import escapes
from layoutlint.model.structs import Source

# One encoder: `json.dumps` with an option builds one for every call.
_encode = json.JSONEncoder(ensure_ascii=False, default=msgspec.to_builtins).encode
_compact = msgspec.json.Encoder().encode


class FileAndLine(TypedDict):
    """The keys for a place in a file."""

    file: str | None
    line: int | None


def document_text(document: Any) -> str:
    """Return the text of a JSON output: indented, with visible characters only and a newline at the end."""
    compact = escapes.json_text(_encode(document))
    try:  # to indent takes `json` four times as long as all else
        return msgspec.json.format(compact, indent=2) + "\n"
    except msgspec.DecodeError:  # a name that is no UTF-8 is a lone surrogate in JSON
        text = json.dumps(document, indent=2, ensure_ascii=False, default=msgspec.to_builtins)
        return escapes.json_text(text) + "\n"


def row_text(row: object) -> str:
    """Return the text of a JSON value without fractions on one line, with visible characters only."""
    try:
        return escapes.json_text(msgspec.json.format(_compact(row), indent=0).decode())
    except UnicodeEncodeError:  # a name that is no UTF-8 is a lone surrogate
        return escapes.json_text(_encode(row))


def rows_text(rows: str, key: str) -> str:
    """Return the text of a list, each row on a line of its own; `rows` is on one line, without brackets.

    Rows begin with `key`. No string looks like that: a quote in a string is behind a backslash.
    """
    return "[\n      " + rows.replace(f'}}, {{"{key}": ', f'}},\n      {{"{key}": ') + "]" if rows else "[]"


def file_and_line(source: Source | None) -> FileAndLine:
    """Return the keys for the place of a declaration, null if the input does not state it."""
    return {"file": source.file if source else None, "line": source.line if source else None}
