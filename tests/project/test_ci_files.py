"""The job files that users copy: they parse, their linters find nothing, and their script lines do what they promise."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.commands.test_policy import commit_files, git
from tests.harness.command import ROOT, WITHOUT_CACHE
from tests.harness.github_actions import layoutlint_script

EXAMPLE = ROOT / "docs" / "example"
GITHUB = yaml.safe_load((ROOT / "docs/ci/github.yml").read_text())
GITLAB = yaml.safe_load((ROOT / "docs/ci/gitlab.yml").read_text())
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
WORKFLOWS = ("docs/ci/github.yml", "docs/ci/github-comment.yml", ".github/workflows/checks.yml")


def executable(name: str) -> str:
    """The path of a linter, beside Python or on the path; without it the test skips."""
    found = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


SCHEMAS = {
    "vendor.github-workflows": WORKFLOWS,
    "vendor.github-actions": ("action.yml",),
    "vendor.github-issue-forms": (".github/ISSUE_TEMPLATE/wrong-verdict.yml", ".github/ISSUE_TEMPLATE/error.yml", ".github/ISSUE_TEMPLATE/wish.yml"),
    "vendor.compose-spec": ("docs/distributed/compose.yaml",),
    "vendor.gitlab-ci": ("--data-transform", "gitlab-ci", "docs/ci/gitlab.yml"),
}
LINTERS = {
    "zizmor": ("zizmor", "--offline", "--persona=pedantic", "--no-progress", "action.yml", *WORKFLOWS),
    "actionlint": ("actionlint", *WORKFLOWS),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_follow_the_published_schemas(schema):
    words = [executable("check-jsonschema"), "--builtin-schema", schema, *SCHEMAS[schema]]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("words", LINTERS.values(), ids=LINTERS)
def test_linters_find_nothing(words):
    done = subprocess.run([executable(words[0]), *words[1:]], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def scripts() -> dict[str, str]:
    """Every script that a runner starts in bash or sh."""
    steps = [*ACTION["runs"]["steps"], *yaml.safe_load((ROOT / WORKFLOWS[1]).read_text())["jobs"]["comment"]["steps"]]
    found = {step["name"]: step["run"] for step in steps if "run" in step}
    return found | {name: "\n".join(job["script"]) for name, job in GITLAB.items()}


def test_scripts_quote_what_they_are_given():
    shellcheck = executable("shellcheck")
    for name, script in scripts().items():
        done = subprocess.run([shellcheck, "-s", "bash", "-"], input=script, capture_output=True, text=True)
        assert done.stdout == "", name


class TestGitHub:
    def test_jobs_have_no_rights_that_they_do_not_need(self):
        rights = {name: job["permissions"] for name, job in GITHUB["jobs"].items()}
        assert GITHUB["permissions"] == {}
        assert rights == {"layoutlint": {"contents": "read"}, "code-scanning": {"security-events": "write"}}
        checkout, judging = GITHUB["jobs"]["layoutlint"]["steps"]
        assert checkout["with"] == {"fetch-depth": 0, "persist-credentials": False}
        assert judging["uses"].startswith("OWNER/layoutlint@")
        assert {*judging["with"]} <= {*ACTION["inputs"]}
        steps = GITHUB["jobs"]["code-scanning"]["steps"]
        assert [step["uses"].split("@")[0] for step in steps] == ["actions/download-artifact", "github/codeql-action/upload-sarif"]

    def test_code_scanning_gets_the_file_of_a_failed_run(self):
        keeping = next(step for step in ACTION["runs"]["steps"] if step.get("name") == "Keep the SARIF file")
        showing = GITHUB["jobs"]["code-scanning"]
        assert keeping["if"].startswith("${{ !cancelled()")
        assert showing["if"].startswith("always()")
        artifact = keeping["with"]["name"].replace("${{ inputs.artifact }}", ACTION["inputs"]["artifact"]["default"])
        assert showing["steps"][0]["with"]["name"] == artifact
        assert showing["steps"][1]["with"]["sarif_file"] == "layoutlint.sarif"

    @pytest.mark.parametrize("path", ["action.yml", *WORKFLOWS])
    def test_actions_are_pinned_by_commits(self, path):
        text = (ROOT / path).read_text()
        used = re.findall(r"uses: (\S+)@(\S+)  # (v[\d.]+\d)(?:: .*)?$", text, re.MULTILINE)
        assert len(used) == len(re.findall(r"\buses: (?!\./)", text))  # but for the checkout itself
        assert [commit for _, commit, _ in used if not re.fullmatch("[0-9a-f]{40}", commit)] == []

    def test_all_files_pin_the_same_commits(self):
        texts = [(ROOT / path).read_text() for path in ("action.yml", *WORKFLOWS)]
        pins = {pin for text in texts for pin in re.findall(r"uses: (\S+)@(\S+)", text)}
        assert len(pins) == len({action for action, _ in pins})


class Pipeline:
    """A checkout of GitLab's runner, with `layoutlint` on the path and pip that does nothing."""

    def __init__(self, folder: Path) -> None:
        shutil.copytree(EXAMPLE, folder / "project")
        self.top = folder / "project"
        git(self.top, "init", "-q")
        commit_files(self.top, {})
        self.commands = layoutlint_script(folder / "bin").parent
        (self.commands / "pip").write_text("#!/bin/sh\n")
        (self.commands / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        for name in ("pip", "python"):
            (self.commands / name).chmod(0o755)

    def run(self, job: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-eo", "pipefail", "-c", "\n".join(GITLAB[job]["script"])], cwd=self.top, capture_output=True, text=True,
            env={"PATH": f"{self.commands}:{os.environ['PATH']}", "HOME": str(self.top.parent), "CI": "true", **WITHOUT_CACHE, **variables},
        )  # fmt: skip

    def merge_request(self) -> dict[str, str]:
        base = git(self.top, "rev-parse", "HEAD")
        return {"CI_MERGE_REQUEST_IID": "4", "CI_MERGE_REQUEST_DIFF_BASE_SHA": base.strip()}


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    return Pipeline(tmp_path)


class TestGitLab:
    def test_a_finding_fails_and_is_reported(self, pipeline):
        variables = pipeline.merge_request()
        rules = (pipeline.top / "layoutlint.toml").read_text()  # the change does not edit its own judge
        commit_files(pipeline.top, {"layoutlint.toml": rules.replace('"error"', '"note"').replace('"warning"', '"note"')})
        done = pipeline.run("layoutlint", **variables)
        assert done.returncode == 1, done.stdout + done.stderr
        assert json.loads((pipeline.top / "layoutlint.sarif").read_text())["version"] == "2.1.0"
        assert {each["location"]["path"] for each in json.loads((pipeline.top / "layoutlint-quality.json").read_text())} == {"ring.h"}
        assert (pipeline.top / "layoutlint-junit.xml").read_text().startswith("<?xml")
        assert (pipeline.top / "layoutlint-comment.md").read_text() == ""

    def test_nothing_to_find(self, pipeline):
        variables = pipeline.merge_request()
        commit_files(pipeline.top, {"ring.h": (pipeline.top / "ring-fixed.h").read_text()})
        (pipeline.top / "layoutlint-comment.md").symlink_to("ring.h")
        done = pipeline.run("layoutlint", **variables)
        assert done.returncode == 0, done.stdout
        assert (pipeline.top / "ring.h").read_text() == (pipeline.top / "ring-fixed.h").read_text()  # the link was not followed
        assert (pipeline.top / "layoutlint-comment.md").read_text().startswith("<!-- layoutlint diff -->")

    @pytest.mark.exhaustive
    def test_a_change_does_not_choose_its_flags(self, pipeline):
        variables = pipeline.merge_request()
        fixed, broken = ((pipeline.top / name).read_text() for name in ("ring-fixed.h", "ring.h"))
        hidden = f"#ifdef HIDDEN\n{fixed}\n#else\n{broken}\n#endif\n"
        commit_files(pipeline.top, {"ring.h": hidden, "compile_flags.txt": "-DHIDDEN\n"})
        done = pipeline.run("layoutlint", **variables)
        assert (done.returncode, "the change chose flags" in done.stdout) == (1, True)

    @pytest.mark.exhaustive
    def test_a_broken_rule_file(self, pipeline):
        (pipeline.top / "layoutlint.toml").write_text("[[rule]]\n")
        assert pipeline.run("layoutlint").returncode == 2

    @pytest.mark.exhaustive
    def test_a_base_that_is_not_there(self, pipeline):
        done = pipeline.run("layoutlint", CI_MERGE_REQUEST_IID="4", CI_MERGE_REQUEST_DIFF_BASE_SHA="0" * 40)
        assert done.returncode not in (0, 1), done.stdout

    def test_what_is_kept(self):
        job = GITLAB["layoutlint"]
        assert job["artifacts"]["when"] == "always"
        written = re.findall(r"layoutlint\S*\.(?:sarif|json|xml|md)", "\n".join(job["script"]))
        assert {*job["artifacts"]["paths"], *job["artifacts"]["reports"].values()} == {word.split("=")[-1] for word in written}
        assert "allow_failure" not in job

    def test_no_code_of_the_change_is_where_the_token_is(self):
        assert GITLAB["layoutlint-note"]["variables"] == {"GIT_STRATEGY": "none"}
        assert "TOKEN" not in str(GITLAB["layoutlint"])


class _Notes(BaseHTTPRequestHandler):
    """GitLab's API: a user and the notes of a merge request."""

    notes: list[dict[str, Any]]
    calls: list[tuple[str, str, str]]

    def do_GET(self) -> None:
        assert self.headers["PRIVATE-TOKEN"] == "secret"
        self.answer({"id": 9} if self.path == "/api/user" else self.notes if self.path.endswith("&page=1") else [])

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
        self.calls.append((self.command, self.path, body))
        self.answer({})

    do_PUT = do_POST

    def answer(self, value: object) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def log_message(self, *_: object) -> None:
        """Print nothing."""


MARKER = "<!-- layoutlint diff -->"
OLD_NOTES = [
    {"id": 1, "author": {"id": 8}, "body": f"{MARKER}\nforged"}, {"id": 2, "author": {"id": 9}, "body": f"other {MARKER}"},
    {"id": 3, "author": {"id": 9}, "body": f"{MARKER}\nold"},
]  # fmt: skip
NOTES: dict[str, tuple[str, list[dict[str, Any]], list[tuple[str, str, str]]]] = {
    # comment, old notes, calls
    "first": (f"{MARKER}\nnew\n", OLD_NOTES[:2], [("POST", "", f"{MARKER}\nnew\n")]),
    "again": (f"{MARKER}\nnew\n", OLD_NOTES, [("PUT", "/3", f"{MARKER}\nnew\n")]),
    "undone": ("", OLD_NOTES, [("PUT", "/3", f"{MARKER}\n### layoutlint: nothing differs any more\n")]),
    "no difference": ("", OLD_NOTES[:2], []),
    "a quick action": (f"{MARKER}\n/close\n @all\n", [], [("POST", "", f"{MARKER}\n\u200b/close\n @\u200ball\n")]),
    "no marker": ("/close\n", OLD_NOTES, []),
    "long": (f"{MARKER}\n{'x' * 70_000}", OLD_NOTES, []),
}


@pytest.fixture
def gitlab_api() -> Iterator[str]:
    _Notes.notes, _Notes.calls = [], []
    server = HTTPServer(("127.0.0.1", 0), _Notes)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/api"
    server.shutdown()
    server.server_close()


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("comment", "notes", "calls"), NOTES.values(), ids=NOTES)
def test_notes(pipeline, gitlab_api, comment, notes, calls):
    (pipeline.top / "layoutlint-comment.md").write_text(comment)
    _Notes.notes = notes
    variables = {"CI_API_V4_URL": gitlab_api, "CI_PROJECT_ID": "7", "LAYOUTLINT_TOKEN": "secret", "CI_MERGE_REQUEST_IID": "4"}
    done = pipeline.run("layoutlint-note", **variables)
    assert (done.returncode, "Traceback" in done.stderr) == (int(comment[:1] == "/" or len(comment) > 65_536), False), done.stderr
    assert _Notes.calls == [(method, f"/api/projects/7/merge_requests/4/notes{path}", text) for method, path, text in calls]


def test_no_step_hides_a_failure():
    steps = (*ACTION["runs"]["steps"], *GITHUB["jobs"]["layoutlint"]["steps"])
    assert [step for step in steps if "continue-on-error" in step] == []
