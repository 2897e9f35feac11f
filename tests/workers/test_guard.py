"""Processes that layoutlint starts: none outlives its parent, and one that dies is reported."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from layoutlint.workers import pool
from tests.harness.command import ROOT
from tests.readers.elf.test_elf import tool

SOURCE = "struct shared {{ int a, b; }}; struct shared {name}_s;\n"
RULES = '[pack]\nname = "p"\n[[rule]]\nid = "r"\nstruct = "shared"\nkind = "together"\nfields = ["a", "b"]\nwhy = "w"\n'
MATRIX = '[build.one]\ninput = "one.h"\n[build.two]\ninput = "two.h"\n'

START = """
import os, sys, time

def stuck(*given, **more):
    if os.getpid() != parent or {here!r}:
        {act}

parent = os.getpid()
from layoutlint.readers import dispatch
{patch}
from layoutlint.__main__ import main
sys.argv = ["layoutlint", *{words!r}]
main()
"""
DWARF = "from layoutlint.workers import pool; from layoutlint.readers.dwarf import collect\ncollect.Collector._look_at = stuck; pool._UNIT_OF_WORK = 1; collect._PARTS = 1 << 20"

RUNS = [
    # id, what is replaced by work that does not end, whether the parent does it as well, arguments
    ("folder of modules", "dispatch.read = stuck", False, ("check", "modules", "--rules", "r.toml", "-j2")),
    ("several inputs", "dispatch.read = stuck", False, ("check", "one.o", "two.o", "--rules", "r.toml", "-j2")),
    ("DWARF of one file", DWARF, True, ("check", "linked", "--rules", "r.toml", "-j2")),
    ("libclang", "from layoutlint.readers.clang import parse; parse.read = stuck", False, ("check", "one.h", "--rules", "r.toml")),
    ("libclang, many", "from layoutlint.readers.clang import parse; parse.read = stuck", False, ("check", "one.h", "two.h", "--rules", "r.toml", "-j2")),
    ("allocations", "from layoutlint.sources.allocations import sources; sources._search_files = stuck; sources._CHUNK = 1", False, ("allocations", "one.h", "two.h", "-j2")),
    ("matrix", "from layoutlint.lint import matrix; matrix._judge_group = stuck", False, ("check", "--matrix", "m.toml", "--rules", "r.toml", "-j2")),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("processes")
    gcc = tool("gcc")
    for name in ("one", "two"):
        (made / f"{name}.c").write_text(SOURCE.format(name=name))
        (made / f"{name}.h").write_text(SOURCE.format(name=name))
        subprocess.run([gcc, "-g", "-c", f"{name}.c", "-o", f"{name}.o"], cwd=made, check=True)
        (made / "modules").mkdir(exist_ok=True)
        (made / "modules" / f"{name}.ko").write_bytes((made / f"{name}.o").read_bytes())
    subprocess.run([tool("ld"), "-r", "one.o", "two.o", "-o", "linked"], cwd=made, check=True)
    (made / "r.toml").write_text(RULES)
    (made / "m.toml").write_text(MATRIX)
    return made


def start(folder: Path, patch: str, here: bool, words: tuple[str, ...], act: str) -> subprocess.Popen[bytes]:
    code = START.format(patch=patch, here=here, words=words, act=act)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )


def descendants(process: int) -> set[int]:
    """All that a process started, and what these started."""
    try:
        words = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return set()
    return {int(word) for word in words}.union(*(descendants(int(word)) for word in words))


def wait_until(condition, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


NEEDS_PROC = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="no /proc tells of the children")


@pytest.mark.one_in(3)
@NEEDS_PROC
@pytest.mark.parametrize(("patch", "here", "words"), [run[1:] for run in RUNS], ids=[run[0] for run in RUNS])
def test_no_process_outlives_a_parent_that_is_killed(folder, patch, here, words):
    run = start(folder, patch, here, words, "time.sleep(600)")
    try:
        wanted = 2 if words[-1] == "-j2" and not here else 1
        assert wait_until(lambda: len(descendants(run.pid)) >= wanted or run.poll() is not None, 30)
        started = descendants(run.pid)
        assert len(started) >= wanted, run.communicate(timeout=5)
    finally:
        run.kill()
    assert wait_until(lambda: not any(map(lives, started)), 2), "a process lives on"
    run.communicate(timeout=2)  # nobody else holds its streams


@pytest.mark.one_in(4)
@NEEDS_PROC
@pytest.mark.parametrize("order", ["first", "last"])
@pytest.mark.parametrize(("patch", "here", "words"), [run[1:] for run in RUNS], ids=[run[0] for run in RUNS])
def test_a_process_that_is_killed_is_reported(folder, patch, here, words, order):
    """As the system does for want of memory; what the parent can do itself, it does."""
    run = start(folder, patch, False, words, "time.sleep(600)")
    try:
        wanted = 2 if words[-1] == "-j2" and not here else 1
        assert wait_until(lambda: len(descendants(run.pid)) >= wanted or run.poll() is not None, 30)
        for process in sorted(descendants(run.pid))[:: 1 if order == "first" else -1]:
            with suppress(ProcessLookupError):  # the others may end as soon as one is killed
                os.kill(process, signal.SIGKILL)
        out, err = run.communicate(timeout=30)
    finally:
        run.kill()
    if not here:
        assert run.returncode == 3
        assert b"was killed (perhaps for want of memory)" in b" ".join((out + err).split())


class TestOrdered:
    def test_results_are_in_the_order_of_the_items(self):
        items = list(range(200))
        assert list(pool.map_ordered(lambda item: time.sleep(0.001 * (item % 3)) or item, items, 3)) == items

    @pytest.mark.parametrize("count", [0, 1, 2, 8191, 8192, 8193, 40_000])
    def test_any_number_of_items(self, count):
        assert sum(1 for item in pool.map_ordered(lambda item: item, range(count), 2)) == count

    def test_large_results(self):
        sizes = [size << 20 for size in (0, 30, 1, 60)]
        assert [len(result) for result in pool.map_ordered(bytes, sizes, 2)] == sizes

    def test_what_is_raised_is_raised_here(self):
        def work(item: int) -> int:
            if item == 5:
                raise ValueError("five")
            return item

        done = pool.map_ordered(work, range(10), 2)
        assert [next(done) for _ in range(5)] == list(range(5))
        with pytest.raises(ValueError, match="five"):
            next(done)

    def test_without_processes(self, monkeypatch):
        def refuse() -> int:
            raise BlockingIOError("fork: Resource temporarily unavailable")

        monkeypatch.setattr(os, "fork", refuse)
        assert list(pool.map_ordered(lambda item: item * item, range(30), 3)) == [n * n for n in range(30)]

    def test_pipes_that_hold_little(self, monkeypatch):
        """As the kernel makes them for users who have many (pipe(7))."""
        whole = pool._tickets

        def few(count: int) -> tuple[int, int]:
            return whole(min(count, 4))

        monkeypatch.setattr(pool, "_tickets", few)
        assert list(pool.map_ordered(lambda item: item * item, range(30), 3)) == [n * n for n in range(30)]
        assert list(pool.spread(lambda item: item * item, 30, 3)) == [n * n for n in range(30)]


def test_nothing_of_the_parent_is_kept_open():
    """Streams, and the pipes of others."""
    source, sink = os.pipe()
    os.set_inheritable(sink, True)

    def work(item: int) -> list[str]:
        return sorted(os.readlink(f"/proc/self/fd/{n}") for n in range(3)) if item >= 0 else []

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("no /proc tells what is open")
    assert list(pool.map_ordered(work, [1, 2], 2)) == [["/dev/null"] * 3] * 2
    os.close(source)
    os.close(sink)


def test_a_system_that_sends_no_signal_for_pipes(monkeypatch):
    """Then a thread waits for the end of the parent."""
    code = """
import fcntl, os, sys, time
from layoutlint.workers import pool
def refuse(*_): raise OSError
fcntl.fcntl = refuse
def work(item):
    sys.stdout.flush()
    os.write(told, b"%d\\n" % os.getpid())
    time.sleep(600)
told = os.dup(1)
list(pool.map_ordered(work, [1, 2], 2))
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT) as run:
        assert run.stdout is not None
        pids = [int(run.stdout.readline()) for _ in range(2)]
        run.kill()
        assert wait_until(lambda: not any(map(lives, pids)), 2)
