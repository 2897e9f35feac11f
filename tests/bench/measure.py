"""Measures `check` on real kernels against its budgets and against native tools, and writes docs/benchmarks.md.

    python -m tests.bench.measure [--rounds N] [--output FILE]

Every round runs each command once, in turn, as a process of its own; medians are reported. Peak memory is what the
kernel counts for the process (ru_maxrss). Nothing else should be running.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from tests.command import ROOT
from tests.real import kernels

CHECK = (sys.executable, "-m", "layoutlint", "check", "--format", "json")
PARSE = (sys.executable, "-m", "tests.bench.parse")
OUTPUT = ROOT / "docs" / "benchmarks.md"


@dataclass(frozen=True, slots=True)
class Run:
    """One process: seconds on the clock, seconds of computing, and peak memory in MB."""

    wall: float
    cpu: float
    memory: float


@dataclass(slots=True)
class Case:
    """One command, its budget if it has one, and what it is compared with."""

    what: str
    command: tuple[str, ...]
    beside: str | None = None
    """The case that it is held against."""
    seconds: float | None = None
    memory: float | None = None
    times: float | None = None
    """At most so many times the wall time of `beside`."""
    runs: list[Run] = field(default_factory=list)

    def median(self, name: str) -> float:
        """The median of `wall`, `cpu` or `memory`."""
        return median(getattr(run, name) for run in self.runs)


def cases() -> list[Case]:
    """What is measured; raises kernels.Unavailable when a kernel cannot be had."""
    cloud, tree = str(kernels.fetch("cloud")), str(kernels.fetch("next-headers"))
    header = ("linux/fs.h", str(_header(Path(tree), "linux/fs.h")))
    found = [
        Case("`check` of a vmlinux, DWARF", (*CHECK, "--reader", "dwarf", cloud), "`pahole -F dwarf --sizes`", 20, 700),
        Case("`check` of a vmlinux, BTF", (*CHECK, "--reader", "btf", cloud), "`pahole -F btf --sizes`", 2),
        Case(f"`check` of {header[0]}", (*CHECK, header[1], "--", f"O={tree}"), f"libclang's parse of {header[0]}", times=3),
        Case(f"libclang's parse of {header[0]}", (*PARSE, tree, header[0])),
        Case("`check` of a header tree", (*CHECK, tree), f"libclang's parse of {header[0]}"),
        Case("`--version`: start-up alone", (sys.executable, "-m", "layoutlint", "--version")),
    ]
    if shutil.which("pahole"):
        found += [
            Case(f"`pahole -F {kind} --sizes`", ("pahole", "-F", kind, "--sizes", cloud)) for kind in ("dwarf", "btf")
        ]
    return found


def _header(tree: Path, name: str) -> Path:
    """A public header of a header package, whose common part lies beside the configured one."""
    return next(tree.parent.glob(f"*-common/include/{name}"))


def run(command: tuple[str, ...]) -> Run:
    """Run a command to its end, and say what it took; raises CalledProcessError for a crash."""
    before = os.times().elapsed
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = os.times().elapsed - before
    if process.returncode not in (0, 1):
        raise subprocess.CalledProcessError(process.returncode, command)
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def measure(measured: list[Case], rounds: int) -> None:
    """Run every case once in each round."""
    for number in range(rounds):
        for case in measured:
            case.runs.append(run(case.command))
            print(f"round {number + 1}: {case.what}: {case.runs[-1].wall:.2f} s", file=sys.stderr, flush=True)


def table(measured: list[Case]) -> str:
    """The results in Markdown."""
    by_name = {case.what: case for case in measured}
    lines = ["| what | wall s | cpu s | peak MB | budget | of the budget | beside |", "|---|---:|---:|---:|---|---|---|"]
    for case in measured:
        other = by_name.get(case.beside or "")
        budget, share = _budget(case, other)
        beside = f"{case.median('wall') / other.median('wall'):.2f} x {other.what}" if other else ""
        numbers = f"{case.median('wall'):.2f} | {case.median('cpu'):.2f} | {case.median('memory'):.0f}"
        lines.append(f"| {case.what} | {numbers} | {budget} | {share} | {beside} |")
    return "\n".join(lines)


def _budget(case: Case, other: Case | None) -> tuple[str, str]:
    """The limits of a case, and how much of each it takes."""
    limits: list[tuple[str, float]] = []
    if case.seconds is not None:
        limits.append((f"{case.seconds:.0f} s", case.median("wall") / case.seconds))
    if case.memory is not None:
        limits.append((f"{case.memory:.0f} MB", case.median("memory") / case.memory))
    if case.times is not None and other is not None:
        limits.append((f"{case.times:.0f} x the parse", case.median("wall") / other.median("wall") / case.times))
    return ", ".join(name for name, _ in limits), ", ".join(f"{share:.0%}" for _, share in limits)


def document(measured: list[Case], rounds: int, load: float) -> str:
    """docs/benchmarks.md; `load` is how many other processes wanted a processor when measuring began."""
    kernel, tree = kernels.fetch("cloud"), kernels.fetch("next-headers")
    size = kernel.stat().st_size / 1e6
    return f"""# Benchmarks

Written by `python -m tests.bench.measure`, which anybody can run again.

Each command runs as a process of its own, interpreter start-up included, once per round and in turn; the figures are
medians of {rounds} rounds. Peak memory is the largest resident set of the process. The vmlinux is Debian's
`{kernel.name}` ({size:.0f} MB); the header tree is `{tree.name}`. libclang's own parse is a process that parses the same
text with the same flags through `clang.cindex`, and does nothing else. The DWARF scanner runs as plain Python.

Machine: {_processor()}, {os.cpu_count()} processors; Python {platform.python_version()}; {_pahole()}. Load average before the
first round: {load:.1f}; the nearer it is to the number of processors, the further wall time lies above cpu time.

{table(measured)}
"""


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _pahole() -> str:
    if shutil.which("pahole") is None:
        return "no pahole"
    return "pahole " + subprocess.run(["pahole", "--version"], capture_output=True, text=True).stdout.strip()


def main() -> int:
    """The command line; exit status 1 when a kernel cannot be had."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    try:
        measured = cases()
    except kernels.Unavailable as reason:
        print(reason, file=sys.stderr)
        return 1
    load = os.getloadavg()[0]
    measure(measured, options.rounds)
    options.output.write_text(document(measured, options.rounds, load))
    print(table(measured))
    return 0


if __name__ == "__main__":
    sys.exit(main())
