"""The workflow that comments: what it downloads is data, and it writes where and what it should."""

from __future__ import annotations

import json
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.harness.command import ROOT
from tests.harness.github_actions import StepRun, run_step
from tests.harness.rendered_markdown import misuse
from tests.reports.test_escaped_markdown import NAMES

WORKFLOW = yaml.safe_load((ROOT / "docs/ci/github-comment.yml").read_text())
STEP = WORKFLOW["jobs"]["comment"]["steps"][0]
MARKER = "<!-- layoutlint diff -->"
COMMENT = f"{MARKER}\n### layoutlint: rules got worse\n\n<details><summary>a &#40;b&#41;</summary>\n\n- `a|b` 0 -&#62; 8\n\n</details>\n"
SHA = "a" * 40
EXPRESSIONS = {
    "github.token": "token", "github.event.workflow_run.id": "7", "github.event.workflow_run.head_sha": SHA,
    "github.event.workflow_run.head_repository.full_name": "fork/project", "github.event.workflow_run.head_branch": "topic/$(x)",
}  # fmt: skip
PULL = {"state": "open", "head": {"sha": SHA, "ref": "topic/$(x)", "repo": {"full_name": "fork/project"}}}
GH = f"#!{sys.executable} -IS" + """
import json, pathlib, subprocess, sys
state = pathlib.Path(__file__).parent
words = sys.argv[1:]
url = next(word for word in words if word.startswith("repos/"))
body = next((pathlib.Path(word[6:]).read_text() for word in words if word.startswith("body=@")), None)
if body is not None:
    with open(state / "calls", "a") as calls:
        calls.write(json.dumps([words[words.index("-X") + 1] if "-X" in words else "POST", url, body]) + "\\n")
elif url.endswith("/zip"):
    sys.stdout.buffer.write((state / "artifact.zip").read_bytes())
else:
    answers = json.loads((state / "answers").read_text())
    if url not in answers:
        sys.exit("gh: Not Found (HTTP 404)")
    subprocess.run(["jq", "-r", words[words.index("--jq") + 1]], input=json.dumps(answers[url]), text=True, check=True)
"""


