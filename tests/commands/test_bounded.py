"""No file that a user or a folder names is waited for, or read without end."""

from __future__ import annotations

import os
import re
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from layoutlint import files
from tests.harness.command import run
from tests.harness.damaged import compile_object

pytestmark = pytest.mark.usefixtures("own_processes")

SECONDS = 20
"""Far more than any of these take on a busy machine, and far less than for ever."""
RULES = '[[rule]]\nid = "size"\nstruct = "ring"\nkind = "size"\nmax = 4096\nwhy = "a test"\n'
RANDOMISED = ("check", "in.o", "--rules", "good.toml", "--randstruct", "gcc-full")
TREE = {
    "include/linux/kconfig.h": "",
    "include/generated/autoconf.h": "#define CONFIG_X86_64 1\n",
    "Makefile": "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 0\n",
    ".config": "CONFIG_X86_64=y\n",
}


def fifo(path: Path) -> None:
    os.mkfifo(path)


def zero(path: Path) -> None:
    path.symlink_to("/dev/zero")


def folder(path: Path) -> None:
    path.mkdir()


def leave_missing(path: Path) -> None:
    pass


def unreadable(path: Path) -> None:
    path.write_text("x")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")


def listen(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(path))  # an address has at most 108 bytes


EVERY = (fifo, zero, folder, leave_missing, unreadable)
NAMED = [
    # the command line, in which `x` is the file, its exit status, and the reasons by what the file is
    (("check", "x", "--rules", "good.toml"), 3, ("is a pipe or a device", "is a pipe or a device",
     "holds no C", "no such file or directory", "permission denied")),
    (("show", "x", "ring"), 3, ("is a pipe or a device", "is a pipe or a device",
     "holds no C", "no such file or directory", "permission denied")),
    (("allocations", "x"), 3, ("is a pipe or a device", "is a pipe or a device",
     "holds no C", "no such file or directory", "permission denied")),
    (("check", "in.o", "--rules", "x"), 2, ("is a pipe that nobody writes to", "is a device",
     "there is no *.toml", "no such file or directory", "permission denied")),
    (("rules", "check", "x"), 2, ("is a pipe that nobody writes to", "is a device",
     "there is no *.toml", "no such file or directory", "permission denied")),
    (("check", "--rules", "good.toml", "--matrix", "x"), 2, ("is a pipe that nobody writes to", "is a device",
     "is a directory", "no such file or directory", "permission denied")),
    (("rules", "import", "net_cachelines", "x"), 2, ("is a pipe that nobody writes to", "is a device",
     "is a directory", "no such file or directory", "permission denied")),
    ((*RANDOMISED, "--seed", "./x"), 2, ("is a pipe that nobody writes to", "is a device",
     "is a directory", "no such file", "permission denied")),
    ((*RANDOMISED, "--randomized", "./x"), 2, ("is a pipe that nobody writes to", "is a device",
     "is not the name of a struct", "is not the name of a struct", "permission denied")),
    ((*RANDOMISED, "--kernel-version", "./x"), 2, ("expected X.Y", "expected X.Y",
     "is no kernel tree", "expected X.Y", "expected X.Y")),
    (("check", "in.o", "--rules", "good.toml", "--kernel", "x"), 2, ("is a file", "is a file",
     "is no kernel tree", "no such folder", "is a file")),
    (("check", "in.o", "--rules", "good.toml", "--sources", "x"), 2, ("is a file", "is a file",
     "no C source or header", "no such folder", "is a file")),
]  # fmt: skip


