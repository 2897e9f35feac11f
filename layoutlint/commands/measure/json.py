"""Format `json` of `measure` (schema `layoutlint/measure/1`, docs/json.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from msgspec import Meta

from layoutlint.errors import EXIT_KEPT, EXIT_UNKNOWN
from layoutlint.measurement.experiment import Arrangement, Role
from layoutlint.measurement.plan import SEED
from layoutlint.measurement.result import LEAST_FACTOR, Measurement, Ratio, Series
from layoutlint.model.json_object import Amount, JsonObject, Natural, Positive, Share, one_of
from layoutlint.reports.json_values import document_text, file_and_line

_DIGITS = 4
"""Significant digits of rates and ratios: more are noise."""


class Document(JsonObject, frozen=True, tag_field="schema", tag="layoutlint/measure/1"):
    """What accesses to the fields of a struct cost on one machine.

    An unknown value is null. Rates differ from run to run.
    """

    struct: str
    """The name of the struct."""
    file: str | None
    """The file that defines it."""
    line: Positive | None
    """The line of the definition."""
    rule: str | None
    """The rule's id. Null if fields were named instead."""
    kind: str | None
    """The kind of the rule."""
    evidence: Sequence[str]
    """The files with the profile that is replayed. Empty for other accesses."""
    mode: Annotated[str, one_of("contention", "sweep")]
    """Contention: cores access one object. Sweep: one core accesses many objects."""
    machine: MachineJson
    """The machine that measured."""
    run: RunJson
    """How it was measured."""
    control: ControlJson
    """Counters that show whether the machine can tell."""
    refusal: str | None
    """Why the machine could not tell, with the numbers. Null if it could."""
    layouts: Sequence[LayoutJson]
    """One layout, or that before a change and that after it."""
    ratios: Sequence[RatioJson]
    """Ratios of mean rates: objects are taken to be equally likely at each base."""
    notes: Sequence[str]
    """What must be known of the numbers, as sentences."""
    exit: Annotated[int, one_of(0, 3)]
    """The exit status: 3 if the machine could not tell."""


class MachineJson(JsonObject, frozen=True):
    """The machine that measured."""

    processor: str | None
    """Its name, as the system states it."""
    virtual: bool
    """Whether the processor states that a hypervisor runs it."""
    cores: Sequence[Natural]
    """The processors that measured, each on a physical core of its own. The first one waits between its
    accesses."""
    available: Positive
    """Processors that the process could use."""
    line_size: Positive
    """Bytes of a cache line."""
    second_level_cache: Positive | None
    """Bytes of the second-level cache of a core."""
    compiler: str
    """The path of the compiler."""
    compiler_version: str | None
    """The first line that it prints about itself."""


class RunJson(JsonObject, frozen=True):
    """How it was measured."""

    rounds: Positive
    """How often everything was measured, in random order."""
    seconds: Amount
    """How long it took, with the compiler."""
    window: Positive
    """Nanoseconds of one sample."""
    samples: Natural
    """The number of samples."""
    undisturbed: Natural
    """The number of samples in which all cores ran at the same time; only these count."""
    seed: str
    """The start of the random order, in hexadecimal digits."""
    load: Amount | None
    """The average number of running processes in the minute before."""
    date: Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\d$")] | None
    """The day on which it was measured. Null if unknown."""
    stolen: Share | None
    """The share of the processors' time that a hypervisor took."""


class ControlJson(JsonObject, frozen=True):
    """Counters, one for each core, that show whether the machine can tell."""

    slow: SpreadJson | None
    """The rate with all on one line; in a sweep, on two lines. Null if no sample was undisturbed."""
    fast: SpreadJson | None
    """The rate with lines of their own; in a sweep, on one line. Null if no sample was undisturbed."""
    factor: Amount | None
    """The fast rate divided by the slow one."""
    least_factor: Amount
    """The smallest factor with which a machine can tell."""


