"""Format `json` of `accesses`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from layoutlint import escapes
from layoutlint.evidence.inference.analysis import Analysis
from layoutlint.model.uses import plain_name
from layoutlint.sources.whole_program.fields import FieldUses
from layoutlint.sources.whole_program.phases import phase_of


def render(fields: Sequence[FieldUses], analysis: Analysis) -> str:
    """Return one JSON object."""
    document = {
        "schema": "layoutlint/accesses/1",
        "units": analysis.bodies.units,
        "functions": len(analysis.program.functions),
        "fields": [
            {
                "struct": each.name,
                "defined_in": each.file,
                "path": each.path,
                "uses": [_use(use, analysis) for use in each.uses],
            }
            for each in fields
        ],
        "unread": [{"path": each.origin, "reason": each.reason} for each in analysis.bodies.unread],
    }
    return escapes.json_text(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def _use(use: Any, analysis: Analysis) -> dict[str, Any]:
    name, place = plain_name(use.function), analysis.place(use.function)
    return {
        "effect": use.effect.value,
        "function": name,
        "file": place.file,
        "line": place.line,
        "use_line": use.line,
        "in_loop": use.in_loop,
        "weight": round(use.weight, 4),
        "heat": round(analysis.heat.get(use.function, 0.0), 4),
        "phase": phase_of(name).value,
    }
