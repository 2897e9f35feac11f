"""Which test files reach which blocks of the code.

    python -m tests.mutations.reach FILE [TESTS...]

runs the quick tests, or some, in a copy of the checkout whose blocks mark a table when they begin, writes what they reach to FILE as JSON, and
prints the blocks that none reaches.
"""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.harness.command import ROOT
from tests.mutations import PACKAGES
from tests.mutations.blocks import Reach, put_marks
from tests.mutations.trials import Copy, is_compiled

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
    """Notes after each test file what it reached."""

    def __init__(self, folder: Path) -> None:
        self.output = folder / "reached"
        with (folder / "layoutlint_marks.table").open("r+b") as file:
            self.table = mmap.mmap(file.fileno(), _SIZE)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        result = yield
        if nextitem is None or nextitem.path != item.path:
            reached = [number for number, mark in enumerate(self.table[:]) if mark]
            with self.output.open("a") as file:
                print(json.dumps([str(item.path.relative_to(ROOT)), reached]), file=file)
            self.table[:] = bytes(_SIZE)
        return result


def record(tests: Sequence[str]) -> Reach:
    """Run the quick tests, and return what they reach."""
    blocks: list[tuple[str, int, int]] = []
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as tables:
        place = Copy(Path(folder))
        for package in PACKAGES:
            for path in sorted((place.folder / "layoutlint" / package).rglob("*.py")):
                if not is_compiled(path):
                    path.write_text(put_marks(path.read_text(), str(path.relative_to(folder)), blocks))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutations.reach", "-n", "2", "--dist", "loadfile", *tests]
        environment = {**os.environ, "PYTHONPATH": folder, _FOLDER: tables}
        subprocess.run(command, cwd=folder, env=environment, check=False)
        lines = [line for path in Path(tables).rglob("reached") for line in path.read_text().splitlines()]
    files: dict[str, list[int]] = {}
    for name, reached in map(json.loads, lines):
        files[name] = sorted({*files.get(name, ()), *reached})
    return Reach(blocks, files)


def main(words: Sequence[str]) -> None:
    reach = record(words[1:])
    Path(words[0]).write_text(json.dumps({"blocks": reach.blocks, "files": reach.files}))
    print(*reach.find_unreached(), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
