"""docs/suggest.md, followed to the letter: its files, its commands, and all that they print."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.harness.command import ROOT
from tests.harness.tools import need

pytest.importorskip("ortools", reason="OR-tools is not installed (pip install layoutlint[suggest])")

TEXT = (ROOT / "docs/suggest.md").read_text()
FILES = re.findall(r"^Save this as `(\S+)`:\n\n```\w+\n(.*?)^```$", TEXT, re.M | re.S)
CONSOLE = re.findall(r"^```console\n(.*?)^```$", TEXT, re.M | re.S)
STEPS = [step for shown in CONSOLE for step in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", shown, re.M)]
ENVIRONMENT = os.environ | {"COLUMNS": "100"}


def test_every_command_prints_what_is_shown(tmp_path):
    need("git")
    for name, text in FILES:
        (tmp_path / name).write_text(text)
    assert len(FILES) == 2
    assert len(STEPS) == 4
    for command, shown in STEPS:
        words = command.replace("layoutlint ", f"{sys.executable} -m layoutlint ", 1)
        done = subprocess.run(
            ["sh", "-c", words], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=120
        )
        assert (command, done.returncode, done.stdout + done.stderr) == (command, 0, shown)
