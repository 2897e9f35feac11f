"""What the system states about cores and caches, and the refusals, on topologies that are made for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from layoutlint.measurement import machine
from layoutlint.measurement.machine import CannotMeasure


def topology(folder: Path, siblings: str, name: str = "core_cpus_list") -> str:
    """A folder as /sys/devices/system/cpu has it; `siblings` are the list files of processors 0, 1, ..."""
    for cpu, text in enumerate(siblings.split()):
        if text != "-":
            (folder / f"cpu{cpu}/topology").mkdir(parents=True)
            (folder / f"cpu{cpu}/topology" / name).write_text(f"{text}\n")
    return str(folder)


TWO = "2 cores are needed, and this process may use "
CASES = [
    # lists of siblings, processors that the process may use, chosen ones, result
    ("0 1", {0, 1}, (), (0, 1)),
    ("0-1 0-1 2-3 2-3", {0, 1, 2, 3}, (), (0, 2)),
    ("0,2 1,3 0,2 1,3", {0, 1, 2, 3}, (), (0, 1)),
    ("0,2 1,3 0,2 1,3", {0, 1, 2, 3}, (2, 1), (2, 1)),
    ("0,2 1,3 0,2 1,3", {2, 3}, (), (2, 3)),
    ("0", {0}, (), TWO + "1 processor: 0"),
    ("0 1 2", {1}, (), TWO + "1 processor: 1"),
    ("0-1 0-1", {0, 1}, (), TWO + "2 processors, which are hardware threads of 1 core: 0, 1"),
    ("0,2 1,3 0,2 1,3", {0, 2}, (), TWO + "2 processors, which are hardware threads of 1 core: 0, 2"),
    ("0-1 0-1 2-3 2-3", {0, 1, 2, 3}, (2, 3), "the processors 2, 3 are hardware threads of one core"),
    ("0 1", {0, 1}, (1, 5), "this process may not use processor 5, only 0, 1"),
    ("0 1", {0, 1}, (1,), "2 cores are needed, and 1 processor chosen"),
    ("0 -", {0, 1}, (), "does not state the core of processor 1"),
    ("0 \x1b[31m", {0, 1}, (), "does not state the core of processor 1"),
]


@pytest.mark.parametrize(("siblings", "allowed", "chosen", "result"), CASES)
@pytest.mark.parametrize("name", ["core_cpus_list", "thread_siblings_list"])
def test_cores(tmp_path, monkeypatch, siblings, allowed, chosen, result, name):
    root = topology(tmp_path, siblings, name)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: allowed)
    if isinstance(result, tuple):
        assert machine.choose_cores(2, chosen, root) == result
    else:
        with pytest.raises(CannotMeasure) as caught:
            machine.choose_cores(2, chosen, root)
        assert str(caught.value).endswith(result)


def test_cores_by_their_numbers(tmp_path, monkeypatch):
    """Systems without lists of siblings state a package and a core."""
    for cpu, (package, core) in enumerate([("0", "0"), ("0", "0"), ("1", "0")]):
        topology(tmp_path / "none", "")
        (folder := tmp_path / f"cpu{cpu}/topology").mkdir(parents=True)
        (folder / "physical_package_id").write_text(package)
        (folder / "core_id").write_text(core)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    assert machine.choose_cores(2, (), str(tmp_path)) == (0, 2)


def test_one_core_is_enough_for_a_sweep(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3})
    root = topology(tmp_path, "- - - 3")
    assert machine.choose_cores(1, (), root) == (3,)


def test_without_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    with pytest.raises(CannotMeasure, match="does not let a process choose its processors"):
        machine.choose_cores(2)


@pytest.mark.parametrize(("caches", "sizes"), [
    ([("1", "Instruction", "32", "32K"), ("1", "Data", "64", "32K"), ("2", "Unified", "64", "1024K")], (64, 1 << 20)),
    ([("1", "Data", "128", "128K"), ("2", "Unified", "128", "12M")], (128, 12 << 20)),
    ([("1", "Unified", "32", "8K"), ("2", "Data", "32", "262144")], (32, 1 << 18)),
])  # fmt: skip
def test_caches(tmp_path, caches, sizes):
    for index, (level, kind, line, size) in enumerate(caches):
        (folder := tmp_path / f"cpu3/cache/index{index}").mkdir(parents=True)
        for name, text in (("level", level), ("type", kind), ("coherency_line_size", line), ("size", size)):
            (folder / name).write_text(f"{text}\n")
    assert machine.cache_sizes(3, str(tmp_path)) == sizes


@pytest.mark.parametrize(("text", "result"), [
    ("processor : 0\nmodel name\t: A CPU @ 2 GHz\nflags\t\t: fpu hypervisor sse\n", ("A CPU @ 2 GHz", True)),
    ("processor : 0\nmodel name\t: A CPU\nflags\t\t: fpu sse\n", ("A CPU", False)),
    ("processor\t: 0\nuarch\t\t: sifive,u74\n", ("sifive,u74", False)),
    ("processor\t: 0\nCPU implementer\t: 0x41\n", ("", False)),
    ("", ("", False)),
])  # fmt: skip
def test_processor(tmp_path, text, result):
    (tmp_path / "cpuinfo").write_text(text)
    assert machine.processor(str(tmp_path)) == result


@pytest.mark.parametrize(("text", "result"), [
    ("cpu  100 0 50 800 0 0 0 50 0 0\ncpu0 1 2\n", (50, 1000)),
    ("cpu  100 0 50\n", (0, 0)),
    ("nothing", (0, 0)),
])  # fmt: skip
def test_stolen_time(tmp_path, text, result):
    (tmp_path / "stat").write_text(text)
    assert machine.stolen_ticks(str(tmp_path)) == result


def test_a_compiler_of_a_relative_folder_is_not_used(tmp_path, monkeypatch):
    """A hostile tree can contain a program `cc`."""
    for folder in ("tree", "bin"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "cc").write_text("#!/bin/sh\n")
        (tmp_path / folder / "cc").chmod(0o755)
    monkeypatch.chdir(tmp_path / "tree")
    monkeypatch.setenv("PATH", f".::tree:{tmp_path}/bin")
    assert machine.find_compiler() == f"{tmp_path}/bin/cc"
    monkeypatch.setenv("PATH", ".:")
    with pytest.raises(CannotMeasure, match="no C compiler"):
        machine.find_compiler()


FOREIGN = [
    # machine, targets of the layouts, the notes
    ("x86_64", ("x86_64", "x86_64"), []),
    ("armv7l", ("arm",), []),
    ("x86_64", ("unknown64-le",), []),
    ("x86_64", ("aarch64", "aarch64"), ["the layout is of aarch64, and the accesses are measured on x86_64"]),
    ("ppc64le", ("i386", "powerpc64le"), ["the layout is of i386, and the accesses are measured on powerpc64le"]),
]


@pytest.mark.parametrize(("uname", "targets", "notes"), FOREIGN)
def test_layouts_of_other_machines(monkeypatch, uname, targets, notes):
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "host", "6.1", "#1", uname)))
    assert list(machine.foreign_layouts(targets)) == notes
