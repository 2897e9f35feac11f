"""Inputs that others write to while they are read: vmlinux is being linked again. A clear error, and status 3."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.harness.command import ROOT
from tests.readers.elf.test_elf import tool
from tests.workers.test_guard import descendants, lives, wait_until

RULES = '[[rule]]\nid = "r"\nstruct = "q"\nkind = "together"\nfields = ["a", "b"]\nwhy = "w"\n'
SAID = "changed while it was read; run again when nothing writes to it"

START = """
import os, sys, time
from layoutlint.readers.elf import elf_file
before = elf_file.Image.__init__

def opened(image, path, *more):
    before(image, path, *more)
    {act}

elf_file.Image.__init__ = opened
from layoutlint.__main__ import main
sys.argv = ["layoutlint", *{words!r}]
main()
"""
HEARD = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
"""What `nohup` starts ignores it."""
SHRINK = "os.truncate(path, 4096)"
TOUCH = "os.utime(path, ns=(1, 1))"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> Path:
    tmp_path = tmp_path_factory.mktemp("compiled")
    (tmp_path / "r.toml").write_text(RULES)
    for name, pad in (("small", 1), ("large", 3 << 20), ("other", 3 << 20)):
        text = f"struct q {{ int a, b; }} {name}_v; const char {name}_pad[{pad}] = {{ 1 }};\n"
        (tmp_path / "a.c").write_text(text)
        subprocess.run([tool("gcc"), "-g", "-c", "a.c", "-o", f"{name}.o"], cwd=tmp_path, check=True)
    (tmp_path / "modules").mkdir()
    for name in ("large", "other"):
        (tmp_path / f"modules/{name}.ko").write_bytes((tmp_path / f"{name}.o").read_bytes())
    return tmp_path


@pytest.fixture
def tree(compiled, tmp_path) -> Path:
    """Files that the test may change."""
    return shutil.copytree(compiled, tmp_path / "tree")


def run(tree: Path, act: str, *words: str) -> subprocess.CompletedProcess[str]:
    code = START.format(act=act, words=words)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-c", code], cwd=tree, capture_output=True, text=True, env=environment, timeout=60)


CHECK = ("--rules", "r.toml", "--no-packs")
SHRINKING = [
    ("check", "large.o", *CHECK),
    ("check", "large.o", "other.o", *CHECK),
    ("check", "large.o", "other.o", *CHECK, "-j2"),
    ("check", "modules", *CHECK, "-j1"),
    ("check", "modules", *CHECK, "-j2"),
    ("show", "large.o", "q"),
    ("containers", "large.o", "q"),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("words", SHRINKING, ids=" ".join)
def test_a_file_that_shrinks(tree, words):
    done = run(tree, SHRINK, *words)
    assert done.returncode == 3, (done.stdout, done.stderr)
    output = " ".join((done.stdout + done.stderr).split())
    assert SAID in output or "a file became shorter while it was read" in output
    assert "large" in output or "other" in output


@pytest.mark.parametrize("name", ["small.o", "large.o"])
def test_a_file_that_is_written_to(tree, name):
    done = run(tree, TOUCH, "check", name, *CHECK)
    assert done.returncode == 3
    assert f"{name}: {SAID}" in " ".join(done.stdout.split())


@pytest.mark.parametrize("name", ["small.o", "large.o"])
def test_a_file_that_another_takes_the_place_of_is_read_as_it_was(tree, name):
    done = run(tree, "open(path + '.new', 'w').close(); os.rename(path + '.new', path)", "check", name, *CHECK)
    assert (done.returncode, done.stderr) == (0, "")


STATUS = [("exit 0", "check", "large.o", *CHECK), ("exit 3", "show", "large.o", "nowhere"), ("exit 2", "check", "large.o", "--rules", "none.toml")]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("what", "words"), [(row[0], row[1:]) for row in STATUS], ids=[row[0] for row in STATUS])
def test_the_status_is_that_of_the_run(tree, what, words):
    assert f"exit {run(tree, 'pass', *words).returncode}" == what


@pytest.mark.one_in(2)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGHUP])
def test_signals_end_both(tree, number):
    code = HEARD + START.format(act="time.sleep(600)", words=("check", "large.o", *CHECK))
    with subprocess.Popen([sys.executable, "-c", code], cwd=tree, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE) as run:
        assert wait_until(lambda: bool(descendants(run.pid)), 30)
        time.sleep(0.2)
        started = descendants(run.pid)
        run.send_signal(number)
        assert run.wait(5) in (-number, 128 + number)
        assert wait_until(lambda: not any(map(lives, started)), 2)


def test_a_crash_is_that_of_the_run(tree):
    done = run(tree, "os.kill(os.getpid(), 11)", "check", "large.o", *CHECK)
    assert done.returncode == -signal.SIGSEGV


def test_a_run_that_is_killed_says_so(tree):
    done = run(tree, "os.kill(os.getpid(), 9)", "check", "large.o", *CHECK)
    assert (done.returncode, done.stderr) == (3, "layoutlint: the run was killed (perhaps for want of memory)\n")