def text_of(output: subprocess.CompletedProcess[str]) -> str:
    """All that was said, without the ends of lines: long ones are broken."""
    return " ".join((output.stdout + output.stderr).split())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    compile_object(tmp_path, "-g").rename(tmp_path / "in.o")
    (tmp_path / "good.toml").write_text(RULES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


REFUSED = [
    pytest.param(words, status, reason, make, id=f"{make.__name__}: {' '.join(words)}")
    for words, status, reasons in NAMED
    for make, reason in zip(EVERY, reasons, strict=True)
    if reason is not None  # a folder where one is wanted
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("words", "status", "reason", "make"), REFUSED)
def test_a_file_that_is_named(
    words: tuple[str, ...], status: int, reason: str, make: Callable[[Path], None], project: Path
) -> None:
    make(project / "x")
    output = run(*words, cwd=project, seconds=SECONDS)
    assert output.returncode == status, output
    assert re.search(rf"\bx\b.{{0,40}}{re.escape(reason)}", text_of(output)), output
    assert "Traceback" not in output.stderr
    assert "internal error" not in output.stderr


FOUND = [
    # where the file stands, the command line, its exit status, and what is said
    ("c/p.c", ("check", "c", "--rules", "good.toml"), 3, "c/p.c: is a pipe or a device"),
    ("c/p.c", ("check", "in.o", "--rules", "good.toml", "--sources", "c"), 0, "in.o: 1 struct"),
    ("c/p.c", ("allocations", "c"), 3, "c/p.c: is a pipe or a device"),
    ("c/p.toml", ("rules", "check", "c"), 2, "c/p.toml: is a pipe or a device"),
    ("good.cases.toml", ("rules", "test", "good.toml"), 2, "good.cases.toml: is a pipe or a device"),
    ("c/compile_commands.json", ("check", "c/compile_commands.json", "--rules", "good.toml"), 3,
     "c/compile_commands.json: is a pipe or a device"),
    ("tree/.config", ("check", "tree", "--rules", "good.toml"), 3, "tree/.config: is a pipe or a device"),
    ("tree/Makefile", ("check", "tree", "--rules", "good.toml"), 3, "tree/Makefile: is a pipe or a device"),
    ("tree/include/config/auto.conf", ("check", "tree", "--rules", "good.toml"), 3,
     "tree/include/config/auto.conf: is a pipe or a device"),
    ("layoutlint.h", ("init", "--header", "."), 2, "./layoutlint.h exists already"),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("make", [fifo, zero])
@pytest.mark.parametrize(
    ("place", "words", "status", "message"), FOUND, ids=[" ".join((row[0], *row[1])) for row in FOUND]
)
def test_a_file_that_is_found(
    place: str, words: tuple[str, ...], status: int, message: str, make: Callable[[Path], None], project: Path
) -> None:
    for name, text in TREE.items():
        (project / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (project / "tree" / name).write_text(text)
    (project / place).parent.mkdir(parents=True, exist_ok=True)
    (project / place).unlink(missing_ok=True)
    make(project / place)
    output = run(*words, cwd=project, seconds=SECONDS)
    assert (output.returncode, message in text_of(output)) == (status, True), output
    assert "Traceback" not in output.stderr


def test_a_unit_of_a_database_is_a_pipe(project: Path) -> None:
    os.mkfifo(project / "p.c")
    (project / "compile_commands.json").write_text(
        '[{"file": "p.c", "directory": ".", "arguments": ["cc", "@p.c", "-c", "p.c"]}]'
    )
    output = run("check", ".", "--rules", "good.toml", cwd=project, seconds=SECONDS)
    assert output.returncode == 3
    assert "p.c: is a pipe or a device" in text_of(output)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("option", ["--rules", "--matrix"])
def test_what_a_user_pipes_is_read(option: str, project: Path) -> None:
    """As in `--rules <(...)`; the writer may come later, and pause."""
    os.mkfifo(project / "x")
    text = RULES if option == "--rules" else '[build.one]\ninput = "in.o"\n'
    (project / "text").write_text(text)
    more = ("in.o",) if option == "--rules" else ("--rules", "good.toml")
    with subprocess.Popen(["sh", "-c", "{ head -c 9; sleep 1.5; cat; } < text > x"], cwd=project) as writer:
        output = run("check", *more, option, "x", cwd=project, seconds=SECONDS)
        assert writer.wait(SECONDS) == 0
    assert output.returncode == 0, output
    assert "kept" in output.stdout


def test_a_pipe_without_end_is_cut(project: Path) -> None:
    os.mkfifo(project / "x")
    with subprocess.Popen(["sh", "-c", "exec yes > x"], cwd=project, stderr=subprocess.DEVNULL) as writer:
        output = run("check", "in.o", "--rules", "x", cwd=project, seconds=SECONDS)
        writer.wait(SECONDS)
    assert (output.returncode, output.stderr) == (2, "x:1: longer than 1048576 characters, the limit\n")


def test_a_writer_who_writes_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_WRITER_SECONDS", 0.1)
    monkeypatch.setattr(files, "_PIPE_SECONDS", 0.3)
    os.mkfifo("x")
    writer = os.open("x", os.O_RDWR)
    with pytest.raises(OSError, match="is a pipe that did not end in 0 seconds"):
        files.read_start("x", 100, through_pipe=True)
    os.close(writer)


def test_what_has_more_than_is_read_says_so(project: Path) -> None:
    Path("x").write_bytes(b"12345")
    assert files.read_all("x", 5) == b"12345"
    assert files.read_start("x", 3) == b"123"
    with pytest.raises(OSError, match="has 5 bytes, more than the 4 that are read"):
        files.read_all("x", 4)


@pytest.mark.parametrize(
    ("make", "why"),
    [(fifo, "is a pipe or a device"), (zero, "is a pipe or a device"), (folder, "is a directory"),
     (listen, "is a socket or a device"), (leave_missing, "no such file or directory")],
)  # fmt: skip
def test_only_regular_files_are_opened(make: Callable[[Path], None], why: str, project: Path) -> None:
    make(project / "x")
    for read in (files.open_file, lambda path: files.read_start(path, 9), lambda path: files.read_all(path, 9)):
        with pytest.raises(OSError, match=f"(?i:{why})") as caught:
            read("x")
        assert files.error_reason(caught.value) == why


@pytest.mark.parametrize(
    ("name", "start", "message"),
    [("big.c", b"int i;\n", "big.c: has 8,589,934,592 bytes, more than the"),
     ("big.btf", b"\x9f\xeb\1\0", "big.btf: has 8,589,934,592 bytes, more than the")],
)  # fmt: skip
def test_files_of_gigabytes(name: str, start: bytes, message: str, project: Path) -> None:
    with open(name, "wb") as file:
        file.write(start.ljust(4096) if name.endswith(".c") else start)
        file.truncate(1 << 33)  # sparse: takes no place
    output = run("check", name, "--rules", "good.toml", cwd=project, seconds=SECONDS)
    assert (output.returncode, message in text_of(output)) == (3, True), output
