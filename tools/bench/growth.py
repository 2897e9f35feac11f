"""How cost grows with the input: the same commands on a vmlinux with its units once, and several times over."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.bench import cases, peers
from tools.bench.cases import Case, Inputs
from tools.bench.process import Command
from tools.bench.repeat import repeat
from tools.bench.rounds import Measured, Say, measure

TIMES = (1, 2, 4, 8)
PAHOLE_NEEDS = 12
"""Times the size of a file that pahole takes in memory, with a reserve: 3.2 GB for 345 MB were seen."""


class NoRoom(Exception):
    """The larger files do not fit on the disk."""


@dataclass(frozen=True, slots=True)
class Growing:
    """A command on files of growing size, up to the largest that it is given."""

    key: str
    tool: str
    what: str
    most: int
    command: Callable[[Path, Inputs], Command]


@dataclass(frozen=True, slots=True)
class Line:
    """One command's figures, one for each size of the input, by how many times the units are in it."""

    growing: Growing
    at: dict[int, Measured]


def growing_cases(struct: str) -> tuple[Growing, ...]:
    """What is measured on larger inputs: peers only as far as their time and memory allow."""
    return (
        Growing("grow-check", "layoutlint", "check -v", 8, cases.check),
        Growing("grow-show", "layoutlint", f"show {struct}", 8, cases.show),
        Growing("grow-drgn", "drgn", f"look-up of {struct}", 8, cases.drgn),
        Growing("grow-layout-audit", "layout-audit", f"inspect --filter {struct}", 4, cases.layout_audit),
        Growing("grow-pahole", "pahole", "-F dwarf --sizes -j2", 2, _pahole),
    )


def lines(inputs: Inputs, wanted: Callable[[str], object], rounds: int, say: Say) -> list[Line]:
    """Measure all that is wanted on all sizes, in turn; raises NoRoom, and ValueError for an input that cannot grow."""
    chosen = [one for one in growing_cases(inputs.struct) if wanted(one.key)]
    if not chosen:
        return []
    with _files(inputs.vmlinux, max(one.most for one in chosen), say) as files:
        several = {one.key: _cases_for_files(one, files, inputs) for one in chosen}
        measured = measure([case for cases in several.values() for case in cases.values()], rounds, say)
    by_key = {one.case.key: one for one in measured}
    return [Line(one, {times: by_key[case.key] for times, case in several[one.key].items()}) for one in chosen]


def _cases_for_files(one: Growing, files: dict[int, Path], inputs: Inputs) -> dict[int, Case]:
    """A case for every file that is not too large for the command."""
    return {
        times: Case(f"{one.key}-{times}", one.tool, f"{one.what}, {times} x the units", "growth",
                    lambda path=path: one.command(path, inputs))  # type: ignore[misc]
        for times, path in files.items() if times <= one.most
    }  # fmt: skip


@contextmanager
def _files(vmlinux: Path, most: int, say: Say) -> Iterator[dict[int, Path]]:
    """The inputs, of which all but the first are written for this run."""
    sizes = [times for times in TIMES if 1 < times <= most]
    with tempfile.TemporaryDirectory(prefix="layoutlint-bench.") as folder:
        needed, free = sum(sizes) * vmlinux.stat().st_size, shutil.disk_usage(folder).free
        if free < needed:
            raise NoRoom(f"{folder} has {free / 1e9:.0f} GB free, and larger inputs need {needed / 1e9:.0f}")
        files = {1: vmlinux}
        for times in sizes:
            files[times] = Path(folder, f"{times}-times")
            say(f"writing {times} times the units")
            repeat(vmlinux, times, files[times])
        yield files


def _pahole(path: Path, inputs: Inputs) -> Command:
    needed, free = path.stat().st_size * PAHOLE_NEEDS, _available()
    if free < needed:
        raise peers.Unavailable(f"pahole: {free / 1e9:.0f} GB of memory are free, and it may need {needed / 1e9:.0f}")
    return cases.pahole(path, inputs, "-F", "dwarf", "--sizes", "-j2")


def _available() -> int:
    """Bytes of memory that the kernel can give away (MemAvailable, proc(5))."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0
