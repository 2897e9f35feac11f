"""docs/contributing/benchmarks.md, from what was measured: pure text, no measuring."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import fill

from tools.bench.growth import TIMES, Line
from tools.bench.rounds import Judged, Measured, Spread

EDITS_HEAD = "## Edits in an editor"
"""The head of the section that tools.bench.edits writes."""
_EDITS = re.compile(rf"^{EDITS_HEAD}\n.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
_METHOD_HEAD = "## How it is measured\n"


@dataclass(frozen=True, slots=True)
class Setting:
    """Under what circumstances it was measured."""

    scanner: str
    """`compiled` or `interpreted`, as `layoutlint --version` says of the one that the tables call layoutlint."""
    input: str
    """The vmlinux, in words."""
    machine: str
    versions: tuple[str, ...]
    rounds: int
    growth_rounds: int
    load: float
    """Load average before the first round."""


@dataclass(frozen=True, slots=True)
class Results:
    """All that was measured; `no_growth` is why there are no lines."""

    judged: tuple[Judged, ...]
    measured: tuple[Measured, ...]
    lines: tuple[Line, ...]
    no_growth: str = ""


def document(results: Results, setting: Setting, plot: str | None) -> str:
    """The whole page; `plot` is the file name of the picture."""
    grown = results.lines or results.no_growth
    parts = [
        _head(setting),
        "## Limits\n\n" + limits(results),
        *([f"![Wall time of each tool, and how time and memory grow with the input]({plot})"] if plot else []),
        "## All commands\n\n" + _COMMANDS + "\n\n" + commands(results.measured),
        *(["## Larger inputs\n\n" + _LARGER.format(rounds=setting.growth_rounds) + growth(results)] if grown else []),
        _METHOD,
    ]
    return "\n\n".join(parts) + "\n"


def edits_of(page: str) -> str:
    """The section on edits of a page; empty without one."""
    match = _EDITS.search(page)
    return "" if match is None else match[0]


def with_edits(page: str, section: str) -> str:
    """The page with a section on edits, in place of the one that it has."""
    before, method, after = _EDITS.sub("", page).partition(_METHOD_HEAD)
    return f"{before}{section.strip()}\n\n{method}{after}" if section else page


def limits(results: Results) -> str:
    """Each limit with what was found, as a table."""
    by_key = {one.case.key: one.case for one in results.measured}
    rows = []
    for one in results.judged:
        if one.limit.ours not in by_key:
            continue
        ours, theirs = by_key[one.limit.ours], by_key.get(one.limit.theirs or "")
        against = f"{theirs.tool} `{theirs.what}`" if theirs else one.limit.theirs or ""
        found = [one.reason, "", f"{one.limit.limit:.3g}", "not measured"]
        if one.found is not None:
            found = [f"{one.found.median:.3f}", _spread_text(one.found), f"{one.limit.limit:.3g}", "holds" if one.holds else "**missed**"]
        quantity = {"wall": "wall time", "cpu": "processor time", "private": "private memory", "resident": "resident memory"}[one.limit.quantity]
        rows.append([f"`{ours.what}`", quantity, against, one.limit.demand, *found])
    return _table("what | figure | against | demand | >share or s | least to greatest | >limit | verdict", rows)


def commands(measured: Iterable[Measured]) -> str:
    """Every command with its time and memory, as a table."""
    rows = []
    for one in measured:
        case = one.case
        if one.reason:
            rows.append([case.job, case.tool, f"`{case.what}`", f"skipped: {one.reason}", *[""] * 4])
            continue
        wall, cpu = one.spread("wall"), one.spread("cpu")
        memory = [f"{one.spread(quantity).median:,.0f}" for quantity in ("private", "resident")]
        rows.append([case.job, case.tool, f"`{case.what}`", f"{wall.median:.3f}", _spread_text(wall), f"{cpu.median:.3f}", *memory])
    return _table("job | tool | command | >wall s | least to greatest | >cpu s | >private MB | >resident MB", rows)


def growth(results: Results) -> str:
    """Seconds and private megabytes for each size of the input, as a table."""
    if results.no_growth:
        return f"Not measured: {results.no_growth}."
    rows = []
    for line in results.lines:
        for quantity, unit in (("wall", "s"), ("private", "MB")):
            figures = [_quantity_text(line, times, quantity) for times in TIMES]
            rows.append([line.growing.tool, f"`{line.growing.what}`", f"{quantity} {unit}", *figures])
    return _table("tool | command | figure | " + " | ".join(f">{times} x" for times in TIMES), rows)


def _quantity_text(line: Line, times: int, quantity: str) -> str:
    one = line.at.get(times)
    if one is None:
        return ""
    if one.reason:
        return f"skipped: {one.reason}" if quantity == "wall" else ""
    return f"{one.spread(quantity).median:,.{2 if quantity == 'wall' else 0}f}"


def _spread_text(spread: Spread) -> str:
    return f"{spread.least:.3f} to {spread.greatest:.3f}"


def _table(head: str, rows: list[list[str]]) -> str:
    """A table in Markdown; a column whose name starts with `>` is aligned to the right."""
    names = head.split(" | ")
    lines = ["| " + " | ".join(name.lstrip(">") for name in names) + " |"]
    lines.append("|" + "|".join("---:" if name.startswith(">") else "---" for name in names) + "|")
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def _head(setting: Setting) -> str:
    points = (
        f"The input is {setting.input}, in the page cache.",
        f"layoutlint's DWARF scanner ran **{setting.scanner}**.",
        f"Other tools: {', '.join(setting.versions)}.",
        f"Machine: {setting.machine}. Load average before the first round: {setting.load:.1f}. If it nears "
        "the number of processors, other programs affect wall time.",
        f"Rounds: {setting.rounds}. Each figure is their median, with the least and the greatest value beside it.",
    )
    return _HEAD + "\n".join(_wrap(point) for point in points)


def _wrap(point: str) -> str:
    return fill(point, 120, initial_indent="- ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


_HEAD = """\
# Benchmarks

`python -m tools.bench.measure` writes this page. It fetches the kernel and the other tools, and measures all in one run.

"""

_COMMANDS = """\
Every figure includes start-up and child processes. *cpu* is the time of all processors. *Private* memory is the peak without
mapped files, *resident* with them."""

_LARGER = """\
The same vmlinux, with its units repeated; 8 x is a file of 2 GB. Medians of {rounds} rounds. Blank cells were not run.

"""

_METHOD = """\
## How it is measured

- Every command runs once in each round, without caches. Every second round is in reverse order. A share compares two commands
  of one round, so other work on the machine affects both.
- `layout-audit` gets the name of one struct, which is less than `check` reads. `drgn` runs a three-line script.
- libclang's own parse is a process that only parses the same text with the same flags through `clang.cindex`."""
