"""Format `json` of `infer`."""

from __future__ import annotations

import json
from typing import Any

from layoutlint import escapes
from layoutlint.evidence.inference.contradictions import Contradiction
from layoutlint.evidence.inference.infer import Inferred
from layoutlint.evidence.inference.ranking import Note
from layoutlint.model.uses import Effect, plain_name
from layoutlint.reports.infer.reasons import reasons
from layoutlint.sources.whole_program.fields import FieldUses

_MOST_FUNCTIONS = 20


def render(inferred: Inferred) -> str:
    """Return one JSON object."""
    document = {
        "schema": "layoutlint/infer/1",
        "units": inferred.analysis.bodies.units,
        "functions": len(inferred.analysis.program.functions),
        "notes": [_note(rank, note) for rank, note in enumerate(inferred.notes, 1)],
        "left_out": inferred.left_out,
        "without_signs": inferred.without_signs,
        "pairs": _pairs(inferred),
        "contradictions": [_contradiction(each, inferred) for each in inferred.contradictions],
        "fields": [_field(each) for each in inferred.fields],
        "unread": [{"path": each.origin, "reason": each.reason} for each in inferred.analysis.bodies.unread],
    }
    return escapes.json_text(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def _note(rank: int, note: Note) -> dict[str, Any]:
    source = note.struct.source
    return {
        "struct": note.struct.name,
        "file": None if source is None else source.file,
        "line": None if source is None else source.line,
        "writer": note.writer.part.path,
        "kind": note.writer.kind.value,
        "victims": [pair.reader.part.path for pair in note.pairs],
        "rank": rank,
        "rank_in_struct": note.rank_in_struct,
        "writers": note.writers,
        "score": round(note.score, 4),
        "chance": round(note.chance, 4),
        "placements": {
            "line_size": note.placements.line_size,
            "total": len(note.placements.bases),
            "violating": [len(pair.bases) for pair in note.pairs],
            "bases": [list(pair.bases) for pair in note.pairs],
        },
        "reasons": list(reasons(note)),
        "origin": "inferred",
    }


def _pairs(inferred: Inferred) -> list[dict[str, Any]]:
    ranks: dict[str, int] = {}
    rows = []
    for rank, pair in enumerate(inferred.pairs, 1):
        ranks[pair.struct] = ranks.get(pair.struct, 0) + 1
        rows.append(
            {
                "struct": pair.struct,
                "fields": [pair.writer.part.path, pair.reader.part.path],
                "rank": rank,
                "rank_in_struct": ranks[pair.struct],
                "score": round(pair.score, 4),
            }
        )
    return rows


def _contradiction(each: Contradiction, inferred: Inferred) -> dict[str, Any]:
    places = [(use, inferred.analysis.place(use.function)) for use in each.places]
    return {
        "struct": each.struct,
        "path": each.path,
        "declared": each.declared,
        "found": each.observation,
        "places": [
            {"function": plain_name(use.function), "file": place.file, "line": place.line}
            for use, place in places
        ],
    }


def _field(each: FieldUses) -> dict[str, Any]:
    names = dict.fromkeys(plain_name(use.function) for use in each.uses)
    return {
        "struct": each.name,
        "file": each.file,
        "path": each.path,
        "reads": each.count(Effect.READ),
        "writes": each.count(Effect.WRITE),
        "atomics": each.count(Effect.ATOMIC),
        "locks": each.count(Effect.LOCK),
        "functions": list(names)[:_MOST_FUNCTIONS],
    }
