"""The text of docs/cli.md, made from the commands themselves: `python -m tools.documents.cli` writes it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from layoutlint.cli import app
from layoutlint.commands.group import subcommands

PATH = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
HEAD = """# The command line

What `--help-all` prints, command by command; `--help` has the options that are used most. `...` marks options that can be
repeated. Compiler flags for headers and sources follow `--`: `layoutlint check ring.h -- -Iinclude -DNDEBUG`. Without
`--rules`, `check` uses each `layoutlint.toml` from the top of the repository down to the input.
Linux kernels are also judged by the shipped packs.

If there are more than three findings, they are printed without drawings, placements and evidence. Of a list with more than
five kept rules, skipped rules or unresolved names, only the number is printed; of more than five inputs, and of lists that
decide the exit status (`not read`, `not covered`), the first five, and the number of the others. `-v` prints everything.

Text is wrapped at the width of the terminal or at `COLUMNS`, up to 100 columns (75 in `diff`, `history` and `bisect`, whose
text goes into mails), or at `--width`. Entries of baselines, for pasting, and formats with one line per finding are not
wrapped. `NO_COLOR` turns colours off; `FORCE_COLOR` and `CLICOLOR_FORCE` turn them on without a terminal. If `--jobs` is
given, several inputs are read in parallel; only large inputs are by default.
"""


def commands(command: click.Command, words: tuple[str, ...] = ("layoutlint",)) -> Iterator[tuple[str, click.Command]]:
    """Every command with the words that call it, a group before what is in it."""
    yield " ".join(words), command
    if isinstance(command, click.Group):
        for name, inner in sorted(subcommands(command).items()):
            yield from commands(inner, (*words, name))


def section(words: str, command: click.Command, shared: frozenset[str]) -> str:
    """Return one command: its call, its help, its options. Made by hand, since versions of click differ."""
    inputs = [p.metavar or p.human_readable_name for p in command.params if isinstance(p, click.Argument)]
    call = " ".join([words, *(["COMMAND"] if isinstance(command, click.Group) else []), "[OPTIONS]", *inputs])
    rows = _rows(command)
    names = [f"`{name}`" for row, name in rows.items() if row in shared]
    see = f"\nAlso {', '.join(names)}: see [options of several commands](#options-of-several-commands).\n" if names else ""
    text = re.sub(r"\n *", "\n", (command.help or "").strip())
    return f"## {words}\n\n    {call}\n\n{text}\n{_table([row for row in rows if row not in shared])}{see}"


def _rows(command: click.Command) -> dict[str, str]:
    """Return the table row of each option with its name."""
    options = [option for option in command.params if isinstance(option, click.Option)]
    return {f"| `{_spell(option)}` | {option.help} |": option.opts[0] for option in options}


def _table(rows: list[str]) -> str:
    return "\n".join(["", "| option | |", "|---|---|", *rows, ""]) if rows else ""


def _spell(option: click.Option) -> str:
    names = [*option.opts, *option.secondary_opts]
    if isinstance(option.type, click.Choice):
        names[-1] += f" {'/'.join(option.type.choices)}"
    elif not option.is_flag:
        names[-1] += f" {option.metavar or 'N'}"
    if option.multiple:
        names[-1] += " ..."
    return ", ".join(names).replace("|", r"\|")


def text() -> str:
    """Return all of docs/cli.md. Options that several commands share stand once, at the end."""
    found = list(commands(app))
    counts = Counter(row for _, command in found for row in _rows(command))
    shared = [row for row, count in counts.items() if count > 1]
    sections = [section(words, command, frozenset(shared)) for words, command in found]
    return "\n".join((HEAD, *sections, f"## Options of several commands\n{_table(shared)}"))


if __name__ == "__main__":
    PATH.write_text(text())
