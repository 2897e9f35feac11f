"""Findings that are unknown because an alignment is not in the input, compared as far as that is possible."""

from __future__ import annotations

from itertools import product

from layoutlint.comparison.contents import Contents
from layoutlint.comparison.standings import Standing, Status, compare_standings, standing
from layoutlint.judgement.finding import Finding
from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.model.record import replace


def compare_cases(old: Finding | None, new: Finding | None, are_layouts_same: bool) -> Status | None:
    """Return how two findings compare of which one depends on an alignment that is not known.

    If all cases compare alike, that is the status. Two equal definitions with the same cases are the same, as
    are those of which one input states the alignment, if its verdict is one of the cases; for the alignment
    of containers only if the layouts of all structs are the same. None if it depends on the alignment, or if
    nothing does.
    """
    if old is None or new is None or not (old.verdict.cases or new.verdict.cases):
        return None
    before, after = _cases(old), _cases(new)
    if any(case.outcome is Outcome.UNKNOWN for case in (*before, *after)):
        return None
    states = [{_state(one, case) for case in cases} for one, cases in ((old, before), (new, after))]
    statuses = {compare_standings(first, second) for first, second in product(*states)}
    if len(statuses) == 1:
        return statuses.pop()
    if old.verdict.cases and new.verdict.cases:
        return Status.SAME if _has_equal_struct(old, new) and states[0] == states[1] else None
    needs_containers = old.verdict.needs_containers or new.verdict.needs_containers
    is_certain = _has_equal_struct(old, new) and (are_layouts_same or not needs_containers)
    return Status.SAME if is_certain and states[0] & states[1] else None


def _cases(finding: Finding) -> tuple[Verdict, ...]:
    return finding.verdict.cases or (finding.verdict,)


def _state(finding: Finding, case: Verdict) -> Standing:
    return standing(replace(finding, verdict=case))


def _has_equal_struct(old: Finding, new: Finding) -> bool:
    if old.struct is None or new.struct is None or old.struct.target.name != new.struct.target.name:
        return False
    return Contents().is_same_layout(old.struct, new.struct)
