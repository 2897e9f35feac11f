"""Answers of the file system, as they are kept, and which changes of files each of them notices."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from layoutlint import files
from layoutlint.files.accesses import Log, kind_of, state_of
from layoutlint.readers.cache import answers

LATER = 4_000_000_000_000_000_000
"""A time at which all files of the tests are old."""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(answers, "time", SimpleNamespace(time_ns=lambda: LATER))
    return make(tmp_path / "folder")


def make(place: Path) -> Path:
    os.makedirs(place / "sub")
    (place / "a").write_text("a\n")
    (place / "b").write_text("b\n")
    os.symlink("a", place / "link")
    os.link(place / "a", place / "second")
    return place


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def state(path: Path) -> tuple[int, ...]:
    return state_of(os.stat(path))


def content(log: Log, path: Path) -> None:
    log.add_content(str(path), state(path), digest(path))


QUESTIONS: dict[str, Callable[[Log, Path], object]] = {
    "content": lambda log, at: content(log, at / "a"),
    "state of content": lambda log, at: log.add_content(str(at / "a"), state(at / "a")),
    "content through a link": lambda log, at: content(log, at / "link"),
    "contents of one file": lambda log, at: (content(log, at / "a"), content(log, at / "second")),
    "kind": lambda log, at: log.add_kind(str(at / "a"), kind_of(str(at / "a"))),
    "kind of a folder": lambda log, at: log.add_kind(str(at / "sub"), kind_of(str(at / "sub"))),
    "kind of nothing": lambda log, at: log.add_kind(str(at / "new"), kind_of(str(at / "new"))),
    "kind through a link": lambda log, at: log.add_kind(str(at / "link"), kind_of(str(at / "link"))),
    "listing": lambda log, at: log.listings.update({str(at): files.digest_of_folder(str(at))}),
    "path": lambda log, at: log.real_paths.update({str(at / "a"): os.path.realpath(at / "a"), str(at / "sub"): os.path.realpath(at / "sub")}),
    "path of a link": lambda log, at: log.real_paths.update({str(at / "link"): os.path.realpath(at / "link")}),
    "state": lambda log, at: log.states.update({str(at / "a"): state(at / "a")}),
    "state of nothing": lambda log, at: log.states.update({str(at / "new"): None}),
}


def replace_by_copy(path: Path) -> None:
    shutil.copy(path, path.with_name("copy"))
    path.with_name("copy").rename(path)


def swap_links(at: Path, target: str) -> None:
    (at / "link").unlink()
    (at / "link").symlink_to(target)


def become(path: Path, make: Callable[[Path], object]) -> None:
    path.rmdir() if path.is_dir() else path.unlink()
    make(path)


CHANGES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda at: None,
    "a is touched": lambda at: os.utime(at / "a", (1, 1)),
    "a is written": lambda at: (at / "a").write_text("A\n"),
    "a is gone": lambda at: (at / "a").unlink(),
    "a is a copy": lambda at: replace_by_copy(at / "a"),
    "a is a folder": lambda at: become(at / "a", Path.mkdir),
    "a is a link": lambda at: ((at / "a").rename(at.parent / "elsewhere"), (at / "a").symlink_to("../elsewhere")),
    "sub is a file": lambda at: become(at / "sub", Path.touch),
    "sub is a link": lambda at: become(at / "sub", lambda path: path.symlink_to(".")),
    "new is there": lambda at: (at / "new").touch(),
    "the link leads to b": lambda at: swap_links(at, "b"),
    "the link leads to sub": lambda at: swap_links(at, "sub"),
    "the folder is touched": lambda at: os.utime(at, (1, 1)),
    "the folder is a link": lambda at: (at.rename(at.parent / "moved"), at.symlink_to("moved")),
    "the folder is gone": lambda at: at.rename(at.parent / "moved"),
}


def verdict(question: str, change: str, begun: int, place: Path) -> str:
    """Whether an answer holds after a change, and whether states in it were renewed."""
    log = Log(begun, str(make(place)))
    QUESTIONS[question](log, place)
    kept = answers.settle(log)
    if kept is None:
        return "not kept"
    CHANGES[change](place)
    check = answers.Check(kept)
    if not check.holds():
        return "differs"
    assert answers.Check(kept).holds()
    return "renewed" if check.is_renewed else "holds"


@pytest.mark.parametrize("begun", [LATER, 0], ids=["old files", "young files"])
def test_which_changes_are_noticed(begun, folder, golden_row):
    lines = []
    for question in QUESTIONS:
        verdicts: dict[str, list[str]] = {}
        for number, change in enumerate(CHANGES):
            verdicts.setdefault(verdict(question, change, begun, folder / f"{question}{number}/folder"), []).append(change)
        lines += [f"{question}:", *(f"  {each}: {'; '.join(names)}" for each, names in sorted(verdicts.items()))]
    golden_row("\n".join(lines))


def test_answers_as_they_are_kept(folder):
    """Whole, and what a log has of them again."""
    log = Log(LATER, str(folder))
    for ask in QUESTIONS.values():
        ask(log, folder)
    log.add_kind("/", "folder")
    kept = answers.settle(log)
    a, at = str(folder / "a"), str(folder)
    assert kept == {
        "folders": {
            at: {
                "contents": [["a", list(state(folder / "a")), digest(folder / "a")], ["link", list(state(folder / "a")), digest(folder / "a")],
                             ["second", list(state(folder / "a")), digest(folder / "a")]],
                "kinds": {"a": "file", "sub": "folder", "new": "absent"}, "linked": {"link": "file"}, "listing": files.digest_of_folder(at),
                "real": at, "plain": ["a", "sub"], "state": state(folder),
            },
            "/": {"kinds": {"": "folder"}, "state": kept["folders"]["/"]["state"]},
        },
        "links": [[str(folder / "link"), a]], "states": [(a, state(folder / "a")), (str(folder / "new"), None)],
        "same": [sorted([a, str(folder / "link"), str(folder / "second")])],
    }  # fmt: skip
    again = Log(LATER, str(folder))
    answers.log_answers(kept, again)
    assert again.plain() == log.plain()


def test_a_log_that_proves_nothing_is_not_kept(folder):
    log = Log(LATER, str(folder))
    log.obstacle = "why"
    assert answers.settle(log) is None


SECOND = 10**9
PROOFS = [
    # path, times of content and inode, the time of the first question, whether the state proves that nothing changed
    ("/a", 10, 5, 12, False), ("/a", 10, 5, 12 + 1e-9, True), ("/a", 5, 10, 12, False), ("/a", 5, 10, 12 + 1e-9, True),
    ("/proc/a", 1, 1, 99, False), ("/sys/a", 1, 1, 99, False), ("/dev/a", 1, 1, 99, False), ("/processes/a", 1, 1, 99, True),
]  # fmt: skip


@pytest.mark.parametrize(("path", "content_time", "inode_time", "begun", "proves"), PROOFS)
def test_young_states_prove_nothing(path, content_time, inode_time, begun, proves):
    assert answers.is_proof(path, (1, 1, 1, content_time * SECOND, inode_time * SECOND), round(begun * SECOND)) is proves


def test_a_file_that_is_gone_cannot_be_logged_again(folder):
    log = Log(0, str(folder))
    content(log, folder / "a")
    kept = answers.settle(log)
    (folder / "a").unlink()
    answers.log_answers(kept, again := Log(0, str(folder)))
    assert (again.obstacle, again.contents) == (f"{folder}/a changed while it was read", {})


def test_large_files_are_not_compared(folder, monkeypatch):
    """By their digests, beyond a size."""
    for most, known in ((1, None), (2, digest(folder / "a")), (3, digest(folder / "a"))):
        monkeypatch.setattr(answers, "_LARGEST_HASHED", most)
        assert answers._digest(str(folder / "a")) == known
    assert answers._digest(str(folder / "missing")) is None
