"""docs/tutorial.md, followed to the letter: its files, its commands, and all that they print."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.harness.command import ROOT

TEXT = (ROOT / "docs/tutorial.md").read_text()
IDENTITY = {f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER") for key, value in (("NAME", "t"), ("EMAIL", "t@example.org"))}
MARK = "-- the next command --"
STEPS = re.findall(r"(?:Save this as `(\S+)`:\n\n)?^```(\w+)\n(.*?)^```$", TEXT, re.M | re.S)
COMMANDS = [line.removeprefix("$ ") for _, language, text in STEPS if language == "console" for line in text.splitlines() if line.startswith("$ ")]


def script() -> str:
    """Every step in one shell. A mark goes before the output of each command, and leaves `$?` as it was."""
    lines = []
    for name, language, text in STEPS:
        if name:
            lines.append(f"cat > {name} <<'END'\n{text}END")
        elif language == "console":
            commands = re.findall(r"^\$ (.*)$", text, re.M)
            lines += [f"status=$?; echo '{MARK}'; (exit $status)\n{command}" for command in commands]
    return "\n".join(lines)


def printed() -> list[str]:
    """What the document shows below each command."""
    shown = "".join(text for _, language, text in STEPS if language == "console")
    return re.split(r"^\$ .*\n", shown, flags=re.M)[1:]


def without_commits(outputs: list[str]) -> list[str]:
    return [re.sub(r"\b[0-9a-f]{12}\b", "COMMIT", output) for output in outputs]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/layoutlint").write_text(f'#!/bin/sh\nexec {sys.executable} -m layoutlint "$@"\n')
    (tmp_path / "bin/layoutlint").chmod(0o755)
    return tmp_path


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the document shows the output of x86-64")
def test_every_command_prints_what_is_shown(home):
    path = f"{home}/bin:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script()], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
        env={"PATH": path, "HOME": str(home), **IDENTITY},
    )  # fmt: skip
    outputs = done.stdout.split(f"{MARK}\n")
    assert without_commits(outputs) == without_commits(["", *printed()])
    job = yaml.safe_load((home / "queue/.github/workflows/layoutlint.yml").read_text())["jobs"]["layoutlint"]
    assert job["steps"][-1]["with"] == {"inputs": "queue.h"}


def test_every_file_is_saved_under_a_name():
    assert [text for name, language, text in STEPS if (language == "console") == bool(name)] == []
