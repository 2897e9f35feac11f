"""Runs of measurements: from an experiment to the rates on this machine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import ceil

from layoutlint.errors import ReadError, UsageError
from layoutlint.judgement.rule import Rule
from layoutlint.measurement import arrange, machine, result, runner
from layoutlint.measurement.arrange import Subject
from layoutlint.measurement.experiment import Experiment
from layoutlint.measurement.machine import CannotMeasure, Machine
from layoutlint.measurement.mix import MOST_CORES, Mix, read_mix
from layoutlint.measurement.plan import Plan, Timing
from layoutlint.model.record import Record, replace
from layoutlint.readers.profiles.saved import Saved

_SECONDS = 10.0
ROUNDS = 7
_SHORT = 64
"""A core with more accesses needs longer windows: one ends after the last of them."""
_LONG_WINDOW = 2_000_000


class Setup(Record, frozen=True):
    """What the caller chooses of a measurement."""

    cores: tuple[int, ...] = ()
    """The logical processors; empty for the first cores."""
    seconds: float | None = None
    """How long is measured; None for 10 seconds, or more if the situations need it."""
    rounds: int = ROUNDS
    is_dry: bool = False
    """Whether only the program is wanted: the machine then needs no cores."""


def line_size(setup: Setup) -> int:
    """Return the bytes of a cache line of this machine. Raises CannotMeasure."""
    size, _ = machine.cache_sizes(min(setup.cores, default=0))
    if size is None:
        raise CannotMeasure("the system does not state the size of a cache line")
    return size


def replay(
    name: str, subjects: Sequence[Subject], files: Sequence[Saved], setup: Setup
) -> result.Measurement:
    """Measure the accesses of saved profiles on one layout, or on the layouts before and after a change.

    `name` is the struct. Raises CannotMeasure if the machine cannot; if it could not tell, the measurement
    has a refusal. Raises ReadError for profiles of another struct or layout, and UsageError.
    """
    mix = read_mix(files, [each.context.layout for each in subjects])
    plan = plan_replay(subjects, mix, (0,), setup)
    return measure(name, subjects, plan, find_machine(plan, setup), mix=mix)


def plan_replay(subjects: Sequence[Subject], mix: Mix, intervals: tuple[int, ...], setup: Setup) -> Plan:
    """Return the plan of a replay on as many cores as there are, and as CPUs of the profile.

    Raises ReadError, UsageError and CannotMeasure.
    """
    number = max(2, len(setup.cores) or min(mix.cpus, MOST_CORES, machine.count_cores()))
    try:
        mix.share_out(number)
    except ValueError as error:
        raise ReadError(mix.files[0], str(error)) from None
    experiment = arrange.replay(mix, number, subjects, intervals, line_size(setup))
    return make_plan(experiment, number, subjects[0].origin, setup)


def make_plan(experiment: Experiment, number: int, origin: str, setup: Setup) -> Plan:
    """Return an experiment with `number` cores and times. Raises ReadError, UsageError and CannotMeasure."""
    cores = tuple(range(number)) if setup.is_dry else machine.choose_cores(number, setup.cores)
    _, second = machine.cache_sizes(min(setup.cores, default=0))
    timing = Timing(setup.seconds or _SECONDS, setup.rounds)
    if any(len(role.words) > _SHORT for each in experiment.arrangements for role in each.roles):
        timing = replace(timing, window=_LONG_WINDOW)
    plan = Plan(experiment, cores, timing, second or 1 << 20)
    try:
        assert plan.arena
    except ValueError as error:
        raise ReadError(origin, str(error)) from None
    least = timing.least_seconds(len(plan.cells))
    if setup.seconds is not None and setup.seconds < least:
        raise UsageError(
            f"--seconds {setup.seconds:g} is too short for {len(plan.cells)} situations in {setup.rounds} "
            f"rounds: give at least {ceil(10 * least) / 10}, or less --rounds or --intervals"
        )
    return replace(plan, timing=replace(timing, seconds=max(timing.seconds, least)))


def find_machine(plan: Plan, setup: Setup) -> Machine:
    """Return this machine, with a compiler. Raises CannotMeasure."""
    model, is_virtual = machine.processor()
    compiler = "" if setup.is_dry else machine.find_compiler()
    version = "" if setup.is_dry else runner.compiler_version(compiler)
    available = len(machine.allowed_processors())
    _, second = machine.cache_sizes(min(setup.cores, default=0))
    size = plan.experiment.line_size
    return Machine(model, is_virtual, plan.cores, available, size, second, compiler, version)


def measure(
    name: str,
    subjects: Sequence[Subject],
    plan: Plan,
    on: Machine,
    *,
    rule: Rule | None = None,
    mix: Mix | None = None,
    notes: Sequence[str] = (),
) -> result.Measurement:
    """Run the program, and return what it measured. Raises CannotMeasure."""
    load, stolen, begun = machine.load(), machine.stolen_ticks(), time.monotonic()
    samples = runner.run(plan, on.compiler)
    seconds, now = time.monotonic() - begun, machine.stolen_ticks()
    passed = now[1] - stolen[1]
    share = (now[0] - stolen[0]) / passed if passed > 0 else None
    conditions = result.Conditions(load, share, seconds, time.strftime("%Y-%m-%d"))
    total, valid, series = result.series_of_samples(samples, plan)
    return result.Measurement(
        name,
        subjects[0].struct.source,
        None if rule is None else rule.id,
        None if rule is None else rule.kind.name,
        plan,
        on,
        conditions,
        total,
        valid,
        series,
        (
            *notes,
            *machine.foreign_layouts(each.struct.target.name for each in subjects),
            *(() if mix is None else mix.sentences(len(plan.cores))),
            *arrange.notes(subjects, plan.experiment),
        ),
        () if mix is None else mix.files,
    )
