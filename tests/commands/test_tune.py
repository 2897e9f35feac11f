"""From a profile to a patch: the whole way, what stops it, and that nothing is written then."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from layoutlint.commands.tune import run as tune_run
from layoutlint.commands.tune.other_commands import Ended
from layoutlint.errors import UsageError
from tests.commands.test_measure import need_two_cores
from tests.harness.command import ROOT, run

PROFILE = (ROOT / "fixtures/profiles/c2c-address-space-before.txt").read_text()
HEADER = (ROOT / "fixtures/profiles/address-space.h").read_text()
WORDS = ("tune", "fs.h", "address_space", "--profile", "c2c.txt", "--no-packs")
QUIET = (*WORDS, "--no-measure", "--no-progress")
INODE = "struct inode { long i_ino; struct address_space i_data; long i_version; };\n"
PARTED = """\
   0        0      100     1000        0        0      0x1000
 0.00%    0.00%  100.00%    0.00%    0.00%   0x0  0  1  0x401000     0  1800  878  3029  8  [.] add  box  box.c:2  0
 0.00%  100.00%    0.00%    0.00%    0.00%   0x8  0  1  0x401000     0  1800  878  3029  8  [.] get  box  box.c:3  0
"""
TRUE_SHARING = """\
   0        0      100     1000        0        0      0x1000
 0.00%  100.00%  100.00%    0.00%    0.00%   0x8  0  1  0x401000     0  1800  878  3029  8  [.] add  box  box.c:2  0
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "fs.h").write_text(HEADER)
    (tmp_path / "c2c.txt").write_text(PROFILE)
    return tmp_path


