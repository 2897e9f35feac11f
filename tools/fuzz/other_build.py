"""The same source without its compiled modules, in a process of its own that reads what it is asked to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import layoutlint
from tests.harness import interpreted
from tests.harness.command import ROOT
from tools.fuzz.command import Done, prepare, run


class Server:
    """A process that runs commands by an interpreted copy of the package."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    @staticmethod
    def is_needed() -> bool:
        """Whether there is anything compiled that could differ."""
        package = Path(layoutlint.__file__).parent
        return any(next(package.rglob(f"*{suffix}"), None) for suffix in EXTENSION_SUFFIXES)

    def start(self) -> None:
        """Starts the process when it is not running."""
        if self._process is not None:
            return
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tools.fuzz.other_build"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": f"{interpreted.package()}:{ROOT}", "PYTHONSAFEPATH": "1"},
        )  # fmt: skip

    def run(self, words: tuple[str, ...]) -> Done:
        """The command in the folder that this process is in."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([os.getcwd(), *words]) + "\n")
        self._process.stdin.flush()
        status, out, err = json.loads(self._process.stdout.readline())
        return Done(status, out.encode("latin-1"), err.encode("latin-1"))

    def stop(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _serve() -> None:
    """Answers each line of stdin, a folder and words, with a line: status, stdout, stderr."""
    answers = sys.stdout
    assert not Server.is_needed(), f"{layoutlint.__file__} is no interpreted copy"
    prepare()
    for line in sys.stdin:
        folder, *words = json.loads(line)
        os.chdir(folder)
        try:
            done = run(tuple(words))
        except BaseException as error:
            done = Done(repr(error), b"", b"")
        answers.write(json.dumps([done.status, done.stdout.decode("latin-1"), done.stderr.decode("latin-1")]) + "\n")
        answers.flush()


if __name__ == "__main__":
    _serve()
