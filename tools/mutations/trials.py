"""Copies of the checkout in which one module at a time is changed, and the tests that notice it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path

from tests.harness.command import ROOT
from tools.mutations.blocks import Reach, TimedTest
from tools.mutations.sites import Mutation

_BATCHES = (4, 12, 40)
"""Seconds of the first batches of tests, each of which is a process of its own: most changes are noticed by the first."""
_FILES = 8
"""Files of the first batch: collecting takes time as well."""
_PATIENCE = 4
"""How many times as long as without a change the tests may take, and seconds more for what starts with them."""
_START = 30


@dataclass(frozen=True, slots=True)
class Trial:
    """A mutation of a module, and the test that killed it; empty if it survived."""

    module: str
    mutation: Mutation
    test: str
    tried: int
    """How many tests tried it."""
    reaching: int
    """How many tests reach it."""

    def __str__(self) -> str:
        change = self.mutation
        fate = f"killed: {self.test}" if self.test else f"survived {self.tried} of {self.reaching} tests that reach it"
        return f"{self.module}:{change.line}: {change.before} -> {change.after}\n    {fate}"


def copy_checkout(folder: Path) -> None:
    """Copy the tracked files, without compiled modules, into a git repository of their own."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    subprocess.run(["git", "add", "-A"], cwd=folder, check=True)


class Copy:
    """A copy of the checkout, and the process that runs tests there."""

    def __init__(self, folder: Path, reach: Reach, seconds: float) -> None:
        """`seconds` is how long the tests of a mutation may take in all, by what they took without it."""
        self.folder = folder
        self.reach = reach
        self.seconds = seconds
        copy_checkout(folder)
        self._versions = 0
        self._broken: set[str] = set()
        environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": ""}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tools.mutations.forks", *reach.options], cwd=folder, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )  # fmt: skip

    def close(self) -> None:
        self._process.stdin.close()  # type: ignore[union-attr]
        self._process.wait()

    def run(self, module: str, mutation: Mutation) -> Trial:
        """Put a mutation in, and return the first test that fails with it and passes without."""
        original = (self.folder / module).read_text()
        tests = self._tests(module, mutation.line)
        tried = 0
        for batch in _batches(tests, self.seconds):
            while left := [test for test in batch if test.name not in self._broken]:
                self._write(module, mutation.text)
                failure = self._first_failure(left)
                self._write(module, original)
                if failure is not None and self._is_new(failure, left):
                    return Trial(module, mutation, failure, tried + len(left), len(tests))
                if failure not in self._broken:
                    break
            tried += len(left)
        return Trial(module, mutation, "", tried, len(tests))

    def _is_new(self, failure: str, batch: Sequence[TimedTest]) -> bool:
        """Return whether tests pass without the mutation; the one that failed is not run again if it does not."""
        named = [test for test in batch if test.name == failure]
        without = self._first_failure(named or batch)
        self._broken.update(test.name for test in named if without)
        return without is None

    def _write(self, module: str, text: str) -> None:
        """Write a module with a time that it has not had: Python knows by it which bytecode is old."""
        path = self.folder / module
        path.write_text(text)
        self._versions += 2
        os.utime(path, (1_000_000_000 + self._versions,) * 2)

    def _tests(self, module: str, line: int) -> list[TimedTest]:
        """Return the tests that reach a line, those of its module and the fastest of each file first."""
        found = {test.name: test for test in self.reach.find_tests(module, line) if test.name not in self._broken}
        importing = set(self._importing_files(module)) if self.reach.is_outside(module, line) else set()
        found.update((test.name, test) for test in self.reach.tests if test.file in importing)
        inside = Path(module).relative_to("layoutlint")
        own = str(Path("tests") / inside.parent / f"test_{inside.stem}.py")
        ranks: Counter[str] = Counter()
        order = {}
        for test in sorted(found.values(), key=lambda test: test.seconds + test.blocks.bit_count() / 5000):
            order[test.name] = ranks[test.file] // 20 - 1 if test.file == own or test.file in importing else ranks[test.file]
            ranks[test.file] += 1
        return sorted(found.values(), key=lambda test: order[test.name])

    def _importing_files(self, module: str) -> Iterator[str]:
        """Yield the test files that import a module: they can hold its constants against others without reaching a block."""
        *folders, name = Path(module).with_suffix("").parts
        imports = re.compile(rf"from {r'[.]'.join(folders)} import (?:\([^)]*|[^(\n]*)\b{name}\b|from {r'[.]'.join((*folders, name))} import")
        return (file for file in {test.file for test in self.reach.tests} if imports.search((self.folder / file).read_text()))

    def _first_failure(self, batch: Sequence[TimedTest]) -> str | None:
        seconds = _START + _PATIENCE * sum(test.seconds for test in batch)
        request = {"tests": [test.name for test in batch], "seconds": seconds}
        print(json.dumps(request), file=self._process.stdin, flush=True)
        failure: str | None = json.loads(self._process.stdout.readline())["failure"]  # type: ignore[union-attr]
        return failure


def _batches(tests: Sequence[TimedTest], seconds: float) -> Iterator[list[TimedTest]]:
    """Yield tests in batches that grow, those of a file together, until they have taken `seconds`."""
    left = list(tests)
    for limit in chain(_BATCHES, repeat(_BATCHES[-1])):
        batch = _batch(left, min(limit, seconds), _FILES if limit == _BATCHES[0] else len(left))
        if not batch and limit == _BATCHES[-1]:
            return
        if batch:
            yield sorted(batch, key=lambda test: test.file)
        seconds -= sum(test.seconds for test in batch)
        names = {test.name for test in batch}
        left = [test for test in left if test.name not in names]


def _batch(tests: Sequence[TimedTest], seconds: float, files: int) -> list[TimedTest]:
    """Return the first tests that fit into `seconds` and into a number of files."""
    batch: list[TimedTest] = []
    used: set[str] = set()
    for test in tests:
        if test.seconds <= seconds and (test.file in used or len(used) < files):
            batch.append(test)
            used.add(test.file)
            seconds -= test.seconds
    return batch