def test_the_whole_way_without_a_measurement(folder):
    done = run(*QUIET, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    text = " ".join(done.stdout.split())
    assert "of 1,294 HITMs measured, 805 (62 %) fall away, apart in 8 of 8 placements" in text
    assert "c2c.txt:11, base 0: the place of the object is likely, not certain; code accesses types" in text
    assert "move `i_mmap_rwsem` behind `i_pages`: apart from `gfp_mask`" in text
    assert "struct address_space: 192 bytes as before, fields across two lines 1 -> 0" in text
    assert "nothing: --no-measure" in text
    patch = done.stdout[done.stdout.index("diff --git") :]
    subprocess.run(["git", "apply", "-"], input=patch, text=True, check=True, cwd=folder)
    changed = (folder / "fs.h").read_text()
    assert changed.index("i_mmap_rwsem;") < changed.index("invalidate_lock;")


def test_what_is_written_is_the_patch(folder):
    done = run(*QUIET, "--write", "--format", "patch", "--output", "markdown=mail.md", "--output", "json=t.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    changed = (folder / "fs.h").read_text()
    assert changed != HEADER
    subprocess.run(["git", "apply", "--reverse", "-"], input=done.stdout, text=True, check=True, cwd=folder)
    assert (folder / "fs.h").read_text() == HEADER
    made = json.loads((folder / "t.json").read_text())
    assert (made["patch"], made["status"], made["not_measured"]) == (done.stdout, "optimal", "--no-measure")
    assert made["reports"] == made["contention"]["files"] == ["c2c.txt"]
    mail = (folder / "mail.md").read_text()
    assert [row for row in mail.splitlines() if row.startswith("#")] == [
        "# `struct address_space`: move `i_mmap_rwsem`",
        *("## Problem", "## Evidence", "## Change", "## What else changes", "## Measured effect", "## Limits"),
    ]
    assert "| `i_mmap_rwsem.count.counter` | `gfp_mask` | 590 | 1 of 8 -&#62; 0 of 8 |" in mail
    assert f"````diff\n{done.stdout}````\n" in mail
    assert "Not measured: --no-measure." in mail
    assert "- the build of the profile is not verified: the input has no build id" in mail


def test_containers_change_too(folder):
    (folder / "fs.h").write_text(HEADER + INODE)
    made = json.loads(run(*QUIET, "--format", "json", cwd=folder).stdout)
    assert [each.partition(":")[0] for each in made["changes"]] == ["struct address_space", "struct inode"]


def test_true_sharing_has_no_order(folder):
    """And nothing to measure."""
    (folder / "fs.h").write_text("struct address_space { long a; long count; long rest[20]; };\n")
    (folder / "c2c.txt").write_text(TRUE_SHARING)
    done = run(*WORDS, "--base", "0x1000", "--format", "json", cwd=folder)
    made = json.loads(done.stdout)
    assert (done.returncode, made["moves"], made["changes"]) == (0, [], [])
    assert made["not_measured"] == "there is no allowed order that changes anything"
    assert [each["reason"] for each in made["contention"]["stays"]] == ["true-sharing"]
    assert [row for row in done.stderr.splitlines() if row] == ["layoutlint: reading the profile", "layoutlint: searching an order"]


def test_uses_that_forbid_the_best_order_are_named(folder):
    (folder / "user.c").write_text('#include "fs.h"\nstruct address_space one = { (void *)1, { { 0 } }, { { 0 } } };\n')
    made = json.loads(run(*QUIET, "--sources", "user.c", "--format", "json", cwd=folder).stdout)
    assert made["order"][:3] == ["host", "i_pages", "invalidate_lock"]
    assert "user.c:2: an initialiser sets `host` to `invalidate_lock` by position" in made["notes"][-1]


def test_a_refused_order_is_not_written(folder):
    header = "struct address_space { long a; long b; long c[7]; long d; };\n"
    (folder / "fs.h").write_text(header)
    (folder / "c2c.txt").write_text(PARTED)
    (folder / "user.c").write_text('#include "fs.h"\nstruct address_space one = { 1, 2, { 3 }, 4 };\n')
    words = (*QUIET, "--base", "0x1000", "--sources", "user.c", "--write")
    done = run(*words, cwd=folder)
    assert (done.returncode, (folder / "fs.h").read_text()) == (3, header)
    assert "refused: the sources depend on the order of its members" in done.stdout
    assert "user.c:2: an initialiser sets" in done.stdout
    assert "what else changes" not in done.stdout
    assert run(*words, "--force", cwd=folder).returncode == 0
    assert (folder / "fs.h").read_text() != header


MISTAKES = [
    # what is changed of the folder and the words; a part of what is said, and the status
    ({"c2c.txt": ""}, (), "c2c.txt: ", 3),
    ({"c2c.txt": "not a report\n"}, (), "c2c.txt: ", 3),
    ({"fs.h": "struct address_space { long a; };\n"}, (), "no cache line could be placed", 3),
    ({"fs.h": "struct other { long a; };\n"}, (), "no struct address_space", 3),
    ({"c2c.txt": PROFILE.replace("0xffff92e266af90c0", "0x1ffff92e266af90c0")}, (), "c2c.txt", 3),
    ({}, ("--base", "-1"), "is not an address", 2),
    ({}, ("--output", "json=c2c.txt"), "it is the same file as c2c.txt, which is read", 2),
    ({}, ("--moves", "0"), "--moves", 2),
]


@pytest.mark.parametrize(("files", "words", "message", "status"), MISTAKES, ids=[f"{row[2]}{at}" for at, row in enumerate(MISTAKES)])
def test_mistakes(folder, files, words, message, status):
    for name, text in files.items():
        (folder / name).write_text(text)
    before = {each.name: each.read_text() for each in folder.iterdir()}
    done = run(*QUIET, "--write", *words, cwd=folder)
    assert (done.returncode, done.stdout, message in done.stderr) == (status, "", True), done.stderr
    assert {each.name: each.read_text() for each in folder.iterdir()} == before


def test_one_struct(folder):
    assert run("tune", "fs.h", "--profile", "c2c.txt", cwd=folder).returncode == 2
    assert "Missing option '--profile'" in run("tune", "fs.h", "address_space", cwd=folder).stderr


def test_a_measured_gain(folder):
    need_two_cores()
    done = run(*WORDS, "--seconds", "8", "--format", "json", cwd=folder)
    made = json.loads(done.stdout)
    if made["measurement"] is None:  # a busy machine
        assert made["not_measured"].startswith(("this machine cannot measure it", "cannot measure"))
        return
    measured = made["measurement"]
    back_to_back = [each for each in measured["ratios"] if each["interval"] == 0]
    assert [each["core"] for each in back_to_back] == [0, 1, None]
    assert all(0.5 < each["ratio"] < 20 for each in back_to_back)  # how much is gained depends on the machine


UNFIT = [
    # how `measure` ends; the reason that is given
    (Ended(3, "", "measuring for about 3 s\nlayoutlint: cannot measure: it needs 2 processors\n"), "cannot measure: it needs 2 processors"),
    (Ended(3, "", ""), "`layoutlint measure` ended with status 3"),
    (UsageError("--seconds 1 is too short"), "--seconds 1 is too short"),
]


@pytest.mark.parametrize(("end", "reason"), UNFIT, ids=[row[1] for row in UNFIT])
def test_a_machine_that_cannot_measure(tmp_path, end, reason):
    def run_command(name: str, words: list[str]) -> Ended:
        if isinstance(end, UsageError):
            raise end
        return end

    assert tune_run._measure([], str(tmp_path / "none.json"), run_command) == (None, reason)
