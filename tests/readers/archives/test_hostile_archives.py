"""Archives that were made to do harm: a clear error in bounded memory, and nothing is written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.command import ROOT, WITHOUT_CACHE, run
from tests.readers.archives import hostile
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
