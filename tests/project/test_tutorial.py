"""docs/tutorial.md: the job that it makes. tests/project/test_shown_examples.py follows the rest."""

from __future__ import annotations

import re
import subprocess

import yaml

from tests.harness.command import ROOT

TEXT = (ROOT / "docs/tutorial.md").read_text()


def test_the_job_checks_the_file_of_the_tutorial(tmp_path):
    (command,) = re.findall(r"^\$ (sed .*)$", TEXT, re.M)
    (tmp_path / ".github/workflows").mkdir(parents=True)
    subprocess.run(["sh", "-c", command], cwd=tmp_path, env={"PATH": "/usr/bin:/bin", "CHECKOUT": str(ROOT)}, check=True)
    job = yaml.safe_load((tmp_path / ".github/workflows/layoutlint.yml").read_text())["jobs"]["layoutlint"]
    assert job["steps"][-1]["with"] == {"inputs": "queue.h"}


def test_every_file_is_saved_under_a_name():
    assert [language for name, language in re.findall(r"(Save this as `\S+`:\n\n)?^```(\w+)$", TEXT, re.M) if (language == "console") == bool(name)] == []
