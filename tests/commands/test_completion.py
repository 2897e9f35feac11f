"""Completion in shells, and the man pages."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from layoutlint.cli import app
from layoutlint.commands import man_pages
from layoutlint.commands.group import subcommands
from tests.harness.command import ROOT, run
from tests.harness.tools import need

WORDS = [
    # the words of a command line, and what completes the last one (some of it)
    (["ex"], ["explain"]),
    (["rules", "im"], ["import"]),
    (["explain", "sep"], ["separate"]),
    (["explain", "nothing-like"], []),
    (["explain", "cred-usage"], ["cred-usage-apart-from-ids"]),
    (["check", "--pack", "kernel/mm"], ["kernel/mm"]),
    (["check", "--stat"], ["--statistics"]),
    (["check", "--format", "con"], ["concise"]),
    (["check", "vmlinux", "--struct", "address_s"], ["address_space"]),
    (["show", "vmlinux", "address_s"], ["address_space"]),
    (["schema", "rep"], ["report"]),
    (["completion", ""], ["bash", "zsh", "fish"]),
    (["show", "docs/example/ring.h", ""], ["ring"]),
    (["show", "docs/example/ring.h", "address_s"], []),
]
LINES = {"bash": "plain,{}", "zsh": "{}", "fish": "plain,{}"}


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("words", "expected"), WORDS, ids=[" ".join(words) for words, _ in WORDS])
@pytest.mark.parametrize("shell", LINES)
def test_values(shell, words, expected):
    typed = " ".join(["layoutlint", *words])
    word = words[-1] if shell == "fish" else str(len(words))
    done = run(_LAYOUTLINT_COMPLETE=f"{shell}_complete", COMP_WORDS=typed, COMP_CWORD=word)
    rows = done.stdout.splitlines()
    assert [name for name in expected if not any(name in row.replace("plain,", "").split() for row in rows)] == []
    assert any(rows) == bool(expected)
    assert done.stderr == ""


@pytest.mark.parametrize("words", [["check", "REA"], ["check", "a.h", "--rules", "RE"], ["rules", "check", "R"]])
def test_files_are_left_to_the_shell(words):
    typed = " ".join(["layoutlint", *words])
    done = run(_LAYOUTLINT_COMPLETE="bash_complete", COMP_WORDS=typed, COMP_CWORD=str(len(words)))
    assert done.stdout == f"file,{words[-1]}\n"


@pytest.mark.parametrize("shell", LINES)
def test_the_script_is_one_that_the_shell_reads(shell):
    done = run("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"_LAYOUTLINT_COMPLETE={shell}_complete" in done.stdout
    check = subprocess.run([need(shell), "-n", "/dev/stdin"], input=done.stdout, text=True, capture_output=True)
    assert (check.returncode, check.stderr) == (0, "")


def test_no_such_shell():
    done = run("completion", "bsh")
    assert (done.returncode, done.stdout) == (2, "")


PAGES = dict(man_pages.pages(app))


def commands(command: click.Command, name: str = "layoutlint") -> dict[str, click.Command]:
    inner = subcommands(command) if isinstance(command, click.Group) else {}
    return {name: command} | {n: c for key, each in inner.items() for n, c in commands(each, f"{name}-{key}").items()}


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("name", "command"), commands(app).items(), ids=list(commands(app)))
def test_a_man_page_has_all_options_and_no_mistakes(name, command):
    page = PAGES[f"{name}.1"]
    plain = page.replace("\\-", "-").replace("\\e", "\\")
    options = [each for each in command.params if isinstance(each, click.Option)]
    assert [each.opts[0] for each in options if each.opts[0] not in plain] == []
    assert [each.help for each in options if " ".join((each.help or "").split()) not in plain] == []
    words = [need("groff"), "-man", "-ww", "-z", "-Kutf8"]
    done = subprocess.run(words, input=page, text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_man_pages_are_written_as_files(tmp_path):
    words = [sys.executable, "-m", "layoutlint.commands.man_pages", str(tmp_path / "man1")]
    subprocess.run(words, cwd=ROOT, check=True)
    assert {path.name: path.read_text() for path in (tmp_path / "man1").iterdir()} == PAGES


def test_rules_from_standard_input(tmp_path):
    rules = (ROOT / "docs/example/layoutlint.toml").read_text()
    words = [sys.executable, "-m", "layoutlint", "check", "docs/example/ring.h", "--rules", "-", "--format", "concise"]
    done = subprocess.run(words, cwd=ROOT, input=rules, text=True, capture_output=True)
    assert (done.returncode, done.stdout.count("[ring-sides-apart]")) == (1, 1)
    broken = subprocess.run(words, cwd=ROOT, input="[pack", text=True, capture_output=True)
    assert (broken.returncode, broken.stderr.startswith("/dev/stdin:1: ")) == (2, True)
