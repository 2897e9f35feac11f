"""Inputs, and the files of folders, as tasks: the results are those of one process, in whatever order tasks end."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter

import pytest

from layoutlint.model.reading import ReadOptions, Unread
from layoutlint.model.record import replace
from layoutlint.model.task import Failure, Outcome
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs
from tests.readers.modules.test_folders import MODULES, compile_object

EVERYTHING = Wanted(everything=True)
COPIES = 10


class Backwards:
    """Runs tasks in this process, the last one first; a task that has a file called `bad...` fails."""

    def __init__(self):
        self.names = []
        self.failures = Counter()

    def run(self, tasks):
        for task in reversed(list(tasks)):
            self.names.append(task.name)
            bad = "bad" in repr(task.argument.item)
            self.failures[task.name] += bad
            value = None if bad else task.function(task.argument)
            yield Outcome(task, value, Failure("crashed", "ends by signal 11") if bad else None, 0, 0, 0, 1)


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """40 modules, and one that is damaged."""
    root = tmp_path_factory.mktemp("modules")
    for path, text in MODULES.items():
        first = compile_object(root / "0" / path, text)
        for copy in range(1, COPIES):
            (root / str(copy) / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(first, root / str(copy) / path)
    (root / "0/damaged.ko").write_bytes(first.read_bytes()[:200])
    return root


def both(*paths):
    """The results of processes of this run and of tasks, and the executor of these."""
    executor, names = Backwards(), tuple(map(str, paths))
    return (
        inputs.read_each(names, EVERYTHING, ReadOptions()),
        inputs.read_each(names, EVERYTHING, ReadOptions(executor=executor)),
        executor,
    )


def test_a_folder_of_modules(modules):
    alone, tasks, executor = both(modules)
    assert tasks == alone
    assert (alone[0].files, len(alone[0].unread), len(executor.names)) == (40, 1, 21)


def test_a_file_whose_task_fails_costs_no_other(modules, tmp_path):
    folder = tmp_path / "folder"
    shutil.copytree(modules, folder)
    without, _, _ = both(folder)
    shutil.copy(folder / "0/kernel/fs/one.ko", folder / "3/kernel/fs/bad.ko")
    _, (reading,), executor = both(folder)
    failure = Unread(str(folder / "3/kernel/fs/bad.ko"), "the task that read it ends by signal 11")
    assert (failure in reading.unread, len(reading.unread)) == (True, 2)
    assert replace(reading, unread=without[0].unread) == without[0]
    assert sum(executor.failures.values()) == 2, "it was read with others, and then alone"


def test_sources_with_a_compilation_database(tmp_path):
    names = [f"unit{number}.c" for number in range(5)]
    for name in names:
        (tmp_path / name).write_text("struct q { long a; char pad[PAD]; long b; };")
    (tmp_path / "bad.c").write_text("struct r { int c; };")
    commands = [
        {"directory": str(tmp_path), "file": name, "arguments": ["cc", f"-DPAD={number // 2}", "-c", name]}
        for number, name in enumerate(names)
    ]
    database = tmp_path / "compile_commands.json"
    database.write_text(json.dumps(commands))
    alone, tasks, executor = both(tmp_path)
    assert (tasks, len(executor.names), len(alone[0].structs)) == (alone, 5, 5)
    database.write_text(json.dumps([*commands, commands[0] | {"file": "bad.c", "arguments": ["cc", "bad.c"]}]))
    _, (reading,), _ = both(tmp_path)
    assert (reading.structs, [unread.origin for unread in reading.unread]) == (alone[0].structs, ["bad.c"])


def test_files_archives_and_folders_in_one_run(modules, tmp_path):
    header, archive = tmp_path / "q.h", tmp_path / "modules.tar"
    header.write_text("struct q { long a; };")
    shutil.make_archive(str(archive.with_suffix("")), "tar", modules, "1")
    paths = (modules / "0/kernel/fs/one.ko", header, archive, tmp_path / "missing", modules / "2", header)
    alone, tasks, executor = both(*paths)
    assert tasks == alone
    assert str(header) in executor.names
    assert str(archive) in executor.names


def test_tasks_tell_the_cache_what_they_read(modules, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "folder"
    shutil.copytree(modules / "1", folder)
    for path in folder.rglob("*.ko"):
        os.utime(path, (1, 1))
    counts = []
    for _ in range(2):
        executor = Backwards()
        inputs.read_each((str(folder),), EVERYTHING, ReadOptions(executor=executor, cache=True))
        counts.append(len(executor.names))
    assert counts == [4, 0]