class LayoutJson(JsonObject, frozen=True):
    """A layout of the struct."""

    label: Annotated[str, one_of("before", "after")] | None
    """Which of two layouts it is. Null for a single one."""
    input: str
    """The input that has it."""
    size: Natural
    """Bytes of the struct."""
    verdict: str | None
    """The verdict of the rule, as a sentence."""
    placed: str
    """The reason for the bases."""
    accesses: Sequence[AccessJson]
    """What the cores access."""
    placements: Sequence[PlacementJson]
    """Where an object can start."""
    reference: Sequence[RateJson]
    """The rates of the same accesses on lines of their own; in a sweep, packed on as few lines as
    possible."""


class RatioJson(JsonObject, frozen=True):
    """The rates of some placements, divided by those of others."""

    layout: Annotated[str, one_of("before", "after")] | None
    """The label of the layout. Null for a single one, and for a ratio of two."""
    of: Annotated[str, one_of("affected", "unaffected", "after")]
    """The placements whose rate is divided."""
    to: Annotated[str, one_of("unaffected", "reference", "before")]
    """The placements by whose rate it is divided, or the same accesses on lines of their own."""
    interval: Natural
    """Nanoseconds that the first core waits after its accesses."""
    core: Natural | None
    """The processor. Null for the accesses of all, in a replayed profile."""
    ratio: SpreadJson
    clear: bool
    """Whether all rounds agree on which is faster."""


class SpreadJson(JsonObject, frozen=True):
    """A number with its spread."""

    median: Amount
    """The median of the rounds."""
    least: Amount
    """The least of the rounds."""
    most: Amount
    """The most of the rounds."""
    rounds: Sequence[float]
    """Each round: the median of its samples."""


class AccessJson(JsonObject, frozen=True):
    """The accesses of a core to a field."""

    core: Natural
    """The processor."""
    path: str
    """The field."""
    offset: Natural
    """Bytes from the start of the struct."""
    size: Natural
    """Bytes of the field."""
    operation: Annotated[str, one_of("load", "store", "add", "lock")]
    """A load, a store, an atomic addition, or an attempt to take a lock."""
    assumed: bool
    """Whether no access is declared, so that it is taken as written."""
    distance: Natural
    """Bytes from the object to the one with the field: 0, or the distance to the next object in a row."""
    words: Sequence[WordJson]
    """The accesses, in their order."""
    times: Positive
    """How often the core does them before it begins again: in a replayed profile, the proportion."""


class PlacementJson(JsonObject, frozen=True):
    """The placement of an object at one base."""

    base: Natural
    """The byte of a line at which the object starts."""
    violates: bool | None
    """Whether the rule is violated there. Null without a rule."""
    affected: bool
    """Whether a core accesses a line there on which another one writes another field; in a sweep, whether
    there are more lines than the words need."""
    lines: Natural
    """Lines on which a core writes, and another one accesses another field; in a sweep, lines that the core
    accesses."""
    rates: Sequence[RateJson]
    """The rate of each core, for each interval."""


class RateJson(JsonObject, frozen=True):
    """The rate of one core."""

    interval: Natural
    """Nanoseconds that the first core waits after its accesses; 0 for back to back."""
    core: Natural
    """The processor."""
    rate: SpreadJson | None
    """How often a second it does all of its accesses; in a sweep, for how many objects. Null if no sample was
    undisturbed."""


class WordJson(JsonObject, frozen=True):
    """An access."""

    offset: Natural
    """Bytes from the start of the struct."""
    width: Positive
    """Bytes that are accessed."""


def render(measurement: Measurement) -> str:
    """Return the measurement as one JSON object, with a newline at the end."""
    plan, refusal = measurement.plan, measurement.refusal()
    document = Document(
        struct=measurement.struct,
        **file_and_line(measurement.source),
        rule=measurement.rule,
        kind=measurement.kind,
        evidence=measurement.evidence,
        mode=plan.experiment.mode,
        machine=_machine(measurement),
        run=_run(measurement),
        control=_control(measurement),
        refusal=refusal,
        layouts=[_layout(n, each, measurement) for n, each in enumerate(plan.experiment.arrangements)],
        ratios=[_ratio(each, measurement) for each in measurement.ratios()],
        notes=measurement.notes,
        exit=EXIT_KEPT if refusal is None else EXIT_UNKNOWN,
    )
    return document_text(document)


