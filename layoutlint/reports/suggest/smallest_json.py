"""Format `json` of `suggest --smallest` without STRUCT (schema `layoutlint/smallest/1`, docs/json.md)."""

from __future__ import annotations

from typing import Any

from layoutlint.reports.json_values import document_text, file_and_line
from layoutlint.suggestion.candidates import SMALLEST_SCHEMA, Candidate, Smaller, Waste
from layoutlint.suggestion.result import Refusal


def render(result: Smaller) -> str:
    """Return the structs as one JSON object, the most bytes first."""
    document = {
        "schema": SMALLEST_SCHEMA,
        "input": result.input,
        "searched": result.searched,
        "candidates": [_candidate(one) for one in result.candidates],
        "not_searched": [
            {"struct": each.members[0], "reason": each.reason, "file": each.file or None, "line": each.line}
            for each in result.not_searched
        ],
    }
    return document_text(document)


def _candidate(one: Candidate) -> dict[str, Any]:
    return {
        "struct": one.name,
        **file_and_line(one.source),
        "origin": one.origin,
        "size": one.size,
        "least": one.least,
        "bound": one.bound,
        "align": one.align,
        "largest_align": one.largest_align,
        "bytes_saved": one.bytes_saved,
        "nested_bytes": one.nested_bytes,
        "objects": one.objects,
        "bytes_in_all": one.bytes_in_all,
        "arrays": [{"struct": outer, "count": count} for outer, count in one.arrays],
        "moves": len(one.moves),
        "is_fewest": one.is_fewest,
        "moved": [{"member": move.member, "behind": move.behind} for move in one.moves],
        "order": list(one.order),
        "lines": list(one.lines),
        "blocks": list(one.blocks),
        "holes": list(one.holes),
        "padding": one.padding,
        "nested": [_waste(each) for each in one.nested],
        "aligned": list(one.aligned),
        "refusals": [_refusal(each) for each in one.refusals],
    }


def _waste(each: Waste) -> dict[str, Any]:
    return {
        "path": each.path,
        "type": each.type,
        "inside": each.is_inside,
        "count": each.count,
        "size": each.size,
        "least": each.least,
        "holes": list(each.holes),
        "padding": each.padding,
    }


def _refusal(each: Refusal) -> dict[str, Any]:
    return {
        "kind": each.kind,
        "reason": each.reason,
        "file": each.file or None,
        "line": each.line,
        "members": list(each.members),
    }
