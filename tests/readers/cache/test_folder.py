"""The folder of the cache: limits, writers that end early, and files that are not ours."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from layoutlint.readers.cache import folder
from layoutlint.readers.cache.folder import Folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch) -> Folder:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    opened = folder.open_folder(create=True)
    assert opened is not None
    return opened


def key(number: int) -> str:
    return f"{number:064x}"


def age(cache: Folder, name: str, seconds: float) -> None:
    os.utime(Path(cache.path, name), (time.time() - seconds,) * 2)


def test_an_entry_comes_back(cache):
    cache.write(key(1), b"content")
    assert cache.read(key(1)) == b"content"
    assert cache.read(key(2)) is None
    assert (os.stat(cache.path).st_mode & 0o777, os.stat(Path(cache.path, key(1))).st_mode & 0o777) == (0o700, 0o600)


def test_the_least_recently_used_entries_go(cache, monkeypatch):
    monkeypatch.setattr(folder, "_MOST_BYTES", 5 * 151)
    for number in range(5):
        cache.write(key(number), b"x" * 100)
        age(cache, key(number), 200 - number)
    assert cache.read(key(0)) is not None  # used just now
    cache.write(key(5), b"x" * 100)
    assert [number for number in range(6) if cache.read(key(number)) is not None] == [0, 2, 3, 4, 5]
    monkeypatch.setattr(folder, "_MOST_ENTRIES", 2)
    cache.write(key(6), b"x")
    assert cache.usage().entries == 2


def test_an_entry_larger_than_the_cache_is_not_kept(cache, monkeypatch):
    monkeypatch.setattr(folder, "_LARGEST", 200)
    cache.write(key(1), b"x" * 300)
    assert cache.usage().entries == 0


def test_what_a_killed_writer_left_is_removed(cache):
    left = [f"{folder._TEMPORARY}{number}" for number in (1, 2)]
    for name in left:
        Path(cache.path, name).write_bytes(b"half")
    age(cache, left[0], 4000)
    cache.write(key(1), b"x")
    assert sorted(os.listdir(cache.path)) == [left[1], key(1)]
    assert cache.usage().entries == 1
    cache.clear()
    assert os.listdir(cache.path) == []


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_an_entry_that_is_no_file_is_not_read(kind, cache, tmp_path):
    place = Path(cache.path, key(1))
    if kind == "link":
        cache.write(key(1), b"content")
        place.rename(tmp_path / "elsewhere")
        place.symlink_to(tmp_path / "elsewhere")
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.mkdir()
    assert cache.read(key(1)) is None
    cache.write(key(1), b"other")
    assert cache.read(key(1)) == (None if kind == "folder" else b"other")


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/layoutlint"),
        ({"XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/layoutlint"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache/layoutlint"),
        ({"XDG_CACHE_HOME": "", "HOME": ""}, None),
        ({"XDG_CACHE_HOME": "", "HOME": "relative"}, None),
    ],
)
def test_the_place_is_by_the_specification(variables, place, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert folder.location() == place


def test_a_place_below_a_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "_checkout_around", lambda path: None)
    (tmp_path / "file").touch()
    assert folder.refusal(str(tmp_path / "file" / "layoutlint")) == "cannot be used: not a directory"


def test_a_folder_of_another_user_is_refused(cache, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    monkeypatch.setattr(folder, "_checkout_around", lambda path: None)
    assert folder.refusal(cache.path) == "belongs to another user"
    assert folder.open_folder(create=True) is None
