"""Runs another command in this process, for its JSON: `tune` is made of them, and imports none."""

from __future__ import annotations

import io
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

import click

from layoutlint.commands.options import PlacementOptions, ReadingOptions

_SHARED = (
    *PlacementOptions._fields,
    *ReadingOptions._fields,
    *("rule_paths", "pack_names", "no_packs", "no_annotations"),
)
"""The parameters that another command takes from the one that runs it."""


class Ended(NamedTuple):
    """A command that ended."""

    status: int
    output: str
    complaints: str


def run_command(context: click.Context, name: str, words: Iterable[str]) -> Ended:
    """Run a command with some arguments, and the shared options of the command whose context is given.

    Raises LayoutlintError as the command does.
    """
    parent = context.parent
    assert parent is not None
    assert isinstance(parent.command, click.Group)
    command = parent.command.get_command(parent, name)
    assert command is not None
    output, complaints, status = io.StringIO(), io.StringIO(), 0
    with redirect_stdout(output), redirect_stderr(complaints):
        own = command.make_context(name, list(words), parent=parent)
        own.params |= {key: context.params[key] for key in _SHARED if key in own.params}
        try:
            with own:
                command.invoke(own)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 0
    return Ended(status, output.getvalue(), complaints.getvalue())
