"""Cases in rounds: each once in every round, in turn, so that what else happens on the machine falls on all of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from tests.real import kernels
from tools.bench import peers
from tools.bench.cases import Case, Limit
from tools.bench.process import Command, Failed, Peak, Took, peak, took

Say = Callable[[str], None]
"""Where progress goes."""
WATCHED = 3
"""In so many further rounds at most memory is watched: it hardly differs between runs."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of a figure over the rounds, and its least and greatest value."""

    median: float
    least: float
    greatest: float


@dataclass(slots=True)
class Measured:
    """A case with what it took, or the reason why it was not measured."""

    case: Case
    reason: str = ""
    command: Command | None = None
    times: list[Took] = field(default_factory=list)
    peaks: list[Peak] = field(default_factory=list)

    def each(self, quantity: str) -> list[float]:
        """One figure per round: `wall` or `cpu` in seconds, `private` or `resident` in MB."""
        runs: Sequence[Took | Peak] = self.times if quantity in ("wall", "cpu") else self.peaks
        return [float(getattr(run, quantity)) for run in runs]

    def spread(self, quantity: str) -> Spread:
        """One figure over all rounds."""
        return _spread(self.each(quantity))


@dataclass(frozen=True, slots=True)
class Judged:
    """A limit with what was found: the share, the difference or the figure that must not exceed it, or why there is none."""

    limit: Limit
    found: Spread | None
    reason: str = ""

    @property
    def holds(self) -> bool:
        """Whether the median is within the limit; what was not measured does not hold."""
        return self.found is not None and self.found.median <= self.limit.limit


def to_stderr(text: str) -> None:
    """Progress for whoever waits."""
    print(text, file=sys.stderr, flush=True)


def measure(cases: Iterable[Case], rounds: int, say: Say = to_stderr) -> list[Measured]:
    """Watch the memory of every case first, which also warms the page cache and shows that it works; then the clock."""
    measured = [_prepare(case) for case in cases]
    for number in range(min(rounds, WATCHED)):
        _round(measured, f"memory {number + 1}", _watch, say)
    for number in range(rounds):
        turn = measured if number % 2 == 0 else measured[::-1]
        _round(turn, f"round {number + 1}", _clock, say)
    return measured


def judge(limit: Limit, measured: Iterable[Measured]) -> Judged:
    """Hold a limit against the rounds: the share, or what is more, is taken in each, between neighbours in time."""
    by_key = {one.case.key: one for one in measured}
    sides = [by_key.get(key) for key in (limit.ours, limit.theirs) if key is not None]
    for side in sides:
        if side is None or side.reason:
            return Judged(limit, None, side.reason if side else "not measured")
    figures = [side.each(limit.quantity) for side in sides if side is not None]
    if len(figures) == 1:
        return Judged(limit, _spread(figures[0]))
    pairs = zip(*figures, strict=True)
    return Judged(limit, _spread([one - other if limit.is_more else one / other for one, other in pairs]))


def _spread(figures: list[float]) -> Spread:
    return Spread(median(figures), min(figures), max(figures))


def _prepare(case: Case) -> Measured:
    try:
        return Measured(case, command=case.command())
    except (peers.Unavailable, kernels.Unavailable) as reason:
        return Measured(case, reason=str(reason))


def _round(turn: list[Measured], name: str, step: Callable[[Measured, Command], str], say: Say) -> None:
    for measured in turn:
        if measured.reason or measured.command is None:
            continue
        case = measured.case
        try:
            output = step(measured, measured.command)
        except Failed as reason:
            output = measured.reason = str(reason)
        say(f"{name}: {case.tool} {case.what}: {output}")


def _watch(measured: Measured, command: Command) -> str:
    measured.peaks.append(peak(command))
    return f"{measured.peaks[-1].private:.0f} MB private"


def _clock(measured: Measured, command: Command) -> str:
    measured.times.append(took(command))
    return f"{measured.times[-1].wall:.3f} s"
