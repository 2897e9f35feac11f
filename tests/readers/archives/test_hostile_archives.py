"""Archives that were made to do harm: a clear error in bounded memory, and nothing is written."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from tests.harness.command import ROOT, WITHOUT_CACHE, run
from tests.harness.tools import need
from tests.readers.archives import hostile, made
from tests.readers.archives.test_archives import compile_object

LIMITED = ("sh", "-c", 'ulimit -d 307200 && exec "$@"', "sh")
"""Runs a command with 300 MB for data: layoutlint itself takes 50 MB, and fails otherwise."""
LIMIT = {"LAYOUTLINT_UNPACK_LIMIT": "64M"}


@pytest.fixture(scope="module")
def one(tmp_path_factory) -> bytes:
    return compile_object(tmp_path_factory.mktemp("objects"), 1)


WITH_LOWER_LIMITS = f"""
from layoutlint.model.record import replace
from layoutlint.readers.archives import limits

by_environment = limits.limits
limits.limits = lambda: replace(by_environment(), members={hostile.MOST_MEMBERS}, kept={hostile.MOST_FILES})

from layoutlint.__main__ import main
main()
"""


def show(folder: Path, name: str, content: bytes, program: tuple[str, ...] = ("-m", "layoutlint")) -> subprocess.CompletedProcess[str]:
    """Show all structs of an archive deep in a folder; nothing but its output is there afterwards."""
    place = folder / "work" / "b" / "c"
    (place / "temporary").mkdir(parents=True)
    (place / name).write_bytes(content)
    before = sorted((folder / "work").rglob("*"))
    words = [sys.executable, *program, "show", name, "--all"]
    environment = {**os.environ, **WITHOUT_CACHE, **LIMIT, "TMPDIR": str(place / "temporary"), "PYTHONPATH": str(ROOT)}
    ended = subprocess.run([*LIMITED, *words], cwd=place, env=environment, capture_output=True, text=True, errors="replace")
    assert sorted((folder / "work").rglob("*")) == before
    assert "Traceback" not in ended.stderr
    assert ended.stderr == "" or name in ended.stderr
    return ended


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", hostile.TRAVERSAL)
def test_names_that_lead_out(tmp_path, one, name):
    ended = show(tmp_path, name, hostile.TRAVERSAL[name](one))
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ": is not read: its name leads out of the archive" in ended.stderr


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", hostile.READ)
def test_what_is_left_out(tmp_path, one, name):
    ended = show(tmp_path, name, hostile.READ[name](one))
    assert (ended.returncode, ended.stderr, ended.stdout.count("struct own_1 ")) == (0, "", 1)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", hostile.REFUSED)
def test_claims(tmp_path, one, name):
    ended = show(tmp_path, name, hostile.REFUSED[name](one))
    assert (ended.returncode, ended.stdout) == (3, "")
    assert "unknown error" not in ended.stderr


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", hostile.BOMBS)
def test_bombs(tmp_path, one, name):
    ended = show(tmp_path, name, hostile.BOMBS[name](one), ("-c", WITH_LOWER_LIMITS))
    assert ended.returncode == 3
    limits = ("which is the limit for an archive", "has more than", "deep in each other", "too many members")
    assert any(limit in ended.stderr for limit in limits)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", hostile.TRUNCATED)
def test_truncation(tmp_path, one, name):
    """At twenty places. Of a zip file, the list of members behind them is not needed."""
    content = hostile.TRUNCATED[name](one)
    members_end = content.find(b"PK\1\2")
    for part in range(1, 21):
        size = len(content) * part // 21
        (tmp_path / name).write_bytes(content[:size])
        done = run("show", name, "--all", cwd=tmp_path, TMPDIR=str(tmp_path))
        is_whole = 0 < members_end <= size
        assert (done.returncode, name in done.stderr) == ((0, False) if is_whole else (3, True)), part
    assert [path.name for path in tmp_path.iterdir()] == [name]


def split_object(folder: Path) -> tuple[Path, Path]:
    """An object whose types are in a .dwo, which it names by its absolute path."""
    (folder / "a.c").write_text("struct ring { char head; long tail; };\nstruct ring v;\n")
    subprocess.run([need("gcc"), "-g", "-gsplit-dwarf", "-c", folder / "a.c", "-o", folder / "a.o"], cwd=folder, check=True)
    return folder / "a.o", folder / "a.dwo"


SPLIT = [
    # id, the members of the archive, whether the struct is found: the .dwo itself is on this machine, where the object names it
    ("alone", lambda built, split: {"a.o": built}, False),
    ("beside", lambda built, split: {"lib/a.o": built, "lib/a.dwo": split}, True),
    ("at its path", lambda built, split: {"lib/a.o": built, str(built)[1:].replace(".o", ".dwo"): split}, True),
    ("elsewhere", lambda built, split: {"lib/a.o": built, "usr/a.dwo": split}, False),
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("members", "is_found"), [row[1:] for row in SPLIT], ids=[row[0] for row in SPLIT])
def test_a_member_reads_split_debug_information_of_its_archive_only(tmp_path, members, is_found):
    built, split = split_object(tmp_path)
    content = {name: path.read_bytes() for name, path in members(built, split).items()}
    (tmp_path / "a.tar").write_bytes(made.tar(content.items()))
    done = run("show", "a.tar", "ring", cwd=tmp_path)
    assert ("struct ring" in done.stdout, done.returncode) == (is_found, 0 if is_found else 3)
    if not is_found:
        assert "(split DWARF) was not found" in done.stderr
        assert f"no {tmp_path}/a.tar:{tmp_path}/a.dwo" in done.stderr
        assert f"no {split}" not in done.stderr
    assert "struct ring" in run("show", built, "ring", cwd=tmp_path).stdout


@pytest.mark.one_in(2)
@pytest.mark.parametrize("link", ["{}/a.debug", "../../../../../../../../../..{}/a.debug"])
def test_a_member_reads_debug_files_of_its_archive_only(tmp_path, link):
    """The file that the link leads to is on this machine."""
    (tmp_path / "a.c").write_text("struct ring { char head; long tail; };\nstruct ring v;\n")
    subprocess.run([need("gcc"), "-g", "-c", "a.c"], cwd=tmp_path, check=True)
    (tmp_path / "a.debug").write_bytes((tmp_path / "a.o").read_bytes())
    name = link.format(tmp_path).encode()
    crc = zlib.crc32((tmp_path / "a.debug").read_bytes()).to_bytes(4, "little")
    (tmp_path / "link").write_bytes(name + bytes(4 - len(name) % 4) + crc)
    subprocess.run([need("objcopy"), "--strip-debug", "--add-section", ".gnu_debuglink=link", "a.o", "b.o"], cwd=tmp_path, check=True)
    (tmp_path / "a.tar").write_bytes(made.tar([("lib/b.o", (tmp_path / "b.o").read_bytes())]))
    done = run("show", "a.tar", "--all", cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("", 3)
    assert f"no {tmp_path}/a.tar:{tmp_path}/a.debug" in done.stderr
    assert "struct ring" in run("show", "b.o", "ring", cwd=tmp_path).stdout
