"""The one hot loop: walks the top-level entries of a unit.

Plain integers, bytes and local variables only, so that Cython's pure-Python mode compiles it as it stands.
"""

from __future__ import annotations

from typing import Literal

from layoutlint.readers.dwarf.abbrev import AGGREGATE, OTHER, Plan
from layoutlint.readers.dwarf.forms import Damaged, uleb

Order = Literal["little", "big"]


def walk(
    data: bytes, position: int, order: Order, plans: list[Plan | None], names: set[bytes] | None
) -> list[int]:
    """Where the entries of interest start: structs, unions and typedefs that have a name.

    `data` is a unit, header included; `position` is behind its root entry's attributes. With `names` (raw
    string references) only entries with one of them count, and those whose name is given in another way.
    Without, all named structs count, and the typedefs that may stand for an anonymous one.
    Raises Damaged for an entry that contradicts its unit, IndexError where the unit ends inside one.
    """
    hits: list[int] = []
    end = len(data)
    known = len(plans)
    depth = 0
    while position < end:
        start = position
        code = data[position]
        position += 1
        if code > 127:
            code, position = uleb(data, start)
        if code == 0:
            if depth == 0:
                return hits
            depth -= 1
            continue
        plan = plans[code] if code < known else None
        if plan is None:
            raise Damaged(f"abbreviation code {code} is not in the table", start)
        size = plan.quick
        if size >= 0:
            position += size
            continue
        if plan.kind != OTHER and depth == 0:
            at = plan.name_at
            if names is None:
                is_hit = plan.kind == AGGREGATE or _may_name(data, position, order, plans, plan.type_at)
            else:
                is_hit = at < 0 or data[position + at : position + at + plan.name_width] in names
            if is_hit:
                hits.append(start)
        at = plan.sibling_at
        if at >= 0:
            at += position
            position = int.from_bytes(data[at : at + plan.sibling_width], order)
        else:
            position = _over(data, position, order, plan)
            depth += plan.opens
        if position <= start or position > end:
            raise Damaged("an entry, or the sibling that it names, lies outside its unit", start)
    return hits


def _over(data: bytes, position: int, order: Order, plan: Plan) -> int:
    """The position behind an entry's attributes, or its sibling where one stands behind a variable part."""
    if plan.sibling_step >= 0:
        position = behind(data, position, order, plan.steps, plan.sibling_step)
        return int.from_bytes(data[position : position + plan.sibling_width], order)
    if plan.size >= 0:
        return position + plan.size
    return behind(data, position, order, plan.steps, len(plan.steps))


def behind(data: bytes, position: int, order: Order, steps: list[int], count: int) -> int:
    """The position behind the first `count` steps of a plan; the caller sees to it that it is inside."""
    for number in range(count):
        step = steps[number]
        if step >= 0:
            position += step
        elif step == -1:
            while data[position] > 127:
                position += 1
            position += 1
        elif step == -2:
            position = data.find(b"\0", position) + 1
            if position == 0:
                return -1
        elif step == -3:
            position += 1 + data[position]
        elif step == -4:
            position += 2 + int.from_bytes(data[position : position + 2], order)
        elif step == -5:
            position += 4 + int.from_bytes(data[position : position + 4], order)
        else:
            step, position = uleb(data, position)
            position += step
    return position


def _may_name(data: bytes, position: int, order: Order, plans: list[Plan | None], at: int) -> bool:
    """Whether the type of a typedef may be an anonymous struct; true where that takes more to tell."""
    if at < 0:
        return True
    at = int.from_bytes(data[position + at : position + at + 4], order)
    code = data[at]
    if code > 127 or code >= len(plans):
        return True
    target = plans[code]
    return target is None or target.leads_on
