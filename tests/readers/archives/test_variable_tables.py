"""Tables of variables of archives: those of the files in them, unless a part of the archive cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import replace
from layoutlint.readers import variable_tables
from tests.readers.archives import made
from tools.fuzz.seeds import seeds

pytest.importorskip("libarchive")
OBJECTS = {name: dict(seed.files)["input"] for seed in seeds() for name in ("gcc-object", "gcc-dwarf5") if seed.name == name}


def test_tables_of_an_archive(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in OBJECTS.items():
        Path(name).write_bytes(content)
    Path("all.tar").write_bytes(made.tar(OBJECTS.items()))
    alone, _ = variable_tables.read(sorted(OBJECTS), ReadOptions())
    packed, unread = variable_tables.read(("all.tar",), ReadOptions())
    assert unread == []
    assert [replace(table, path="") for table in sorted(packed, key=lambda table: table.label)] == [replace(table, path="") for table in alone]


def test_damage(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bad.tar").write_bytes(made.tar((("../a.o", OBJECTS["gcc-object"]), ("b.o", OBJECTS["gcc-object"]))))
    tables, (unread,) = variable_tables.read(("bad.tar",), ReadOptions())
    assert (tables, unread.origin, unread.reason) == ([], "bad.tar:../a.o", "is not read: its name leads out of the archive")
