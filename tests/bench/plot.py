"""The picture of docs/benchmarks.md: wall time by job and tool, and growth with the input."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tests.bench.growth import TIMES, Line
from tests.bench.rounds import Measured

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


def draw(measured: Iterable[Measured], lines: Iterable[Line], output: Path) -> None:
    """Write the picture as SVG: the same bytes for the same figures."""
    bars = [one for one in measured if one.times]
    mpl.rcParams.update({"svg.hashsalt": "layoutlint", "font.size": 9, "font.family": "DejaVu Sans"})
    figure = Figure(figsize=(10, 8.6), layout="constrained")
    shapes = figure.subplot_mosaic([["bars", "bars"], ["wall", "private"]], height_ratios=[1.5, 1])
    _bars(shapes["bars"], bars)
    _growth(shapes["wall"], lines := tuple(lines), "wall", "wall time, s")
    _growth(shapes["private"], lines, "private", "private memory, MB")
    handles, names = shapes["wall"].get_legend_handles_labels()
    if handles:
        shapes["wall"].legend(handles, names, fontsize=8, frameon=False)
    figure.savefig(output, metadata={"Date": None})


def _bars(axes: Axes, bars: list[Measured]) -> None:
    """One bar for each command, with the spread of its rounds, in groups of one job."""
    places, labels, at, job = [], [], 0.0, ""
    for one in bars:
        at += 0 if one.case.job in (job, "") or not job else 0.7
        job = one.case.job
        places.append(at)
        labels.append(f"{one.case.tool}  {one.case.what}")
        at += 1
    spreads = [one.spread("wall") for one in bars]
    errors = [[s.median - s.least for s in spreads], [s.greatest - s.median for s in spreads]]
    axes.barh(
        places, [s.median for s in spreads], xerr=errors, height=0.8,
        color=[COLOURS[one.case.tool] for one in bars],
        error_kw={"ecolor": "#222", "elinewidth": 1, "capsize": 2},
    )  # fmt: skip
    for place, spread in zip(places, spreads, strict=True):
        axes.text(spread.greatest * 1.06, place, f"{spread.median:.3g} s", va="center", fontsize=8)
    axes.set_yticks(places, labels)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("wall time, s (median; the whisker goes from the least to the greatest)")
    _plain(axes, "x")


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
            linestyle="--" if "show" in line.growing.what else "-", label=f"{line.growing.tool} {line.growing.what}",
        )  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(TIMES, [f"{times} x" for times in TIMES])
    axes.set_xlabel("units of debug information")
    axes.set_ylabel(label)
    _plain(axes, "both")


def _plain(axes: Axes, lined: Literal["both", "x", "y"]) -> None:
    axes.grid(axis=lined, which="major", color="#d7dbdf", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
