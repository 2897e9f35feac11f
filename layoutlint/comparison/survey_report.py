"""The report on the store of a survey: rules that fail, structs that differ, failures and costs."""

from __future__ import annotations

from layoutlint.model.record import Record

SURVEY_REPORT_SCHEMA = "layoutlint/survey-report/1"


class RuleStanding(Record, frozen=True):
    """A rule on a struct, over all inputs for a machine."""

    rule: str
    struct: str
    target: str
    severity: str
    kept: int
    """The number of inputs with this outcome as their worst; likewise below."""
    at_risk: int
    broken: int
    unknown: int
    releases: int
    """The number of releases of Linux in which it was judged."""
    since: str | None
    """The release since which it fails in all later ones as well; None if it does not fail in the last."""
    kept_in: str | None
    """The last release before that in which it was kept; None if it never was."""
    inputs: tuple[str, ...]
    """The first inputs in which it is broken or at risk."""

    @property
    def failing(self) -> int:
        """The number of inputs in which it is broken or at risk."""
        return self.at_risk + self.broken


class LayoutVariant(Record, frozen=True):
    """One layout of a struct."""

    layout: str
    """A digest of names, offsets and sizes of its fields."""
    size: int
    targets: tuple[str, ...]
    releases: tuple[str, ...]
    """In the order of versions; empty if no input states one."""
    inputs: int
    """The number of inputs with it."""
    example: str
    """The first of them."""


class StructVariants(Record, frozen=True):
    """A struct that has several layouts."""

    struct: str
    inputs: int
    """The number of inputs that define it."""
    layouts: int
    """The number of its layouts."""
    differs: str
    """`within-inputs`, `between-targets`, `between-releases` or `between-builds`."""
    variants: tuple[LayoutVariant, ...]
    """The most frequent layouts."""


class FailedInput(Record, frozen=True):
    """An input that was not read, or not whole."""

    input: str
    outcome: str
    failure: str | None
    message: str
    attempts: int


class Cost(Record, frozen=True):
    """The cost of an input."""

    input: str
    size: int | None
    seconds: float
    processor_seconds: float
    memory: int


class CostTotals(Record, frozen=True):
    """The cost of all inputs."""

    tasks: int
    """The number of inputs that a task read."""
    size: int
    """Their bytes, as far as they are known."""
    seconds: float
    processor_seconds: float
    memory: int
    """The most of all."""
    median_seconds: float
    percentile_seconds: float
    """Nine of ten tasks took less."""
    cache_hits: int
    cache_misses: int


class StoreReport(Record, frozen=True):
    """The report on a store, each list with its number of entries, of which some may be left out."""

    store: str
    inputs: int
    outcomes: dict[str, int]
    targets: tuple[tuple[str, int], ...]
    """The machines, with the number of inputs for each."""
    releases: tuple[tuple[str, int], ...]
    """The releases of Linux, with the number of inputs for each."""
    rules: tuple[RuleStanding, ...]
    structs: tuple[StructVariants, ...]
    structs_total: int
    failures: tuple[FailedInput, ...]
    failures_total: int
    without_debug_information: tuple[str, ...]
    """The inputs that have none, at most 1,000 of them."""
    totals: CostTotals
    costs: tuple[Cost, ...]
    """The inputs that took longest."""


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
