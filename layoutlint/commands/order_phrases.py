"""Sentences on a suggested order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from layoutlint.judgement.verdict import Outcome
from layoutlint.model.structs import Struct
from layoutlint.phrases import first_few, quantity
from layoutlint.suggestion.contention import Contention
from layoutlint.suggestion.orders.result import (
    Aimed,
    Alternative,
    Move,
    OpenedStruct,
    RuleOutcome,
    Suggestion,
)
from layoutlint.suggestion.rules import member_of_path

_NOUNS = {"moves": "moved declaration", "size": "byte", "holes": "hole", "lines": "touched line"}
_MOST_STEPS = 8
"""The most steps to the smallest order that are shown."""


def title(struct: Struct) -> str:
    """Return the name of a struct."""
    return f"{struct.aggregate} {struct.name}" if struct.is_tagged else struct.name


def headline(result: Suggestion) -> str:
    """Return the result in a sentence."""
    if result.status == "refused":
        why = result.reason or "the sources depend on the order of its members"
        return f"refused: {why}"
    if result.status == "infeasible":
        rules = "these rules together" if len(result.core) > 1 else "this rule"
        return f"no order of the members keeps {rules}"
    if result.chosen is not None:
        return alternative(result.chosen, result, with_reasons=False)
    count = next((each.after for each in result.aims if each.aim == "moves"), len(result.moves))
    moved = quantity(count, "declaration") + " to move" if result.moves else "no member to move"
    if result.status == "unknown":
        return f"unknown: {result.reason}" if result.new is None else f"unknown: {moved}, but {result.reason}"
    return moved if result.moves else "no member has to move"


def aim(each: Aimed, is_optimal: bool, builds: int = 0) -> str:
    """Return what is reached for an aim, and how much better it could be; `builds` are those of a matrix."""
    in_all = f" in all {builds} builds together" if builds > 1 and each.aim != "moves" else ""
    value = quantity(each.after, _NOUNS[each.aim]) + in_all
    before = "" if each.aim == "moves" or each.before == each.after else f", before {each.before:,}"
    is_known = is_optimal or each.bound in (0, each.after)
    bound = "" if is_known else f" (no order has less than {each.bound:,})"
    return f"{value}{before}{bound}"


def frontier(result: Suggestion) -> str:
    """Return the sizes, or the contention, that more and more moves reach; empty if one step reaches the
    last of them.
    """
    if len(result.steps) < 3:
        return ""
    (_, first, most), *steps = result.steps
    texts = [f"{quantity(moves, 'move')}: {size:,}" for moves, size, _ in steps]
    if len(texts) > _MOST_STEPS:
        texts = [*texts[: _MOST_STEPS // 2], "...", *texts[-_MOST_STEPS // 2 :]]
    size = next((each for each in result.aims if each.aim == "size"), None)
    is_least = size is not None and size.bound == steps[-1][1]
    if result.contention is not None:
        texts = [f"{quantity(moves, 'move')}: {(left or 0) / (most or 1):.0%}" for moves, _, left in steps]
        return f"contention that is left: {'; '.join(texts)}"
    return f"{first:,} bytes; {'; '.join(texts)}{' (the least possible)' if is_least else ''}"


def doubt(result: Suggestion) -> str:
    """Return which orders may be better; empty if it is proved that none is."""
    if result.status != "feasible":
        return ""
    first = result.aims[0]
    if first.aim == "contention" and first.bound == first.after:
        return "; others with as little contention may move less, or be smaller"
    if first.aim == "moves" and first.bound == first.after:
        return "; others with as few moves may be smaller"
    return "; better orders may exist"


def aims(result: Suggestion, is_optimal: bool) -> str:
    """Return what is reached for all aims; contention has sentences of its own."""
    every = (each for each in result.aims if each.aim != "contention")
    return "; ".join(aim(each, is_optimal, len(result.builds)) for each in every)


def moves(result: Suggestion) -> list[str]:
    """Return each move in words."""
    return [f"`{move.member}` {_destination(move)}" for move in result.moves]


def reason_of(order: Suggestion | Alternative, move: Move, opened: Sequence[OpenedStruct]) -> str:
    """Return what a move is for, and why it ends there; empty if neither is known."""
    return "; ".join(filter(None, (_purpose(order, move, opened), move.reason)))


def _purpose(order: Suggestion | Alternative, move: Move, opened: Sequence[OpenedStruct]) -> str:
    """Return what a move is for, of contended pairs, or of the rules that are kept by the new order alone;
    empty if none says.
    """
    mended = [
        each
        for each in order.rules
        if each.before.outcome is not Outcome.KEPT and each.after.outcome is Outcome.KEPT
    ]
    places = {name: at for at, name in enumerate(order.order)}
    moved = next((each.members for each in opened if each.name == move.member), (move.member,))
    if order.contention is not None and (apart := _contended_others(order.contention, moved)):
        return f"apart from {first_few([f'`{path}`' for path in apart])}"
    for each in mended:
        if not _members_named(each).isdisjoint(moved):
            return f"for {each.rule.id}"
    for each in mended:
        own = [places[name] for name in _members_named(each) if name in places]
        if own and min(own) < places.get(moved[0], -1) < max(own):
            return f"to part the fields of {each.rule.id}"
    return ""


def _contended_others(contention: Contention, members: Sequence[str]) -> list[str]:
    """Return the fields that contend with members, and share fewer lines with them than before."""
    found: dict[str, None] = {}
    for pair in contention.pairs:
        if pair.after < pair.before:
            for one, other in ((pair.written, pair.other), (pair.other, pair.written)):
                if member_of_path(one) in members and member_of_path(other) not in members:
                    found[other] = None
    return list(found)


def _members_named(outcome: RuleOutcome) -> set[str]:
    """Return the members with the fields at which a rule was not kept."""
    return {place.path.split(".")[0].split("[")[0] for place in outcome.before.evidence}


def _destination(move: Move) -> str:
    if move.behind is not None:
        return f"behind `{move.behind}`"
    return "to the beginning" if move.inside is None else f"to the beginning of `{move.inside}`"


def alternative(each: Alternative, result: Suggestion, *, with_reasons: bool = True) -> str:
    """Return what to align, to add and to move, and what it costs; `with_reasons` for the moves."""
    moved = "".join(
        f", move `{move.member}` {_destination(move)}{why and f' ({why})'}"
        for move in each.moves
        for why in [reason_of(each, move, result.opened) if with_reasons else ""]
    )
    cost = f"{each.size} bytes instead of {(result.struct.bit_size or 0) // 8}"
    if each.allocation and each.allocation != each.allocation_before:
        cost += f", {each.allocation} instead of {each.allocation_before}"
    if each.contention is not None:
        cost += f"; {each.contention.effect}"
    return f"{addition(each)}{moved}: {cost}"


def addition(each: Alternative) -> str:
    """Return what to align or to add."""
    if each.padding is not None:
        return f"add {quantity(each.padding_bytes, 'byte')} of padding behind `{each.before_padding}`"
    aligned = " and ".join(f"`{member}`" for member in each.aligned) or "the struct"
    return f"align {aligned} to {each.line} bytes"


class Row(NamedTuple):
    """A member in the new order, with offsets and size in bytes."""

    offset: str
    before: str
    size: str
    name: str
    mark: Literal["", "moves", "aligned", "new"]
    """What happens to it."""


def layout_rows(result: Suggestion) -> list[Row]:
    """Return the members in the new order."""
    assert result.new is not None
    before = bits_before(result)
    rows = []
    for name, field in zip(result.order, result.new.fields, strict=True):
        size = "??" if field.bit_size is None else _place(field.bit_size)
        place = _place(before[name]) if name in before else "-"
        rows.append(Row(_place(field.bit_offset), place, size, name, _mark(result, name)))
    return rows


def _mark(result: Suggestion, name: str) -> Literal["", "moves", "aligned", "new"]:
    names = {name, *(each.name for each in result.opened if name in each.members)}
    if any(move.member in names for move in result.moves):
        return "moves"
    if result.chosen is None:
        return ""
    return "new" if name == result.chosen.padding else "aligned" if name in result.chosen.aligned else ""


def bits_before(result: Suggestion) -> dict[str, int]:
    """Return the offset in bits of each member in the declared order."""
    pairs = zip(result.declared, result.struct.fields, strict=True)
    return {name: field.bit_offset for name, field in pairs}


def _place(bits: int) -> str:
    """Return bytes, with the bits behind a colon if they are no whole bytes."""
    return f"{bits // 8}" if bits % 8 == 0 else f"{bits // 8}:{bits % 8}"
