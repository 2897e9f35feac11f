"""What an order reaches for each aim."""

from __future__ import annotations

from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import count_lines
from layoutlint.suggestion.program import unmoved_units
from layoutlint.suggestion.search import Aim, BuildTask, Task


def value_of(task: Task, aim: Aim, order: tuple[int, ...]) -> int:
    """Return what an order reaches for an aim."""
    if aim == "moves":
        kept = unmoved_units(order, task.order.weights)
        return sum(weight for number, weight in enumerate(task.order.weights) if number not in kept)
    return sum(
        build.weight * _value_in(build, aim, task.order.translate(at, order))
        for at, build in enumerate(task.builds)
    )


def _value_in(build: BuildTask, aim: Aim, units: tuple[int, ...]) -> int:
    """Return what an order of a build's units reaches for an aim."""
    arrangement = build.arrangement
    if aim == "size":
        return (arrangement.lay_out(units).bit_size or 0) // 8
    if aim == "holes":
        return arrangement.count_holes(units)
    layout = Layout(arrangement.lay_out(units))
    places = [[layout.find(place.path) or place for place in path] for path in build.paths]
    return sum(max(count_lines(path, base, build.line) for base in build.bases) for path in places)
