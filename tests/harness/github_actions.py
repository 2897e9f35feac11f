"""Steps of workflows and actions, run as GitHub's runner does: expressions only in `env`, a shell that stops at a failure."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.harness.command import WITHOUT_CACHE, forks_of
from tests.harness.tools import need

_EXPRESSION = re.compile(r"\$\{\{ (.*?) \}\}")


class StepRun(NamedTuple):
    """What a step did."""

    status: int
    log: str
    """What it printed on both streams."""
    outputs: dict[str, str]
    summary: str


def layoutlint_script(folder: Path) -> Path:
    """Write the command `layoutlint` of this environment into a folder, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "layoutlint"
    forks_of([]).write_program(script)
    return script


def find_step(steps: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return the step with a name."""
    return next(step for step in steps if step.get("name") == name)


def run_step(
    step: Mapping[str, Any], cwd: Path, temporary: Path, expressions: Mapping[str, str], **environment: str
) -> StepRun:
    """Run a step with `run`; `expressions` has the value of each `${{ }}` in its `env`, KeyError for one without.

    `temporary` is RUNNER_TEMP; `environment` is added to what the runner gives.
    """
    assert "${{" not in step["run"]
    temporary.mkdir(exist_ok=True)
    values = {name: _EXPRESSION.sub(lambda match: expressions[match[1]], str(text)) for name, text in step.get("env", {}).items()}
    files = {name: temporary / f"_{name.lower()}" for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for file in files.values():
        file.write_text("")
    script = temporary / "_script.sh"
    script.write_text(step["run"])
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH") if name in os.environ}
    done = subprocess.run(
        [need("bash"), "--noprofile", "--norc", "-eo", "pipefail", str(script)],
        cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=600,
        env={
            **kept, **WITHOUT_CACHE, "CI": "true", "RUNNER_TEMP": str(temporary), "TMPDIR": str(temporary), "GITHUB_WORKSPACE": str(cwd),
            **{name: str(file) for name, file in files.items()}, **values, **environment,
        },
    )  # fmt: skip
    outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
    return StepRun(done.returncode, done.stdout, outputs, files["GITHUB_STEP_SUMMARY"].read_text())
