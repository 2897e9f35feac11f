"""What a search for allocations says of what could not be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.reading import no_progress
from layoutlint.sources.allocations import sources
from layoutlint.workers.child import Lost


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("p = kmalloc(sizeof(struct s), GFP_KERNEL);\n")


@pytest.mark.parametrize(("part", "file"), [(None, "a.c"), (0, "a.c"), (1, "c.c"), (2, "e.c")])
def test_a_process_that_dies(tmp_path, monkeypatch, part, file):
    def die(work, chunks, number):
        raise Lost("was killed", part)
        yield

    monkeypatch.setattr(sources, "_CHUNK", 2)
    monkeypatch.setattr(sources, "map_ordered", die)
    write(tmp_path, *(f"{name}.c" for name in "abcde"))
    with pytest.raises(ReadError) as raised:
        sources.read((str(tmp_path),), None, 1, no_progress)
    assert (raised.value.path, raised.value.reason) == (f"{tmp_path}/{file}", "the process that read it and files beside it was killed")


def test_progress(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_CHUNK", 2)
    write(tmp_path, *(f"{name}.c" for name in "abcde"))
    steps: list[tuple[str, int, int]] = []
    found, unread = sources.read((str(tmp_path),), None, 1, lambda *step: steps.append(step))  # type: ignore[arg-type]
    assert ([Path(each.source.file).name for each in found], unread) == (["a.c", "b.c", "c.c", "d.c", "e.c"], [])
    assert steps == [("sources", 2, 5), ("sources", 4, 5), ("sources", 5, 5)]


@pytest.mark.parametrize(("count", "number"), [(399, 1), (400, 7)])
def test_processes_for_many_files(tmp_path, monkeypatch, count, number):
    used: list[int] = []
    monkeypatch.setattr(sources, "processors", lambda: 7)
    monkeypatch.setattr(sources, "map_ordered", lambda work, chunks, number: used.append(number) or map(work, chunks))
    list(sources._search_chunks(lambda names: names, [["a.c"]], 0, count))
    list(sources._search_chunks(lambda names: names, [["a.c"]], 3, count))
    assert used == [number, 3]


def test_a_database(tmp_path, monkeypatch):
    """Its sources that are there, and the headers beside them; of a folder that cannot be listed, none."""
    write(tmp_path, "x/a.c", "x/a.h", "x/b.c", "x/sub/c.h", "y/d.c", "y/d.h")
    entries = [{"directory": f"{tmp_path}/{folder}", "file": name, "arguments": ["cc", name]} for folder, name in (("y", "d.c"), ("x", "a.c"), ("x", "gone.c"), ("x", "a.c"))]
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    database = (str(tmp_path / "compile_commands.json"),)
    names = [str(Path(name).relative_to(tmp_path)) for name in sources.source_files(database)]
    assert names == ["y/d.c", "x/a.c", "y/d.h", "x/a.h"]
    real = sources.files.names_in

    def names_in(folder: str) -> list[str]:
        if folder.endswith("/y"):
            raise PermissionError(13, "Permission denied", folder)
        return list(real(folder))

    monkeypatch.setattr(sources.files, "names_in", names_in)
    assert [str(Path(name).relative_to(tmp_path)) for name in sources.source_files(database)] == ["y/d.c", "x/a.c", "x/a.h"]


def test_folders_that_cannot_be_listed(tmp_path, monkeypatch):
    def walk(path, onerror):
        onerror(PermissionError(13, "Permission denied", f"{path}/closed"))
        folders = ["sub", ".git", "a"]
        yield path, folders, ["z.c", "a.h", "t.txt", "b.cc"]
        assert folders == ["sub", "a"]

    write(tmp_path, "z.c", "a.h")
    monkeypatch.setattr(sources.files, "walk", walk)
    found, unread = sources.read((str(tmp_path),), None, 1, no_progress)
    assert [Path(each.source.file).name for each in found] == ["a.h", "z.c"]
    assert [(each.origin, each.reason) for each in unread] == [(f"{tmp_path}/closed", "permission denied")]


def test_a_folder_without_sources(tmp_path):
    found, unread = sources.read((str(tmp_path),), None, 1, no_progress)
    assert (found, [(each.origin, each.reason) for each in unread]) == ([], [(str(tmp_path), "holds no C headers or sources")])
