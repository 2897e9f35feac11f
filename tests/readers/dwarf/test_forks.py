"""Reading by several processes: the same facts in the same order as by one."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
import time
import weakref

import pytest

from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dwarf
from layoutlint.readers.dwarf import collect
from layoutlint.readers.dwarf.format.unit import Unit
from layoutlint.readers.elf import elf_file
from layoutlint.workers import pool
from layoutlint.workers.child import Lost
from layoutlint.workers.pool import number_for, spread
from tests.readers.dwarf.dwarf_file import Dwarf
from tests.readers.dwarf.test_split import NAMES, build
from tests.readers.elf.test_elf import tool

PARENT = os.getpid()


@pytest.mark.parametrize("count", [0, 1, 2, 200])
@pytest.mark.parametrize("number", [1, 2, 5])
def test_each_part_is_done_once_and_stands_in_its_place(number, count):
    done = list(spread(lambda part: (part, os.getpid()), count, number))
    assert [part for part, _ in done] == list(range(count))
    assert len({process for _, process in done}) <= number


def test_parts_are_shared():
    done = list(spread(lambda part: time.sleep(0.05) or os.getpid(), 20, 2))
    assert len(set(done)) == 2


def test_the_first_is_given_while_others_are_at_work():
    """And those behind it follow in their order, however long each takes, and however much it tells."""
    done = []
    for part, text in spread(lambda part: (part, "x" * (part << 12)) if part else time.sleep(0.2) or (0, ""), 40, 3):
        done.append((part, len(text)))
        time.sleep(0.001)
    assert done == [(part, part << 12) for part in range(40)]


def test_what_is_not_waited_for_is_ended():
    results = spread(lambda part: part if part == 0 or os.getpid() == PARENT else time.sleep(60), 9, 3)
    started = time.monotonic()
    assert next(results) == 0
    results.close()
    assert time.monotonic() - started < 30
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def _fail() -> None:
    raise MemoryError


def _interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


WAYS_TO_DIE = [
    # what becomes of the first child while it is at a part
    ("killed", lambda: os.kill(os.getpid(), signal.SIGKILL)),
    ("interrupted", _interrupt),
    ("leaves", lambda: os._exit(0)),
    ("fails", _fail),
]


@pytest.mark.parametrize("die", [way[1] for way in WAYS_TO_DIE], ids=[way[0] for way in WAYS_TO_DIE])
def test_what_a_dead_process_leaves_is_missed(die):
    def work(part: int) -> int:
        if os.getpid() != PARENT:
            die()
        time.sleep(0.01)
        return part * part

    with pytest.raises(Lost):
        list(spread(work, 30, 3))


def test_where_no_process_can_be_had_one_does_it_all(monkeypatch):
    def refuse() -> int:
        raise BlockingIOError("fork: Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)
    assert list(spread(lambda part: part * part, 30, 3)) == [part * part for part in range(30)]


def test_what_goes_wrong_in_the_parent_is_told_and_nothing_is_left_running():
    def work(part: int) -> None:
        if os.getpid() == PARENT:
            raise ValueError(part)
        time.sleep(60)

    started = time.monotonic()
    with pytest.raises(ValueError, match=r"^[012]$"):
        list(spread(work, 3, 2))
    assert time.monotonic() - started < 30
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


ORPHANED = """
import os, signal, time
from layoutlint.workers import pool
parent = os.getpid()

def work(part):
    if os.getpid() == parent:
        time.sleep(60)
    os.kill(parent, signal.SIGKILL)
    return "x" * (1 << 20)  # more than a pipe holds

