"""The real command in a process of its own. Most runs read C in it; with the fixture `own_processes` they do all as those
of users do."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

from tests.harness import json_schemas
from tests.harness.forks import Forks, libraries_of

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 120
_KEPT = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH")
own_processes = False
"""Whether runs read C in processes of their own, as those of users do (see same_process). The fixture of that name sets it,
and `--exhaustive`."""
WITHOUT_CACHE = {"LAYOUTLINT_NO_CACHE": "1"}
"""The environment of runs that neither use nor change the cache of whoever runs the tests."""


def run(
    *arguments: str | bytes | Path, cwd: Path = ROOT, seconds: float = SECONDS, given: bytes | None = None,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """`layoutlint ARGUMENTS...` in a folder; nothing of the caller's terminal, colour, locale or cache gets in.

    There is no folder of states either.

    `given` comes through a pipe as standard input.

    With XDG_CACHE_HOME in the environment, the run uses the cache there.

    What it prints as JSON is held against the schema that layoutlint publishes for it.
    """
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    if "XDG_CACHE_HOME" not in environment:
        kept |= WITHOUT_CACHE
    kept |= {"XDG_STATE_HOME": "/dev/null/state", "LAYOUTLINT_NO_PROGRESS": "1"}
    words = [os.fsdecode(argument) for argument in arguments]
    is_own = any(name.startswith(("PYTHON", "LC_", "LANG")) for name in environment)  # what Python itself obeys when it starts
    if is_own:
        return _valid(_start(words, cwd, {**kept, **environment}, seconds, given))
    ended = forks_of(words).run(words, str(cwd), {**kept, **environment}, seconds, own_processes, given=given)
    return _valid(subprocess.CompletedProcess(words, ended.status, ended.stdout.decode(), ended.stderr.decode()))


def _valid(ended: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """Return a run whose JSON, if it printed all of it, is valid."""
    words: list[str] = ended.args
    asks_json = "--format=json" in words or ("--format", "json") in pairwise(words)
    asks_json &= all("=" in str(file) for option, file in pairwise(words) if option == "--output")  # a file alone gets it instead
    if asks_json and (ended.stdout.endswith("}\n") or ended.returncode in (0, 1)) and "--help" not in words:
        mistakes = json_schemas.mistakes(ended.stdout)
        assert not mistakes, f"not valid by its schema: {mistakes}"
    return ended


def forks_of(words: list[str]) -> Forks:
    """Where the runs of a command are forked."""
    return _forks(os.getpid(), libraries_of(words))


@cache
def _forks(process: int, libraries: tuple[str, ...]) -> Forks:
    """A few for each process of pytest: some for commands that need large libraries, and one for all others."""
    return Forks(ROOT, libraries)


def _start(
    words: list[str], cwd: Path, environment: dict[str, str], seconds: float, given: bytes | None
) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(
        [sys.executable, "-m", "layoutlint", *words], cwd=cwd, env=environment, capture_output=True, timeout=seconds,
        **({"stdin": subprocess.DEVNULL} if given is None else {"input": given}),
    )  # fmt: skip
    return subprocess.CompletedProcess(words, ended.returncode, ended.stdout.decode(), ended.stderr.decode())
