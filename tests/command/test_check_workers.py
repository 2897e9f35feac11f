"""`check --matrix` through executors: reports are those of processes of the run itself."""

from __future__ import annotations

import pytest

from tests.harness.command import run
from tests.harness.tools import needs_library

RULES = '[[rule]]\nid = "far"\nstruct = "q"\nkind = "distance"\nfields = ["a", "b"]\nmin = 16\nwhy = "w"\n'
MATRIX = '[axis.pad]\nshort = { flags = ["-DPAD=3"] }\nlong = { flags = ["-DPAD=60"] }\nbad = { flags = ["-DPAD=x"] }\n'
WORDS = ("check", "q.c", "--rules", "rules.toml", "--format", "json")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "q.c").write_text("struct q { long a; char pad[PAD]; long b; };")
    (tmp_path / "rules.toml").write_text(RULES)
    (tmp_path / "matrix.toml").write_text(MATRIX)
    return tmp_path


def report(folder, *options: str, status: int = 3) -> str:
    done = run(*WORDS, "--matrix", "matrix.toml", *options, cwd=folder)
    assert (done.returncode, done.stdout != "") == (status, True), done.stderr
    return done.stdout


def test_workers_report_the_same(folder):
    assert report(folder, "--workers", "2") == report(folder)


@pytest.mark.exhaustive
@needs_library("distributed", "pip install layoutlint[distributed]")
def test_dask_reports_the_same(folder):
    from tests.harness.dask_cluster import Cluster

    (folder / "cluster").mkdir()
    cluster = Cluster(folder / "cluster", 2)
    try:
        assert report(folder, "--scheduler", cluster.address) == report(folder)
    finally:
        cluster.end()


@pytest.mark.parametrize("option", ["--workers", "--scheduler"])
def test_one_build_has_no_tasks(folder, option):
    done = run(*WORDS, option, "2", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert "`--jobs N` reads folders and files in N processes" in done.stderr.replace("\n", " ")


def test_mistakes_of_builds_end_the_run(folder):
    (folder / "matrix.toml").write_text(MATRIX.replace('["-DPAD=3"]', '["-fno-such-flag"]'))
    alone, tasks = (run(*WORDS, "--matrix", "matrix.toml", *options, cwd=folder) for options in ((), ("--workers", "2")))
    assert (alone.returncode, alone.stdout, alone.stderr) == (tasks.returncode, tasks.stdout, tasks.stderr)


def test_a_scheduler_that_does_not_answer(folder):
    done = run(*WORDS, "--matrix", "matrix.toml", "--scheduler", "tcp://127.0.0.1:1", cwd=folder)
    assert (done.returncode, done.stdout, "tcp://127.0.0.1:1: cannot be reached" in done.stderr) == (3, "", True)
