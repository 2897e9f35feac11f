"""The action: its steps run as on a runner, in a repository of the test."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from tests.harness.command import ROOT
from tests.harness.github_actions import StepRun, find_step, layoutlint_script, run_step
from tests.harness.rendered_markdown import misuse
from tests.harness.repository import commit, git

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = ACTION["runs"]["steps"]
DEFAULTS = {f"inputs.{name}": str(values.get("default", "")) for name, values in ACTION["inputs"].items()}
EXAMPLE = {name: (ROOT / "docs/example" / name).read_text() for name in ("ring.h", "ring-fixed.h", "layoutlint.toml")}
BASE_OF_RULES = "inputs.base || github.event.pull_request.base.sha || github.event.merge_group.base_sha || github.sha"
FIXED = EXAMPLE["ring-fixed.h"]


class Runner:
    """A checkout of a pull request."""

    def __init__(self, folder: Path) -> None:
        self.top = folder / "my project"
        self.top.mkdir()
        self.temporary = folder / "temp"
        self.command = layoutlint_script(folder / "bin")
        self.base = commit(self.top, "base", {"ring.h": FIXED, "layoutlint.toml": EXAMPLE["layoutlint.toml"]})
        self.head = self.base

    def change(self, **files: str | None) -> Runner:
        self.head = commit(self.top, "change", {name.replace("_", "."): text for name, text in files.items()})
        return self

    def step(self, name: str, **inputs: str) -> StepRun:
        given = {f"inputs.{key.replace('_', '-')}": value for key, value in inputs.items()}
        expressions = {
            **DEFAULTS, **given, BASE_OF_RULES: inputs.get("base", self.base), "steps.install.outputs.command": str(self.command),
            "github.event.pull_request.base.sha": self.base, "github.event.pull_request.head.sha": self.head,
            "github.event.pull_request.number": "12",
        }  # fmt: skip
        return run_step(find_step(STEPS, name), self.top, self.temporary, expressions, GITHUB_SHA=self.head)

    def check(self, **inputs: str) -> StepRun:
        return self.step("Judge the structs", **{"inputs": "ring.h", **inputs})

    def diff(self, **inputs: str) -> StepRun:
        return self.step("Compare with the base", **inputs)

    def comment(self) -> str:
        return (self.temporary / "layoutlint-comment/comment.md").read_text()


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def test_a_finding_fails_with_annotation_summary_and_sarif(runner):
    done = runner.change(ring_h=EXAMPLE["ring.h"]).check()
    assert (done.status, done.outputs["status"]) == (1, "1"), done.log
    assert [line for line in done.log.splitlines() if line.startswith("::error file=ring.h,line=")]
    assert done.summary.startswith("### layoutlint: rules are broken")
    results = json.loads(Path(done.outputs["sarif"]).read_text())["runs"][0]["results"]
    assert {each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in results} == {"ring.h"}
    assert git(runner.top, "status", "--porcelain") == ""


def test_nothing_to_find(runner):
    done = runner.change(other_h="int x;\n").check()
    assert (done.status, done.outputs["status"]) == (0, "0"), done.log
    assert done.summary.startswith("### layoutlint: nothing broken\n")


@pytest.mark.exhaustive
def test_a_change_does_not_edit_its_own_judge(runner):
    rules = EXAMPLE["layoutlint.toml"].replace("error", "note").replace("warning", "note")
    assert runner.change(ring_h=EXAMPLE["ring.h"], layoutlint_toml=rules).check().status == 1
    assert runner.change(layoutlint_toml="[[rule]]\n").check().status == 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("since", ["false", "true"])
def test_a_change_does_not_choose_its_flags(runner, since):
    hidden = f"#ifdef HIDDEN\n{FIXED}\n#else\n{EXAMPLE['ring.h']}\n#endif\n"
    runner.head = commit(runner.top, "change", {"ring.h": hidden, "compile_flags.txt": "-DHIDDEN\n"})
    done = runner.check(since=since)
    assert (done.status, "the change chose flags (compile_flags.txt)" in done.log) == (1, True)
    assert runner.check(since=since, arguments="-- -DHIDDEN").status == 0


REFUSED = {
    "quotes": ({"inputs": "'ring.h"}, "the quotes of the input `inputs` do not match"),
    "quotes of arguments": ({"arguments": '"-- -I'}, "the quotes of the input `arguments` do not match"),
    "no input": ({"inputs": " \n"}, "the input `inputs` is empty"),
    "an option": ({"inputs": "--version"}, "begins with -; write ./ before it"),
    "an option as rule": ({"rules": "--help"}, "begins with -; write ./ before it"),
}  # fmt: skip


@pytest.mark.parametrize(("inputs", "message"), REFUSED.values(), ids=REFUSED)
def test_wrong_inputs(runner, inputs, message):
    if "arguments" in inputs or "inputs" in inputs:
        (runner.top / "layoutlint.toml").unlink()  # nothing to check before
    done = runner.check(**inputs)
    assert (done.status, message in done.log) == (2, True), done.log


def test_words_are_split_without_a_shell(runner):
    """Each word arrives as it is: nothing is run, expanded or searched."""
    runner.command.write_text('#!/bin/sh\nprintf "<%s>" "$@"\n')
    (runner.top / "layoutlint.toml").unlink()
    done = runner.check(
        inputs="a.h\n'b c.h' $(touch x) `touch y` *.h", arguments="--pack generic -- '-DX=\"a b\"' -I~ ; touch z", rules="r.toml 's t'",
        since="true", fail_on="broken; touch v", base="$(touch w)",
    )  # fmt: skip
    assert done.status == 0, done.log
    assert done.log.endswith(
        "<--policy-from=$(touch w)><--fail-on=broken; touch v>"
        f"<--output><sarif={runner.temporary}/layoutlint/layoutlint.sarif><--output><markdown={runner.temporary}/layoutlint/summary.md>"
        "<--since=$(touch w)><--rules=r.toml><--rules=s t><a.h><b c.h><$(touch><x)><`touch><y`><*.h>"
        '<--pack><generic><--><-DX="a b"><-I~><;><touch><z>'
    )
    assert sorted(path.name for path in runner.top.iterdir()) == [".git", "ring.h"]


def test_a_push_is_judged_whole(runner):
    runner.command.write_text('#!/bin/sh\nprintf "<%s>" "$@"\n')
    assert "--since" not in runner.check(since="true", base=runner.head).log


def test_the_comment_of_a_change(runner):
    done = runner.change(ring_h=EXAMPLE["ring.h"]).diff()
    assert done.status == 0, done.log
    assert runner.comment().startswith("<!-- layoutlint diff -->\n### layoutlint: rules got worse\n")
    assert misuse(runner.comment()) == []
    assert sorted(path.name for path in Path(done.outputs["folder"]).iterdir()) == ["comment.md", "number"]
    assert (Path(done.outputs["folder"]) / "number").read_text() == "12\n"


def test_a_change_of_nothing_leaves_an_empty_comment(runner):
    done = runner.change(ring_h=f"/* more */ {FIXED}").diff(diff_path="ring.h", diff_arguments="--allow-unknown")
    assert (done.status, runner.comment(), "folder" in done.outputs) == (0, "", True), done.log


@pytest.mark.exhaustive
def test_a_comparison_that_fails_keeps_no_comment(runner):
    runner.base = "0" * 40  # a shallow clone does not have it
    done = runner.diff()
    assert (done.status, done.outputs) == (2, {}), done.log


def test_inputs_reach_no_shell_as_text():
    assert [step["name"] for step in STEPS if "${{" in step.get("run", "")] == []
    assert [name for name, values in ACTION["inputs"].items() if not values["description"]] == []


def test_the_key_of_the_cache_stands_for_the_source(runner):
    """It changes with each file, and is in the workspace, where setup-python searches it."""
    source = runner.temporary.parent / "action"
    for name in ("layoutlint/a.py", "rules/x.toml", "setup.py", "setup.cfg", "pyproject.toml"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(name)
    digests = []
    for content in ("1", "1", "2"):
        (source / "rules/x.toml").write_text(content)
        done = run_step(find_step(STEPS, "Name the cache"), runner.top, runner.temporary, DEFAULTS, GITHUB_ACTION_PATH=str(source))
        assert (Path(done.outputs["key"]).parent, Path(done.outputs["key"]).read_text()) == (runner.top, f"{done.outputs['digest']}\n")
        digests.append(done.outputs["digest"])
    assert (digests[0] == digests[1], digests[1] == digests[2]) == (True, False)


@pytest.mark.exhaustive
def test_an_installation_reads_nothing_of_the_checkout(runner):
    """It builds a wheel once, keeps it in the cache of pip, and runs no module that the change planted."""
    source = runner.temporary.parent / "action"
    for name in ("layoutlint", "rules"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for name in ("setup.py", "setup.cfg", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    for name in ("pip", "venv", "layoutlint", "setuptools"):
        (runner.top / name).mkdir()
        (runner.top / name / "__init__.py").write_text("raise SystemExit('planted')\n")
    places = {"GITHUB_ACTION_PATH": str(source), "PIP_CACHE_DIR": str(runner.temporary / "cache"), "LAYOUTLINT_COMPILE": "never"}
    for is_first in (True, False):
        named_cache = run_step(find_step(STEPS, "Name the cache"), runner.top, runner.temporary, DEFAULTS, **places).outputs
        expressions = {**DEFAULTS, **{f"steps.source.outputs.{name}": value for name, value in named_cache.items()}}
        if not is_first:
            (source / "setup.py").write_text("raise SystemExit('built again')\n")
        done = run_step(find_step(STEPS, "Install layoutlint"), runner.temporary, runner.temporary, expressions, **places)
        assert (done.status, "interpreted" in done.log) == (0, True), done.log
        assert not Path(named_cache["key"]).exists()
        shutil.rmtree(runner.temporary / "layoutlint-venv")
    assert len(list((runner.temporary / "cache/layoutlint").iterdir())) == 1
