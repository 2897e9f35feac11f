"""`layoutlint measure` as a user calls it; no test here depends on what is measured, unless it is exhaustive."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from layoutlint.measurement.machine import CannotMeasure, choose_cores
from tests.harness.command import ROOT, WITHOUT_CACHE, run
from tests.harness.tools import need

RULES = """
[struct.s.fields]
hits = { access = "hot-write" }
limit = { access = "hot-read" }
rare = { access = "cold" }

[[rule]]
id = "apart"
struct = "s"
kind = "access"
fields = ["hits", "limit", "rare"]
why = "w"

[[rule]]
id = "small"
struct = "s"
kind = "size"
max = 8
why = "w"

[[rule]]
id = "other"
struct = "t"
kind = "separate"
fields = [["a"], ["b"]]
why = "w"
"""
ROW = """
[struct.el]
array = 8

[[rule]]
id = "row"
struct = "el"
kind = "separate"
fields = [["tx"], ["rx"]]
why = "elements share lines only with the next one"
"""
FILES = {
    "s.h": "struct s { long hits, limit, rare; struct { int on, off; } pair; };\nstruct t { long a, b; };\n"
    "struct many { long a, b, c; }; struct flex { long n; long tail[]; }; struct none; struct e {}; struct odd { struct e e; long a; };\n"
    "struct large { long a; char gap[1 << 30]; long b; };\n",
    "apart.h": "struct s { long hits; char gap[64]; long limit, rare; struct { int on, off; } pair; };\n",
    "row.h": "struct el { long tx; char gap[56]; long rx; };\n", "row.toml": ROW,
    "two.c": "struct s { long hits, limit; };\n", "rules.toml": RULES,
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("measure")
    for name, text in FILES.items():
        (made / name).write_text(text)
    return made


W, R = ("--write", "hits"), ("--read", "limit")
MISTAKES = [
    # words, exit status, a part of the message
    (("s",), 2, "give INPUT STRUCT, or STRUCT and two layouts"),
    (("s.h", "apart.h", "s"), 2, "give INPUT STRUCT"),
    (("s.h", "s", "--before", "apart.h", "--after", "apart.h"), 2, "give INPUT STRUCT"),
    (("s", "--before", "s.h"), 2, "--before and --after are for two layouts"),
    (("s.h", "s*"), 2, "'s*' is a pattern; measure one struct"),
    (("s.h", "t"), 2, "no rule on it can be measured; or name fields with --write, --read, --lock"),
    (("s.h", "s", *W), 2, "two cores need two fields"),
    (("s.h", "s", *W, "--read", "hits"), 2, "`hits` is given twice"),
    (("s.h", "s", *W, "--read", "l*"), 2, "'l*' is a pattern; name each field"),
    (("s.h", "s", "--write", "pair", "--read", "pair.on"), 2, "`pair.on` and `pair` are the same field, or parts of one another"),
    (("s.h", "s", "--rule", "small", "--rules", "rules.toml"), 2, "rules of the kind size do not say which fields are accessed"),
    (("s.h", "s", "--rule", "other", "--rules", "rules.toml"), 2, "the rule other is about struct t, and not struct s"),
    (("s.h", "s", "--rule", "aprt", "--rules", "rules.toml"), 2, "no rule is called 'aprt' (did you mean `apart`?)"),
    (("s.h", "s", "--rule", "apart", "--rules", "rules.toml", "--write", "pair"), 2, "`pair` is not a field of the rule"),
    (("s.h", "s", *W, *R, "--seconds", "0.2"), 2, "--seconds 0.2 is too short for 38 situations in 7 rounds: give at least 0.4"),
    (("s.h", "s", *W, *R, "--intervals", "5x"), 2, "'5x': expected numbers separated by commas"),
    (("s.h", "s", *W, *R, "--intervals", "2000000"), 2, "at most 8 numbers up to 1000000"),
    (("s.h", "s", *W, *R, "--output", "png=x"), 2, "F is one of json, svg, text (for example svg=rates.svg)"),
    (("s.h", "s", *W, *R, "--output", "svg=s.h"), 2, "cannot write s.h: it is the same file as s.h, which is read"),
    (("s.h", "s", *W, *R, "--output", "svg=two.c"), 2, "cannot write two.c: it exists, and is not a report"),
    (("s.h", "none", *W, *R), 3, "struct none is declared but not defined"),
    (("s.h", "gone", *W, *R), 3, "s.h: no struct gone"),
    (("gone.h", "s", *W, *R), 3, "gone.h: no such file"),
    (("s", "s.h", *W, *R), 3, "INPUT is first: `layoutlint measure s.h s`"),
    (("s.h", "s", *W, "--read", "limits"), 3, "struct s has no field `limits` (did you mean `limit`?)"),
    (("s.h", "flex", "--write", "n", "--read", "tail"), 3, "the size of `tail` is not known"),
    (("s.h", "odd", "--write", "e", "--read", "a"), 3, "`e` is empty: there is nothing to access"),
    (("s.h", "large", "--write", "a", "--read", "b"), 3, "`b` ends at byte 1,073,741,840; only the first 1,048,576 bytes"),
    (("s.h", "s", *W, *R, "--line-size", "256"), 3, "judged on lines of 256 bytes, and the lines of this machine have"),
    (("s.h", "s", *W, *R, "--cores", "0,4095"), 3, "cannot measure: this process may not use processor 4095"),
    (("s.h", "s", *W, *R, "--cores", "0"), 3, "cannot measure: 2 cores are needed, and 1 processor chosen"),
]  # fmt: skip


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("words", "status", "message"), MISTAKES)
def test_mistakes(folder, words, status, message):
    done = run("measure", *words, "--no-packs", cwd=folder)
    assert (done.returncode, done.stdout) == (status, "")
    assert message in done.stderr


def accesses(folder: Path, *words: str) -> list[list[tuple[str, int, int]]]:
    """The accesses of each role in a program, without those of the control."""
    done = run("measure", *words, "--no-packs", "--dry-run", "--intervals", "0", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    roles = re.split(r"#define WORDS_\d+\(X\)", done.stdout)[3:]
    return [[(name, int(bits), int(at)) for name, bits, at in re.findall(r"X\((\w+), (\d+), (\d+)\)", role)] for role in roles]


ACCESSES = [
    (("s.h", "s", *W, *R), [[("ADD", 64, 0)], [("LOAD", 64, 8)]]),
    (("s.h", "s", *W, *R, "--stores"), [[("STORE", 64, 0)], [("LOAD", 64, 8)]]),
    (("s.h", "s", *W, "--lock", "limit"), [[("LOCK", 64, 8)], [("ADD", 64, 0)]]),
    (("s.h", "s", *W, "--write", "limit", "--write", "rare"), [[("ADD", 64, 0)], [("ADD", 64, 8), ("ADD", 64, 16)]]),
    (("s.h", "s", *W, "--read", "pair.off"), [[("ADD", 64, 0)], [("LOAD", 32, 28)]]),
    (("s.h", "struct", "s", *W, *R), [[("ADD", 64, 0)], [("LOAD", 64, 8)]]),
    (("s.h", "struct s", *W, *R), [[("ADD", 64, 0)], [("LOAD", 64, 8)]]),
    (("s.h", "s", "--rules", "rules.toml"), [[("ADD", 64, 0)], [("LOAD", 64, 8)]]),
    (("s.h", "s", "--rules", "rules.toml", "--rule", "apart", "--lock", "hits"), [[("LOCK", 64, 0)], [("LOAD", 64, 8)]]),
    (("s.h", "--after", "apart.h", "s", *W, *R), [[("ADD", 64, 0)], [("LOAD", 64, 8)], [("ADD", 64, 0)], [("LOAD", 64, 72)]]),
    (("s.h", "--before", "apart.h", "s", *W, *R), [[("ADD", 64, 0)], [("LOAD", 64, 72)], [("ADD", 64, 0)], [("LOAD", 64, 8)]]),
    (("s.h", "s", *W, *R, "--sweep"), [[("ADD", 64, 0), ("LOAD", 64, 8)], [("ADD", 64, 0), ("LOAD", 64, 8)]]),
    (("row.h", "el", "--rules", "row.toml"), [[("ADD", 64, 72)], [("ADD", 64, 64)]]),
    (("apart.h", "s", *W, *R, "--sweep"), [[("ADD", 64, 0), ("LOAD", 64, 72)], [("ADD", 64, 0), ("LOAD", 64, 8)]]),
]  # fmt: skip


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("words", "roles"), ACCESSES)
def test_what_is_accessed(folder, words, roles):
    """The rule's fields by their declared accesses, without cold ones; or the named fields; or both."""
    assert accesses(folder, *words) == roles


