"""The picture of docs/contributing/benchmarks.md: wall time by job and tool, and growth with the input."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import LogLocator, NullLocator

from tools.bench.document import Results
from tools.bench.growth import TIMES, Line
from tools.bench.rounds import Judged, Measured

COLOURS = {
    "layoutlint": "#0b5cad",
    "layoutlint, interpreted": "#7fb2e5",
    "pahole": "#b5502b",
    "layout-audit": "#6a8a35",
    "padlock": "#8a4f9e",
    "drgn": "#b58a00",
    "libclang": "#5f6b76",
    "Python": "#9aa3ab",
}


def draw(results: Results, output: Path) -> None:
    """Write the picture as SVG: the same bytes for the same figures. Text stays text, in the reader's own font."""
    with mpl.rc_context():
        mpl.rcParams.update({"svg.hashsalt": "layoutlint", "svg.fonttype": "none", "font.size": 9})
        figure = Figure(figsize=(10, 10 if results.lines else 6.5), layout=ConstrainedLayoutEngine(w_pad=0.15))
        grid = GridSpec(2 if results.lines else 1, 1, figure, height_ratios=[1.9, 1] if results.lines else [1])
        upper = figure.add_subfigure(grid[0])
        _bars(upper.add_subplot(), [one for one in results.measured if one.times], results.judged)
        if results.lines:
            lower = figure.add_subfigure(grid[1])
            wall, private = lower.add_subplot(1, 2, 1), lower.add_subplot(1, 2, 2)
            _growth(wall, results.lines, "wall", "wall time, s")
            _growth(private, results.lines, "private", "private memory, MB")
            lower.legend(*wall.get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
        figure.savefig(output, metadata={"Date": None})


def _bars(axes: Axes, bars: list[Measured], judged: Iterable[Judged]) -> None:
    """One bar for each command, with the spread of its rounds and its limits, in groups of one job."""
    places = _places(bars)
    spreads = [one.spread("wall") for one in bars]
    errors = [[s.median - s.least for s in spreads], [s.greatest - s.median for s in spreads]]
    axes.barh(
        places, [s.median for s in spreads], xerr=errors, height=0.8,
        color=[COLOURS[one.case.tool] for one in bars],
        error_kw={"ecolor": "#222", "elinewidth": 1, "capsize": 2},
    )  # fmt: skip
    headings = {one.case.job: place for place, one in zip(reversed(places), reversed(bars), strict=True)}
    for job, place in headings.items():
        axes.text(0.005, place - 0.75, job, transform=axes.get_yaxis_transform(), weight="bold", va="center")
    for place, spread in zip(places, spreads, strict=True):
        axes.text(1.01, place, f"{spread.median:.3g} s", transform=axes.get_yaxis_transform(), va="center")
    _limits(axes, {one.case.key: (place, one.spread("wall").median) for place, one in zip(places, bars, strict=True)}, judged)
    axes.set_yticks(places, [f"{one.case.tool}: {one.case.what}" for one in bars])
    axes.set_ylim(max(places, default=0) + 0.8, -1.4)
    axes.set_xscale("log")
    _readable(axes.xaxis)
    axes.set_xlabel("wall time, s: median; the whisker goes from the least to the greatest round")
    _plain(axes, "x")


def _places(bars: list[Measured]) -> list[float]:
    """Where each bar stands: one below the other, with room for a heading above each job."""
    places: list[float] = []
    for before, one in zip([None, *bars], bars, strict=False):
        step = 0.0 if before is None else 1.0 if before.case.job == one.case.job else 2.1
        places.append(places[-1] + step if places else 0.0)
    return places


def _limits(axes: Axes, bars: dict[str, tuple[float, float]], judged: Iterable[Judged]) -> None:
    """Where a bar must end at the latest: its limit, times or more than the median of what it is held against."""
    label = "where the bar must end at the latest, by its limit"
    for one in judged:
        limit = one.limit
        if limit.quantity != "wall" or one.found is None:
            continue
        other = bars[limit.theirs][1] if limit.theirs else 1
        at = limit.limit + other if limit.is_more else limit.limit * other
        place = bars[limit.ours][0]
        axes.plot([at, at], [place - 0.5, place + 0.5], color="#c1121f", linewidth=2.2, label=label)
        label = "_"
    if label == "_":
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), frameon=False)


def _growth(axes: Axes, lines: tuple[Line, ...], quantity: str, label: str) -> None:
    """One line for each command, over how many times the units are in the input."""
    for line in lines:
        at = {times: one.spread(quantity) for times, one in line.at.items() if one.times}
        middle = [spread.median for spread in at.values()]
        errors = [
            [s.median - s.least for s in at.values()],
            [s.greatest - s.median for s in at.values()],
        ]
        axes.errorbar(
            list(at), middle, yerr=errors, marker="o", markersize=4, capsize=2, color=COLOURS[line.growing.tool],
            linestyle="--" if "show" in line.growing.what else "-", label=f"{line.growing.tool}: {line.growing.what}",
        )  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    _readable(axes.yaxis)
    axes.set_xticks(TIMES, [f"{times} x" for times in TIMES])
    axes.set_xlabel("units of debug information")
    axes.set_ylabel(label)
    _plain(axes, "both")


def _readable(axis: Axis) -> None:
    """Figures as they are read, 1, 2 and 5 of each power of ten."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_locator(NullLocator())


def _plain(axes: Axes, lined: Literal["both", "x", "y"]) -> None:
    axes.grid(axis=lined, which="major", color="#d7dbdf", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
