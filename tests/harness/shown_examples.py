"""The examples of a document, followed to the letter: its files, its commands, and what they print.

A document shows them in three ways:

- "Save this as `NAME`:" before a block: the text of a file.
- A block of language `console`: commands after `$`, each with all that it prints.
- A block after the comment "output of `COMMAND`": lines that the command prints, in one piece.

A line `...` stands for any lines. The comment "examples: NAME=SOURCE ..." before blocks names what they need: files of
this repository (`vmlinux-6.1=fixtures/x.json`), kernels (`vmlinux=kernel:newest@7.2`, which makes the blocks *real*),
tools (`gcc`) and modules (`ortools`). With `exhaustive`, the blocks run only in the exhaustive run.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.harness.command import ROOT, WITHOUT_CACHE, forks_of
from tests.harness.tools import need

_BLOCK = re.compile(
    r"<!-- examples: (?P<needs>[^\n]*) -->"
    r"|(?:Save this as `(?P<file>\S+)`:\n\n)?(?:^<!-- output of `(?P<command>[^\n]*)` -->\n)?"
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_SHOWN = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_LARGE = {"suggest": "ortools", "survey": "pyarrow"}
"""Commands that use large libraries, which their examples name."""
_MARK = "-- the next command --"
IDENTITY = {f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER") for key, value in (("NAME", "t"), ("EMAIL", "t@example.org"))}
WITHOUT_OUTPUT = frozenset({"c", "elisp", "json", "lua", "python", "sh", "sql", "toml", "yaml"})
"""Languages of blocks that show files, settings and commands without output; tests/project/test_api.py runs those in Python."""


@dataclass(frozen=True)
class Step:
    """A file to save, or a command and what it prints: all of it, or for an excerpt some lines."""

    file: str = ""
    text: str = ""
    command: str = ""
    is_excerpt: bool = False


@dataclass(frozen=True)
class Example:
    """The steps of a document that need the same."""

    page: Path
    needs: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        return " ".join((str(self.page.relative_to(ROOT)), *self.needs))

    @property
    def is_real(self) -> bool:
        return any("=kernel:" in need for need in self.needs)

    @property
    def is_exhaustive(self) -> bool:
        return "exhaustive" in self.needs

    @property
    def kernels(self) -> dict[str, tuple[str, str]]:
        """Names in the document with the kernel of each, and its version."""
        pairs = (need.split("=kernel:") for need in self.needs if "=kernel:" in need)
        return {name: (kernel.split("@")[0], kernel.split("@")[1]) for name, kernel in pairs}


def examples(page: Path) -> list[Example]:
    """Return the examples of a document. Every one has the files that are saved up to its last command."""
    steps: dict[tuple[str, ...], list[Step]] = {}
    saved: list[Step] = []
    needs: tuple[str, ...] = ()
    for block in _BLOCK.finditer(page.read_text()):
        if block["needs"] is not None:
            needs = tuple(block["needs"].split())
            continue
        text = re.sub(rf"^{block['indent']}", "", block["text"], flags=re.MULTILINE)
        if block["file"]:
            saved.append(Step(file=block["file"], text=text))
            for each in steps.values():
                each.append(saved[-1])
        elif commands := _commands(block, text):
            steps.setdefault(needs, list(saved)).extend(commands)
    return [Example(page, needs, tuple(each)) for needs, each in steps.items()]


def _commands(block: re.Match[str], text: str) -> list[Step]:
    if block["command"]:
        return [Step(command=block["command"], text=text, is_excerpt=True)]
    if block["language"] == "console":
        return [Step(command=command, text=shown) for command, shown in _SHOWN.findall(text)]
    return []


def unchecked_blocks(page: Path) -> list[str]:
    """Return the first lines of blocks that can show output, and that no run compares with it."""
    blocks = [block for block in _BLOCK.finditer(page.read_text()) if block["needs"] is None]
    loose = [block for block in blocks if block["language"] not in {*WITHOUT_OUTPUT, "console"} and not (block["command"] or block["file"])]
    indented = re.findall(r"^ {4}\$ .*", page.read_text(), re.MULTILINE)
    return [block["text"].partition("\n")[0] for block in loose] + indented


def follow(example: Example, home: Path, kernels: dict[str, Path]) -> None:
    """Run the commands of an example in one shell, in an empty folder, and compare what they print."""
    if platform.machine() != "x86_64":
        pytest.skip("the documents show the output of x86-64")
    provide(example.needs, home)
    for name, path in kernels.items():
        (home / name).symlink_to(path)
    done = subprocess.run(
        ["bash", "-c", _script(example)], cwd=home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
        env={"PATH": f"{home}/bin:{os.environ['PATH']}", "HOME": str(home), "CHECKOUT": str(ROOT), **IDENTITY, **WITHOUT_CACHE},
    )  # fmt: skip
    outputs = _without_commits(done.stdout).split(f"{_MARK}\n")[1:]
    commands = [step for step in example.steps if step.command]
    assert len(outputs) == len(commands)
    for step, output in zip(commands, outputs, strict=True):
        shown = _without_commits(step.text)
        assert _pattern(shown, step.is_excerpt).fullmatch(output), f"$ {step.command}\n{output}-- instead of --\n{shown}"


def provide(needs: Iterable[str], home: Path) -> None:
    """Put the command and all that examples need into a folder, but for kernels."""
    (home / "bin").mkdir()
    forks_of([word for word, name in _LARGE.items() if name in needs]).write_program(home / "bin/layoutlint")
    for each in needs:
        name, _, source = each.partition("=")
        if not source and name in ("ortools", "pyarrow"):
            pytest.importorskip(name, reason=f"{name} is not installed")
        elif not source and name != "exhaustive":
            need(name)
        elif source and not source.startswith("kernel:"):
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "-r", ROOT / source, home / name], check=True)


def _script(example: Example) -> str:
    """Return all steps for one shell. A mark goes before the output of each command, and leaves `$?` as it was."""
    lines = []
    for step in example.steps:
        if step.file:
            folder = shlex.quote(str(Path(step.file).parent))
            lines.append(f"mkdir -p {folder}; cat > {step.file} <<'END'\n{step.text}END")
        else:
            lines.append(f"status=$?; echo '{_MARK}'; (exit $status)\n{step.command}")
    return "\n".join(lines)


def _without_commits(output: str) -> str:
    return re.sub(r"\b[0-9a-f]{12}\b", "COMMIT", output)


def _pattern(shown: str, is_excerpt: bool) -> re.Pattern[str]:
    """Return the pattern of an output, in which a line `...` is any lines."""
    lines = [r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line) + r"\n" for line in shown.splitlines()]
    around = r"(?:.*\n)*" if is_excerpt else ""
    return re.compile(around + "".join(lines) + around)
