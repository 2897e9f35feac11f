"""What alignment adds to an order: members that start a line of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint.errors import RuleFileError
from layoutlint.geometry.allocation_room import allocation_room
from layoutlint.geometry.layout import Layout
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint.options import Options
from layoutlint.lint.reordering.rules import Ruled, rules_of
from layoutlint.lint.reordering.solving import moves_of, solve
from layoutlint.lint.reordering.task import task_of
from layoutlint.lint.subject import Found
from layoutlint.model.record import replace
from layoutlint.model.structs import Struct, Unstated
from layoutlint.readers import order_uses
from layoutlint.suggestion.arrangement import Arrangement, arrange
from layoutlint.suggestion.limits import Limit
from layoutlint.suggestion.result import Alternative
from layoutlint.suggestion.search import Aim, task_of_one

_EFFORT = 1.0
"""The most work for each aim of each alternative."""
_MOST_MEMBERS = 12
"""The most members whose alignment is tried."""
_AIMS: tuple[Aim, ...] = ("size", "moves")


def alternatives(
    found: Found,
    arrangement: Arrangement,
    ruled: Sequence[Ruled],
    limits: tuple[Limit, ...],
    options: Options,
) -> tuple[Alternative, ...]:
    """Return the orders that keep all rules if the struct, or a member, is aligned to a line; smallest first.

    The members tried are those of the rules that are not kept. A struct in containers is not aligned: they
    would change with it.
    """
    if any(one.is_embedded for one in ruled):
        return ()
    line = options.line_size or found.struct.target.line_size
    tried = [_align_unit(arrangement, number, line) for number in (None, *_candidates(arrangement, ruled))]
    results = [
        alternative
        for number, aligned in tried
        for alternative in _search(found, aligned, number, line, limits, ruled, options)
    ]
    return tuple(sorted(results, key=lambda each: (each.size, len(each.moves), each.member or "")))


def _candidates(arrangement: Arrangement, ruled: Sequence[Ruled]) -> Iterator[int]:
    """Yield the units with fields of rules that are not kept."""
    paths = {
        place.path.split(".")[0].split("[")[0]
        for one in ruled
        if one.before.outcome is not Outcome.KEPT
        for place in one.before.evidence
    }
    named = [
        number
        for number, unit in enumerate(arrangement.units)
        if any(arrangement.struct.fields[at].name in paths for at in unit.fields) and unit.is_plain
    ]
    yield from named[:_MOST_MEMBERS]


def _align_unit(arrangement: Arrangement, number: int | None, line: int) -> tuple[int | None, Arrangement]:
    """Return the arrangement with the struct, or one of its units, aligned to a line."""
    way, fields = arrangement.way, list(arrangement.struct.fields)
    if number is None:
        way = replace(way, rules=replace(way.rules, stated=max(line, way.rules.stated or 1)))
    else:
        (member,), (at,) = arrangement.units[number].members, arrangement.units[number].fields
        old = way.members[member]
        new = replace(old, requested_align=max(line, old.requested_align or 0))
        way = replace(way, members=(*way.members[:member], new, *way.members[member + 1 :]))
        fields[at] = replace(fields[at], requested_align=line, align=max(line, fields[at].align or 1))
    struct = replace(
        arrangement.struct, fields=tuple(fields), align=max(line, arrangement.align), possible=0,
        unstated=Unstated.NOTHING,
    )  # fmt: skip
    order = range(len(arrangement.units))
    declared = replace(arrange(struct, way).lay_out(order), align=struct.align)
    return number, arrange(declared, way)


def _search(
    found: Found,
    arrangement: Arrangement,
    number: int | None,
    line: int,
    limits: tuple[Limit, ...],
    all_rules: Sequence[Ruled],
    options: Options,
) -> Iterator[Alternative]:
    """Yield the best order of an aligned struct, if one keeps all rules."""
    struct = arrangement.struct
    try:
        ruled, _ = rules_of(replace(found, struct=struct), options)
    except RuleFileError:  # the declared placement contradicts the alignment
        return
    if [one.rule.id for one in ruled] != [one.rule.id for one in all_rules]:
        return
    build, candidate = task_of(arrangement, ruled)
    task = task_of_one(replace(build, limits=limits), _AIMS)
    solution, after = solve(task, [[candidate]], _EFFORT)
    if solution.state not in ("optimal", "feasible"):
        return
    if any(verdict.outcome is not Outcome.KEPT for verdict in after[0][0]):
        return
    new = arrangement.lay_out(solution.order)
    names = order_uses.member_names(struct)
    order = tuple(names[at] for at in arrangement.field_order(solution.order))
    member = None if number is None else names[arrangement.units[number].fields[0]]
    yield Alternative(
        member, line, (new.bit_size or 0) // 8, order, tuple(moves_of(task.order, solution.order)),
        _allocation(found, ruled, found.struct), _allocation(found, ruled, new),
    )  # fmt: skip


def _allocation(found: Found, ruled: Sequence[Ruled], struct: Struct) -> str:
    """Return what an object takes of its allocator, in words; empty if that is not known."""
    for one in ruled:
        storage = one.where.pack.storage(struct)
        room = None if storage is None else allocation_room(Layout(struct), storage)
        if room is not None and room.block is not None:
            return f"kmalloc-{room.block}"
        if room is not None and room.slabs:
            slab = room.slabs[-1].slab
            return f"{slab.objects} in a slab of order {slab.order}"
    return ""
