"""Types of JSON outputs: their text and their schema are made from them (docs/json.md)."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from msgspec import Meta

from layoutlint.model.record import Record

Natural = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Amount = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]

NULL = {"type": "null"}
"""The schema of a value that is null."""


def one_of(*words: int | str | Enum) -> Meta:
    """Return the constraint of a key that has one of some values, in the order of the schema."""
    values = [each.value if isinstance(each, Enum) else each for each in words]
    return Meta(extra_json_schema={"enum": values})


def both_or_neither(*keys: str) -> Meta:
    """Return the constraint of an object in which all of some keys are null, or none of them."""
    cases = (NULL, {"not": NULL})
    return Meta(extra_json_schema={"oneOf": [{"properties": dict.fromkeys(keys, case)} for case in cases]})


class JsonObject(Record, frozen=True, forbid_unknown_fields=True):
    """An object of a JSON output. Its docstrings and those of its keys are descriptions of the schema."""
