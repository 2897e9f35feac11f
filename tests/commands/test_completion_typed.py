"""Completion typed into real shells, on a terminal of their own."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.harness.tools import need

FILES = {
    "ring.h": "struct ring { int head; };\nstruct outer { struct ring a; };\n",
    "odd name.h": "struct odd { int a; };\n",
    "layoutlint.toml": '[[rule]]\nid = "my-own"\nstruct = "ring"\nkind = "size"\nmax = 64\nwhy = "w"\n',
}
TYPED = [
    # what is typed before the tab key, and what the line or the list below it then has
    ("layoutlint hist", "history"),
    ("layoutlint check rin", "ring.h"),
    ("layoutlint check 'odd", "odd name.h"),
    ("layoutlint show ring.h ou", "outer"),
    ("layoutlint explain my-o", "my-own"),
    ("layoutlint check ring.h --pack kernel/m", "kernel/mm"),
    ("layoutlint check ring.h --stat", "--statistics"),
    ("layoutlint baseline pr", "prune"),
]
SHELLS = {"bash": (".bashrc", ["bash", "-i"]), "zsh": (".zshrc", ["zsh", "-i"]), "fish": (None, ["fish", "-i"])}
CODES = re.compile(rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-9;?<>=]*[a-zA-Z]|\x1b[()=>].?|\r")
CLEAR = b"\x15"  # Ctrl-U empties the line


@contextmanager
def terminal(command: list[str], folder: Path, home: Path) -> Iterator[int]:
    """A shell in a folder; yield the descriptor of its terminal."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(home), "TERM": "xterm", "PS1": "$ ", "HISTFILE": "/dev/null", "LC_ALL": "C.UTF-8"}
    child, descriptor = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execvpe(command[0], command, environment)
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
    try:
        yield descriptor
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(descriptor)


def screen(descriptor: int, awaited: str, seconds: float) -> str:
    """What the shell writes until it has written something, or the time is over."""
    end, written = time.monotonic() + seconds, b""
    while time.monotonic() < end and awaited not in text(written):
        if select.select([descriptor], [], [], 0.1)[0]:
            part = os.read(descriptor, 65536)
            written += part
            if b"\x1b[c" in part or b"\x1b[0c" in part:  # fish asks what the terminal is
                os.write(descriptor, b"\x1b[?62;c")
    return text(written)


def text(written: bytes) -> str:
    return CODES.sub(b"", written).decode(errors="replace")


ROWS = [("bash", TYPED[:3]), *(pytest.param(shell, TYPED, marks=pytest.mark.exhaustive) for shell in SHELLS)]


@pytest.mark.parametrize(("shell", "lines"), ROWS, ids=["bash-few", *SHELLS])
def test_tab_completes(shell, lines, tmp_path):
    need(shell)
    file, command = SHELLS[shell]
    folder, home = tmp_path / "project", tmp_path / "home"
    folder.mkdir()
    (home / ".config/fish/completions").mkdir(parents=True)
    for name, content in FILES.items():
        (folder / name).write_text(content)
    (home / ".config/fish/config.fish").write_text("function fish_prompt; echo 'ready> '; end\n")  # root's has another end
    if file is not None:
        (home / file).write_text(f'PS1="ready> "\neval "$(layoutlint completion {shell})"\n')
    else:
        program = Path(sys.executable).parent / "layoutlint"
        os.system(f"'{program}' completion fish >'{home}/.config/fish/completions/layoutlint.fish'")
    with terminal(command, folder, home) as descriptor:
        first = screen(descriptor, "> ", 30)
        assert "not found" not in first
        for typed, completed in lines:
            os.write(descriptor, CLEAR + typed.encode() + b"\t\t")
            written = screen(descriptor, completed, 30)
            assert completed in written, (typed, written)
            screen(descriptor, "no such text", 0.3)
