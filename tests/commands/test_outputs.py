"""Files that are written: what would be lost, or written elsewhere, is refused before anything is read."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from layoutlint.commands import output_files
from tests.harness.command import ROOT, run

SOURCE = "struct q { int a; char pad[100]; int b; };\n"
RULES = '[[rule]]\nid = "r"\nstruct = "q"\nkind = "together"\nfields = ["a", "b"]\nwhy = "w"\n'
TABLE = ROOT / "fixtures/net_cachelines/simple.rst"


@pytest.fixture
def tree(tmp_path) -> Path:
    tmp_path = tmp_path / "tree"
    tmp_path.mkdir()
    (tmp_path / "q.h").write_text(SOURCE)
    (tmp_path / "victim").write_text("precious\n")
    (tmp_path / "rules.toml").write_text(RULES)
    (tmp_path / "table.rst").write_bytes(TABLE.read_bytes())
    (tmp_path / "link").symlink_to("victim")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "folder").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "folder-link").symlink_to("elsewhere")
    os.link(tmp_path / "q.h", tmp_path / "hard")
    os.link(tmp_path / "victim", tmp_path / "hard-victim")
    os.mkfifo(tmp_path / "fifo")
    return tmp_path


def add_surroundings(tree: Path) -> None:
    """Links of the user to the tree and into it, and a repository with a link in it."""
    (tree.parent / "deep").symlink_to(tree / "folder")
    (tree / "folder/link").symlink_to("../elsewhere")
    (tree.parent / "way").symlink_to(tree)
    (tree.parent / "repository/.git").mkdir(parents=True)
    (tree.parent / "repository/link").symlink_to("../way")


def test_links_outside_of_checkouts_are_the_user_s(tree):
    add_surroundings(tree)
    assert run("check", "q.h", "--rules", "rules.toml", "--output", f"json={tree.parent}/way/new", cwd=tree).returncode == 1
    assert (tree / "new").read_text().startswith("{")


def state(folder: Path) -> dict[str, object]:
    """All that a run could change."""
    files = (path for path in folder.rglob("*") if path.is_file() or path.is_symlink())
    return {str(p): os.readlink(p) if p.is_symlink() else p.read_bytes() for p in files}


REFUSED = [
    # outputs, what the message says
    (["json=link"], "it is a symbolic link"),
    (["json=dangling"], "it is a symbolic link"),
    (["json=folder-link/new"], "folder-link is a symbolic link"),
    (["json=folder/../folder-link/new"], "is a symbolic link"),
    (["json=HERE/folder-link/new"], "folder-link is a symbolic link"),
    (["json=UP/way/folder-link/new"], "folder-link is a symbolic link"),
    (["json=UP/deep/link/new"], "deep/link is a symbolic link"),
    (["json=UP/repository/link/new"], "repository/link is a symbolic link"),
    (["json=folder"], "it is a directory"),
    (["json=fifo"], "it is a pipe"),
    (["json=q.h"], "same file as q.h, which is read"),
    (["json=./q.h"], "same file as q.h, which is read"),
    (["json=hard"], "same file as q.h, which is read"),
    (["json=rules.toml"], "same file as rules.toml, which is read"),
    (["json=a", "sarif=a"], "same file as a, which is written as well"),
    (["json=a", "sarif=./a"], "same file as a, which is written as well"),
    (["json=a", "sarif=folder/../a"], "same file as a, which is written as well"),
    (["json=Report", "sarif=report"], "same file as Report, which is written as well"),
    (["json=victim", "sarif=hard-victim"], "same file as victim, which is written as well"),
    (["json=/dev/stdout"], "the report that --format chooses is written there"),
    (["json=/dev/fd/1"], "the report that --format chooses is written there"),
    (["json=/dev/stdin"], "it is the input stream"),
    (["json=/dev/fd/99"], "bad file descriptor"),
    (["json=no/such/file"], "no such file or directory"),
    (["json=victim/file"], "not a directory"),
    (["json=other.h"], "it exists, and is not a report"),
    (["json=binary"], "it exists, and is not a report"),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("given", "message"), REFUSED, ids=[" ".join(row[0]) for row in REFUSED])
def test_refused_before_anything_is_read(tree, given, message):
    (tree / "other.h").write_text(SOURCE)
    (tree / "binary").write_bytes(b"\x7fELF....")
    add_surroundings(tree)
    before = state(tree)
    words = [word for output in given for word in ("--output", output.replace("HERE", str(tree)).replace("UP", str(tree.parent)))]
    done = run("check", "q.h", "--rules", "rules.toml", *words, cwd=tree)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert state(tree) == before


@pytest.mark.one_in(3)
@pytest.mark.parametrize("output", ["link", "dangling", "folder-link/new", "table.rst", "./table.rst", "fifo", "folder"])
def test_rules_import_refuses_the_same(tree, output):
    before = state(tree)
    done = run("rules", "import", "net_cachelines", "table.rst", "--output", output, "--force", cwd=tree)
    assert (done.returncode, done.stdout) == (2, "")
    assert state(tree) == before


@pytest.mark.parametrize("folder", ["folder-link", "folder/../folder-link"])
def test_init_refuses_the_same(tree, folder):
    before = state(tree)
    assert run("init", "--header", folder, cwd=tree).returncode == 2
    (tree / "layoutlint.h").symlink_to("new")
    before = state(tree)
    assert run("init", "--header", cwd=tree).returncode == 2
    assert state(tree) == before


def test_written_whole_with_the_permissions_that_were_there(tree):
    old = tree / "old.json"
    old.write_text("x" * 100_000)
    old.chmod(0o640)
    words = ("--output", "json=old.json", "--output", "sarif=folder/new.sarif", "--output", f"text={tree}/elsewhere/abs")
    done = run("check", "q.h", "--rules", "rules.toml", *words, cwd=tree)
    assert done.returncode == 1
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tree / "folder/new.sarif").stat().st_mode) == 0o666 & ~mask
    assert (tree / "elsewhere/abs").read_text() == done.stdout
    assert old.read_text().startswith("{")
    assert not list(tree.rglob(".*"))


ALONE = [
    # words; what they write, and what is the same on stdout without the last two words
    ("check q.h --rules rules.toml --output alone", "alone"),
    ("check q.h --rules rules.toml --format json --output alone", "alone"),
    ("check q.h --rules rules.toml --output sarif=other --output alone", "alone"),
    ("suggest q.h q --rules rules.toml --format json --output alone", "alone"),
    ("snapshot q.h --all --output alone", "alone"),
]


@pytest.mark.parametrize(("words", "file"), ALONE)
def test_a_file_alone_gets_what_stdout_would(tree, words, file):
    beside, alone = run(*words.split()[:-2], cwd=tree), run(*words.split(), cwd=tree)
    assert (alone.returncode, alone.stdout) == (beside.returncode, "")
    assert (tree / file).read_text() == beside.stdout


def test_streams_of_the_process(tree):
    done = run("check", "q.h", "--rules", "rules.toml", "--output", "json=/dev/stderr", "--output", "text=/dev/null", cwd=tree)
    assert done.stderr.startswith("{")
    command = f"{sys.executable} -m layoutlint check q.h --rules rules.toml --output json=/dev/fd/7 7>seven"
    subprocess.run(["sh", "-c", command], cwd=tree, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert (tree / "seven").read_text().startswith("{")


def test_a_link_that_appears_meanwhile_is_not_followed(tree, monkeypatch):
    replace = os.replace

    def swap(source: str, target: str) -> None:
        os.symlink("victim", target)
        replace(source, target)

    monkeypatch.chdir(tree)
    monkeypatch.setattr(os, "replace", swap)
    output_files.write_whole("report", "new")
    assert (tree / "victim").read_text() == "precious\n"
    assert (tree / "report").read_text() == "new"


class TestNamesThatAreOptions:
    """Tools such as pre-commit append the names of files to the command, whatever they are."""

    NAMES = ("--rules=e.h", "-je.h", "--no-packs", "--output=text=x.h", "--flags=-include x.h", "--format=json.h")

    @pytest.mark.parametrize("name", NAMES)
    def test_refused(self, tree, name):
        (tree / name).write_text(SOURCE)
        done = run("check", "--ignore-missing", "--rules", "rules.toml", "q.h", name, cwd=tree)
        assert (done.returncode, done.stdout) == (2, "")
        assert "is an option and also a file in this folder" in done.stderr

    def test_in_a_folder_that_is_called_so(self, tree):
        (tree / "--rules=").mkdir()
        (tree / "--rules=/e.h").write_text(SOURCE)
        assert run("check", "q.h", "--rules=/e.h", cwd=tree).returncode == 2

    @pytest.mark.parametrize("name", NAMES)
    def test_read_with_its_folder(self, tree, name):
        (tree / name).write_text(SOURCE)
        if name.endswith(".h"):
            assert run("check", "--rules", "rules.toml", f"./{name}", cwd=tree).returncode == 1

    def test_behind_dashes_they_are_flags(self, tree):
        (tree / "-DX").write_text(SOURCE)
        assert run("check", "q.h", "--rules", "rules.toml", "--", "-DX", cwd=tree).returncode == 1
