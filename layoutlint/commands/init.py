"""`layoutlint init`: write the header with the macros for annotations into a project."""

from __future__ import annotations

import os

import click

_HEADER = "layoutlint.h"
_MOST_BYTES = 1 << 20
_SHIPPED = os.path.join(os.path.dirname(os.path.dirname(__file__)), "include")


@click.command()
@click.option("--header", is_flag=True, required=True, help=f"Write {_HEADER}, the macros for annotations.")
@click.argument("folder", metavar="[FOLDER]", default=".", required=False)
def init(header: bool, folder: str) -> None:
    """Write layoutlint.h into FOLDER (default: the current one), unless a different file exists there."""
    from layoutlint.commands import output_files, terminal

    if not os.path.isdir(folder):
        raise click.UsageError(f"{folder}: no such folder")
    with open(os.path.join(_SHIPPED, _HEADER), encoding="utf-8") as file:
        text = file.read()
    path = os.path.join(folder, _HEADER)
    if os.path.lexists(path):
        if _content(path) == text:
            terminal.say(f"{path} exists already")
            return
        raise click.UsageError(f"{path} exists already, with other content; remove it first")
    output_files.write_whole(path, text)
    terminal.say(f"wrote {path}")


def _content(path: str) -> str | None:
    from layoutlint import files

    try:
        return files.read_all(path, _MOST_BYTES).decode()
    except (OSError, UnicodeDecodeError):
        return None