list(pool.spread(work, 9, 3))
"""


def test_processes_end_when_their_parent_is_killed():
    """They have inherited the standard output of their parent, which is read to its end here."""
    done = subprocess.run([sys.executable, "-c", ORPHANED], capture_output=True, timeout=30)
    assert done.returncode == -signal.SIGKILL


SIZES = [
    # bytes, --jobs, processes on a machine with 4
    (100, 0, 1),
    (100, 8, 1),
    (40 << 20, 0, 2),
    (1 << 30, 0, 4),
    (1 << 30, 1, 1),
    (1 << 30, 7, 7),
]


@pytest.mark.parametrize(("size", "jobs", "number"), SIZES)
def test_as_many_processes_as_are_asked_for_and_worth_it(size, jobs, number, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    assert number_for(size, jobs) == number


def read(path: str, wanted: Wanted, jobs: int) -> Reading:
    with elf_file.open_elf(path) as image:
        return dwarf.read_elf(image, wanted, ReadOptions(jobs=jobs))


def assert_same(path: str, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for wanted in (Wanted(frozenset(names)), Wanted(everything=True), Wanted(with_containers=frozenset(names))):
        alone = read(path, wanted, 1)
        with monkeypatch.context() as patched:
            patched.setattr(pool, "_UNIT_OF_WORK", 1)
            patched.setattr(collect, "_PARTS", 1 << 20)  # every unit is a part
            for jobs in (2, 3):
                assert read(path, wanted, jobs) == alone
        assert len(alone.structs) > 3


BUILDS = [
    (compiler, flags)
    for compiler in ("gcc", "clang")
    for flags in (("-gdwarf-4",), ("-gdwarf-5",), ("-gdwarf-5", "-fdebug-types-section"), ("-gdwarf-5", "-gsplit-dwarf"))
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("compiler", "flags"), BUILDS, ids=[" ".join((c, *f)) for c, f in BUILDS])
def test_programs(compiler, flags, tmp_path, monkeypatch):
    assert_same(build(tmp_path / "built", compiler, *flags), NAMES, monkeypatch)


def test_nothing_is_lost_with_a_process_that_dies(tmp_path, monkeypatch):
    """What its parent has done by then does not count: which definition is the first depends on all units."""
    path = build(tmp_path / "built", "gcc", "-gdwarf-5")
    look = collect.Collector._look_at

    def dying(self: collect.Collector, unit: Unit, is_imported: bool = False) -> collect.Sight:
        if os.getpid() != PARENT:
            os._exit(1)
        time.sleep(0.05)
        return look(self, unit, is_imported)

    monkeypatch.setattr(collect.Collector, "_look_at", dying)
    assert_same(path, NAMES, monkeypatch)


def test_partial_units(tmp_path, monkeypatch):
    program = build(tmp_path / "built", "gcc", "-gdwarf-4")
    shutil.copy(program, tmp_path / "packed")
    subprocess.run([tool("dwz"), tmp_path / "packed"], check=True)
    assert_same(str(tmp_path / "packed"), NAMES, monkeypatch)


UNIT, STRUCT, DAMAGED, MEMBER, END = 1, 2, 3, 4, (0,)
PLANS = {
    UNIT: ("compile_unit", True, ("language:data1",)),
    STRUCT: ("structure_type", False, ("name:string", "byte_size:data1")),
    DAMAGED: ("structure_type", True, ("name:string", "byte_size:data1")),
    MEMBER: ("member", False, ("name:string", "type:ref4", "data_member_location:data1")),
}
C99, RUST = 12, 28
NOWHERE = 1 << 30


def test_damage_is_told_in_the_order_of_the_file(tmp_path, monkeypatch):
    """Whole units and single structs in each of many units, foreign ones between them."""
    entries = []
    for number in range(40):
        good = (STRUCT, f"s{number % 7}", 4 + number % 3)
        bad = (DAMAGED, f"d{number}", 8), (MEMBER, "m", NOWHERE, 0), END
        entries.append(((UNIT, RUST if number % 5 == 4 else C99), good, *bad, *(((9,),) if number % 11 == 10 else ()), END))
    first, *rest = (Dwarf(PLANS, each) for each in entries)
    (tmp_path / "file").write_bytes(first.file(*(unit.unit for unit in rest)))
    assert_same(str(tmp_path / "file"), tuple(f"{letter}{number}" for letter in "sd" for number in range(40)), monkeypatch)
    reading = read(str(tmp_path / "file"), Wanted(everything=True), 1)
    assert len(reading.unread) > 20
    assert reading.notes[0] == "skipped 8 units in Rust"


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_was_read_waits_for_no_garbage_collector(jobs, tmp_path, monkeypatch):
    """The tables of a kernel's units take 140 MB, and `diff` reads two kernels."""
    collectors = []
    collect_units = dwarf._collect

    def note(*given):
        collector = collect_units(*given)
        collectors.append(weakref.ref(collector.selection))
        collectors.append(weakref.ref(collector))
        return collector

    monkeypatch.setattr(dwarf, "_collect", note)
    monkeypatch.setattr(pool, "_UNIT_OF_WORK", 1)
    program = build(tmp_path / "built", "gcc", "-gdwarf-5")
    gc.disable()
    try:
        reading = read(str(program), Wanted(everything=True), jobs)
        assert len(reading.structs) > 3
        assert [collector() for collector in collectors] == [None, None]
    finally:
        gc.enable()
