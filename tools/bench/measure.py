"""Measures layoutlint on a real vmlinux beside pahole, layout-audit, padlock and drgn, and writes docs/contributing/benchmarks.md.

    python -m tools.bench.measure [--short] [--rounds N] [--only PATTERN] [--output FILE] [--vmlinux FILE] [--struct NAME]

Kernels and other tools are downloaded and built where they are missing (LAYOUTLINT_OFFLINE=1 forbids it; what is
missing is then skipped with the reason). Nothing else should be running.
"""

from __future__ import annotations

import argparse
import compileall
import os
import platform
import re
import sys
from collections.abc import Callable
from pathlib import Path

from tests.harness import interpreted
from tests.harness.command import ROOT, run
from tests.real import kernels
from tools.bench import cases, growth, peers
from tools.bench.cases import LIMITS, Inputs
from tools.bench.document import Results, Setting, document, edits_of, limits, with_edits
from tools.bench.rounds import judge, measure, to_stderr

OUTPUT = ROOT / "docs" / "contributing" / "benchmarks.md"
GROWTH_ROUNDS = 3


def main(words: list[str]) -> int:
    """The command line; exit status 1 when there is no kernel, 0 also when limits are missed: they are in the table."""
    options = _options(words)
    if options.short:
        measured = measure(cases.small(), 1, to_stderr)
        keys = {case.key for case in cases.small()}
        print(limits(Results(tuple(judge(limit, measured) for limit in LIMITS if limit.ours in keys), tuple(measured), ())))
        return 0
    try:
        vmlinux = options.vmlinux or kernels.fetch("next")
    except kernels.Unavailable as reason:
        print(reason, file=sys.stderr)
        return 1
    compileall.compile_dir(str(ROOT / "layoutlint"), quiet=2)  # as installing does
    load = os.getloadavg()[0]
    copy = interpreted.package() if _scanner() == "compiled" else None
    results = _results(Inputs(vmlinux, options.struct, copy), re.compile(options.only).search, options.rounds)
    output = options.output or (OUTPUT if options.only == "" else None)
    setting = _measure_setting(vmlinux, load, options.rounds)
    if output is None:
        print(document(results, setting, None))
        return 0
    edits = edits_of(output.read_text()) if output.is_file() else ""
    output.write_text(with_edits(document(results, setting, _plot(results, output.with_suffix(".svg"))), edits))
    print(limits(results))
    return 0


def _options(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="how often each command runs")
    parser.add_argument("--short", action="store_true", help="measure once what needs no kernel, and print its limits")
    parser.add_argument("--only", default="", metavar="PATTERN", help="a regular expression for the names of cases")
    parser.add_argument("--output", type=Path, help=f"where the page goes (default: {OUTPUT.relative_to(ROOT)}; with --only: printed)")
    parser.add_argument("--vmlinux", type=Path, help="an ELF file with debug information (default: Debian's 6.12)")
    parser.add_argument("--struct", default="address_space", help="the struct that is looked up in it")
    return parser.parse_args(words)


def _scanner() -> str:
    """How the scanner runs that is measured, in the words of `layoutlint --version`."""
    answer = re.search(r"DWARF scanner: (\w+)", run("--version").stdout)
    return answer[1] if answer else "interpreted"


def _results(inputs: Inputs, wanted: Callable[[str], object], rounds: int) -> Results:
    chosen = [case for case in cases.cases(inputs) if wanted(case.key)]
    measured = measure(chosen, rounds, to_stderr)
    judged = tuple(judge(limit, measured) for limit in LIMITS)
    try:
        lines = growth.lines(inputs, wanted, min(rounds, GROWTH_ROUNDS), to_stderr)
    except (growth.NoRoom, ValueError, OSError) as reason:
        return Results(judged, tuple(measured), (), str(reason))
    return Results(judged, tuple(measured), tuple(lines))


def _plot(results: Results, output: Path) -> str | None:
    """Draw the picture; its file name, or None without the library for it."""
    try:
        from tools.bench import plot
    except ImportError as reason:
        to_stderr(f"no picture: {reason} (pip install -e '.[bench]')")
        return None
    plot.draw(results, output)
    return output.name


def _measure_setting(vmlinux: Path, load: float, rounds: int) -> Setting:
    versions = []
    for peer in (peers.pahole, peers.layout_audit, peers.padlock, peers.drgn):
        try:
            versions.append(peer().version)
        except peers.Unavailable as reason:
            versions.append(f"without {reason}")
    size = vmlinux.stat().st_size / 1e6
    return Setting(
        _scanner(), f"`{vmlinux.name}` ({size:,.0f} MB)",
        f"{_processor()}, {os.cpu_count()} processors, Linux {platform.release().partition('-')[0]}, Python {platform.python_version()}",
        tuple(versions), rounds, min(rounds, GROWTH_ROUNDS), load,
    )  # fmt: skip


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