def _machine(measurement: Measurement) -> MachineJson:
    machine = measurement.machine
    return MachineJson(
        processor=machine.model or None,
        virtual=machine.is_virtual,
        cores=machine.cores,
        available=machine.available,
        line_size=machine.line_size,
        second_level_cache=machine.second_level,
        compiler=machine.compiler,
        compiler_version=machine.compiler_version or None,
    )


def _run(measurement: Measurement) -> RunJson:
    timing, conditions = measurement.plan.timing, measurement.conditions
    return RunJson(
        rounds=timing.rounds,
        seconds=round(conditions.seconds, 2),
        window=timing.window,
        samples=measurement.samples,
        undisturbed=measurement.valid,
        seed=f"{SEED:x}",
        load=conditions.load,
        date=conditions.date,
        stolen=None if conditions.stolen is None else round(conditions.stolen, 5),
    )


def _control(measurement: Measurement) -> ControlJson:
    slow, fast = measurement.control
    factor = measurement.factor
    return ControlJson(
        slow=None if slow is None else _spread(slow),
        fast=None if fast is None else _spread(fast),
        factor=None if factor is None else _round_value(factor.median),
        least_factor=LEAST_FACTOR[measurement.plan.experiment.mode],
    )


def _layout(number: int, arrangement: Arrangement, measurement: Measurement) -> LayoutJson:
    return LayoutJson(
        label=arrangement.label or None,
        input=arrangement.origin,
        size=arrangement.size,
        verdict=arrangement.verdict or None,
        placed=arrangement.why,
        accesses=[
            access
            for core, role in zip(measurement.machine.cores, arrangement.roles, strict=False)
            for access in _role(core, role)
        ],
        placements=[
            PlacementJson(
                base=base,
                violates=None if arrangement.violating is None else base in arrangement.violating,
                affected=base in arrangement.affected,
                lines=measurement.plan.experiment.shared_lines(arrangement, base),
                rates=_rates(number, base, measurement),
            )
            for base in arrangement.bases
        ],
        reference=_rates(number, None, measurement),
    )


def _role(core: int, role: Role) -> Iterator[AccessJson]:
    for field in role.fields:
        yield AccessJson(
            core=core,
            path=field.path,
            offset=field.offset,
            size=field.size,
            operation=field.operation,
            assumed=field.is_assumed,
            distance=role.distance,
            words=[WordJson(offset=word.offset, width=word.width) for word in field.words],
            times=field.times,
        )


def _rates(number: int, base: int | None, measurement: Measurement) -> list[RateJson]:
    """Return the rates at a base of an arrangement; for None those of the reference."""
    rows = zip(measurement.plan.cells, measurement.series, strict=True)
    return [
        RateJson(
            interval=cell.interval,
            core=measurement.machine.cores[core],
            rate=None if series is None else _spread(series),
        )
        for cell, cores in rows
        if cell.arrangement == number and (None if cell.is_reference else cell.base) == base
        for core, series in enumerate(cores)
    ]


def _ratio(each: Ratio, measurement: Measurement) -> RatioJson:
    labels = [arrangement.label or None for arrangement in measurement.plan.experiment.arrangements]
    return RatioJson(
        layout=None if each.arrangement is None else labels[each.arrangement],
        of=each.of,
        to=each.to,
        interval=each.interval,
        core=None if each.core is None else measurement.machine.cores[each.core],
        ratio=_spread(each.series),
        clear=each.is_clear,
    )


def _spread(series: Series) -> SpreadJson:
    return SpreadJson(
        median=_round_value(series.median),
        least=_round_value(series.least),
        most=_round_value(series.most),
        rounds=[_round_value(rate) for rate in series.rounds],
    )


def _round_value(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
