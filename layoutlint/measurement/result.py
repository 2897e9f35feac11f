"""The result of a measurement: rates with their spread, ratios, and whether the machine could tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import mul
from statistics import fmean, median

from layoutlint.measurement.experiment import Arrangement, Cell
from layoutlint.measurement.machine import Machine
from layoutlint.measurement.plan import Plan, control_cells
from layoutlint.measurement.runner import Sample
from layoutlint.model.record import Record
from layoutlint.model.structs import Source

_RAN = 0.97
"""The share of a window in which a thread must run: less means that the system ran something else."""
_TOGETHER = 0.95
"""The share of a window in which all cores must measure at the same time."""
_LEAST_VALID = 0.1
"""The share of undisturbed samples. Below it the rest are too likely to be disturbed unnoticed."""
LEAST_FACTOR = {"contention": 2.0, "sweep": 1.1}
"""How much faster the control must be apart (in a sweep: on one line).

A line that moves between cores costs 20 to 200 ns, and an addition in the own cache about 5 ns: 4 times or
more. A factor below 2 means that the cores did not run at the same time, or share their first cache. In a
sweep, a second line costs at most a second miss, and processors fetch several lines at once: 1.3 to 2 times
is usual.
"""
MOST_SPREAD = 0.5
"""The largest difference of two rounds of the undisturbed control, relative to their median."""


class Series(Record, frozen=True):
    """The rate of one core in one cell: the median of each round, in accesses of all its words per second."""

    rounds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median of all rounds."""
        return median(self.rounds)

    @property
    def least(self) -> float:
        """The rate of the slowest round."""
        return min(self.rounds)

    @property
    def most(self) -> float:
        """The rate of the fastest round."""
        return max(self.rounds)

    @property
    def spread(self) -> float:
        """The difference of the fastest and the slowest round, relative to the median."""
        return (self.most - self.least) / self.median


class Ratio(Record, frozen=True):
    """The rates of some cells in comparison to those of others: the ratio of their means, round by round."""

    arrangement: int | None
    """The arrangement that both belong to; None for a ratio of two arrangements."""
    of: str
    """`affected`, `unaffected` or `after`."""
    to: str
    """`unaffected`, `reference` or `before`."""
    interval: int
    core: int | None
    """0 for the first role, 1 for the second; None for all cores, in a replay."""
    series: Series

    @property
    def is_clear(self) -> bool:
        """Whether all rounds agree that one is faster."""
        return self.series.most < 1 or self.series.least > 1


class Conditions(Record, frozen=True):
    """The state of the machine during the measurement."""

    load: float | None
    """The average number of running processes in the minute before; None if unknown."""
    stolen: float | None
    """The share of time that a hypervisor took; None if unknown."""
    seconds: float
    """How long it took."""
    date: str | None = None
    """The day on which it was measured, as YYYY-MM-DD; None if unknown."""


