"""Format `svg` of `measure`: the rates at each base as a picture, without scripts and references."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor, log10

from layoutlint.commands.measure import phrases
from layoutlint.measurement.experiment import Arrangement, Cell
from layoutlint.measurement.result import Measurement, Series
from layoutlint.model.record import Record
from layoutlint.reports.xml_text import attributes, escape

_WIDTH, _PANEL, _MARGIN = 900, 260, 70
"""Pixels of the picture, of the height of one table, and left of it."""
_TOP, _GAP = 64, 70
_COLORS = ("#b2182b", "#e08214", "#2166ac", "#555555")
_RADIUS = 3.5


class _Scale(Record, frozen=True):
    """A logarithmic axis in powers of ten."""

    least: int
    most: int
    top: int

    def y(self, rate: float) -> float:
        """Return the height of a rate."""
        share = (log10(rate) - self.least) / (self.most - self.least)
        return self.top + _PANEL * (1 - min(max(share, 0.0), 1.0))


def render(measurement: Measurement) -> str:
    """Return the rates of the disturbed core as one SVG element."""
    arrangements = measurement.plan.experiment.arrangements
    height = _TOP + len(arrangements) * (_PANEL + _GAP) + 20
    head = attributes(
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_WIDTH} {height}",
        width=str(_WIDTH),
        height=str(height),
    )
    body = "\n".join(_body(measurement))
    background = f"<rect{attributes(width='100%', height='100%', fill='white')}/>"
    font = attributes(**{"font-family": "sans-serif", "font-size": "12"})
    return f"<svg{head}>\n{background}\n<g{font}>\n{body}\n</g>\n</svg>\n"


def _body(measurement: Measurement) -> Iterator[str]:
    rule = "" if measurement.rule is None else f", {measurement.rule}"
    if measurement.evidence:
        rule = f", replay of {', '.join(measurement.evidence)}"
    yield _text(_MARGIN, 20, f"struct {measurement.struct}{rule}", bold=True)
    machine = measurement.machine
    core = machine.cores[-1]
    what = "objects a second" if measurement.plan.is_sweep else "times all of its accesses a second"
    spread = f"median and range of {measurement.plan.timing.rounds} rounds"
    yield _text(_MARGIN, 38, f"core {core}: {what}; {spread}; {machine.model}")
    yield from _legend(measurement)
    rates = [s for cores in measurement.series for s in cores[-1:] if s is not None]
    least = floor(log10(min((s.least for s in rates), default=1.0)))
    most = max(ceil(log10(max((s.most for s in rates), default=10.0))), least + 1)
    for number, arrangement in enumerate(measurement.plan.experiment.arrangements):
        scale = _Scale(least, most, _TOP + 24 + number * (_PANEL + _GAP))
        yield from _panel(number, arrangement, measurement, scale)


def _legend(measurement: Measurement) -> Iterator[str]:
    if measurement.plan.is_sweep:
        return
    for number, interval in enumerate(measurement.plan.experiment.intervals):
        x = _MARGIN + 190 * number
        yield f"<circle{_numbers(cx=x + 5, cy=56, r=_RADIUS)}{attributes(fill=_color(number))}/>"
        yield _text(x + 14, 60, f"core {measurement.machine.cores[0]} {phrases.interval(interval)}")


def _panel(number: int, arrangement: Arrangement, measurement: Measurement, scale: _Scale) -> Iterator[str]:
    label = f"{arrangement.label}: {arrangement.origin}" if arrangement.label else arrangement.origin
    yield _text(_MARGIN, scale.top - 6, label)
    for power in range(scale.least, scale.most + 1):
        y = scale.y(10.0**power)
        yield f"<line{_numbers(x1=_MARGIN, x2=_WIDTH - 20, y1=y, y2=y)}{attributes(stroke='#dddddd')}/>"
        yield _text(_MARGIN - 8, y + 4, _power(power), anchor="end")
    columns = [*arrangement.bases, None]
    step = (_WIDTH - 20 - _MARGIN) / len(columns)
    for place, base in enumerate(columns):
        x = _MARGIN + step * (place + 0.5)
        is_affected = base in arrangement.affected
        name = phrases.reference(measurement) if base is None else str(base)
        yield _text(
            x, scale.top + _PANEL + 16, name, anchor="middle", color=_COLORS[0] if is_affected else "black"
        )
        yield from _column(number, base, x, step, measurement, scale)
    note = "base: byte of a line at which the object starts; red: it costs a line more"
    yield _text(_MARGIN, scale.top + _PANEL + 32, note)


def _column(
    number: int, base: int | None, x: float, step: float, measurement: Measurement, scale: _Scale
) -> Iterator[str]:
    """Yield a dot with a range for each interval."""
    intervals = measurement.plan.experiment.intervals
    for place, interval in enumerate(intervals):
        series = _series(number, base, interval, measurement)
        if series is None:
            continue
        at = x + min(12.0, step / (len(intervals) + 1)) * (place - (len(intervals) - 1) / 2)
        color = attributes(stroke=_color(place), fill=_color(place))
        low, high = scale.y(series.least), scale.y(series.most)
        title = f"<title>{escape(phrases.million(series))} million a second</title>"
        yield f"<line{_numbers(x1=at, x2=at, y1=low, y2=high)}{color}/>"
        yield f"<circle{_numbers(cx=at, cy=scale.y(series.median), r=_RADIUS)}{color}>{title}</circle>"


def _series(number: int, base: int | None, interval: int, measurement: Measurement) -> Series | None:
    cell = next(
        cell
        for cell in measurement.plan.cells
        if (cell.arrangement, cell.interval, cell.is_reference) == (number, interval, base is None)
        and base in (None, cell.base)
    )
    return measurement.series_of(Cell(number, cell.base, interval, cell.is_reference))[-1]


def _color(number: int) -> str:
    return _COLORS[number % len(_COLORS)]


def _power(power: int) -> str:
    units = {3: "k", 6: "M", 9: "G"}
    unit = max((each for each in units if each <= power), default=0)
    return f"{10 ** (power - unit):g} {units.get(unit, '')}".rstrip()


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", color: str = "black", bold: bool = False
) -> str:
    weight = attributes(**{"font-weight": "bold"}) if bold else ""
    style = attributes(**{"text-anchor": anchor}, fill=color)
    return f"<text{_numbers(x=x, y=y)}{style}{weight}>{escape(text)}</text>"


def _numbers(**values: float) -> str:
    return attributes(**{name: f"{value:.1f}".removesuffix(".0") for name, value in values.items()})
