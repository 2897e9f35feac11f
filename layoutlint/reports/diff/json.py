"""Format `json` of `diff`: the comparison for scripts (schema `layoutlint/diff/1`, docs/json.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from layoutlint.comparison.allocations import Allocators, RoomChange, room_changes
from layoutlint.comparison.comparison import DIFF_SCHEMA, Comparison, Side, hole_bits, line_count
from layoutlint.comparison.edits import Edit, Move
from layoutlint.comparison.layouts import LayoutChange, Presence
from layoutlint.comparison.likely_sharing import LikelyPair, LikelySharing
from layoutlint.comparison.spelled_types import Retyping
from layoutlint.comparison.standings import Status
from layoutlint.comparison.straddles import StraddleChange, straddle_changes
from layoutlint.comparison.verdicts import PairChange, RuleChange
from layoutlint.geometry.layout import Layout, Place
from layoutlint.judgement.finding import Finding
from layoutlint.judgement.messages import finding_message
from layoutlint.model.structs import Struct
from layoutlint.reports.diff.variables_json import variables
from layoutlint.reports.json_values import document_text, file_and_line


def render(comparison: Comparison) -> str:
    """Return the comparison as one JSON object, with a newline at the end."""
    by_struct: dict[str, list[RuleChange]] = defaultdict(list)
    for change in comparison.rules:
        by_struct[change.struct].append(change)
    document = {
        "schema": DIFF_SCHEMA,
        "status": comparison.status.value,
        "old": _side(comparison.old),
        "new": _side(comparison.new),
        "structs": list(_structs(comparison, by_struct)),
        "rules": [_rule(change) for change in comparison.rules],
        "variables": variables(comparison.variables),
        "likely_sharing": None if comparison.likely is None else _likely_sharing(comparison.likely),
        "not_compared": [{"name": each.name, "reason": each.reason} for each in comparison.not_compared],
        "idle_rules": [
            {"rule": each.rule, "struct": each.struct, "reason": each.reason, "is_excluded": each.is_excluded}
            for each in comparison.idle_rules
        ],
        "notes": list(comparison.notes),
        "compared": comparison.layouts.compared,
        "failures": list(comparison.failures),
        "exit": comparison.exit_status,
    }
    return document_text(document)


def _side(side: Side) -> dict[str, Any]:
    readings = side.report.readings
    return {
        "label": side.label,
        "inputs": [
            {"path": r.path, "reader": r.reader, "target": r.target.name, "build_id": r.build_id}
            for r in readings
        ],
        "structs": len(side.structs),
        "exit": side.report.exit_status,
    }


def _structs(comparison: Comparison, rules: dict[str, list[RuleChange]]) -> Iterable[dict[str, Any]]:
    """Yield the structs that changed, and those with pairs of fields that share other lines."""
    layouts = comparison.layouts
    changes = (*layouts.changes, *layouts.retyped)
    changed = {change.name for change in changes}
    for change in changes:
        own = [each for each in rules.get(change.name, ()) if _is_about(each, change)]
        yield _struct(change, own, comparison.allocators)
    for name in sorted(rules.keys() - changed):
        if any(each.pairs for each in rules[name]):
            struct = rules[name][0].finding.struct
            same = LayoutChange(Presence.BOTH, struct, struct)
            yield _struct(same, rules[name], comparison.allocators, name)


def _struct(
    change: LayoutChange, rules: list[RuleChange], allocators: Allocators, name: str = ""
) -> dict[str, Any]:
    layouts = [_layout(struct) for struct in (change.old, change.new)]
    return {
        "name": name or change.name,
        "aggregate": change.struct.aggregate,
        "status": _status(change, rules),
        "old_name": change.old.name if change.old is not None and change.old.name != change.name else None,
        **file_and_line(change.struct.source),
        "size": [_size(struct) for struct in (change.old, change.new)],
        "lines": [None if _size(s) is None or s is None else line_count(s) for s in (change.old, change.new)],
        "hole_bits": [None if layout is None else hole_bits(layout) for layout in layouts],
        "align": [_align(layout) for layout in layouts],
        "moved": [_move(move, change.struct.target.line_size) for move in change.edits.moves],
        "straddles": [_straddle(each) for each in straddle_changes(change)],
        "edits": [_edit(edit) for edit in change.edits.edits],
        "retyped": [_retyping(each) for each in change.retyped],
        "cause": _cause(change.edits.cause),
        "root": change.root or None,
        "pairs": [_pair(pair, each) for each in rules for pair in each.pairs],
        "containers": list(change.containers),
        "allocations": [_allocation(room) for room in room_changes(change, allocators)],
    }


def _allocation(room: RoomChange) -> dict[str, Any]:
    return {
        "allocator": room.new.word,
        "is_assumed": room.is_assumed,
        "class": [room.old.block, room.new.block],
        "slack": [room.old.slack, room.new.slack],
        "slabs": [
            {
                "cpus": [slab.fewest_cpus, slab.most_cpus],
                "order": [slab.old.order, slab.new.order],
                "objects": [slab.old.objects, slab.new.objects],
                "stride": [slab.old.stride, slab.new.stride],
                "room": slab.room,
            }
            for slab in room.slabs
        ],
    }


def _is_about(rule: RuleChange, change: LayoutChange) -> bool:
    """Return whether a rule judged the definition that changed, and not another one of its name."""
    sides = (rule.old, change.old), (rule.new, change.new)
    return any(
        finding is not None
        and (finding.struct is None or (struct and finding.struct.source == struct.source))
        for finding, struct in sides
    )


def _status(change: LayoutChange, rules: list[RuleChange]) -> str:
    if change.presence is not Presence.BOTH:
        return str(change.presence.value)
    statuses = {each.status for each in rules}
    order = (Status.WORSE, Status.NOT_COMPARED, Status.BETTER)
    status = next((status for status in order if status in statuses), None)
    if status is None:
        return "retyped" if change.is_retyped_only else Status.SAME.value
    return str(status.value)


def _size(struct: Struct | None) -> int | None:
    return None if struct is None or struct.bit_size is None or struct.problem else struct.bit_size // 8


def _layout(struct: Struct | None) -> Layout | None:
    return None if struct is None or _size(struct) is None else Layout(struct)


def _align(layout: Layout | None) -> int | None:
    """Return the alignment; None if several are possible."""
    alignments = layout.alignments if layout is not None else ()
    return alignments[0] if len(alignments) == 1 else None


def _move(move: Move, line: int) -> dict[str, Any]:
    return {
        "path": move.new.path,
        "old": move.old.offset,
        "new": move.new.offset,
        "old_bit": move.old.bit_offset if move.old.field.is_bitfield else None,
        "new_bit": move.new.bit_offset if move.new.field.is_bitfield else None,
        "lines": [move.old.offset // line, move.new.offset // line],
        "cause": None if move.cause is None else move.cause.path,
    }


def _straddle(each: StraddleChange) -> dict[str, Any]:
    return {
        "path": each.path,
        "offset": [None if place is None else place.offset for place in (each.old, each.new)],
        "lines": [len(lines) for lines in each.lines],
    }


def _edit(edit: Edit) -> dict[str, Any]:
    return {
        "kind": edit.kind.value,
        "path": edit.path,
        "size": [_place_size(place) for place in (edit.old, edit.new)],
        "struct": edit.struct or None,
        **file_and_line(edit.source),
    }


def _retyping(each: Retyping) -> dict[str, Any]:
    return {"path": each.path, "old": each.old, "new": each.new, **file_and_line(each.source)}


def _place_size(place: Place | None) -> int | None:
    return None if place is None else place.size


def _cause(edit: Edit | None) -> dict[str, Any] | None:
    if edit is None:
        return None
    return {
        "path": edit.path,
        "kind": edit.kind.value,
        "struct": edit.struct or None,
        **file_and_line(edit.source),
    }


def _pair(pair: PairChange, change: RuleChange) -> dict[str, Any]:
    return {
        "fields": [pair.first, pair.second],
        "violating": [len(pair.old), len(pair.new)],
        "total": pair.new_total,
        "old_total": pair.old_total,
        "bases": [list(pair.old), list(pair.new)],
        "is_across": pair.is_across,
        "rule": change.rule.id,
    }


def _likely_sharing(likely: LikelySharing) -> dict[str, Any]:
    return {
        "sources": list(likely.sources),
        "pairs": [_likely_pair(rank, each) for rank, each in enumerate(likely.pairs, 1)],
        "left_out": likely.left_out,
    }


def _likely_pair(rank: int, each: LikelyPair) -> dict[str, Any]:
    change = each.change
    return {
        "struct": each.struct.name,
        **file_and_line(each.struct.source),
        "fields": [change.first, change.second],
        "violating": [len(change.old), len(change.new)],
        "total": change.new_total,
        "old_total": change.old_total,
        "bases": [list(change.old), list(change.new)],
        "rank": rank,
        "rank_of_writer": each.rank_of_writer,
        "score": round(each.score, 4),
        "reasons": list(each.reasons),
        "origin": "inferred",
    }


def _rule(change: RuleChange) -> dict[str, Any]:
    place = change.finding.place
    return {
        "rule": change.rule.id,
        "kind": change.rule.kind.name,
        "struct": change.struct,
        "severity": change.rule.severity.value,
        "before": _outcome(change.old),
        "after": _outcome(change.new),
        "status": change.status.value,
        "reason": change.reason or None,
        "violating": [_violating_count(finding) for finding in (change.old, change.new)],
        "total": [None if finding is None else finding.verdict.total for finding in (change.old, change.new)],
        "suppressed": change.finding.suppressed,
        "message": finding_message(change.finding),
        "file": place.file,
        "line": place.line,
    }


def _outcome(finding: Finding | None) -> str | None:
    return None if finding is None else finding.verdict.outcome.value


def _violating_count(finding: Finding | None) -> int | None:
    return None if finding is None else len(finding.verdict.bases)