class Measurement(Record, frozen=True, dict=True):
    """The rates of a struct, and the machine."""

    struct: str
    source: Source | None
    rule: str | None
    kind: str | None
    plan: Plan
    machine: Machine
    conditions: Conditions
    samples: int
    """The number of windows."""
    valid: int
    """The number of undisturbed ones, in which all cores ran at the same time."""
    series: tuple[tuple[Series | None, ...], ...]
    """Per cell of the plan and core; None if no sample is valid."""
    notes: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    """The files with the profiles that are replayed; empty if no profile is."""

    @property
    def gain(self) -> Series | None:
        """How much faster the layout after a change is: the accesses of all cores, in all placements.

        None without two layouts, and for accesses of no profile.
        """
        return next((each.series for each in self.ratios() if each.core is None), None)

    def ratios(self) -> tuple[Ratio, ...]:
        """Return the ratios of affected placements to the others, and of the layout after to that before."""
        arrangements = self.plan.experiment.arrangements
        within = (
            ratio for number, each in enumerate(arrangements) for ratio in self._ratios_within(number, each)
        )
        return (*within, *(self._ratios_between() if len(arrangements) > 1 else ()))

    def _ratios_within(self, number: int, arrangement: Arrangement) -> Iterator[Ratio]:
        own = [(c, s) for c, s in zip(self.plan.cells, self.series, strict=True) if c.arrangement == number]
        affected = set(arrangement.affected)
        for interval in self.plan.experiment.intervals:
            cells = [(cell, series) for cell, series in own if cell.interval == interval]
            at_bases = [(cell, series) for cell, series in cells if not cell.is_reference]
            bad = [series for cell, series in at_bases if cell.base in affected]
            good = [series for cell, series in at_bases if cell.base not in affected]
            reference = [series for cell, series in cells if cell.is_reference]
            of, to = (bad, good or reference) if bad else (good, reference)
            names = "affected" if bad else "unaffected", "unaffected" if bad and good else "reference"
            yield from self._core_ratios(number, names, interval, of, to)

    def _ratios_between(self) -> Iterator[Ratio]:
        for interval in self.plan.experiment.intervals:
            before, after = (
                [
                    series
                    for cell, series in zip(self.plan.cells, self.series, strict=True)
                    if (cell.arrangement, cell.interval, cell.is_reference) == (number, interval, False)
                ]
                for number in (0, 1)
            )
            yield from self._core_ratios(None, ("after", "before"), interval, after, before)
            if self.evidence:
                series = _quotient(*(list(map(self._accesses, each)) for each in (after, before)))
                if series is not None:
                    yield Ratio(None, "after", "before", interval, None, series)

    def _accesses(self, cores: Sequence[Series | None]) -> Series | None:
        """Return the accesses of all cores a second in one cell; None if a rate is unknown."""
        known = [series.rounds for series in cores if series is not None]
        if len(known) < len(cores):
            return None
        turns = [len(role.words) for role in self.plan.experiment.arrangements[0].roles]
        rounds = zip(*known, strict=False)
        return Series(tuple(sum(map(mul, turns, rates)) for rates in rounds))

    def _core_ratios(
        self,
        number: int | None,
        names: tuple[str, str],
        interval: int,
        of: Sequence[tuple[Series | None, ...]],
        to: Sequence[tuple[Series | None, ...]],
    ) -> Iterator[Ratio]:
        for core in range(len(self.plan.cores)):
            series = _quotient([each[core] for each in of], [each[core] for each in to])
            if series is not None:
                yield Ratio(number, *names, interval, core, series)

    def series_of(self, cell: Cell) -> tuple[Series | None, ...]:
        """Return the rates of the cores in a cell."""
        return self.series[self.plan.cells.index(cell)]

    @property
    def control(self) -> tuple[Series | None, Series | None]:
        """The rates of the control: on one line and apart; in a sweep on two lines and on one."""
        slow, fast = control_cells(self.plan.cells)
        return _slowest(self.series[slow]), _slowest(self.series[fast])

    @property
    def factor(self) -> Series | None:
        """How much faster the undisturbed control is, round by round."""
        slow, fast = self.control
        return _quotient([fast], [slow])

    def refusal(self) -> str | None:
        """Return the reason why the machine could not tell, with the numbers; None if it could."""
        if self.valid < self.samples * _LEAST_VALID:
            share = self.valid / max(self.samples, 1)
            return (
                f"{share:.1%} of {self.samples:,} samples were undisturbed by other work, and at least "
                f"{_LEAST_VALID:.0%} are needed; end other work"
            )
        missing = sum(_lacks_rounds(cores, self.plan) for cores in self.series)
        if missing:
            return (
                f"{missing} of {len(self.series)} situations have an undisturbed sample in less than half of "
                "the rounds; end other work, or give more --seconds"
            )
        return self._control_refusal()

    @property
    def counters(self) -> str:
        """The name of the control."""
        return f"{max(2, len(self.plan.cores))} counters".replace("2 ", "two ")

    def _control_refusal(self) -> str | None:
        (slow, fast), factor = self.control, self.factor
        assert slow is not None
        assert fast is not None
        assert factor is not None
        least = LEAST_FACTOR[self.plan.experiment.mode]
        names = ("on two lines", "on one") if self.plan.is_sweep else ("on one line", "on lines apart")
        numbers = (
            f"{self.counters} {names[0]} count {_million(slow)} million times a second, "
            f"{names[1]} {_million(fast)}"
        )
        if factor.median < least:
            return (
                f"{numbers}: {factor.median:.2f} times as fast, and at least {least} times is needed to tell"
            )
        if factor.least <= 1:
            return (
                f"{numbers}: the rounds disagree on which is faster; end other work, or give more --seconds"
            )
        if fast.spread > MOST_SPREAD:
            return (
                f"{numbers}: the rounds of the undisturbed ones differ by {fast.spread:.0%}, and at most "
                f"{MOST_SPREAD:.0%} are allowed"
            )
        return None


