"""Verdicts that depend on an alignment which the input does not state: unknown, with what settles them."""

from __future__ import annotations

from collections.abc import Sequence

from layoutlint.geometry.layout import shared
from layoutlint.judgement.verdict import Outcome, Verdict, unknown
from layoutlint.lint.placing import Case
from layoutlint.model.structs import Struct
from layoutlint.phrases import some_of

Verdicts = list[tuple[Case, Verdict]]
"""The verdict for each alignment that makes a difference."""


def verdict(struct: Struct, verdicts: Verdicts) -> Verdict:
    """The verdict where an alignment decides that the input does not state."""
    outcomes: dict[Outcome, list[int]] = {}
    for case, found in verdicts:
        outcomes.setdefault(found.outcome, []).extend(case.aligns)
    if not all(outcomes.values()):
        return unknown(_around(struct, verdicts))
    told = ", ".join(
        f"{_OUTCOMES[outcome]} if {'it is ' if not number else ''}{_or(sorted(aligns))}"
        for number, (outcome, aligns) in enumerate(sorted(outcomes.items(), key=lambda item: -max(item[1])))
    )
    likely = shared(struct).align.value
    return unknown(
        f"The alignment of {struct.aggregate} {struct.name} is not in the debug information. The rule is "
        f'{told}. Check the header, or state `placement = "aligned:{likely}"` in the rule file.'
    )


def _around(struct: Struct, verdicts: Verdicts) -> str:
    """The message where that of containers decides."""
    names = tuple(dict.fromkeys(name for case, _ in verdicts for name in case.containers))
    told = ", if ".join(
        f"{case.what or 'what its members ask for'}, {_OUTCOMES[found.outcome]}" for case, found in verdicts
    )
    return (
        f"The alignment of what embeds {struct.aggregate} {struct.name} ({some_of(names)}) is not in the "
        f"debug information. If it is {told}. Check the headers, or state their `placement` in the rule file."
    )


_OUTCOMES = {
    Outcome.KEPT: "kept", Outcome.BROKEN: "broken", Outcome.AT_RISK: "at risk", Outcome.UNKNOWN: "unknown",
}  # fmt: skip


def _or(numbers: Sequence[int]) -> str:
    """Some numbers as a choice: `1, 2 or 4`."""
    *first, last = map(str, numbers)
    return f"{', '.join(first)} or {last}" if first else last
