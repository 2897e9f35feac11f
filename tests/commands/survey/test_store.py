"""Stores of surveys: what is one, what makes one, and what a run finds in one that others left."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from layoutlint.errors import UsageError
from layoutlint.surveys.store import Store, create_store, is_store, open_store
from layoutlint.surveys.tables import FOLDERS, STORE_SCHEMA

HEAD = "layoutlint-store.json"
DAY = 86_400
NEW, IDENTITY = {"schema": STORE_SCHEMA}, {"schema": STORE_SCHEMA, "identity": "build-id"}


def head(path: Path) -> dict[str, str]:
    return json.loads((path / HEAD).read_text())  # type: ignore[no-any-return]


@pytest.mark.parametrize(("more", "expected"), [((), False), ((False,), False), ((True,), True)])
def test_a_new_store(more, expected, tmp_path):
    path = tmp_path / "sub" / "store"
    assert not is_store(str(path))
    assert create_store(str(path), *more) == Store(str(path), expected)
    assert open_store(str(path)) == Store(str(path), expected)
    assert is_store(str(path))
    assert head(path) == (IDENTITY if expected else NEW)
    assert sorted(os.listdir(path)) == sorted([*FOLDERS, HEAD])


@pytest.mark.parametrize(("before", "now", "expected"), [(False, False, False), (False, True, True), (True, False, True), (True, True, True)])
def test_a_store_that_exists(before, now, expected, tmp_path):
    create_store(str(tmp_path), before)
    (tmp_path / "runs").rmdir()  # a table that its version did not have
    assert create_store(str(tmp_path), now) == open_store(str(tmp_path)) == Store(str(tmp_path), expected)
    assert head(tmp_path) == (IDENTITY if expected else NEW)
    assert (tmp_path / "runs").is_dir()


@pytest.mark.parametrize(("name", "age", "stays"), [
    (".new-a", 7 * DAY - 60, True), (".new-a", 7 * DAY + 60, False), ("a.parquet", 30 * DAY, True), ("x.new-a", 30 * DAY, True),
])  # fmt: skip
def test_files_that_nobody_finishes_are_removed(name, age, stays, tmp_path):
    create_store(str(tmp_path))
    left = [tmp_path / table / name for table in FOLDERS]
    for path in left:
        path.write_text("")
        os.utime(path, (time.time() - age,) * 2)
    create_store(str(tmp_path))
    assert [path.exists() for path in left] == [stays] * len(FOLDERS)


FOREIGN = [
    # the names in a folder, and whether it can become a store
    ((), None),
    (("runs", ".new-head"), None),
    (("notes.txt",), "is not a store, and not empty (it has 'notes.txt')"),
    (("layoutlint-stor.json",), "is not a store, and not empty (it has 'layoutlint-stor.json') (did you mean"),
]


@pytest.mark.parametrize(("names", "message"), FOREIGN)
def test_folders_that_become_stores(names, message, tmp_path):
    for name in names:
        (tmp_path / name).mkdir()
    if message is None:
        assert create_store(str(tmp_path)) == Store(str(tmp_path))
    else:
        with pytest.raises(UsageError) as raised:
            create_store(str(tmp_path))
        assert message in str(raised.value)
        assert sorted(os.listdir(tmp_path)) == sorted(names)


HEADS = [
    # the text of a head, and the message; empty for a store
    (json.dumps(NEW), ""),
    (json.dumps(IDENTITY), ""),
    (json.dumps({**NEW, "identity": "content"}), ""),
    ("{", f"is not a store: {HEAD} is damaged"),
    ("[]", f"is not a store: {HEAD} is damaged"),
    ("3", f"is not a store: {HEAD} is damaged"),
    ("{}", f"is not a store: {HEAD} is damaged"),
    ("[" * 50_000, f"is not a store: {HEAD} is damaged"),
    (json.dumps({"schema": "other/1"}), f"is not a store: {HEAD} has another `schema`"),
    (json.dumps({"schema": 1}), f"is not a store: {HEAD} has another `schema`"),
    (json.dumps({"schema": STORE_SCHEMA.rpartition("/")[0] + "/" + "9" * 30}), f"is a store of version {'9' * 20}; this layoutlint uses version {STORE_SCHEMA.rpartition('/')[2]}"),
    (" " * (1 << 16) + json.dumps(NEW), f"is not a store: {HEAD} "),
]


@pytest.mark.parametrize(("text", "message"), HEADS, ids=range(len(HEADS)))
def test_heads(text, message, tmp_path):
    (tmp_path / HEAD).write_text(text)
    if not message:
        assert open_store(str(tmp_path)) == Store(str(tmp_path), "build-id" in text)
        return
    with pytest.raises(UsageError) as raised:
        open_store(str(tmp_path))
    assert message in str(raised.value)


def test_no_store(tmp_path):
    with pytest.raises(UsageError, match="no such store"):
        open_store(str(tmp_path / "gone"))
    with pytest.raises(UsageError, match=f"is not a store: {HEAD} no such file or directory"):
        open_store(str(tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="not a directory"):
        create_store(str(tmp_path / "file"))


@pytest.mark.parametrize("count", [0, 1, 1999, 2000, 2001, 4000])
def test_rows_are_written_in_groups(count, tmp_path):
    pytest.importorskip("pyarrow")
    store = create_store(str(tmp_path))
    table = min(FOLDERS, key=lambda name: len(FOLDERS[name]))
    value = {"text": "x", "integer": 1, "number": 1.0, "boolean": True, "texts": [], "integers": []}
    rows = [{each.name: None if each.is_optional else value.get(each.type) for each in FOLDERS[table]} for _ in range(count)]
    text = next(each.name for each in FOLDERS[table] if each.type == "text")
    for at, row in enumerate(rows):
        row[text] = str(at)
    (tmp_path / table / "other.txt").write_text("")
    if any(each.type == "time" and not each.is_optional for each in FOLDERS[table]):
        pytest.skip("no table without times")
    assert store.write(table, "key", iter(rows)) == count
    assert store.files(table) == ([str(tmp_path / table / "key.parquet")] if count else [])
    assert [row[text] for row in store.rows(table, (text,))] == [str(at) for at in range(count)]
    assert store.write(table, "key", iter(())) == 0
    assert os.listdir(tmp_path / table) == ["other.txt"]
