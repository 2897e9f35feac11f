"""The configurations for editors in docs/editors.md, in the editors themselves."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.harness.command import ROOT

FOLDER = Path(__file__).with_name("editors")
pytestmark = pytest.mark.exhaustive
NEOVIM = (0, 11)
"""The oldest version whose configuration the document has."""


def configuration(language: str, word: str, at: Path) -> Path:
    """Write the configuration of a document that has a word."""
    text = (ROOT / "docs" / "editors.md").read_text()
    (found,) = [block for block in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL) if word in block]
    at.write_text(found)
    return at


def run(project: Path, *words: str | Path) -> dict[str, Any]:
    """Run an editor in a project of its own, which finds this layoutlint; return what it saw."""
    own = {"HOME": str(project.parent), "XDG_CONFIG_HOME": str(project.parent), "TERM": "dumb"}
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run([str(word) for word in words], cwd=project, env={**os.environ, **own, "PATH": path}, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The example of the documents, and a rule file with a mistake."""
    project = tmp_path / "project"
    shutil.copytree(ROOT / "docs" / "example", project)
    (project / ".git").mkdir()
    (project / "wrong").mkdir()
    rules = (project / "layoutlint.toml").read_text()
    (project / "wrong" / "layoutlint.toml").write_text(rules.replace('"separate"', '"seperate"'))
    return project


def check(answer: dict[str, Any]) -> None:
    """Compare what an editor shows."""
    for name, lines in (("findings", [4, 5]), ("rest", [4]), ("mistakes", [6])):
        assert [row[0] for row in answer[name]] == lines, name
    page = answer["hover"].replace("`", "")
    assert "offset 16, 8 bytes (16..23), line 0" in page
    assert "| 40 | slots, mask |" in page
    rule = "ring-producer-on-one-line"
    assert answer["titles"] == [f"Suppress {rule}", f"Search an order of members of ring that keeps {rule}"]
    assert f"unsigned long head; /* layoutlint: ignore[{rule}] REASON */  " in answer["text"]


def find(name: str) -> str:
    """The path of an editor, which can be installed beside Python; skips without it."""
    path = shutil.which(name, path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


def test_neovim(project: Path, tmp_path: Path):
    nvim = find("nvim")
    shown = subprocess.run([nvim, "--version"], capture_output=True, text=True, check=True).stdout
    version = re.match(r"NVIM v(\d+)\.(\d+)", shown)
    assert version is not None, shown
    if tuple(map(int, version.groups())) < NEOVIM:
        pytest.skip(f"{version[0]} is older than {'.'.join(map(str, NEOVIM))}")
    init = configuration("lua", "vim.lsp.config", tmp_path / "init.lua")
    answer = run(project, nvim, "--headless", "-u", init, "-S", FOLDER / "drive.lua")
    check(answer)
    assert answer["hints"] == [[5, "64 \N{MIDDLE DOT} line 1"], [7, "128 \N{MIDDLE DOT} line 2"]]


@pytest.mark.parametrize("client", ["eglot", "lsp-mode"])
def test_emacs(project: Path, tmp_path: Path, client: str):
    emacs = find("emacs")
    known = [emacs, "--batch", "--eval", f"(kill-emacs (if (locate-library \"{client}\") 0 1))"]
    if subprocess.run(known, capture_output=True).returncode:
        pytest.skip(f"this emacs has no {client}")
    init = configuration("elisp", client, tmp_path / "init.el")
    check(run(project, emacs, "--batch", "-l", init, "-l", FOLDER / "drive.el", client))
