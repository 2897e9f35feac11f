"""Format `json` of `allocations`: one call on each line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from layoutlint import escapes
from layoutlint.model.storage import ANY
from layoutlint.sources.allocations.allocation import Allocation
from layoutlint.sources.allocations.proposals import Listing

_encode = json.JSONEncoder(ensure_ascii=False).encode


def render(listing: Listing) -> Iterator[str]:
    """Yield one JSON object with calls by struct; calls with an unknown struct come last."""
    calls = [
        call
        for struct in listing.structs
        for call in (
            *(place for proposal in struct.proposals for place in proposal.places),
            *struct.unresolved,
        )
    ]
    yield '{\n  "schema": "layoutlint/allocations/1",\n  "allocations": ['
    for number, call in enumerate((*calls, *listing.unresolved)):
        yield (",\n    " if number else "\n    ") + _dumps(_row(call))
    unread = [{"path": failure.origin, "reason": failure.reason} for failure in listing.unread]
    yield f'\n  ],\n  "typedefs": {listing.typedefs},\n  "unread": {_dumps(unread)}\n}}\n'


def _row(call: Allocation) -> dict[str, Any]:
    storage = call.storage
    array = storage.array if storage is not None else None
    return {
        "struct": call.struct or None,
        "call": call.call,
        "file": call.source.file,
        "line": call.source.line,
        "placement": storage.spelling if storage is not None else None,
        "constructor": storage.has_constructor if storage is not None else None,
        "array": True if array == ANY else array,
        "details": list(call.details),
        "problem": call.problem or None,
    }


def _dumps(value: object) -> str:
    return escapes.json_text(_encode(value))
