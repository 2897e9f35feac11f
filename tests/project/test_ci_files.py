"""The job files that users copy: they parse, and their own script lines do what they promise."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command.test_policy import committed, git
from tests.harness.command import ROOT

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
    git(tmp_path / "project", "init", "-q")
    return committed(tmp_path / "project", {})


def run_job(lines: list[str], project: Path) -> subprocess.CompletedProcess[str]:
    """The lines as a runner has them: one shell that stops at the first failure, with `layoutlint` on its path."""
    commands = project.parent / "bin"
    commands.mkdir()
    (commands / "layoutlint").write_text(f'#!/bin/sh\nexec {sys.executable} -m layoutlint "$@"\n')
    (commands / "layoutlint").chmod(0o755)
    assert lines[0] == 'pip install "$LAYOUTLINT"'  # done already: this environment has it
    return subprocess.run(
        ["bash", "-e", "-c", "\n".join(lines[1:])], cwd=project, capture_output=True, text=True,
        env={"BASE": "HEAD", "PATH": f"{commands}:{os.environ['PATH']}", "HOME": str(project.parent), "CI": "true"},
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


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_change_does_not_edit_its_own_judge(project, script):
    rules = (project / "layoutlint.toml").read_text()
    (project / "layoutlint.toml").write_text(rules.replace('severity = "error"', 'severity = "note"').replace('severity = "warning"', 'severity = "note"'))
    done = run_job(SCRIPTS[script](), project)
    assert done.returncode == 1, done.stdout + done.stderr


def test_github_annotates_the_changed_lines(project):
    done = run_job(SCRIPTS["github"](), project)
    assert [line for line in done.stdout.splitlines() if line.startswith("::error file=ring.h,line=")]


def test_github_keeps_the_sarif_file_of_a_failed_run():
    keeping = [step for step in steps() if "upload" in step.get("uses", "")]
    showing = github()["jobs"]["code-scanning"]
    assert [step["uses"].split("@")[0] for step in (*keeping, *showing["steps"])] == [
        "actions/upload-artifact", "actions/download-artifact", "github/codeql-action/upload-sarif",
    ]  # fmt: skip
    for step in (*keeping, showing["steps"][-1]):
        assert "layoutlint.sarif" in step["with"].values()
    assert keeping[0]["if"].startswith("always()")
    assert showing["if"].startswith("always()")


def test_jobs_have_no_rights_that_they_do_not_need():
    rights = {name: job["permissions"] for name, job in github()["jobs"].items()}
    assert github()["permissions"] == {}
    assert rights == {"layoutlint": {"contents": "read"}, "code-scanning": {"security-events": "write"}}
    checkout = next(step for step in steps() if step.get("uses", "").startswith("actions/checkout"))
    assert checkout["with"]["persist-credentials"] is False
    assert not any("run" in step or "checkout" in step.get("uses", "") for step in github()["jobs"]["code-scanning"]["steps"])
    assert [step["name"] for step in steps() if "${{" in step.get("run", "")] == []


def test_actions_are_pinned_by_commits():
    used = re.findall(r"uses: (\S+)@(\S+)  # (v[\d.]+)$", (ROOT / "docs/ci/github.yml").read_text(), re.MULTILINE)
    assert len(used) == (ROOT / "docs/ci/github.yml").read_text().count("uses:")
    assert [commit for _, commit, _ in used if not re.fullmatch("[0-9a-f]{40}", commit)] == []


@pytest.mark.parametrize("words", [("zizmor", "--offline", "--persona=pedantic"), ("actionlint",)], ids=lambda words: words[0])
def test_linters_of_workflows_find_nothing(words):
    found = shutil.which(words[0])
    if found is None:
        pytest.skip(f"{words[0]} is not installed")
    done = subprocess.run([found, *words[1:], str(ROOT / "docs/ci/github.yml")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_gitlab_keeps_the_sarif_file_of_a_failed_run():
    assert gitlab()["artifacts"] == {"when": "always", "paths": ["layoutlint.sarif"]}


def test_no_step_hides_a_failure():
    judging = [step for step in steps() if "layoutlint" in step.get("run", "")]
    assert judging
    assert [step for step in judging if "continue-on-error" in step or "|| " in step["run"]] == []
    assert "allow_failure" not in gitlab()
