"""Types and values that several JSON outputs have, and their text."""

from __future__ import annotations

import json
from enum import Enum
from typing import Annotated, Any, TypedDict

import msgspec
from msgspec import Meta

from layoutlint import escapes
from layoutlint.model.record import Record
from layoutlint.model.structs import Source

Natural = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Amount = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]

# One encoder: `json.dumps` with an option builds one for every call.
_encode = json.JSONEncoder(ensure_ascii=False, default=msgspec.to_builtins).encode


def one_of(*words: int | str | Enum) -> Meta:
    """Return the constraint of a key that has one of some values, in the order of the schema."""
    values = [each.value if isinstance(each, Enum) else each for each in words]
    return Meta(extra_json_schema={"enum": values})


class JsonObject(Record, frozen=True, forbid_unknown_fields=True):
    """An object of a JSON output. Its docstrings and those of its keys are descriptions of the schema."""


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
