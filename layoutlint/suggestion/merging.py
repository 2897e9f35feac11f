"""One order in several builds, as one suggestion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.model.build import Build, short_name
from layoutlint.sources.order_uses import LookedAt
from layoutlint.suggestion.orders.result import BuildResult, RuleOutcome, Status, Suggestion

_BADNESS = {Outcome.KEPT: 0, Outcome.UNKNOWN: 1, Outcome.AT_RISK: 2, Outcome.BROKEN: 3}


def merge_builds(
    label: str,
    status: Status,
    parts: Sequence[Suggestion],
    builds: Sequence[Build | None],
    facts: dict[str, Any],
) -> Suggestion:
    """Return a suggestion for all builds of a struct, with some facts that are common to them.

    It has the struct of the first build, and each rule with its worst outcomes. Without a matrix there is one
    build, which is None.
    """
    named = [build for build in builds if build is not None]
    results = [
        BuildResult(build, part) for build, part in zip(builds, parts, strict=True) if build is not None
    ]
    first = parts[0]
    return Suggestion(
        label, first.struct, status, first.new, first.declared,
        rules=tuple(_worst_outcomes(parts)),
        refusals=tuple(dict.fromkeys(refusal for part in parts for refusal in part.refusals)),
        hints=tuple(dict.fromkeys(use for part in parts for use in part.hints)),
        is_order_free=all(part.is_order_free for part in parts),
        notes=tuple(_notes([part.notes for part in parts], tuple(named))),
        looked_at=_sum({part.input: part.looked_at for part in parts}.values()),
        not_looked_at=tuple(_notes([part.not_looked_at for part in parts], tuple(named))),
        builds=tuple(results), **facts,
    )  # fmt: skip


def _worst_outcomes(parts: Sequence[Suggestion]) -> Iterable[RuleOutcome]:
    """Return each rule once, with its worst outcome before, and its worst one after."""
    by_rule: dict[str, list[RuleOutcome]] = {}
    for outcome in (outcome for part in parts for outcome in part.rules):
        by_rule.setdefault(outcome.rule.id, []).append(outcome)
    for own in by_rule.values():
        reason = next((each.reason for each in own if each.reason), "")
        before, after = _worst(each.before for each in own), _worst(each.after for each in own)
        yield RuleOutcome(own[0].rule, before, after, reason)


def _worst(verdicts: Iterable[Verdict]) -> Verdict:
    return max(verdicts, key=lambda verdict: _BADNESS[verdict.outcome])


def _notes(notes: Sequence[tuple[str, ...]], builds: tuple[Build, ...]) -> Iterable[str]:
    """Yield each note once, with its builds if it is not about all of them."""
    if not builds:
        yield from (note for own in notes for note in own)
        return
    names: dict[str, list[str]] = {}
    for build, own in zip(builds, notes, strict=True):
        for note in own:
            names.setdefault(note, []).append(build.name)
    for note, own_names in names.items():
        is_all = len(own_names) == len(builds)
        yield note if is_all else f"{note} (in {short_name(own_names, builds)})"


def _sum(searches: Iterable[LookedAt]) -> LookedAt:
    every = list(searches)
    return LookedAt(
        sum(each.sources for each in every),
        sum(each.headers for each in every),
        sum(each.mentioning for each in every),
    )
