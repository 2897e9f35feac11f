"""The variables of a comparison, for the JSON format of `diff`."""

from __future__ import annotations

from typing import Any

from layoutlint.comparison.layouts import Presence
from layoutlint.comparison.variables import (
    Neighbour,
    TableComparison,
    VariableChange,
    VariableComparison,
)

_STATUS = {Presence.BOTH: "changed"}


def variables(comparison: VariableComparison | None) -> dict[str, Any] | None:
    """Return how the variables of two inputs compare; None if they were not requested."""
    if comparison is None:
        return None
    return {
        "compared": comparison.pair_count,
        "regrouped": sum(table.regrouped for table in comparison.tables),
        "files": [_file(table) for table in comparison.tables],
    }


def _file(table: TableComparison) -> dict[str, Any]:
    return {
        "label": table.label or None,
        "line_size": table.line_size,
        "is_linked": table.is_linked,
        "compared": table.compared,
        "regrouped": table.regrouped,
        "sections": [
            {"name": each.name, "variables": list(each.variables), "regrouped": each.regrouped}
            for each in table.sections
        ],
        "changes": [_change(change) for change in table.changes],
        "causes": [
            {
                "kind": cause.kind.value,
                "variable": cause.name,
                "section": cause.section,
                "size": list(cause.size),
                "shift": cause.shift,
                "others": cause.others,
                "moved": cause.moved,
                "regrouped": cause.regrouped,
            }
            for cause in table.causes
        ],
        "ambiguous": [{"name": name, "variables": number} for name, number in table.ambiguous],
    }


def _change(change: VariableChange) -> dict[str, Any]:
    sides = change.old, change.new
    names = {each.name for each in sides if each is not None}
    return {
        "name": change.variable.name,
        "old_name": None if change.old is None or len(names) < 2 else change.old.name,
        "file": change.variable.unit or None,
        "status": _STATUS.get(change.presence, change.presence.value),
        "is_named": change.is_named,
        "section": [name or None for name in change.sections],
        "address": [None if each is None else each.address for each in sides],
        "size": [None if each is None else each.size for each in sides],
        "placements": list(change.totals),
        "straddling": list(change.straddles),
        "alone": [
            None if each is None else is_alone
            for each, is_alone in zip(sides, (change.was_alone, change.is_alone), strict=True)
        ],
        "gained": [_neighbour(each) for each in change.gained],
        "ceased": [_neighbour(each) for each in change.ceased],
    }


def _neighbour(neighbour: Neighbour) -> dict[str, Any]:
    return {"name": neighbour.name, "placements": [neighbour.old, neighbour.new]}
