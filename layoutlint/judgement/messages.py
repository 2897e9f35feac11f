"""The messages of findings, made from the fields of their verdicts."""

from __future__ import annotations

from typing import Literal

from layoutlint.judgement.build_outcomes import sort_worst_first, summarise_builds
from layoutlint.judgement.finding import Definition, Finding
from layoutlint.judgement.verdict import CONFIDENCE, Orders, Outcome, Verdict
from layoutlint.model.build import Build
from layoutlint.model.paths import overlap
from layoutlint.phrases import first_few, percent

_FEW = 8
"""How many fields of an order a message names."""


def finding_message(finding: Finding, builds: tuple[Build, ...] = ()) -> str:
    """Return the message of a finding; over the builds of a matrix, with its outcome in each of them.

    `builds` are all builds of the matrix.
    """
    if not finding.builds:
        message = _verdict_message(finding.verdict)
        where = finding.definition
        return message if where is None else f"{message} (the definition {describe_definition(where)})"
    ordered = sort_worst_first(finding.builds)
    name, worst = ordered[0]
    message = f"{summarise_builds(ordered, builds)}: {finding_message(worst)}"
    has_others = len({finding_message(other) for _, other in ordered}) > 1
    return f"{message} (build {name})" if has_others else message


AdviceKind = Literal["fix", "first step", "to do"]


def advice_kind(finding: Finding) -> AdviceKind:
    """Return what the advice is: a change that keeps the rule, the first one of several, or another step."""
    traits = finding.rule.kind.traits
    if finding.confirmation or finding.verdict.outcome not in (Outcome.BROKEN, Outcome.AT_RISK):
        return "to do"
    if finding.verdict.fix:
        return "fix"
    is_of_layout = traits.in_baselines and not traits.is_built_in  # a snapshot is accepted, or changed
    return "first step" if is_of_layout else "to do"


def finding_advice(finding: Finding) -> str:
    """Return what keeps the rule, or leads to it; for a guess, after what makes it certain. Empty for none.

    `advice_kind` tells which.
    """
    verdict, advice = finding.verdict, finding.verdict.fix or finding.verdict.advice
    if verdict.is_from_malloc and advice and not verdict.fix:
        size = verdict.line_size or 64
        advice += (
            f"; malloc heeds no alignment of types, so allocate with `aligned_alloc({size}, ...)` or "
            "`posix_memalign`"
        )
    return f"{finding.confirmation}; if it is, {advice}" if finding.confirmation else advice


def advice_line(finding: Finding) -> str:
    """Return the advice behind a word for what it is, as "Fix: write ..."; empty for none."""
    advice = finding_advice(finding)
    return f"{advice_kind(finding).capitalize()}: {advice}" if advice else ""


def _verdict_message(verdict: Verdict) -> str:
    message = verdict.message
    if verdict.in_other_elements:
        message += "; likewise in other elements"
    if verdict.orders is not None:
        message += _describe_orders(verdict, verdict.orders)
    if verdict.tolerance is not None:
        message += f"; the rule tolerates {verdict.tolerance:.1%} of the placements"
    return message


def describe_definition(definition: Definition) -> str:
    """Return where a definition is, to tell it from others of its name, and where its layout differs."""
    place, others = _place(definition), definition.others
    if not others:
        return place
    return f"{place}; it has another layout in {others[0] if len(others) == 1 else first_few(others)}"


def _place(definition: Definition) -> str:
    at = f"at {definition.source}" if definition.source else f"of {definition.size} bytes"
    if len(definition.files) == 1:  # with its folder: the files of other definitions can have the same name
        return f"{at} in {definition.files[0]}"
    return f"{at} in {first_few(definition.files)}" if definition.files else at


def _describe_orders(verdict: Verdict, orders: Orders) -> str:
    """Return in which order of fields the message holds, and how often the rule fails over all orders."""
    row = _part_of_row(orders.witness, {place.path for place in verdict.evidence})
    order = f", in the order {row}" if row else ", in one order"
    if verdict.outcome is Outcome.KEPT and not orders.share and orders.drawn is None:
        return f"{order}; it holds in every other that {orders.mode} can choose as well"
    if verdict.outcome is Outcome.BROKEN:
        return f"{order}; it fails in every placement of every order that {orders.mode} can choose"
    share = percent(orders.share)
    if orders.drawn is not None:
        share += (
            f" (± {orders.error:.2%} with {CONFIDENCE:.0%} confidence, "
            f"by {orders.drawn:,} orders drawn at random)"
        )
    return f"{order}; over all orders that {orders.mode} can choose it fails in {share} of the placements"


def _part_of_row(row: tuple[str, ...], paths: set[str]) -> str:
    """Return the part of an order with the fields of a verdict, as a list of a few names; empty for none."""
    positions = [n for n, name in enumerate(row) if any(overlap(path, name) for path in paths)]
    if not positions:
        return ""
    first, last = positions[0], positions[-1]
    names = [f"`{name}`" for name in row[first : last + 1]]
    if len(names) > _FEW:
        names = [*names[: _FEW // 2], f"... {len(names) - _FEW} more ...", *names[-(_FEW // 2) :]]
    start = ["..."] if first else []
    return ", ".join([*start, *names, *(["..."] if last + 1 < len(row) else [])])
