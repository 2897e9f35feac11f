"""Unknown verdicts on structs whose alignment is not in the debug information, with the remedy."""

from __future__ import annotations

from collections.abc import Sequence

from layoutlint.geometry.layout import cached_layout
from layoutlint.judgement.verdict import Outcome, Verdict, unknown
from layoutlint.lint.placing import Case
from layoutlint.model.record import replace
from layoutlint.model.structs import Struct
from layoutlint.phrases import first_few

CaseVerdicts = list[tuple[Case, Verdict]]
"""The verdict for each alignment that makes a difference."""


def unknown_alignment(struct: Struct, verdicts: CaseVerdicts) -> Verdict:
    """Return the unknown verdict on a struct whose possible alignments have different verdicts."""
    outcomes: dict[Outcome, list[int]] = {}
    for case, verdict in verdicts:
        outcomes.setdefault(verdict.outcome, []).extend(case.aligns)
    if not all(outcomes.values()):
        return replace(
            unknown(_containers_message(struct, verdicts)), cases=_distinct(verdicts), needs_containers=True
        )
    conditions = ", ".join(
        f"{_OUTCOMES[outcome]} if {'it is ' if not number else ''}{_join_choices(sorted(aligns))}"
        for number, (outcome, aligns) in enumerate(sorted(outcomes.items(), key=lambda item: -max(item[1])))
    )
    likely = cached_layout(struct).align.value
    verdict = unknown(
        f"The alignment of {struct.aggregate} {struct.name} is not in the debug information. The rule is "
        f'{conditions}. Check the header, or state `placement = "aligned:{likely}"` in the rule file.'
    )
    return replace(verdict, cases=_distinct(verdicts))


def _distinct(verdicts: CaseVerdicts) -> tuple[Verdict, ...]:
    return tuple(dict.fromkeys(verdict for _, verdict in verdicts))


def _containers_message(struct: Struct, verdicts: CaseVerdicts) -> str:
    """Return the message for an embedded struct: the alignment of its containers decides."""
    names = tuple(dict.fromkeys(name for case, _ in verdicts for name in case.containers))
    conditions = ", if ".join(
        f"{case.alignment or 'what its members need'}, {_OUTCOMES[verdict.outcome]}"
        for case, verdict in verdicts
    )
    return (
        f"The alignment of what embeds {struct.aggregate} {struct.name} ({first_few(names)}) is not in the "
        f"debug information. If it is {conditions}. "
        "Check the headers, or state their `placement` in the rule file."
    )


_OUTCOMES = {
    Outcome.KEPT: "kept", Outcome.BROKEN: "broken", Outcome.AT_RISK: "at risk", Outcome.UNKNOWN: "unknown",
}  # fmt: skip


def _join_choices(numbers: Sequence[int]) -> str:
    """Return numbers as a choice: `1, 2 or 4`."""
    *first, last = map(str, numbers)
    return f"{', '.join(first)} or {last}" if first else last
