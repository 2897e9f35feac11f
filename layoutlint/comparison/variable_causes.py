"""The causes of moved variables: edits of those before them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from enum import Enum

from layoutlint.comparison.variable_pairs import Gap, Pairing, Region, VariableNode
from layoutlint.model.record import Record, replace
from layoutlint.model.variables import Variable


class CauseKind(Enum):
    """The kind of a cause that moved the variables behind it."""

    ADDED = "added"
    REMOVED = "removed"
    RESIZED = "resized"
    REORDERED = "reordered"
    NUMBERED = "numbered"
    """More or fewer variables of one name that nothing tells apart."""
    PLACED = "placed"
    """No variable: alignments, the linker, or another start of the section."""


class Cause(Record, frozen=True):
    """The cause that moved a row of variables."""

    kind: CauseKind
    name: str
    """The variable; of kind `placed` the first one that moved."""
    section: str
    size: tuple[int, int]
    """Its bytes before and now; 0 where it is missing."""
    shift: int
    """The bytes by which it moved the others."""
    others: int
    """Further edits at the same place."""
    moved: int
    """The variables up to the next cause."""
    regrouped: int
    """Those of them that share lines with others than before."""


def find_causes(pairing: Pairing, region: Region, regrouped: set[int]) -> Iterator[Cause]:
    """Yield what moved each row of variables of a region, in their order."""
    shift, cause, row = 0, None, list[int]()
    for index, (now, before) in enumerate(region.kept):
        number, new = region.new[now]
        own_shift = new.address - region.old[before][1].address
        if own_shift != shift:
            if cause is not None:
                yield _count_moves(cause, row, regrouped)
            cause, row = _cause(pairing, region.gap(index), new, own_shift - shift), []
            shift = own_shift
        row.append(number)
    if cause is not None:
        yield _count_moves(cause, row, regrouped)


def _count_moves(cause: Cause, row: list[int], regrouped: set[int]) -> Cause:
    return replace(cause, moved=len(row), regrouped=sum(number in regrouped for number in row))


def _cause(pairing: Pairing, gap: Gap, first: Variable, growth: int) -> Cause:
    """Return the edit between two variables that explains a shift best: the largest in its direction."""
    sizes: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for side, row in enumerate((gap.old, gap.new)):
        for number, variable in row:
            sizes[pairing.joined.get(number, number)][side] += variable.size
    if gap.after is not None:
        node = pairing.nodes[gap.after]
        if node.old is not None and node.new is not None:
            sizes[gap.after] = [node.old.size, node.new.size]
    edits = [(number, old, new) for number, (old, new) in sizes.items() if old != new]
    fitting = [edit for edit in edits if (edit[2] - edit[1]) * growth > 0] or edits
    if not fitting:
        return Cause(CauseKind.PLACED, first.name, first.section, (0, 0), growth, 0, 0, 0)
    number, old, new = max(fitting, key=lambda edit: abs(edit[2] - edit[1]))
    node = pairing.nodes[number]
    section = first.section if node.is_group else node.variable.section
    kind = _kind(node, number == gap.after)
    return Cause(kind, node.name, section, (old, new), growth, len(edits) - 1, 0, 0)


def _kind(node: VariableNode, is_in_row: bool) -> CauseKind:
    if node.is_group:
        return CauseKind.NUMBERED
    if node.old is None or node.new is None:
        return CauseKind.ADDED if node.old is None else CauseKind.REMOVED
    return CauseKind.RESIZED if is_in_row else CauseKind.REORDERED
