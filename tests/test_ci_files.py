"""The job files that users copy: they parse, and their own script lines do what they promise."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import ROOT

EXAMPLE = ROOT / "docs" / "example"


def github() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docs/ci/github.yml").read_text())


def gitlab() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docs/ci/gitlab.yml").read_text())["layoutlint"]


def steps() -> list[dict[str, Any]]:
    return github()["jobs"]["layoutlint"]["steps"]


SCRIPTS = {
    "github": lambda: [step["run"] for step in steps() if "run" in step],
    "gitlab": lambda: gitlab()["script"],
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLE, tmp_path / "project")
    return tmp_path / "project"


def run_job(lines: list[str], project: Path) -> subprocess.CompletedProcess[str]:
    """The lines as a runner has them: one shell that stops at the first failure, with `layoutlint` on its path."""
    commands = project.parent / "bin"
    commands.mkdir()
    (commands / "layoutlint").write_text(f'#!/bin/sh\nexec {sys.executable} -m layoutlint "$@"\n')
    (commands / "layoutlint").chmod(0o755)
    assert lines[0] == 'pip install "$LAYOUTLINT"'  # done already: this environment has it
    return subprocess.run(
        ["bash", "-e", "-c", "\n".join(lines[1:])], cwd=project, capture_output=True, text=True,
        env={"PATH": f"{commands}:{os.environ['PATH']}", "HOME": str(project.parent), "CI": "true"},
    )  # fmt: skip


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize(("header", "status"), [("ring.h", 1), ("ring-fixed.h", 0)])
def test_a_job_fails_on_violations_and_leaves_the_sarif_file(project, script, header, status):
    (project / header).rename(project / "judged.h")
    (project / "judged.h").rename(project / "ring.h")
    done = run_job(SCRIPTS[script](), project)
    assert done.returncode == status, done.stdout + done.stderr
    assert json.loads((project / "layoutlint.sarif").read_text())["version"] == "2.1.0"


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_job_fails_on_a_broken_rule_file(project, script):
    (project / "layoutlint.toml").write_text("[[rule]]\n")
    assert run_job(SCRIPTS[script](), project).returncode == 2


def test_github_annotates_the_changed_lines(project):
    done = run_job(SCRIPTS["github"](), project)
    assert [line for line in done.stdout.splitlines() if line.startswith("::error file=ring.h,line=")]


def test_github_keeps_the_sarif_file_of_a_failed_run():
    keeping = [step for step in steps() if "upload" in step.get("uses", "")]
    assert [step["uses"].split("@")[0] for step in keeping] == [
        "github/codeql-action/upload-sarif", "actions/upload-artifact",
    ]  # fmt: skip
    for step in keeping:
        assert step["if"].startswith("always()")
        assert "layoutlint.sarif" in step["with"].values()
    assert github()["permissions"]["security-events"] == "write"


def test_gitlab_keeps_the_sarif_file_of_a_failed_run():
    assert gitlab()["artifacts"] == {"when": "always", "paths": ["layoutlint.sarif"]}


def test_no_step_hides_a_failure():
    judging = [step for step in steps() if "layoutlint" in step.get("run", "")]
    assert judging
    assert [step for step in judging if "continue-on-error" in step or "|| " in step["run"]] == []
    assert "allow_failure" not in gitlab()
