"""`check` through executors, of inputs, folders and the builds of a matrix: reports are those of processes of the run itself."""

from __future__ import annotations

import json
import threading

import pytest

from tests.harness.command import run
from tests.harness.dask_cluster import Cluster
from tests.harness.tools import needs_library
from tests.readers.modules.test_folders import compile_object

RULES = '[[rule]]\nid = "far"\nstruct = "q"\nkind = "distance"\nfields = ["a", "b"]\nmin = 16\nwhy = "w"\n'
MATRIX = '[axis.pad]\nshort = { flags = ["-DPAD=3"] }\nlong = { flags = ["-DPAD=60"] }\nbad = { flags = ["-DPAD=x"] }\n'
COMMANDS = [
    {"directory": ".", "file": "a.c", "arguments": ["cc", f"-DPAD={size}", "-c", "a.c"]} for size in ("1", "70", "x")
]
WORDS = ("check", "q.c", "--rules", "rules.toml", "--format", "json")
MODULE = "struct q { long a; char pad[PAD]; long b; } q;"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "q.c").write_text("struct q { long a; char pad[PAD]; long b; };")
    (tmp_path / "rules.toml").write_text(RULES)
    (tmp_path / "matrix.toml").write_text(MATRIX)
    for number in range(3):
        compile_object(tmp_path / f"modules/{number}.ko", MODULE.replace("PAD", str(number)))
    (tmp_path / "modules/bad.ko").write_text("no module")
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources/a.c").write_text(MODULE)
    (tmp_path / "sources/compile_commands.json").write_text(json.dumps(COMMANDS))
    return tmp_path


BUILDS = ("q.c", "--matrix", "matrix.toml")
INPUTS = ("q.c", "modules", "sources", "missing.c")


def report(folder, words: tuple[str, ...], *options: str) -> tuple[int, str]:
    done = run("check", *words, "--rules", "rules.toml", "--format", "json", "--struct", "q", *options, cwd=folder)
    assert (done.returncode in (1, 3), done.stdout != "") == (True, True), done.stderr
    return done.returncode, done.stdout


@pytest.mark.parametrize("words", [BUILDS, INPUTS], ids=["builds", "inputs"])
def test_workers_report_the_same(folder, words):
    assert report(folder, words, "--workers", "2") == report(folder, words)


@pytest.mark.exhaustive
@needs_library("distributed", "pip install layoutlint[distributed]")
def test_dask_reports_the_same_although_a_worker_dies(folder):
    (folder / "cluster").mkdir()
    cluster = Cluster(folder / "cluster", 2)
    try:
        for words in (BUILDS, INPUTS):
            alone = report(folder, words)
            assert report(folder, words, "--scheduler", cluster.address) == alone
            death = threading.Timer(1, cluster.kill_worker, (0,))
            death.start()
            assert report(folder, words, "--scheduler", cluster.address) == alone
            death.join()
    finally:
        cluster.end()


def test_the_copy_of_a_change_is_on_this_machine(folder):
    done = run("check", "--staged", "--scheduler", "tcp://127.0.0.1:1", cwd=folder)
    assert (done.returncode, done.stdout, "use --workers" in done.stderr.replace("\n", " ")) == (2, "", True)


def test_mistakes_of_builds_end_the_run(folder):
    (folder / "matrix.toml").write_text(MATRIX.replace('["-DPAD=3"]', '["-fno-such-flag"]'))
    alone, tasks = (run(*WORDS, "--matrix", "matrix.toml", *options, cwd=folder) for options in ((), ("--workers", "2")))
    assert (alone.returncode, alone.stdout, alone.stderr) == (tasks.returncode, tasks.stdout, tasks.stderr)


def test_a_scheduler_that_does_not_answer(folder):
    done = run(*WORDS, "--matrix", "matrix.toml", "--scheduler", "tcp://127.0.0.1:1", cwd=folder)
    assert (done.returncode, done.stdout, "tcp://127.0.0.1:1: cannot be reached" in done.stderr) == (3, "", True)
