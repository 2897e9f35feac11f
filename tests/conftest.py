"""What all tests share: golden files, which `pytest --rewrite-goldens` writes anew for review, examples, and the
choice between quick tests (the default) and exhaustive ones (`pytest --exhaustive`; `.ci/run` runs both).

Examples are the same in every run, however busy the machine; `pytest --hypothesis-profile=other` tries others.
"""

from __future__ import annotations

import compileall
import contextlib
import gc
import hashlib
import importlib
import itertools
import json
import os
import re
import signal
import subprocess
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.harness import command, few_messages, huge_pages, same_process, tools
from tests.harness.command import ROOT, WITHOUT_CACHE

pytest.register_assert_rewrite("tests.kinds.cases")  # the assertions of the tables' shape show what differs

SAME = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", SAME)
settings.register_profile("other", SAME, derandomize=False)
settings.load_profile("same")
_finished, _folders = itertools.count(1), itertools.count()
"""Numbers of the tests of this process, and of their folders."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-goldens", action="store_true", help="write golden files from what the tests give")
    parser.addoption("--exhaustive", action="store_true", help="run the tests marked exhaustive, and no others")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Half as many processes again as processors: many quick tests wait, for a limit of time, a disk or a process of theirs."""
    processors = len(os.sched_getaffinity(0))
    return processors if config.getoption("--exhaustive") else processors + processors // 2


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    from tests.harness.schedule import Files

    return Files(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_configure(config: pytest.Config) -> None:
    """Compile the package to bytecode, as installing it does: Python may be forbidden to, and each command that a
    test starts would then do it again."""
    os.environ |= WITHOUT_CACHE
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it, as would what tests start
    command.own_processes = config.getoption("--exhaustive")
    if not command.own_processes:
        same_process.read_here()
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(str(ROOT / "layoutlint"), quiet=2)


def pytest_sessionstart(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        few_messages.send_few(session.config)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without Python's garbage collector, and leave the result to it for good: it would look through
    hundreds of thousands of objects again and again, and copy their pages in every process that a test forks.

    Afterwards it runs as seldom as in the command: as often as Python runs it, it takes a twentieth of the tests."""
    gc.disable()
    _import_share(session.config)
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        huge_pages.collapse()
        gc.set_threshold(300_000, 20, 100)
        gc.enable()


def _import_share(config: pytest.Config) -> None:
    """Import every n-th test module in each of n processes, before all of them import all: in a new checkout, an import writes
    the bytecode of a module, whose assertions pytest rewrites. Each process would do that for all of them at once."""
    own = getattr(config, "workerinput", None)
    if own is None:
        return
    folders = [Path(argument.partition("::")[0]) for argument in config.args]
    modules = sorted({path for folder in folders for path in folder.absolute().rglob("test_*.py") if path.is_relative_to(ROOT)})
    for path in modules[int(own["workerid"].removeprefix("gw")) :: own["workercount"]]:
        with contextlib.suppress(Exception, pytest.skip.Exception):  # collecting it says what is wrong
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = config.getoption("--exhaustive")
    _sample(items)
    by_mark: dict[bool, list[pytest.Item]] = {True: [], False: []}
    for item in items:
        by_mark[_is_exhaustive(item)].append(item)
    if by_mark[not wanted]:
        config.hook.pytest_deselected(items=by_mark[not wanted])
        items[:] = by_mark[wanted]
    if wanted:
        items.sort(key=lambda item: [item.get_closest_marker(name) is None for name in ("long", "real")])


def _sample(items: list[pytest.Item]) -> None:
    """Mark all but every n-th row of a test with the mark `one_in(n)` as exhaustive."""
    rows: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("one_in")
        if mark is not None:
            name = item.nodeid.partition("[")[0]
            if rows[name] % mark.args[0]:
                item.add_marker(pytest.mark.exhaustive)
            rows[name] += 1


def _is_exhaustive(item: pytest.Item) -> bool:
    """Whether a test takes long; whole kernels do."""
    return any(item.get_closest_marker(name) is not None for name in ("exhaustive", "real"))


def pytest_runtest_teardown() -> None:
    """Collapse pages again: writing to a huge page after a fork splits it, until forks take three times as long."""
    if next(_finished) % 100 == 0:
        huge_pages.collapse()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    return (yield from _skip_missing_tools())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    return (yield from _skip_missing_tools())


def _skip_missing_tools() -> Generator[None, None, None]:
    """Skip a test that fails because a tool it compares with is missing or broken."""
    try:
        return (yield)
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        reason = tools.reason_of(error)
        if reason is None:
            raise
        pytest.skip(reason)


@pytest.fixture(scope="session", autouse=True)
def _projects(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Make the folder around those of tests one that users share, as /tmp is: headers are not searched in other tests' folders."""
    tmp_path_factory.getbasetemp().chmod(0o1777)


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hands out a new folder. That of pytest looks through the folders of all earlier tests for a number that is free."""
    path = tmp_path_factory.getbasetemp() / f"{re.sub(r'[^A-Za-z0-9_]', '_', request.node.name)[:30]}{next(_folders)}"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def own_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets tests and their commands read C in processes of their own, as users do."""
    monkeypatch.setattr(command, "own_processes", True)
    monkeypatch.setattr("layoutlint.workers.sandbox.run_each", same_process.run_each)


@pytest.fixture
def reads_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets tests read C in their own process, exhaustive ones, too: a fork for each unit takes twice as long as the search."""
    monkeypatch.setattr("layoutlint.workers.sandbox.run_each", same_process.run_each_here)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Holds text against the file of that name in `golden/` beside the test."""

    def compare(name: str, text: str) -> None:
        path = Path(request.path).parent / "golden" / name
        if request.config.getoption("--rewrite-goldens"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert text == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture
def golden_row(request: pytest.FixtureRequest) -> Callable[[str | list[Any]], None]:
    """Holds text, or values of JSON, against the row of this test in `golden/`, a file for each module.

    One process alone can rewrite it.
    """
    path = Path(request.path).parent / "golden" / f"{Path(request.path).stem}.json"
    name = request.node.name
    key = name if len(name) < 90 else f"{name[:80]}... {hashlib.sha256(name.encode()).hexdigest()[:8]}"

    def compare(found: str | list[Any]) -> None:
        row = found.splitlines() if isinstance(found, str) else found
        if request.config.getoption("--rewrite-goldens"):
            path.parent.mkdir(exist_ok=True)
            rows = {**_rows(path), key: row} if path.exists() else {key: row}
            path.write_text(json.dumps(rows, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
            _rows.cache_clear()
            return
        assert row == _rows(path)[key]

    return compare


@pytest.fixture
def whole_runs(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory,
    golden_row: Callable[[str | list[Any]], None],
) -> Generator[None, None, None]:  # fmt: skip
    """Holds all that the commands of a quick test print against the golden row of the test."""
    outputs: list[Any] = []
    folders = {ROOT: "ROOT", tmp_path: "FOLDER", tmp_path_factory.getbasetemp(): "TEMPORARY"}
    relative = {os.path.relpath(folder, ROOT): name for folder, name in folders.items() if folder != ROOT}
    names = {**{str(folder): name for folder, name in folders.items()}, **relative}  # reports show the shorter one

    def run_and_keep(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
        done = run(*arguments, **options)
        outputs.append(f"{done.args[0]}: {done.returncode}")
        outputs.extend(_output_of(text, names) for text in (done.stdout, done.stderr) if text)
        return done

    run = request.module.run
    monkeypatch.setattr(request.module, "run", run_and_keep)
    yield
    if not request.config.getoption("--exhaustive"):
        golden_row(outputs)


def _output_of(text: str, names: dict[str, str]) -> Any:
    """Return what a command printed, as JSON or as lines, the same wherever the folders are and on every day.

    The identity of commits and builds is left out.
    """
    is_json = text.startswith("{") and text.endswith("}\n")
    is_wrapped = any(folder in text for folder in names)  # their lengths decide where lines are wrapped
    for folder, name in names.items():
        text = text.replace(folder, name)
    if is_wrapped and not is_json:
        text = textwrap.fill(" ".join(text.split()), 130, break_on_hyphens=False, break_long_words=False)
    text = text.replace(time.strftime("%Y-%m-%d"), "TODAY")
    text = re.sub(r"\b(?:[0-9a-f]{40}|[0-9a-f]{12})\b", "COMMIT", text)
    return json.loads(text) if is_json else text.splitlines()


@cache
def _rows(path: Path) -> dict[str, list[Any]]:
    rows: dict[str, list[Any]] = json.loads(path.read_text(encoding="utf-8"))
    return rows
