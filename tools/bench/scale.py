"""How long a survey of a whole distribution takes on many machines: a simulation, with costs that were measured.

    python -m tools.bench.scale [--packages N] [--threads N] PACKAGES_INDEX...

The indexes are Debian's `Packages` files, as apt keeps them (/var/lib/apt/lists). docs/contributing/scale.md has the model in words.
What is simulated: a client that makes the digests of inputs one after the other, and sends tasks in the order given;
workers that read a package whole and then work on it; a file server, and a network link of each machine, that serve
one read after the other. What is measured: the constants below.
"""

from __future__ import annotations

import argparse
import heapq
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, cycle, islice
from pathlib import Path
from typing import Literal, TypeVar

MB = 1_000_000
GBIT = 125 * MB
NETWORKS = (1, 10)
"""In Gbit/s: of the file server, and of each machine."""
WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
Kind = Literal["kernel", "debug", "other"]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Rate:
    """What a kind of package costs, as measured (docs/contributing/scale.md)."""

    seconds_per_mb: float
    store_bytes: int
    store_files: int


RATES: dict[Kind, Rate] = {
    "kernel": Rate(0.134, 131_000, 3),
    "debug": Rate(0.40, 173_000, 3),
    "other": Rate(0.14, 2_700, 1),
}
START_SECONDS = 0.04
ENGINE_SECONDS = 0.0054
DIGEST_BYTES_PER_SECOND = 1_500 * MB


@dataclass(frozen=True, slots=True)
class Package:
    """A package of an index."""

    size: int
    kind: Kind

    @property
    def work(self) -> Work:
        """The package as a task, at the measured rates."""
        return Work(self.size, START_SECONDS + RATES[self.kind].seconds_per_mb * self.size / MB)


@dataclass(frozen=True, slots=True)
class Work:
    """A task: the bytes that it reads, and then the seconds on one processor."""

    size: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Site:
    """Machines and network; bandwidths in bytes per second."""

    workers: int
    threads: int
    """Workers on each machine, which share its link."""
    server: float
    link: float
    engine: float = ENGINE_SECONDS
    """Seconds that the client takes for each task, beside its digest."""
    digest: float = DIGEST_BYTES_PER_SECOND


@dataclass(frozen=True, slots=True)
class Schedule:
    """What came out, and what it cannot be shorter than."""

    makespan: float
    transferred: int
    bounds: dict[str, float]

    @property
    def bottleneck(self) -> str:
        """The greatest of the bounds."""
        return max(self.bounds, key=lambda name: self.bounds[name])


class _Line:
    """What serves one after the other: the file server, or the link of a machine."""

    def __init__(self, rate: float) -> None:
        self._rate, self._free = rate, 0.0

    def serve(self, size: int, now: float) -> float:
        """Return when a read that begins now has ended."""
        self._free = max(self._free, now) + size / self._rate
        return self._free


