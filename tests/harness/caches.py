"""A cache of a test's own, and runs that trust the times of files written a moment ago.

The cache distrusts times for two seconds (`answers`), for which no test waits: here 30 ms suffice, which is more than
the time that the kernel takes from one tick of its clock to the next.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from tests.harness import command
from tests.harness.command import WITHOUT_CACHE

TRUSTED_AFTER = 0.03
_TRUSTS = "TESTS_TRUST_TIMES"


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
    """`layoutlint ARGUMENTS...` in a folder.

    `trusts` is for runs that may trust the times of files that are older than TRUSTED_AFTER.
    """
    environment = {name: value for name, value in os.environ.items() if name not in WITHOUT_CACHE}
    environment |= {"XDG_CACHE_HOME": str(cache)} | ({_TRUSTS: "1"} if trusts else {})
    words = [os.fspath(word) for word in arguments]
    ended = command.forks_of(words).run(
        words, str(folder), environment, command.SECONDS, command.own_processes, "tests.harness.caches:count"
    )
    counted = json.loads(ended.more or "{}")
    return Run(ended.status, ended.stdout.decode(), ended.stderr.decode(), counted.get("recalled", False), counted.get("read", 0))


def count(counts: int) -> NoReturn:
    """The command, and to that descriptor what it took from the cache."""
    from layoutlint import cli
    from layoutlint.commands import replay
    from layoutlint.readers import dispatch
    from layoutlint.readers.cache import answers, keys

    keys._YOUNG = 0
    if os.environ.pop(_TRUSTS, None):
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
    status = 0
    try:
        cli.main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 4
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    os.write(counts, json.dumps(counted).encode())
    os._exit(status)
