"""The text of docs/cli.md, made from the commands themselves: `python -m tests.project.cli_doc` writes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from layoutlint.cli import app

PATH = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
HEAD = """# The command line

The output of `--help`, command by command. Compiler flags for headers and sources follow `--`:
`layoutlint check ring.h -- -Iinclude -DNDEBUG`. Without `--rules`, `check` uses the rules of the nearest
`layoutlint.toml`, from the current folder up to the top of the repository. Linux kernels are also judged by the shipped
packs.

More than three findings are printed in short, without drawings, placements and evidence, and lists of more than five
entries as their number: `-v` prints all of it. What decides the exit status is always printed. Text is wrapped at the width
of the terminal or at `COLUMNS`, up to 100 columns, or at `--width`. `NO_COLOR` turns colours off; `FORCE_COLOR` and
`CLICOLOR_FORCE` turn them on without a terminal.
"""


def commands(command: click.Command, words: tuple[str, ...] = ("layoutlint",)) -> Iterator[tuple[str, click.Command]]:
    """Every command with the words that call it, a group before what is in it."""
    yield " ".join(words), command
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            yield from commands(command.commands[name], (*words, name))


def section(words: str, command: click.Command) -> str:
    """One command: how it is called, what it does, its options. Made by hand, since versions of click differ."""
    inputs = [p.metavar or p.human_readable_name for p in command.params if isinstance(p, click.Argument)]
    call = " ".join([words, *(["COMMAND"] if isinstance(command, click.Group) else []), "[OPTIONS]", *inputs])
    rows = [f"| `{_spelled(o)}` | {o.help} |" for o in command.params if isinstance(o, click.Option)]
    table = "\n".join(["", "| option | |", "|---|---|", *rows, ""]) if rows else ""
    text = re.sub(r"\n *", "\n", (command.help or "").strip())
    return f"## {words}\n\n    {call}\n\n{text}\n{table}"


def _spelled(option: click.Option) -> str:
    names = [*option.opts, *option.secondary_opts]
    if isinstance(option.type, click.Choice):
        names[-1] += f" {'/'.join(option.type.choices)}"
    elif not option.is_flag:
        names[-1] += f" {option.metavar or 'N'}"
    return ", ".join(names)


def text() -> str:
    """All of docs/cli.md."""
    return "\n".join((HEAD, *(section(words, command) for words, command in commands(app))))


if __name__ == "__main__":
    PATH.write_text(text())