def need_two_cores() -> None:
    """Skip a test, with the reason, on a machine that cannot measure."""
    try:
        choose_cores(2)
    except CannotMeasure as error:
        pytest.skip(str(error))


def python(code: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env={**kept, **WITHOUT_CACHE, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True, text=True,
    )  # fmt: skip


CALL = "import sys; sys.argv = ['layoutlint', 'measure', 's.h', 's', '--write', 'hits', '--read', 'limit']; from layoutlint.cli import main; main()"


def test_one_processor_is_too_few(folder):
    done = python(f"import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); {CALL}", folder)
    assert (done.returncode, done.stdout) == (3, "")
    assert "cannot measure: 2 cores are needed, and this process may use 1 processor" in done.stderr


@pytest.mark.exhaustive
def test_without_a_compiler(folder):
    need_two_cores()
    done = python(CALL, folder, PATH="/nowhere:.")
    assert (done.returncode, done.stdout) == (3, "")
    assert "cannot measure: no C compiler (cc, gcc, clang) is in a folder of PATH" in done.stderr


def test_a_compiler_that_fails(folder, tmp_path):
    need_two_cores()
    (tmp_path / "cc").write_text("#!/bin/sh\nprintf 'cc: error: \\033[31m no libc' >&2\nexit 1\n")
    (tmp_path / "cc").chmod(0o755)
    done = python(CALL, folder, PATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (3, "")
    assert f"cannot measure: {tmp_path}/cc fails to compile the program: cc: error: \\x1b[31m no libc" in done.stderr


def child_processes(marker: str) -> list[int]:
    """The processes whose environment or folder has a marker: none if all have ended."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and "/memfd" not in (exe := os.readlink(entry / "exe")) and marker in exe:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize(("number", "status"), [
    (signal.SIGINT, 130),
    pytest.param(signal.SIGKILL, -signal.SIGKILL, marks=pytest.mark.exhaustive),
    pytest.param(signal.SIGTERM, -signal.SIGTERM, marks=pytest.mark.exhaustive),
])  # fmt: skip
def test_an_interrupted_run_leaves_nothing(folder, tmp_path, number, status):
    """The program dies with its parent, however that ends; its folder is gone since it started."""
    need_two_cores()
    need("cc")
    words = ["measure", "s.h", "s", *W, *R, "--seconds", "60"]
    environment = {**{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}, **WITHOUT_CACHE, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-m", "layoutlint", *words], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        deadline = time.monotonic() + 60
        while not child_processes(str(tmp_path)) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        assert child_processes(str(tmp_path))
        os.kill(process.pid, number)
        process.communicate(timeout=60)
    assert process.returncode == status
    deadline = time.monotonic() + 20
    while child_processes(str(tmp_path)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert (child_processes(str(tmp_path)), list(tmp_path.iterdir())) == ([], [])


def measure(folder: Path, *words: str) -> dict[str, object]:
    """The JSON of a run; skip where this machine, at this moment, cannot tell."""
    if "PYTEST_XDIST_WORKER" in os.environ or os.getloadavg()[0] > 0.7:
        pytest.skip("other processes would disturb what is measured: run this file alone, with `--exhaustive -n 0`")
    done = run("measure", *words, "--no-packs", "--format", "json", cwd=folder, seconds=300)
    if done.returncode == 3:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0
    return json.loads(done.stdout)


def test_a_short_run(folder, tmp_path):
    """Whatever it measures: it ends, its JSON is valid, and the files are whole."""
    need_two_cores()
    need("cc")
    outputs = [f"{name}={tmp_path / name}" for name in ("svg", "json", "text")]
    words = [word for output in outputs for word in ("--output", output)]
    done = run("measure", "s.h", "s", *W, *R, "--no-packs", "--intervals", "0", "--rounds", "1", "--seconds", "0.2", *words, cwd=folder)
    assert done.returncode in (0, 3)
    assert done.stderr.startswith("measuring for about 0 s on cores ")
    assert (tmp_path / "svg").read_text().endswith("</svg>\n")
    assert json.loads((tmp_path / "json").read_text())["exit"] == done.returncode
    assert (done.stdout == (tmp_path / "text").read_text()) == (done.returncode == 0)
    assert shutil.which("cc") == json.loads((tmp_path / "json").read_text())["machine"]["compiler"]


@pytest.mark.exhaustive
class TestThisMachine:
    def test_a_shared_line_is_slow_and_lines_apart_are_not(self, folder):
        need_two_cores()
        document = measure(folder, "--before", "s.h", "--after", "apart.h", "s", "--write", "hits", "--write", "limit", "--seconds", "8", "--intervals", "0")
        ratios = {(each["layout"], each["of"], each["core"]): each for each in document["ratios"]}
        for core in document["machine"]["cores"]:
            assert ratios["before", "affected", core]["ratio"]["most"] < 0.7
            assert 0.8 < ratios["after", "unaffected", core]["ratio"]["median"] < 1.25
            assert ratios[None, "after", core]["ratio"]["least"] > 1.4

    def test_rarer_writes_cost_less(self, folder):
        need_two_cores()
        document = measure(folder, "s.h", "s", *W, *R, "--seconds", "8", "--intervals", "0,10000")
        reader = document["machine"]["cores"][1]
        by_interval = {each["interval"]: each["ratio"]["median"] for each in document["ratios"] if each["core"] == reader}
        assert by_interval[0] < 0.7
        assert by_interval[10000] > 0.85

    def test_a_second_line_slows_a_sweep(self, folder):
        document = measure(folder, "--before", "apart.h", "--after", "s.h", "s", *W, "--write", "limit", "--sweep", "--seconds", "8")
        assert [each["ratio"]["median"] > 1.05 for each in document["ratios"] if each["of"] == "after"] == [True]
