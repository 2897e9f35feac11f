"""Format `json` of `suggest`: the order for scripts (schema `layoutlint/suggest/1`, docs/json.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from layoutlint.model.structs import Struct
from layoutlint.reports.json_values import document_text
from layoutlint.reports.suggest import phrases
from layoutlint.sources.order_uses import OrderUse
from layoutlint.suggestion.result import (
    SUGGEST_SCHEMA,
    Alternative,
    BuildResult,
    Move,
    Refusal,
    RuleOutcome,
    Suggestion,
)


def render(results: Sequence[Suggestion]) -> str:
    """Return the first suggestion as one JSON object, with those after it in `series`."""
    document, *others = map(_document, results)
    return document_text({**document, "series": others or None})


def _document(result: Suggestion) -> dict[str, Any]:
    kept = [each for each in result.rules if each.after.outcome.value == "kept"]
    return {
        "schema": SUGGEST_SCHEMA,
        "input": result.input,
        "struct": result.struct.name,
        "file": None if result.struct.source is None else result.struct.source.file,
        "line": None if result.struct.source is None else result.struct.source.line,
        "status": result.status,
        "reason": result.reason or None,
        "order": list(result.order),
        "offsets": [] if result.builds else _offsets(result.new),
        "size": None if result.builds else _sizes(result),
        "opened": [{"name": each.name, "members": list(each.members)} for each in result.opened],
        "moves": [_move(move, phrases.reason_of(result, move, result.opened)) for move in result.moves],
        "aims": [
            {"aim": each.aim, "before": each.before, "after": each.after, "bound": each.bound}
            for each in result.aims
        ],
        "steps": [{"moves": moves, "size": size} for moves, size in result.steps],
        "kept": [each.rule.id for each in kept],
        "rules": [_rule(each) for each in result.rules],
        "core": [rule.id for rule in result.core],
        "core_rules": [_core(result, number) for number in range(len(result.core))],
        "core_is_minimal": result.is_core_minimal,
        "alternatives": [_alternative(each, result) for each in result.alternatives],
        "chosen": None if result.chosen is None else _alternative(result.chosen, result),
        "refusals": [_refusal(each) for each in result.refusals],
        "forced": result.is_forced,
        "hints": [_use(use) for use in result.hints],
        "order_free": result.is_order_free,
        "searched": {
            "sources": result.looked_at.sources,
            "headers": result.looked_at.headers,
            "mentioning": result.looked_at.mentioning,
            "not_searched": list(result.not_looked_at),
        },
        "patch": None if result.patch is None else result.patch.diff,
        "no_patch": result.no_patch or None,
        "notes": [*result.notes, *(result.patch.notes if result.patch is not None else ())],
        "builds": [_build(each) for each in result.builds] if result.builds else None,
        "series": None,
    }


def _move(move: Move, why: str) -> dict[str, Any]:
    return {"member": move.member, "behind": move.behind, "inside": move.inside, "why": why or None}


def _rule(outcome: RuleOutcome) -> dict[str, Any]:
    return {
        "rule": outcome.rule.id,
        "before": outcome.before.outcome.value,
        "after": outcome.after.outcome.value,
        "message": outcome.after.message,
        "searched": not outcome.reason,
        "reason": outcome.reason or None,
    }


def _offsets(struct: Struct | None) -> list[int]:
    return [] if struct is None else [field.bit_offset // 8 for field in struct.fields]


def _sizes(result: Suggestion) -> list[int] | None:
    if result.new is None:
        return None
    return [(struct.bit_size or 0) // 8 for struct in (result.struct, result.new)]


def _core(result: Suggestion, number: int) -> dict[str, Any]:
    rule = result.core[number]
    builds = [build.name for build in result.core_builds[number]] if result.core_builds else None
    return {"rule": rule.id, "file": rule.source.file, "line": rule.source.line, "builds": builds}


def _build(each: BuildResult) -> dict[str, Any]:
    own = each.result
    return {
        "build": each.build.name,
        "input": own.input,
        "file": None if own.struct.source is None else own.struct.source.file,
        "line": None if own.struct.source is None else own.struct.source.line,
        "order": list(own.order),
        "offsets": _offsets(own.new),
        "offsets_before": _offsets_before(own),
        "size": _sizes(own),
        "rules": [_rule(outcome) for outcome in own.rules],
    }


def _offsets_before(result: Suggestion) -> list[int]:
    """Return the offsets of the members in their new order, as they are before."""
    before = phrases.bits_before(result)
    return [before[name] // 8 for name in result.order]


def _alternative(each: Alternative, result: Suggestion) -> dict[str, Any]:
    return {
        "aligned": list(each.aligned),
        "struct_aligned": each.is_struct_aligned,
        "align": each.line,
        "padding": None if each.padding is None else _padding(each),
        "size": each.size,
        "order": list(each.order),
        "moves": [_move(move, phrases.reason_of(each, move, result.opened)) for move in each.moves],
        "allocation": [each.allocation_before or None, each.allocation or None],
    }


def _padding(each: Alternative) -> dict[str, Any]:
    return {"member": each.padding, "size": each.padding_bytes, "behind": each.before_padding}


def _refusal(refusal: Refusal) -> dict[str, Any]:
    return {
        "kind": refusal.kind,
        "reason": refusal.reason,
        "file": refusal.file,
        "line": refusal.line,
        "members": list(refusal.members),
    }


def _use(use: OrderUse) -> dict[str, Any]:
    return {
        "kind": use.kind,
        "reason": use.text,
        "file": use.file,
        "line": use.line,
        "members": list(use.members),
    }
