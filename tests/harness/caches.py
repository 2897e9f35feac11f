"""A cache of a test's own, and runs that trust the times of files written a moment ago.

The cache distrusts times for two seconds (`answers`), for which no test waits: here 30 ms suffice, which is more than
the time that the kernel takes from one tick of its clock to the next.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import sys
import time
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.harness.forks import _whole

TRUSTED_AFTER = 0.03


@dataclass(frozen=True, slots=True)
class Run:
    """How a run ended: its exit status and output, and what it took from the cache."""

    status: int
    stdout: str
    stderr: str
    recalled: bool
    """Whether it printed the output of an earlier run."""
    read: int
    """The number of inputs that it read."""


def run(folder: Path, cache: Path, *arguments: str | Path, trusts: bool = True) -> Run:
    """`layoutlint ARGUMENTS...` in a folder, in a fork of this process.

    `trusts` is for runs that may trust the times of files that are older than TRUSTED_AFTER.
    """
    outputs = [os.memfd_create(name) for name in ("stdout", "stderr", "counts")]
    child = os.fork()
    if child == 0:
        status = 70
        try:
            status = _become(folder, cache, [os.fspath(word) for word in arguments], outputs, trusts)
        except BaseException:
            os.write(outputs[1], traceback.format_exc().encode())
        finally:
            os._exit(status)
    _, ended = os.waitpid(child, 0)
    stdout, stderr, counts = map(_whole, outputs)
    for output in outputs:
        os.close(output)
    counted = json.loads(counts or "{}")
    _import_as_well(counted.get("modules", ()))
    return Run(
        os.waitstatus_to_exitcode(ended), stdout.decode(), stderr.decode(), counted.get("recalled", False), counted.get("read", 0)
    )


def _import_as_well(modules: Iterable[str]) -> None:
    """Import what a fork imported, so that the next one has it: that takes most of a run."""
    for name in modules:
        with contextlib.suppress(ImportError):  # parts of other modules
            importlib.import_module(name)


def _become(folder: Path, cache: Path, words: list[str], outputs: list[int], trusts: bool) -> int:
    before = set(sys.modules)
    from layoutlint import cli
    from layoutlint.commands import replay
    from layoutlint.readers import dispatch
    from layoutlint.readers.cache import answers, keys

    os.chdir(folder)
    os.environ.pop("LAYOUTLINT_NO_CACHE", None)
    os.environ["XDG_CACHE_HOME"] = str(cache)
    keys._YOUNG = 0
    if trusts:
        answers._YOUNG = int(TRUSTED_AFTER * 1e9)
        time.sleep(2 * TRUSTED_AFTER)
    counted: dict[str, Any] = {"recalled": False, "read": 0}
    recall, attempt = replay.recall, dispatch.attempt

    def counting_recall(memory):
        kept = recall(memory)
        counted["recalled"] = kept is not None
        return kept

    def counting_attempt(*arguments, **options):
        counted["read"] += 1
        return attempt(*arguments, **options)

    replay.recall, dispatch.attempt = counting_recall, counting_attempt
    for standard, output in enumerate(outputs[:2], start=1):
        os.dup2(output, standard)
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)), encoding="utf-8")
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), "utf-8", "backslashreplace", write_through=True)
    sys.argv = ["layoutlint", *words]
    status = 0
    try:
        cli.main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 4
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    counted["modules"] = sorted(set(sys.modules) - before)
    os.write(outputs[2], json.dumps(counted).encode())
    return status
