"""Which tests reach which blocks of the code.

    python -m tools.mutations.reach FILE [ARGUMENTS...]

runs the quick tests, or those that pytest runs with ARGUMENTS (such as --exhaustive tests/lint), in a copy of the checkout whose blocks mark a table when they begin,
writes what each test reaches to FILE, and prints the blocks that none reaches.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.harness.command import ROOT
from tools.mutations import PACKAGES
from tools.mutations.blocks import Reach, TimedTest, put_marks
from tools.mutations.trials import copy_checkout

_SIZE = 1 << 16
"""Blocks that a table has room for."""
_TABLE = f"""
import mmap, pathlib
with pathlib.Path(__file__).with_suffix(".table").open("r+b") as file:
    marks = mmap.mmap(file.fileno(), {_SIZE})
"""
_FOLDER = "LAYOUTLINT_MARKS"
"""The variable with the folder of the tables, one for each process of pytest."""


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Give each process of pytest a table: its module is on the path of all processes that it starts."""
    folder = Path(os.environ[_FOLDER]) / str(os.getpid())
    folder.mkdir()
    (folder / "layoutlint_marks.table").write_bytes(bytes(_SIZE))
    (folder / "layoutlint_marks.py").write_text(_TABLE)
    os.environ["PYTHONPATH"] = f"{folder}:{ROOT}"
    sys.path.insert(0, str(folder))
    early_config.pluginmanager.register(_Recorder(folder))


class _Recorder:
    """Notes after each test that passed what it reached."""

    def __init__(self, folder: Path) -> None:
        self.output = folder / "reached"
        self.passed: set[str] = set()
        with (folder / "layoutlint_marks.table").open("r+b") as file:
            self.table = mmap.mmap(file.fileno(), _SIZE)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.table[:] = bytes(_SIZE)
        begin = time.monotonic()
        result = yield
        seconds = round(time.monotonic() - begin, 3)
        blocks = sum(1 << mark.start() for mark in re.finditer(b"\1", self.table[:]))
        if item.nodeid in self.passed:
            with self.output.open("a") as file:
                print(json.dumps([item.nodeid, seconds, f"{blocks:x}"]), file=file)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.passed.add(report.nodeid)
        elif not report.passed:
            self.passed.discard(report.nodeid)


def record(arguments: Sequence[str]) -> Reach:
    """Run the quick tests, and return what they reach."""
    blocks: list[tuple[str, int, int]] = []
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as tables:
        copy_checkout(Path(folder))
        for package in PACKAGES:
            for path in sorted((Path(folder) / "layoutlint" / package).rglob("*.py")):
                path.write_text(put_marks(path.read_text(), str(path.relative_to(folder)), blocks))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tools.mutations.reach", "-n", "auto", "--dist", "loadfile", *arguments]
        environment = {**os.environ, "PYTHONPATH": folder, _FOLDER: tables}
        subprocess.run(command, cwd=folder, env=environment, check=False)
        lines = [line for path in Path(tables).rglob("reached") for line in path.read_text().splitlines()]
    tests = [TimedTest(name, seconds, int(reached, 16)) for name, seconds, reached in map(json.loads, lines)]
    return Reach(blocks, tests, tuple({"--exhaustive"}.intersection(arguments)))


def main(words: Sequence[str]) -> None:
    reach = record(words[1:])
    reach.write(Path(words[0]))
    print(*reach.find_unreached(), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