def _million(series: Series) -> str:
    return f"{series.median / 1e6:.1f} ({series.least / 1e6:.1f} to {series.most / 1e6:.1f})"


def _slowest(cores: tuple[Series | None, ...]) -> Series | None:
    """Return the rates of the slower core."""
    known = [series for series in cores if series is not None]
    return min(known, key=lambda series: series.median) if known else None


def _lacks_rounds(cores: tuple[Series | None, ...], plan: Plan) -> bool:
    return any(series is None or 2 * len(series.rounds) < plan.timing.rounds for series in cores)


def _quotient(of: Sequence[Series | None], to: Sequence[Series | None]) -> Series | None:
    """Return the ratio of the means of two groups of cells, round by round; None without rates.

    Objects are equally likely at each base, so that the mean counts.
    """
    of_rounds, to_rounds = _mean_rounds(of), _mean_rounds(to)
    if not of_rounds or not to_rounds:
        return None
    pairs = zip(of_rounds, to_rounds, strict=False)
    return Series(tuple(a / b for a, b in pairs))


def _mean_rounds(group: Sequence[Series | None]) -> tuple[float, ...]:
    known = [series.rounds for series in group if series is not None]
    if len(known) < len(group):
        return ()
    return tuple(fmean(rates) for rates in zip(*known, strict=False))


def series_of_samples(
    samples: Iterable[Sample], plan: Plan
) -> tuple[int, int, tuple[tuple[Series | None, ...], ...]]:
    """Return the number of windows, that of undisturbed ones, and the rates per cell and core."""
    threads = len(plan.cores)
    rates: dict[tuple[int, int, int], list[float]] = {}
    total, valid = 0, 0
    for window in _windows(samples, threads):
        total += 1
        if not _is_undisturbed(window):
            continue
        valid += 1
        for each in window:
            own = rates.setdefault((each.cell, each.thread, each.round), [])
            own.append(each.times * 1e9 / (each.end - each.start))
    series = tuple(
        tuple(_series(rates, cell, core, plan.timing.rounds) for core in range(threads))
        for cell in range(len(plan.cells))
    )
    return total, valid, series


def _series(
    rates: dict[tuple[int, int, int], list[float]], cell: int, core: int, rounds: int
) -> Series | None:
    medians = tuple(
        median(rates[cell, core, number]) for number in range(rounds) if (cell, core, number) in rates
    )
    return Series(medians) if medians and min(medians) > 0 else None


def _windows(samples: Iterable[Sample], threads: int) -> Iterator[tuple[Sample, ...]]:
    """Yield the samples of all cores in one window, which the program prints together."""
    window: list[Sample] = []
    for sample in samples:
        window.append(sample)
        if len(window) == threads:
            yield tuple(window)
            window = []


def _is_undisturbed(window: tuple[Sample, ...]) -> bool:
    """Return whether all cores ran all the time, and at the same time."""
    together = min(each.end for each in window) - max(each.start for each in window)
    longest = max(each.end - each.start for each in window)
    ran = all(each.used >= _RAN * (each.end - each.start) for each in window)
    return ran and together >= _TOGETHER * longest
