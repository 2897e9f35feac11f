"""Surveys in this process: all rows that they write, and all that they return, for tasks that end in every way."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from layoutlint.commands.history.stored_builds import stored_builds
from layoutlint.commands.survey import run as survey_run
from layoutlint.commands.survey.run import Request, plan_of, survey
from layoutlint.commands.survey.task import Plan, Survey
from layoutlint.errors import LayoutlintError
from layoutlint.intent.toml import rule_file
from layoutlint.lint import run
from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.task import LIMITS_OF_INPUT, Failure, Outcome, Task
from layoutlint.surveys import store as stores
from layoutlint.surveys.store import Store, create_store, open_store
from layoutlint.surveys.tables import TABLES
from tests.commands.test_survey import RULES, btf, rows
from tests.harness.run_options import run_options
from tests.harness.whole import inline

pytest.importorskip("pyarrow")

ELF = struct.pack("<4sBBBBQHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 0, 2, 62, 1, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0)
"""An object without sections: it has no debug information."""
FAILURES = {name: Failure(name, f"ends as {name}") for name in ("timed-out", "out-of-memory", "crashed", "lost", "refused")}  # type: ignore[arg-type]


class Here:
    """Runs tasks in this process; a task of a file that is called like a failure has that failure."""

    def __init__(self) -> None:
        self.tasks: list[str] = []

    def run(self, tasks: Iterable[Task]) -> Generator[Outcome]:
        for task in list(tasks):
            self.tasks.append(task.name)
            failure = FAILURES.get(task.name)
            value = task.function(task.argument) if failure is None else None
            yield Outcome(task, value, failure, 2.5, 1.5, 1000 + len(self.tasks), 2 if failure else 1)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAYOUTLINT_NO_CACHE", "1")
    for name, gap in {"near": 8, "far": 64, "wide": 4096, "copy": 8}.items():
        Path(name).write_bytes(btf(gap))
    Path("junk").write_bytes(b"\x9f\xeb\x01\0" + b"\xff" * 60)
    Path("bare").write_bytes(ELF)
    for name in FAILURES:
        Path(name).write_bytes(btf(16 + 8 * len(name)))
    return tmp_path


def plan(**options: Any) -> Plan:
    read = ReadOptions(cache=False)
    return plan_of((rule_file.parse(RULES, "rules.toml"),), (), run_options(mode=Survey(("ring",)), read=read, **options))


def search(names: Iterable[str], store: Store, **more: Any) -> tuple[str, list[str]]:
    """What a survey returns, and the tasks that ran."""
    here = Here()
    options = more.pop("options", {})
    result = survey(Request(tuple(names), plan(**options), LIMITS_OF_INPUT, **more), store, here)  # type: ignore[arg-type]
    return inline(replace(result, seconds=0.0)), here.tasks


def table_rows(store: Store) -> Iterator[str]:
    """All rows without what differs between runs, or between versions of layoutlint."""
    for table in TABLES:
        for row in rows(Path(store.path), table, ("key", "ended", "version", "rules", "record")):
            yield f"{table}: {json.dumps(row, default=str, sort_keys=True)}"


def stable(text: str) -> str:
    return text.replace(os.getcwd(), "FOLDER")


EVERY = ("near", "far", "copy", "wide", "junk", "bare", "gone", *FAILURES)
AGAIN = {
    # a second survey of one store
    "the same": {},
    "retries failed": {"retries_failed": True},
    "repeats": {"repeats": True},
    "ignores missing": {"ignores_missing": True},
    "other options": {"options": {"line_size": 128}},
    "options that decide nothing": {"options": {"allow_unknown": True, "today": "2026-01-01"}},
}


def test_rows_of_every_task(golden_row):
    store = create_store("store")
    result, tasks = search(EVERY, store)
    golden_row(stable("\n".join([result, " ".join(tasks), *table_rows(store)])))


@pytest.mark.parametrize("name", list(AGAIN))
def test_a_second_survey(name, golden_row):
    store = create_store("store")
    search(("near", "junk", "bare", "gone", "crashed", "lost"), store)
    more = dict(AGAIN[name])
    result, tasks = search(("refused", "copy", "far", "junk", "bare", "gone", "lost", "near"), open_store("store"), **more)
    golden_row(stable("\n".join([result, " ".join(tasks), *(row for row in table_rows(store) if row.startswith("runs"))])))


def test_the_progress_names_each_input():
    steps: list[tuple[str, int, int]] = []
    search(("near", "far", "near"), create_store("store"), progress=lambda *step: steps.append(step))
    assert steps == [("surveying", 0, 2), ("surveying", 1, 2), ("surveying", 2, 2)]


def test_a_file_that_changes_while_it_is_read_is_not_written(monkeypatch, golden_row):
    read = run.read

    def change(paths: tuple[str, ...], *more: Any) -> Any:
        result = read(paths, *more)
        Path(paths[0]).write_bytes(btf(4096))
        return result

    monkeypatch.setattr(run, "read", change)
    store = create_store("store")
    result, _ = search(("near",), store)
    golden_row("\n".join([result, *table_rows(store)]))


@pytest.mark.parametrize("error", [RecursionError(), LayoutlintError("cannot be judged")])
def test_an_input_that_cannot_be_judged(error, monkeypatch, golden_row):
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(run, "report", fail)
    store = create_store("store")
    golden_row("\n".join([search(("near",), store)[0], *table_rows(store)]))


def test_a_store_that_cannot_be_written(monkeypatch):
    store = create_store("store")

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(stores, "_write_rows", fail)
    with pytest.raises(LayoutlintError, match=r"cannot write store/readings/\w+\.parquet: no space left on device"):
        search(("near",), store)


def test_many_failures_are_listed_in_part(monkeypatch):
    monkeypatch.setattr(survey_run, "_LISTED", 2)
    names = [f"gone{number}" for number in (5, 1, 4, 2, 3, 0)]
    result, _ = search(names, create_store("store"))
    assert [f"gone{number}" in result for number in range(6)] == [True, True, False, False, False, False]


def refusal(path: str) -> str:
    try:
        open_store(path)
    except LayoutlintError as error:
        return str(error)
    return "a store"


HEADS = [
    (None, "store: is not a store: layoutlint-store.json no such file or directory"),
    ("{", "store: is not a store: layoutlint-store.json is damaged"),
    ("[]", "store: is not a store: layoutlint-store.json is damaged"),
    ('{"schema": "other/1"}', "store: is not a store: layoutlint-store.json has another `schema`"),
]


@pytest.mark.parametrize(("head", "message"), HEADS)
def test_folders_that_are_no_stores(head, message):
    assert refusal("store") == "store: no such store"
    Path("store").mkdir()
    if head is not None:
        Path("store/layoutlint-store.json").write_text(head)
    assert refusal("store") == message


@pytest.mark.parametrize(("count", "groups"), [(0, []), (1, [1]), (3, [3]), (4, [3, 1]), (6, [3, 3])])
def test_rows_are_written_in_parts(count, groups, monkeypatch):
    monkeypatch.setattr(stores, "_ROW_GROUP", 3)
    assert [len(part) for part in stores._parts({"n": number} for number in range(count))] == groups


@pytest.mark.parametrize(("age", "is_left"), [(6.9, True), (7.1, False)])
def test_files_that_nobody_finishes_are_removed_after_a_week(age, is_left, monkeypatch):
    create_store("store")
    for name in (".new-x", "x.parquet"):
        Path(f"store/runs/{name}").write_text("")
    now = Path("store/runs/.new-x").stat().st_mtime
    monkeypatch.setattr(stores.time, "time", lambda: now + age * 86_400)
    create_store("store")
    assert (Path("store/runs/.new-x").exists(), Path("store/runs/x.parquet").exists()) == (is_left, True)


def test_a_damaged_file(golden_row):
    store = create_store("store")
    search(("near",), store)
    next(Path("store/runs").iterdir()).write_bytes(b"no parquet")
    with pytest.raises(LayoutlintError, match=r"store/runs/\S+\.parquet: is damaged: .*; remove it, and the next run does its part again"):
        search(("near",), store)


def test_builds_of_a_struct(golden_row):
    store = create_store("store")
    search(("near", "far", "copy", "junk", "gone"), store)
    found = stored_builds(store, "ring")
    chosen = stored_builds(store, "ring", ("n*", "f*"))
    golden_row("\n".join([*map(inline, found.inputs), *(text.path for text in found.texts), *map(inline, found.gaps), *map(inline, chosen.inputs), *map(inline, chosen.gaps)]))
    with pytest.raises(LayoutlintError, match=r"store: has no layout of rinc; it has those of the survey's rules and of `--struct`.*ring"):
        stored_builds(store, "rinc")
    with pytest.raises(LayoutlintError, match="store: has no layout of ring in these inputs"):
        stored_builds(store, "ring", ("gone",))
