"""`check --matrix` over real kernels of two machines and a header tree: what single runs say, in one report."""

from __future__ import annotations

import json

import pytest

from tests.harness.command import run

pytestmark = pytest.mark.real

NAMES = ("cloud", "next-arm64", "next-headers")


@pytest.fixture(scope="module")
def builds(kernel, tmp_path_factory):
    """A matrix of the kernels, and what a run on each alone says of every rule."""
    file = tmp_path_factory.mktemp("matrix") / "kernels.toml"
    file.write_text("".join(f'[build.{name}]\ninput = "{kernel(name)}"\n' for name in NAMES))
    alone = {name: json.loads(run("check", kernel(name), "--format", "json", seconds=600).stdout) for name in NAMES}
    return file, alone


def test_each_build_comes_out_as_alone(builds):
    file, alone = builds
    report = json.loads(run("check", "--matrix", file, "--format", "json", seconds=900).stdout)
    together = {
        name: {
            (f["rule"], f["struct"]): (f["builds"][name]["outcome"], f["builds"][name]["message"], f["builds"][name]["placements"])
            for f in (*report["findings"], *report["kept"])
            if name in f["builds"]
        }
        for name in NAMES
    }
    assert together == {
        name: {(f["rule"], f["struct"]): (f["outcome"], f["message"], f["placements"]) for f in (*one["findings"], *one["kept"])}
        for name, one in alone.items()
    }
    assert [build["target"] for build in report["builds"]] == [one["inputs"][0]["target"] for one in alone.values()]
    exits = {one["exit"] for one in alone.values()}
    assert report["exit"] == (1 if 1 in exits else max(exits))


def test_the_finding_on_address_space_stands_once(builds):
    file, alone = builds
    done = run("check", "--matrix", file, "--struct", "address_space", "--format", "json", "--jobs", "2", seconds=900)
    [finding] = (report := json.loads(done.stdout))["findings"] + report["kept"]
    outcomes = {
        name: next(f["outcome"] for f in one["findings"] + one["kept"] if f["struct"] == "address_space")
        for name, one in alone.items()
    }
    assert {name: of["outcome"] for name, of in finding["builds"].items()} == outcomes
    worst = next(outcome for outcome in ("broken", "at-risk", "unknown", "kept") if outcome in outcomes.values())
    assert finding["outcome"] == worst
    assert finding["message"].startswith(worst)
