"""How the process ends: with the status and all of the output, and without taking its objects apart."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.command import ROOT, run
from tests.readers.btf.btf_blob import LONG, STRUCT, blob, record, ring_of

pytestmark = pytest.mark.usefixtures("own_processes")

TOLD = "import atexit, sys; from layoutlint.__main__ import main; atexit.register(print, 'taken apart', file=sys.stderr); "
ENDS = [
    # arguments, environment, exit status, whether the interpreter ends in its own way
    (("--version",), {}, 0, False),
    (("show", "btf", "ring"), {}, 0, False),
    (("show", "btf", "rong"), {}, 3, False),
    (("show", "nowhere", "ring"), {}, 3, False),
    (("show", "btf"), {}, 2, False),
    (("show", "btf", "ring"), {"LAYOUTLINT_DEBUG": "1"}, 0, True),
]
FIELDS = 5000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "btf").write_bytes(blob(LONG + ring_of(1)))
    return tmp_path


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("words", "environment", "status", "ordinary"), ENDS)
def test_the_process_ends_at_once_with_the_status(words, environment, status, ordinary, folder):
    done = subprocess.run(
        [sys.executable, "-c", f"{TOLD}sys.argv[1:] = {words!r}; main()"],
        cwd=folder, env={"PYTHONPATH": str(ROOT), **environment}, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, "taken apart" in done.stderr) == (status, ordinary)
    assert done.stdout or done.stderr


def test_all_of_the_output_arrives(tmp_path):
    members = b"".join(word.to_bytes(4, "little") for n in range(FIELDS) for word in (6, 1, n * 64))
    (tmp_path / "btf").write_bytes(blob(LONG + record(1, STRUCT, 8 * FIELDS, vlen=FIELDS) + members))
    done = run("show", "btf", "ring", cwd=tmp_path)
    assert (done.returncode, done.stdout.count(" tail\n")) == (0, FIELDS)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("environment", [{}, {"PYTHONUNBUFFERED": "1"}])
@pytest.mark.parametrize("words", [("show", "btf", "ring"), ("--version",), ("--help",), ("rules", "list"), ("show", "--help")])
def test_a_reader_that_has_left_is_no_finding(words, environment, folder):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "layoutlint", *words]
    with os.fdopen(write, "wb") as pipe:
        done = subprocess.run(command, cwd=folder, env={"PYTHONPATH": str(ROOT), **environment}, stdout=pipe, stderr=subprocess.PIPE)
    assert (done.returncode, b"roken" in done.stderr) == (141, False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("words", [("show", "btf", "ring"), ("check", "btf", "--pack", "generic"), ("--version",)])
def test_output_that_cannot_be_written_is_no_success(words, folder):
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "layoutlint", *words]
        done = subprocess.run(command, cwd=folder, env={"PYTHONPATH": str(ROOT)}, stdout=full, stderr=subprocess.PIPE)
    last = done.stderr.decode().splitlines()[-1]
    assert (done.returncode, last) == (2, "layoutlint: cannot write all of the output: no space left on device")


CLOSED = [
    # what the shell does to the streams, arguments, exit status
    (">&-", "show btf ring", 2),
    (">&- 2>&-", "show btf ring", 2),
    ("2>&-", "show btf ring", 0),
    ("2>&-", "show btf rong", 3),
    ("2>&-", "shw", 2),
    ("2>/dev/full", "shw", 2),
    ("2>/dev/full", "check btf --rules nowhere.toml", 2),
    ("2>/dev/full", "show nowhere ring", 3),
]


@pytest.mark.one_in(2)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize(("streams", "words", "status"), CLOSED)
def test_streams_that_are_closed_or_full_are_no_finding(streams, words, status, folder):
    command = f"exec {sys.executable} -m layoutlint {words} {streams}"
    done = subprocess.run(["sh", "-c", command], cwd=folder, env={"PYTHONPATH": str(ROOT)}, capture_output=True)
    assert (done.returncode, b"internal" in done.stderr) == (status, False)
