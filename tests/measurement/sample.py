"""Measurements that no machine made: the numbers are invented, so that reports and judgements can be compared."""

from __future__ import annotations

from collections.abc import Callable

from layoutlint.measurement.experiment import (
    Arrangement,
    Cell,
    Experiment,
    FieldAccess,
    Operation,
    Role,
    Word,
)
from layoutlint.measurement.machine import Machine
from layoutlint.measurement.plan import Plan, Timing
from layoutlint.measurement.result import Conditions, Measurement, series_of_samples
from layoutlint.measurement.runner import Sample
from layoutlint.model.record import replace
from layoutlint.model.structs import Source

WINDOW = 2_000_000
MACHINE = Machine("Model of a processor", True, (0, 1), 4, 64, 1 << 20, "/usr/bin/cc", "cc 1.2")
BARE = Machine("", False, (2,), 1, 64, None, "/usr/bin/cc", "")
BASES = tuple(range(0, 64, 8))
Rate = Callable[[Cell, int, int], float]
"""The rate of a core in a round, in millions per second."""


def access(path: str, operation: Operation, offset: int, assumed: bool = False) -> FieldAccess:
    return FieldAccess(path, offset, 8, operation, assumed, (Word(operation, 8, offset),))


def arrangement(first: int, second: int, label: str = "", verdict: str = "", mode: str = "contention", distance: int = 0) -> Arrangement:
    """Two fields of 8 bytes at two offsets."""
    one, other = access("hits", "add", first), access("limit", "load", second, assumed=True)
    roles = (Role((one,)), Role((other,), distance)) if mode == "contention" else (Role((one, other)),)
    crossing = [base for base in BASES if (base + first) // 64 != (base + second + distance) // 64]
    affected = tuple(base for base in BASES if (base in crossing) == (mode == "sweep"))
    return Arrangement(label, f"{label or 'only'}.h", 128, roles, BASES, affected, affected if verdict else None, "aligned to 8", verdict)


def plan(*arrangements: Arrangement, mode: str = "contention", intervals: tuple[int, ...] = (0, 1000), rounds: int = 3) -> Plan:
    experiment = Experiment(mode, 64, arrangements, intervals if mode == "contention" else (0,))
    return Plan(experiment, (0, 1) if mode == "contention" else (2,), Timing(1.0, rounds, WINDOW))


def usual(own: Plan) -> Rate:
    """What a quiet machine measures: a shared line makes everything ten times as slow."""

    def rate(cell: Cell, core: int, number: int) -> float:
        slow = not cell.is_reference and (
            cell.arrangement < 0 or cell.base in own.experiment.arrangements[cell.arrangement].affected
        )
        return (10.0 if slow else 100.0) + number

    return rate


def samples(own: Plan, rate: Rate, ran: float = 1.0, late: int = 0) -> list[Sample]:
    """One window for each cell and round; threads run a share of the time, the second starts late."""
    return [
        Sample(
            number, round_, core, round(rate(cell, core, round_) * WINDOW / 1000),
            late * core, late * core + WINDOW, round(ran * WINDOW),
        )
        for round_ in range(own.timing.rounds)
        for number, cell in enumerate(own.cells)
        for core in range(len(own.cores))
    ]  # fmt: skip


def measurement(own: Plan, made: list[Sample] | None = None, rule: str | None = None, notes: tuple[str, ...] = ()) -> Measurement:
    machine = MACHINE if len(own.cores) > 1 else BARE
    conditions = Conditions(0.5, 0.001, 1.2, "2026-11-23") if machine is MACHINE else Conditions(None, None, 1.2)
    total, valid, series = series_of_samples(made if made is not None else samples(own, usual(own)), own)
    source = Source("s.h", 3) if rule else None
    kind = "separate" if rule else None
    return Measurement("s", source, rule, kind, own, machine, conditions, total, valid, series, notes)


COMPARED = measurement(
    plan(arrangement(0, 8, "before", "`hits` shares a line"), arrangement(0, 64, "after", "they share no line")),
    rule="apart", notes=("a note",),
)  # fmt: skip
REPLAYED = replace(COMPARED, rule=None, kind=None, evidence=("seen.json",))
SWEPT = measurement(plan(arrangement(0, 32, mode="sweep"), mode="sweep"))
REFUSED = measurement((disturbed := plan(arrangement(0, 8), rounds=2)), samples(disturbed, usual(disturbed), ran=0.5))