class Api:
    """GitHub, with one run, its artifact, one pull request and its comments."""

    def __init__(self, folder: Path) -> None:
        for tool in ("unzip", "jq"):
            if shutil.which(tool) is None:
                pytest.skip(f"{tool} is not installed")
        self.folder = folder / "api"
        self.folder.mkdir()
        (self.folder / "gh").write_text(GH)
        (self.folder / "gh").chmod(0o755)
        self.pull: dict[str, Any] = PULL
        self.comments: list[dict[str, Any]] = []
        self.size = 500
        self.artifacts = True

    def run(self, comment: str | bytes | None, number: str | None = "12\n", **more: str) -> StepRun:
        with zipfile.ZipFile(self.folder / "artifact.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in (("comment.md", comment), ("number", number), *more.items()):
                if content is not None:
                    archive.writestr(name, content)
        artifact = {"id": 3, "size_in_bytes": self.size}
        answers = {
            "repos/o/p/actions/runs/7/artifacts?name=layoutlint-comment": {"artifacts": [{"id": 2, "size_in_bytes": 9}, artifact] * self.artifacts},
            "repos/o/p/pulls/12": self.pull, "repos/o/p/issues/12/comments?per_page=100": self.comments,
        }  # fmt: skip
        (self.folder / "answers").write_text(json.dumps(answers))
        path = f"{self.folder}:/usr/local/bin:/usr/bin:/bin"
        return run_step(STEP, self.folder, self.folder / "temp", EXPRESSIONS, GITHUB_REPOSITORY="o/p", PATH=path)

    @property
    def calls(self) -> list[list[str]]:
        file = self.folder / "calls"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture
def api(tmp_path: Path) -> Api:
    return Api(tmp_path)


OLD = {"id": 5, "user": {"login": "github-actions[bot]"}, "body": f"{MARKER}\nold"}
OTHERS = [
    {"id": 1, "user": {"login": "somebody"}, "body": f"{MARKER}\nforged"},
    {"id": 4, "user": {"login": "github-actions[bot]"}, "body": f"other {MARKER}"},
]


def test_a_first_comment_is_written_as_it_came(api):
    api.comments = OTHERS
    assert api.run(COMMENT).status == 0
    assert api.calls == [["POST", "repos/o/p/issues/12/comments", COMMENT]]


def test_an_old_comment_is_rewritten(api):
    api.comments = [*OTHERS, OLD]
    assert api.run(COMMENT).status == 0
    assert api.calls == [["PATCH", "repos/o/p/issues/comments/5", COMMENT]]


def test_a_difference_that_is_gone(api):
    api.comments = [OLD]
    assert api.run("").status == 0
    assert api.calls == [["PATCH", "repos/o/p/issues/comments/5", f"{MARKER}\n### layoutlint: nothing differs any more\n"]]


def skip(**changed: Any) -> dict[str, Any]:
    return {"pull": PULL, "comment": COMMENT, "artifacts": True, **changed}


SKIPPED = {
    "no difference, no comment": skip(comment=""),
    "no artifact": skip(artifacts=False),
    "closed": skip(pull={**PULL, "state": "closed"}),
    "a newer commit": skip(pull={**PULL, "head": {**PULL["head"], "sha": "b" * 40}}),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("case", SKIPPED.values(), ids=SKIPPED)
def test_nothing_is_written_where_nothing_is_to_say(api, case):
    api.pull, api.artifacts = case["pull"], case["artifacts"]
    assert (api.run(case["comment"]).status, api.calls) == (0, [])


REFUSED: dict[str, dict[str, Any]] = {
    "no number": {"number": None},
    "another number": {"number": "13"},
    "a path": {"number": "12/../../x"},
    "a command": {"number": "$(touch x)"},
    "a long number": {"number": "1", "digits": 5_000_000},
    "no comment": {"comment": None},
    "no marker": {"comment": "### hello\n"},
    "the marker later": {"comment": f"x\n{MARKER}\n"},
    "a long comment": {"comment": MARKER + "\n", "more": 70_000},
    "a bomb": {"comment": MARKER + "\n", "more": 50_000_000},
    "a large artifact": {"size": 250_001},
    "another repository": {"pull": {**PULL, "head": {**PULL["head"], "repo": {"full_name": "other/project"}}}},
    "another branch": {"pull": {**PULL, "head": {**PULL["head"], "ref": "main"}}},
    "a fork that is gone": {"pull": {**PULL, "head": {**PULL["head"], "repo": None}}},
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_is_no_comment_is_refused(api, case):
    api.pull, api.size = case.get("pull", PULL), case.get("size", 500)
    comment, number = case.get("comment", COMMENT), case.get("number", "12\n")
    done = api.run(comment and comment + "x" * case.get("more", 0), number and number * case.get("digits", 1))
    assert (done.status, api.calls) == (1, []), done.log
    assert done.log.startswith("::error::layoutlint: ") or "\n::error::layoutlint: " in done.log


def test_a_forged_comment_means_nothing(api):
    """A change can edit the job that makes the artifact: any text can be in it."""
    lines = [f"- {name} and `{name}`\n\n<b>{name}</b>\n" for name in NAMES.values() if len(name) < 200]
    lines += ["http:/\\/evil.example\n", "[a]\n\n[a]: //evil.example\n", "[a][a] &commat;octocat &#X40;octocat\n", "<details open onclick=x>\n", "<DETAILS>\n"]
    done = api.run(MARKER + "\n" + "".join(lines), **{"../../planted": "x"})
    assert done.status == 0, done.log
    posted = api.calls[0][2]
    forged = [each for each in misuse(posted, "@#") if not each.startswith(("pre", "hr", "h1", "h2", "code"))]
    assert forged == []
    assert posted.startswith(MARKER)
    assert posted.isprintable() or set(filter(lambda letter: not letter.isprintable(), posted)) <= set("\n\t\u200b\u202e\u2066")


def test_the_workflow_runs_nothing_of_the_change():
    job = WORKFLOW["jobs"]["comment"]
    assert (WORKFLOW["permissions"], job["permissions"]) == ({}, {"actions": "read", "pull-requests": "write"})
    assert [step for step in job["steps"] if "uses" in step] == []
    assert WORKFLOW[True]["workflow_run"]["workflows"] == [yaml.safe_load((ROOT / "docs/ci/github.yml").read_text())["name"]]
