"""Format `json` of `tune` (schema `layoutlint/tune/1`, docs/json.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from layoutlint.commands import order_phrases as phrases
from layoutlint.commands.tune.result import Tuned
from layoutlint.model.json_object import Amount, JsonObject, Natural, one_of
from layoutlint.reports.json_values import document_text, file_and_line
from layoutlint.suggestion.contention import Contention
from layoutlint.suggestion.orders.result import Refusal


class Document(JsonObject, frozen=True, tag_field="schema", tag="layoutlint/tune/1"):
    """What profiles give: an order, what else it changes, and its measured effect.

    An unknown value is null.
    """

    input: str
    """The input."""
    struct: str
    """The struct."""
    file: str | None
    """The file that defines it."""
    line: int | None
    """The line of its definition."""
    reports: Sequence[str]
    """The reports that were read."""
    certainty: Sequence[str]
    """How certain the place of each cache line is, in words."""
    contention: Contention | None
    """What was measured, and what the order leaves of it. Null if no order was searched."""
    status: Annotated[str, one_of("optimal", "feasible", "infeasible", "refused", "unknown")]
    """As in the output of `suggest`."""
    reason: str | None
    """Why it was refused, or why nothing is known."""
    order: Sequence[str]
    """The members in the new order. Empty if there is none."""
    moves: Sequence[str]
    """The moves, in words."""
    size: tuple[int, int] | None
    """The size before and after, in bytes."""
    refusals: Sequence[Refusal]
    """What forbids the order."""
    patch: str | None
    """The change as a diff for `git apply`. Null if there is no text to change."""
    no_patch: str | None
    """Why there is no patch."""
    changes: Sequence[str]
    """What else changes in the input, in words."""
    not_compared: str | None
    """Why that is not known."""
    measurement: MeasurementJson | None
    """The effect of the change on this machine. Null if it was not measured."""
    not_measured: str | None
    """Why it was not measured."""
    notes: Sequence[str]
    """What a person should know."""


class MeasurementJson(JsonObject, frozen=True):
    """What was measured: cores repeat the accesses of the profile."""

    processor: str | None
    """The processor."""
    date: str | None
    """The day."""
    ratios: Sequence[RatioJson]
    """The rates after the change divided by those before it, over all placements."""


class RatioJson(JsonObject, frozen=True):
    """A ratio of rates."""

    core: Natural | None
    """The processor; null for all together."""
    interval: Natural
    """Nanoseconds that the first core waits after its accesses."""
    ratio: Amount
    """The median of the rounds."""
    clear: bool
    """Whether all rounds agree on which is faster."""


def render(result: Tuned) -> str:
    """Return one JSON object."""
    suggestion = result.suggestion
    new = suggestion.new
    document = Document(
        input=suggestion.input,
        struct=suggestion.struct.name,
        **file_and_line(suggestion.struct.source),
        reports=[report.path for report in result.reports],
        certainty=result.certainties,
        contention=suggestion.contention,
        status=suggestion.status,
        reason=suggestion.reason or None,
        order=suggestion.order,
        moves=phrases.moves(suggestion),
        size=None if new is None else ((suggestion.struct.bit_size or 0) // 8, (new.bit_size or 0) // 8),
        refusals=suggestion.refusals,
        patch=None if suggestion.patch is None else suggestion.patch.diff,
        no_patch=suggestion.no_patch or None,
        changes=result.changes,
        not_compared=result.not_compared or None,
        measurement=_measurement(result),
        not_measured=result.not_measured or None,
        notes=suggestion.notes,
    )
    return document_text(document)


def _measurement(result: Tuned) -> MeasurementJson | None:
    effect = result.effect
    if effect is None:
        return None
    ratios = [
        RatioJson(core=each.core, interval=each.interval, ratio=each.ratio.median, clear=each.clear)
        for each in result.after_to_before
    ]
    return MeasurementJson(
        processor=effect.measured.machine.processor,
        date=effect.measured.run.date,
        ratios=ratios,
    )
