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
    sizes: list[int] = [_quick(plan) for plan in plans]
    known = len(sizes)
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
        if code >= known:
            raise Damaged(f"abbreviation code {code} is not in the table", start)
        size = sizes[code]
        if size >= 0:
            position += size
            continue
        plan = plans[code]
        if plan is None:
            raise Damaged(f"abbreviation code {code} is not in the table", start)
        if plan.kind != OTHER and depth == 0:
            at = plan.name_at
            if names is None:
                if plan.kind == AGGREGATE or _may_name(data, position, order, plans, plan):
                    hits.append(start)
            elif at < 0 or data[position + at : position + at + plan.name_width] in names:
                hits.append(start)
        at = plan.sibling_at
        if at >= 0:
            at += position
            position = int.from_bytes(data[at : at + plan.sibling_width], order)
        elif plan.size >= 0:
            position += plan.size
            depth += plan.has_children
        elif plan.sibling_step >= 0:
            at = behind(data, position, order, plan.steps, plan.sibling_step)
            position = int.from_bytes(data[at : at + plan.sibling_width], order)
        else:
            position = behind(data, position, order, plan.steps, len(plan.steps))
            depth += plan.has_children
        if position <= start or position > end:
            raise Damaged("an entry, or the sibling that it names, lies outside its unit", start)
    return hits


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


def _quick(plan: Plan | None) -> int:
    """Bytes to the next entry for one that is of no interest and has no children; else -1."""
    if plan is None or plan.has_children or plan.kind != OTHER:
        return -1
    return plan.size


def _may_name(data: bytes, position: int, order: Order, plans: list[Plan | None], plan: Plan) -> bool:
    """Whether a typedef's type may be an anonymous struct or union; true where that takes more to tell."""
    at = plan.type_at
    if at < 0:
        return True
    at = int.from_bytes(data[position + at : position + at + 4], order)
    code = data[at]
    if code > 127 or code >= len(plans):
        return True
    target = plans[code]
    return target is None or target.leads_on
