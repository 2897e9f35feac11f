"""Which tests try a mutation, and what kills it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.command import ROOT
from tools.mutations import trials
from tools.mutations.blocks import Reach, TimedTest
from tools.mutations.sites import Mutation
from tools.mutations.trials import Copy

TESTS = [
    # file, seconds
    ("a", 0.5), ("a", 0.1), ("b", 0.2), ("c", 30), ("a", 0.1), ("d", 300), ("b", 10), ("c", 12),
]  # fmt: skip
BATCHES = [
    # seconds for all, the numbers of the tests in each batch
    (60, [[0, 1, 4, 2], [6], [3], [7]]),
    (10.9, [[0, 1, 4, 2], [6]]),
    (0.4, [[1, 4, 2]]),
    (0, []),
]


@pytest.mark.parametrize(("seconds", "batches"), BATCHES)
def test_batches(seconds, batches, monkeypatch):
    """Batches grow; the first one has few files."""
    monkeypatch.setattr(trials, "_FILES", 2)
    tests = [TimedTest(f"test_{file}.py::{number}", length, 1) for number, (file, length) in enumerate(TESTS)]
    assert [[int(test.name.rpartition(":")[2]) for test in batch] for batch in trials._batches(tests, seconds)] == batches


def test_a_test_that_is_longer_than_the_first_batch_is_tried():
    test = TimedTest("test_a.py::0", 30, 1)
    assert list(trials._batches([test], 60)) == [[test]]


MODULE = "layoutlint/geometry/doubles.py"
TEXT = """
from functools import cache
FACTOR = 2
@cache
def double(a):
    return a * FACTOR
"""
TEST = """
from layoutlint.geometry.doubles import double
def test_double(): assert double(4) == 8
def test_nothing(): pass
def test_that_fails(): assert double(1) == 3
"""
NAME = "tests/geometry/test_doubles.py::test_"
MUTATIONS = [
    # tests that reach the module, what is changed, what kills it
    (["that_fails", "double"], ("FACTOR = 2", "FACTOR = 4"), "double"),
    (["nothing", "double"], ("*", "+"), "double"),
    (["nothing", "double"], ("FACTOR = 2", "FACTOR = 3"), "double"),
    (["nothing"], ("*", "+"), ""),
    (["double"], ("return", "return 8 or"), ""),
    (["that_fails", "nothing"], ("*", "+"), ""),
    (["double"], ("return", "while True: 1\n    return"), "no end after 1 s"),
    (["double"], ("return", "import os; os.kill(os.getpid(), 9)\n    return"), "ended with -9"),
    (["double"], ("FACTOR = 2", "FACTOR = two"), "tests/geometry/test_doubles.py"),
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    def write_small_checkout(folder: Path) -> None:
        for name in ("tools/mutations/forks.py", "setup.cfg"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text((ROOT / name).read_text())
        for name, text in ((MODULE, TEXT), (f"{NAME.partition(':')[0]}", TEST)):
            for parent in list((folder / name).relative_to(folder).parents)[:-1]:
                (folder / parent).mkdir(parents=True, exist_ok=True)
                (folder / parent / "__init__.py").touch()
            (folder / name).write_text(text)
        (folder / "tools/mutations/__init__.py").touch()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trials, "copy_checkout", write_small_checkout)
        patch.setattr(trials, "_START", 1)
        copy = Copy(tmp_path_factory.mktemp("copy"), Reach([], []), 10)
        yield copy
        copy.close()


@pytest.mark.parametrize(("names", "change", "killed"), MUTATIONS)
def test_what_kills_a_mutation(copy, names, change, killed):
    """Tests that fail without the mutation as well do not count."""
    copy.reach = Reach([(MODULE, 5, 6)], [TimedTest(NAME + name, 0.01 * place, 1) for place, name in enumerate(names)])
    line = next(number for number, text in enumerate(TEXT.splitlines(), start=1) if change[0] in text)
    trial = copy.run(MODULE, Mutation(line, *change, TEXT.replace(*change)))
    assert trial.test.removeprefix(NAME) == killed
    assert (copy.folder / MODULE).read_text() == TEXT
