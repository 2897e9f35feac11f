"""Digests of files: kept as long as the state of a file proves that its content is the same."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from layoutlint.commands.survey import file_digests
from layoutlint.commands.survey.file_digests import FileDigests
from layoutlint.surveys.store import create_store

pytest.importorskip("pyarrow")


@pytest.fixture
def reads(monkeypatch) -> list[str]:
    """The files that are read for their digest."""
    read: list[str] = []
    digest = file_digests.content_digest
    monkeypatch.setattr(file_digests, "content_digest", lambda path: read.append(path) or digest(path))
    return read


def digest_again(folder: Path, path: Path) -> str:
    """The digest in a run of its own."""
    digests = FileDigests(create_store(str(folder / "store")))
    found = digests.digest(str(path))
    digests.flush()
    return found


def rewrite(path: Path) -> None:
    """Other content of the same size, with the same time of change."""
    status = path.stat()
    path.write_bytes(path.read_bytes()[::-1])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def replace_file(path: Path) -> None:
    status = path.stat()
    other = path.with_name("other")
    other.write_bytes(path.read_bytes()[::-1])
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(path)


@pytest.mark.parametrize("change", [rewrite, replace_file])
def test_a_file_is_read_once_until_it_changes(tmp_path, reads, monkeypatch, change):
    monkeypatch.setattr(file_digests, "is_proof", lambda path, state, begun: True)  # as for a file that is old
    path = tmp_path / "input"
    path.write_bytes(b"one two")
    first = digest_again(tmp_path, path)
    assert [digest_again(tmp_path, path) for _ in range(3)] == [first] * 3
    assert reads == [str(path)]
    time.sleep(0.02)  # the clock of the file system counts in steps of up to 10 ms
    change(path)
    assert digest_again(tmp_path, path) == hashlib.sha256(b"owt eno").hexdigest()
    assert len(reads) == 2


def test_a_file_that_was_written_just_now_is_read_each_time(tmp_path, reads):
    path = tmp_path / "input"
    path.write_bytes(b"one")
    assert digest_again(tmp_path, path) == digest_again(tmp_path, path) == hashlib.sha256(b"one").hexdigest()
    assert len(reads) == 2


def test_a_file_that_changes_while_it_is_read_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(file_digests, "is_proof", lambda path, state, begun: True)
    path = tmp_path / "input"
    path.write_bytes(b"one")
    digest = file_digests.content_digest

    def digest_and_change(name: str) -> str:
        found = digest(name)
        path.write_bytes(b"longer")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(file_digests, "content_digest", digest_and_change)
        assert digest_again(tmp_path, path) == hashlib.sha256(b"one").hexdigest()
    assert digest_again(tmp_path, path) == hashlib.sha256(b"longer").hexdigest()


def test_a_store_without_digests_gets_them(tmp_path, reads):
    create_store(str(tmp_path / "store"))
    (tmp_path / "store/digests").rmdir()
    path = Path(file_digests.__file__)  # is older than this test
    digest_again(tmp_path, path)
    assert (tmp_path / "store/digests").is_dir()
    assert os.listdir(tmp_path / "store/digests") or time.time() - path.stat().st_ctime < 3
