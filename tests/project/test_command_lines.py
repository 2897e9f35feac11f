"""Command lines in the documents: commands and options exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from layoutlint.cli import app

TREE = Path(__file__).resolve().parents[2]
PAGES = [TREE / "README.md", *sorted(page for page in (TREE / "docs").rglob("*.md") if page.name != "cli.md")]
_ENDS = re.compile(r"\s+(?:#.*|\||>|&&|;|2>).*$")


def command_lines(page: Path) -> list[str]:
    """Return the command lines in the blocks of code of a page, without what a shell does with them."""
    blocks = re.findall(r"^```\w*\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    blocks += re.findall(r"(?:^ {4}.*\n)+", page.read_text(), re.MULTILINE)
    joined = "\n".join(blocks).replace("\\\n", " ")
    lines = re.findall(r"^ *(?:\$ )?(?:\.venv/bin/)?layoutlint ([a-z].*)$", joined, re.MULTILINE)
    return [_ENDS.sub("", line) for line in lines if not line.startswith("is ")]


LINES = [(str(page.relative_to(TREE)), line) for page in PAGES for line in command_lines(page)]


def test_command_lines_are_found():
    assert len(LINES) > 40


@pytest.mark.parametrize(("page", "line"), LINES)
def test_commands_and_options_exist(page, line):
    """click takes the arguments; files that a reader of the page has are not looked for."""
    words = shlex.split(line)
    words = words[: words.index("--")] if "--" in words else words
    command: click.Command = app
    context = click.Context(app)
    while isinstance(command, click.Group):
        name = words.pop(0)
        found = command.get_command(context, name)
        assert found is not None, f"no command {name}"
        command = found
    parser = command.make_parser(context)
    options, _, _ = parser.parse_args(args=list(words))
    assert isinstance(options, dict)
