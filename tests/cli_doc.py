"""The text of docs/cli.md, made from the commands themselves: `python -m tests.cli_doc` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from layoutlint.cli import app

PATH = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
HEAD = """# The command line

What `--help` says, command by command. Compiler flags for headers and sources stand behind `--`:
`layoutlint check ring.h -- -Iinclude -DNDEBUG`. Without `--rules` and `--pack`, `check` takes the rules of the nearest
`layoutlint.toml`, from the current folder upwards to the top of the repository; Linux kernels are judged by the shipped
packs as well.
"""


def commands(command: click.Command, words: tuple[str, ...] = ("layoutlint",)) -> Iterator[tuple[str, click.Command]]:
    """Every command with the words that call it, a group before what is in it."""
    yield " ".join(words), command
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            yield from commands(command.commands[name], (*words, name))


def help_of(words: str, command: click.Command) -> str:
    """What `--help` prints, at a width of 100 columns."""
    context = click.Context(command, info_name=words, max_content_width=100, terminal_width=100,
                            help_option_names=["-h", "--help"])  # fmt: skip
    return command.get_help(context)


def text() -> str:
    """All of docs/cli.md."""
    sections = [f"## {words}\n\n```text\n{help_of(words, command)}\n```\n" for words, command in commands(app)]
    return "\n".join((HEAD, *sections))


if __name__ == "__main__":
    PATH.write_text(text())
