"""Format `json` of `measure` (schema `layoutlint/measure/1`, docs/json.md)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from layoutlint.errors import EXIT_KEPT, EXIT_UNKNOWN
from layoutlint.evidence.measurement.experiment import Arrangement, Role
from layoutlint.evidence.measurement.plan import SEED
from layoutlint.evidence.measurement.result import LEAST_FACTOR, Measurement, Ratio, Series
from layoutlint.reports.json_values import document_text, file_and_line

MEASURE_SCHEMA = "layoutlint/measure/1"
_DIGITS = 4
"""Significant digits of rates and ratios: more are noise."""


def render(measurement: Measurement) -> str:
    """Return the measurement as one JSON object, with a newline at the end."""
    plan, refusal = measurement.plan, measurement.refusal()
    document = {
        "schema": MEASURE_SCHEMA,
        "struct": measurement.struct,
        **file_and_line(measurement.source),
        "rule": measurement.rule,
        "kind": measurement.kind,
        "mode": plan.experiment.mode,
        "machine": _machine(measurement),
        "run": _run(measurement),
        "control": _control(measurement),
        "refusal": refusal,
        "layouts": [_layout(n, each, measurement) for n, each in enumerate(plan.experiment.arrangements)],
        "ratios": [_ratio(each, measurement) for each in measurement.ratios()],
        "notes": list(measurement.notes),
        "exit": EXIT_KEPT if refusal is None else EXIT_UNKNOWN,
    }
    return document_text(document)


def _machine(measurement: Measurement) -> dict[str, Any]:
    machine = measurement.machine
    return {
        "processor": machine.model or None,
        "virtual": machine.is_virtual,
        "cores": list(machine.cores),
        "available": machine.available,
        "line_size": machine.line_size,
        "second_level_cache": machine.second_level,
        "compiler": machine.compiler,
        "compiler_version": machine.compiler_version or None,
    }


def _run(measurement: Measurement) -> dict[str, Any]:
    timing, conditions = measurement.plan.timing, measurement.conditions
    return {
        "rounds": timing.rounds,
        "seconds": round(conditions.seconds, 2),
        "window": timing.window,
        "samples": measurement.samples,
        "undisturbed": measurement.valid,
        "seed": f"{SEED:x}",
        "load": conditions.load,
        "date": conditions.date,
        "stolen": None if conditions.stolen is None else round(conditions.stolen, 5),
    }


def _control(measurement: Measurement) -> dict[str, Any]:
    slow, fast = measurement.control
    factor = measurement.factor
    return {
        "slow": _spread(slow),
        "fast": _spread(fast),
        "factor": None if factor is None else _round_value(factor.median),
        "least_factor": LEAST_FACTOR[measurement.plan.experiment.mode],
    }


def _layout(number: int, arrangement: Arrangement, measurement: Measurement) -> dict[str, Any]:
    return {
        "label": arrangement.label or None,
        "input": arrangement.origin,
        "size": arrangement.size,
        "verdict": arrangement.verdict or None,
        "placed": arrangement.why,
        "accesses": list(_accesses(arrangement, measurement)),
        "placements": [
            {
                "base": base,
                "violates": None if arrangement.violating is None else base in arrangement.violating,
                "affected": base in arrangement.affected,
                "lines": measurement.plan.experiment.shared_lines(arrangement, base),
                "rates": _rates(number, base, measurement),
            }
            for base in arrangement.bases
        ],
        "reference": _rates(number, None, measurement),
    }


def _accesses(arrangement: Arrangement, measurement: Measurement) -> Iterator[dict[str, Any]]:
    for core, role in enumerate(arrangement.roles):
        yield from _role(measurement.machine.cores[core], role)


def _role(core: int, role: Role) -> Iterator[dict[str, Any]]:
    for field in role.fields:
        yield {
            "core": core,
            "path": field.path,
            "offset": field.offset,
            "size": field.size,
            "operation": field.operation,
            "assumed": field.is_assumed,
            "distance": role.distance,
            "words": [{"offset": word.offset, "width": word.width} for word in field.words],
        }


def _rates(number: int, base: int | None, measurement: Measurement) -> list[dict[str, Any]]:
    """Return the rates at a base of an arrangement; for None those of the reference."""
    rows = zip(measurement.plan.cells, measurement.series, strict=True)
    return [
        {"interval": cell.interval, "core": measurement.machine.cores[core], "rate": _spread(series)}
        for cell, cores in rows
        if cell.arrangement == number and (None if cell.is_reference else cell.base) == base
        for core, series in enumerate(cores)
    ]


def _ratio(each: Ratio, measurement: Measurement) -> dict[str, Any]:
    labels = [arrangement.label or None for arrangement in measurement.plan.experiment.arrangements]
    return {
        "layout": None if each.arrangement is None else labels[each.arrangement],
        "of": each.of,
        "to": each.to,
        "interval": each.interval,
        "core": measurement.machine.cores[each.core],
        "ratio": _spread(each.series),
        "clear": each.is_clear,
    }


def _spread(series: Series | None) -> dict[str, Any] | None:
    if series is None:
        return None
    return {
        "median": _round_value(series.median),
        "least": _round_value(series.least),
        "most": _round_value(series.most),
        "rounds": [_round_value(rate) for rate in series.rounds],
    }


def _round_value(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
