"""Format `text` of `measure`."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.commands.measure import phrases
from layoutlint.measurement.experiment import Arrangement, Cell
from layoutlint.measurement.result import Measurement
from layoutlint.phrases import quantity
from layoutlint.reports import styled
from layoutlint.reports.styled import Line, line, paragraph


def render(measurement: Measurement, *, color: bool = False, width: int = 100) -> str:
    """Return the rates at each base, the ratios, and how they were measured."""
    lines = _lines(measurement, width)
    return styled.render_colored(lines) if color else styled.render_plain(lines)


def _lines(measurement: Measurement, width: int) -> Iterator[Line]:
    experiment = measurement.plan.experiment
    rule = "" if measurement.rule is None else f", rule {measurement.rule} ({measurement.kind})"
    replayed = f", replay of {', '.join(measurement.evidence)}" if measurement.evidence else ""
    yield from paragraph("", f"struct {measurement.struct}{rule}{replayed}", width, "bold")
    for number, arrangement in enumerate(experiment.arrangements):
        yield line()
        yield from _head(arrangement, measurement, width)
        for core in range(len(measurement.plan.cores)):
            yield line()
            yield from _table(number, core, measurement)
    yield line()
    yield from _ratios(measurement, width)
    yield line()
    yield from _conditions(measurement, width)


def _head(arrangement: Arrangement, measurement: Measurement, width: int) -> Iterator[Line]:
    label = f"{arrangement.label}: " if arrangement.label else ""
    yield from paragraph(label, arrangement.origin, width)
    if arrangement.verdict:
        yield from paragraph("  rule: ", arrangement.verdict, width)
    yield from paragraph("  placed: ", arrangement.why, width)
    for role in dict.fromkeys(arrangement.roles):
        cores = [measurement.machine.cores[at] for at, own in enumerate(arrangement.roles) if own == role]
        indent = f"  {phrases.cores(cores)}: "
        for text in phrases.accesses(role):
            yield from paragraph(indent, text, width)
            indent = " " * len(indent)


def _table(number: int, core: int, measurement: Measurement) -> Iterator[Line]:
    """Yield the rates of one core in one arrangement: a row for each base, a column for each interval."""
    experiment, name = measurement.plan.experiment, measurement.machine.cores[core]
    rows = [_heading(measurement), *_rows(number, core, measurement)]
    affected = [str(base).rjust(4) for base in experiment.arrangements[number].affected]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    what = "objects" if measurement.plan.is_sweep else "times all of its accesses"
    yield line(f"  core {name}, million {what} a second, median (slowest..fastest round)")
    if len(experiment.intervals) > 1:
        yield line(f"  by how often core {measurement.machine.cores[0]} accesses:")
    for place, row in enumerate(rows):
        padded = "  ".join(
            cell.ljust(size) if at < 2 else cell.rjust(size)
            for at, (cell, size) in enumerate(zip(row, widths, strict=True))
        )
        style = "bold" if not place else "red" if row[0] in affected else ""
        yield line("  ", (padded, style))


def _heading(measurement: Measurement) -> list[str]:
    intervals = measurement.plan.experiment.intervals
    columns = ["rate"] if measurement.plan.is_sweep else [phrases.interval(each) for each in intervals]
    return ["base", "", *columns]


def _rows(number: int, core: int, measurement: Measurement) -> Iterator[list[str]]:
    experiment = measurement.plan.experiment
    arrangement = experiment.arrangements[number]
    for base in arrangement.bases:
        cells = (Cell(number, base, interval) for interval in experiment.intervals)
        rates = [phrases.million(measurement.series_of(cell)[core]) for cell in cells]
        lines = experiment.shared_lines(arrangement, base)
        touches = quantity(lines, "line") + ("" if measurement.plan.is_sweep else " shared")
        state = "violates, " if base in (arrangement.violating or ()) else ""
        yield [str(base).rjust(4), f"{state}{touches}", *rates]
    reference = [cell for cell in measurement.plan.cells if cell.arrangement == number and cell.is_reference]
    rates = [phrases.million(measurement.series_of(cell)[core]) for cell in reference]
    yield [phrases.reference(measurement), "", *rates]


def _ratios(measurement: Measurement, width: int) -> Iterator[Line]:
    yield line(("ratios of rates, median (least..most of the rounds)", "bold"))
    ratios = measurement.ratios()
    for what in dict.fromkeys(phrases.comparison(each, measurement) for each in ratios):
        yield from paragraph("  ", what, width)
        own = [each for each in ratios if phrases.comparison(each, measurement) == what]
        for core in dict.fromkeys(each.core for each in own):
            texts = (
                phrases.ratio(each)
                if measurement.plan.is_sweep
                else f"{phrases.interval(each.interval)} {phrases.ratio(each)}"
                for each in own
                if each.core == core
            )
            name = "all cores" if core is None else f"core {measurement.machine.cores[core]}"
            yield from paragraph(f"    {name}: ", "; ".join(texts), width)


def _conditions(measurement: Measurement, width: int) -> Iterator[Line]:
    machine, timing = measurement.machine, measurement.plan.timing
    slow, fast = measurement.control
    names = ("on two lines", "on one") if measurement.plan.is_sweep else ("on one line", "on lines apart")
    factor = (
        "" if measurement.factor is None else f": {phrases.number(measurement.factor.median)} times as fast"
    )
    rates = f"{names[0]} {phrases.million(slow)}, {names[1]} {phrases.million(fast)}"
    control = f"{measurement.counters} {rates}{factor}"
    yield from paragraph("control: ", control, width)
    virtual = ", run by a hypervisor" if machine.is_virtual else ""
    used = f"{phrases.cores(machine.cores)} of {quantity(machine.available, 'processor')}"
    lines = f"lines of {machine.line_size} bytes"
    yield from paragraph("machine: ", f"{machine.model or 'processor ??'}{virtual}; {used}; {lines}", width)
    yield from paragraph("compiler: ", f"{machine.compiler} ({machine.compiler_version or '??'})", width)
    yield from paragraph("run: ", _run(measurement, timing.rounds), width)
    for note in measurement.notes:
        yield from paragraph("note: ", note, width)


def _run(measurement: Measurement, rounds: int) -> str:
    conditions = measurement.conditions
    load = "??" if conditions.load is None else f"{conditions.load:.2f}"
    stolen = "??" if conditions.stolen is None else f"{conditions.stolen:.1%}"
    return (
        f"{quantity(rounds, 'round')} in {conditions.seconds:.1f} s, {measurement.valid:,} of "
        f"{quantity(measurement.samples, 'sample')} undisturbed; load before {load}, taken by a hypervisor "
        f"{stolen}"
    )
