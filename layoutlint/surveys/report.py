"""The report on the store of a survey: rules that fail, structs that differ, failures and costs."""

from __future__ import annotations

from typing import Annotated

from layoutlint.judgement.rule import Severity
from layoutlint.model.json_object import Amount, JsonObject, Natural, one_of
from layoutlint.model.record import Record
from layoutlint.surveys.result import FailedInput, Outcomes


class RuleStanding(JsonObject, frozen=True):
    """A rule on a struct, for a machine."""

    rule: str
    """The rule."""
    struct: str
    """The struct."""
    target: str
    """The machine."""
    severity: Annotated[str, one_of(*Severity)]
    """The severity of the rule."""
    kept: Natural
    """The number of inputs with this outcome as their worst."""
    at_risk: Natural
    """The number of inputs in which it is at risk."""
    broken: Natural
    """The number of inputs in which it is broken."""
    unknown: Natural
    """The number of inputs in which it could not be judged."""
    releases: Natural
    """The number of releases of Linux in which it was judged."""
    since: str | None
    """The release since which it fails in all later ones too; null if it does not fail in the last."""
    kept_in: str | None
    """The last release before `since` in which it was kept; null if there is none."""
    inputs: tuple[str, ...]
    """The first inputs in which it is broken or at risk."""

    @property
    def failing(self) -> int:
        """The number of inputs in which it is broken or at risk."""
        return self.at_risk + self.broken


class LayoutVariant(JsonObject, frozen=True):
    """A layout."""

    layout: str
    """A digest of names, offsets and sizes of its fields."""
    size: Natural
    """The size of the struct in bytes."""
    targets: tuple[str, ...]
    """The machines."""
    releases: tuple[str, ...]
    """The releases of Linux, in the order of versions."""
    inputs: Natural
    """The number of inputs with it."""
    example: str
    """The first of them."""


class StructVariants(JsonObject, frozen=True):
    """A struct."""

    struct: str
    """Its name."""
    inputs: Natural
    """The number of inputs that define it."""
    layouts: Natural
    """The number of its layouts."""
    differs: Annotated[str, one_of("within-inputs", "between-builds", "between-releases", "between-targets")]
    """Where it has several: the narrowest of these."""
    variants: tuple[LayoutVariant, ...]
    """The most frequent layouts, at most 20."""


class Cost(JsonObject, frozen=True):
    """An input."""

    input: str
    """The input."""
    size: Natural | None
    """Its bytes; null if not known."""
    seconds: Amount
    """Wall-clock time."""
    processor_seconds: Amount
    """Processor time."""
    memory: Natural
    """The most bytes that were resident."""


class CostTotals(JsonObject, frozen=True):
    """What all inputs took that a task read."""

    tasks: Natural
    """Their number."""
    size: Natural
    """Their bytes, as far as they are known."""
    seconds: Amount
    """Wall-clock time."""
    processor_seconds: Amount
    """Processor time."""
    memory: Natural
    """The most bytes of a task."""
    median_seconds: Amount
    """Half of the tasks took less."""
    percentile_seconds: Amount
    """Nine of ten tasks took less."""
    cache_hits: Natural
    """The readings that the cache had."""
    cache_misses: Natural
    """The readings that it had not."""


class InputCount(JsonObject, frozen=True):
    """One of them."""

    name: str
    """Its name."""
    inputs: Natural
    """The number of inputs."""


class StoreReport(JsonObject, frozen=True, tag_field="schema", tag="layoutlint/survey-report/1"):
    """What a store has. The latest run of each input counts."""

    store: str
    """The folder of the store."""
    inputs: Natural
    """The number of inputs."""
    outcomes: Outcomes
    """The number of inputs by outcome."""
    targets: tuple[InputCount, ...]
    """The machines."""
    releases: tuple[InputCount, ...]
    """The releases of Linux, in the order of versions."""
    rules: tuple[RuleStanding, ...]
    """The rules, those that fail in most inputs first."""
    structs: tuple[StructVariants, ...]
    """The structs with several layouts, at most 1,000; those with the most layouts first."""
    structs_total: Natural
    """The number of structs with several layouts."""
    failures: tuple[FailedInput, ...]
    """The inputs that failed or are incomplete, at most 1,000."""
    failures_total: Natural
    """Their number."""
    without_debug_information: tuple[str, ...]
    """The inputs without debug information, at most 1,000."""
    totals: CostTotals
    """What all inputs took that a task read."""
    costs: tuple[Cost, ...]
    """The 20 inputs that took the most processor time."""


class FailingVerdict(Record, frozen=True):
    """A verdict that is no `kept`, in one input."""

    rule: str
    struct: str
    outcome: str
    input: str
    member: str | None
    target: str
    release: str | None
    violating: int
    placements: int
    message: str