class _Simulation:
    """Events in the order of time. Nothing in it is random."""

    def __init__(self, works: Sequence[Work], site: Site) -> None:
        self._site = site
        self._now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()
        self._server = _Line(site.server)
        self._client_link = _Line(site.link)
        self._links = [_Line(site.link) for _ in range(-(-site.workers // site.threads))]
        self._idle = deque(range(site.workers))
        self._waiting = iter(works)
        self._sent: deque[Work] = deque()
        self._client_works = False
        self._in_flight = 0

    def run(self) -> float:
        """Return when the last task has ended."""
        self._prepare()
        while self._events:
            self._now, _, action = heapq.heappop(self._events)
            action()
        return self._now

    def _schedule(self, time: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (time, next(self._number), action))

    def _read(self, size: int, link: _Line) -> float:
        return max(self._server.serve(size, self._now), link.serve(size, self._now))

    def _prepare(self) -> None:
        """Let the client begin its next input: it sends two tasks ahead for each worker, as with Dask."""
        if self._client_works or self._in_flight >= 2 * self._site.workers:
            return
        work = next(self._waiting, None)
        if work is not None:
            self._client_works = True
            self._in_flight += 1
            cost = work.size / self._site.digest + self._site.engine
            self._schedule(self._read(work.size, self._client_link) + cost, lambda: self._send(work))

    def _send(self, work: Work) -> None:
        self._client_works = False
        self._sent.append(work)
        self._begin()
        self._prepare()

    def _begin(self) -> None:
        while self._idle and self._sent:
            self._start(self._idle.popleft(), self._sent.popleft())

    def _start(self, worker: int, work: Work) -> None:
        link = self._links[worker // self._site.threads]
        self._schedule(self._read(work.size, link) + work.seconds, lambda: self._end(worker))

    def _end(self, worker: int) -> None:
        self._in_flight -= 1
        self._idle.append(worker)
        self._begin()
        self._prepare()


def schedule(works: Sequence[Work], site: Site) -> Schedule:
    """Run tasks in the order given. Each is read twice: by the client for its digest, and by a worker."""
    total = sum(work.size for work in works)
    slowest = min(site.server, site.link)

    def prepare(size: int, tasks: int) -> float:
        return size / slowest + size / site.digest + tasks * site.engine

    bounds = {
        "processors": sum(work.seconds for work in works) / site.workers,
        "network": 2 * total / site.server,
        "client": prepare(total, len(works)),
        "longest task": max(
            (prepare(work.size, 1) + work.size / slowest + work.seconds for work in works), default=0.0
        ),
    }
    return Schedule(_Simulation(works, site).run(), 2 * total, bounds)


def packages(text: str) -> dict[str, Package]:
    """Return the packages of an index that depend on the architecture, by name; of several versions the last."""
    found = {}
    for stanza in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in stanza.splitlines() if ": " in line and line[0] != " ")
        if fields and fields["Architecture"] != "all":
            name = fields["Package"]
            found[name] = Package(int(fields["Size"]), _kind(name))
    return found


def _kind(name: str) -> Kind:
    if not name.endswith(("-dbg", "-dbgsym")):
        return "other"
    return "kernel" if name.startswith("linux-image-") else "debug"


def choose(index: dict[str, Package], number: int) -> list[Package]:
    """Return so many packages in the order of names: those with debug information first, then -dev, then others."""
    rank = {name: (one.kind == "other", not name.endswith("-dev"), name) for name, one in index.items()}
    names = sorted(index, key=rank.__getitem__)[:number]
    return [index[name] for name in sorted(names)]


def repeat(values: Iterable[_T], number: int) -> list[_T]:
    """Return so many values, from the start again where they end."""
    return list(islice(cycle(values), number))


def read_index(path: Path) -> str:
    """Return the text of an index; apt itself unpacks what it has compressed."""
    if path.suffix in (".lz4", ".gz", ".xz", ".zst", ".bz2"):
        words = ["/usr/lib/apt/apt-helper", "cat-file", str(path)]
        return subprocess.run(words, check=True, capture_output=True).stdout.decode()
    return path.read_text(encoding="utf-8")


def table(works: Sequence[Work], threads: int) -> Iterator[str]:
    """Yield the lines of a table: a row for each number of workers, with time, efficiency and bottleneck by network."""
    cells = [cell for gbit in NETWORKS for cell in (f"{gbit} Gbit/s", "efficiency", "bottleneck")]
    yield f"| workers | machines | {' | '.join(cells)} |"
    yield "|" + "---|" * (len(cells) + 2)
    for workers in WORKERS:
        cells = [cell for gbit in NETWORKS for cell in _cells(works, Site(workers, threads, gbit * GBIT, gbit * GBIT))]
        yield f"| {workers} | {-(-workers // threads)} | {' | '.join(cells)} |"


def _cells(works: Sequence[Work], site: Site) -> tuple[str, str, str]:
    found = schedule(works, site)
    efficiency = sum(work.seconds for work in works) / site.workers / found.makespan
    return duration(found.makespan), f"{efficiency:.0%}", found.bottleneck


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.1f} s"


def summary(several: Sequence[Package]) -> str:
    """Return what a list of packages has, and what becomes of it in a store."""
    sizes = sorted(one.size for one in several)
    rates = [RATES[one.kind] for one in several]
    return (
        f"{len(sizes):,} packages, {sum(sizes) / 1e9:.1f} GB: median {sizes[len(sizes) // 2] / MB:.2f} MB, "
        f"largest {sizes[-1] / MB:.0f} MB; {duration(sum(one.work.seconds for one in several))} of one processor; "
        f"{2 * sum(sizes) / 1e9:.1f} GB over the network; "
        f"store {sum(rate.store_bytes for rate in rates) / 1e9:.2f} GB in {sum(rate.store_files for rate in rates):,} files"
    )


def main(words: Sequence[str] | None = None) -> int:
    """Print tables with all numbers of workers; docs/contributing/scale.md has some of their rows."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.scale")
    parser.add_argument("indexes", nargs="+", type=Path, metavar="PACKAGES_INDEX")
    parser.add_argument("--packages", type=int, default=30_000)
    parser.add_argument("--threads", type=int, default=8)
    options = parser.parse_args(words)
    if min(options.packages, options.threads) < 1:
        parser.error("--packages and --threads must be at least 1")
    index: dict[str, Package] = {}
    for path in options.indexes:
        index.update(packages(read_index(path)))
    if not index:
        parser.error("the indexes have no packages that depend on an architecture")
    _print_tables(index, options.packages, options.threads)
    return 0


def _print_tables(index: dict[str, Package], number: int, threads: int) -> None:
    cases = {"as in the index": choose(index, number)}
    with_debug = [index[name] for name in sorted(index) if index[name].kind != "other"]
    if with_debug:
        cases["all with the sizes of debug packages"] = repeat(with_debug, number)
    for title, several in cases.items():
        print(f"## {title}\n\n{summary(several)}\n")
        works = [one.work for one in several]
        largest_first = sorted(works, key=lambda work: -work.seconds)
        for order, ordered in (("in the order of names", works), ("largest first", largest_first)):
            print(f"### {order.capitalize()}\n")
            print("\n".join(table(ordered, threads)), end="\n\n")


if __name__ == "__main__":
    sys.exit(main())
