"""Values that several JSON outputs have, and their text."""

from __future__ import annotations

import json
from typing import Any

import msgspec.json

from layoutlint import escapes
from layoutlint.model.structs import Source


def document_text(document: Any) -> str:
    """Return the text of a JSON output: indented, with visible characters only and a newline at the end."""
    compact = escapes.json_text(json.dumps(document, ensure_ascii=False))
    try:  # to indent takes `json` four times as long as all else
        return msgspec.json.format(compact, indent=2) + "\n"
    except msgspec.DecodeError:  # a name that is no UTF-8 is a lone surrogate in JSON
        return escapes.json_text(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def file_and_line(source: Source | None) -> dict[str, str | int | None]:
    """Return the keys for the place of a declaration, null if the input does not state it."""
    return {"file": source.file if source else None, "line": source.line if source else None}
