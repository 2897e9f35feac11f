"""Phrases of reports on measurements."""

from __future__ import annotations

from collections.abc import Sequence

from layoutlint.measurement.experiment import FieldAccess, Role
from layoutlint.measurement.result import Measurement, Ratio, Series

_VERBS = {"load": "reads", "store": "stores to", "add": "adds to", "lock": "tries the lock"}
_NAMES = {
    "unaffected": "the other placements",
    "reference": "the same accesses on lines of their own",
    "before": "the layout before",
    "after": "the layout after",
}
_AFFECTED = {"contention": "placements with a shared line", "sweep": "placements on more lines than needed"}
_PACKED = "the same accesses on as few lines as possible"


def interval(nanoseconds: int) -> str:
    """Return how often a core accesses, for the head of a column."""
    if not nanoseconds:
        return "back to back"
    return f"every {nanoseconds} ns" if nanoseconds < 1000 else f"every {nanoseconds / 1000:g} us"


def million(series: Series | None) -> str:
    """Return a rate in millions per second with its spread; `??` if it is unknown."""
    if series is None:
        return "??"
    rates = (number(rate / 1e6) for rate in (series.median, series.least, series.most))
    return "{} ({}..{})".format(*rates)


def number(value: float) -> str:
    """Return a number with three digits."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio(each: Ratio) -> str:
    """Return a ratio with its spread, and `unclear` if the rounds do not agree on which is faster."""
    series = each.series
    text = "{} ({}..{})".format(*map(number, (series.median, series.least, series.most)))
    return text if each.is_clear else f"{text}, unclear"


def comparison(each: Ratio, measurement: Measurement) -> str:
    """Return what a ratio compares."""
    to = _PACKED if each.to == "reference" and measurement.plan.is_sweep else _NAMES[each.to]
    experiment = measurement.plan.experiment
    arrangements = experiment.arrangements
    of = {"affected": _AFFECTED[experiment.mode], "unaffected": "all placements"}.get(each.of) or _NAMES[
        each.of
    ]
    label = "" if each.arrangement is None else arrangements[each.arrangement].label
    return f"{label + ': ' if label else ''}{of} to {to}"


def cores(numbers: Sequence[int]) -> str:
    """Return the name of some cores: `core 0`, `cores 0, 1 and 2`."""
    *first, last = map(str, numbers)
    return f"cores {', '.join(first)} and {last}" if first else f"core {last}"


def accesses(role: Role) -> list[str]:
    """Return what a core does to each field."""
    turns = sum(field.times for field in role.fields)
    is_mix = turns > len(role.fields)
    return [
        _access(field, role.distance) + (f", {field.times} of {turns} accesses" if is_mix else "")
        for field in role.fields
    ]


def _access(field: FieldAccess, distance: int) -> str:
    end = field.offset + field.size - 1
    text = f"{_VERBS[field.operation]} `{field.path}` at {field.offset}..{end}"
    if len(field.words) > 1:
        text += f", {len(field.words)} words"
    if distance:
        text += f", of the next object {distance} bytes on"
    return f"{text} (assumed: no access is declared)" if field.is_assumed else text


def reference(measurement: Measurement) -> str:
    """Return the name of the row without a base."""
    return "packed" if measurement.plan.is_sweep else "apart"
