"""`layoutlint allocations`: list the allocations of structs in C sources."""

from __future__ import annotations

import sys
from typing import NoReturn

import click

from layoutlint.commands.option_records import OptionCommand
from layoutlint.commands.options import WholeNumber, format_option
from layoutlint.errors import EXIT_UNKNOWN
from layoutlint.reports import formats

FORMATS = formats(__package__, "text", "toml", "json")
"""Functions of a Listing."""


@click.command(cls=OptionCommand)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "--struct", "only", metavar="GLOB", help="List only allocations of structs with a matching name."
)
@click.option(
    "--rules",
    "rule_paths",
    multiple=True,
    metavar="PATH",
    help="Use this rule file (default: those of the inputs).",
)
@format_option(FORMATS, "; toml is for a rule file")
@click.option(
    "--jobs",
    "-j",
    type=WholeNumber(1, 1024),
    help="Use N processes (default: one per processor).",
)
@click.option(
    "--progress/--no-progress", default=None, help="Show progress on stderr (default: on a terminal)."
)
def allocations(
    inputs: tuple[str, ...],
    only: str | None,
    rule_paths: tuple[str, ...],
    format_: str,
    jobs: int | None,
    progress: bool | None,
) -> NoReturn:
    """List the calls that allocate structs.

    With --format toml, they are `placement` for rule files. INPUT is a C source, a folder of C sources,
    or a compile_commands.json. The sources are read as text, without compiler flags. The functions of the
    C library, of some libraries and of the rule file are known, and those of a compile_commands.json that
    only return what malloc does; in Linux also slab caches, kmalloc, per-CPU variables, and variables on
    lines of their own.
    """
    from layoutlint.commands import packs, terminal
    from layoutlint.model.wanted import Wanted
    from layoutlint.sources.allocations import proposals, sources, undeclared

    wanted = Wanted(patterns=(only,)) if only is not None else None
    rules = packs.load_packs_of_inputs(rule_paths, ())
    declared = tuple(dict.fromkeys(allocator for pack in rules for allocator in pack.allocators))
    progress_function = terminal.progress_on_stderr(progress)
    calls, unread = sources.read(inputs, wanted, jobs or 0, progress_function, declared)
    listed = proposals.list_proposals(calls, unread, has_typedefs=only is not None)
    for chunk in FORMATS[format_](listed):
        terminal.write(chunk)
    for failure in unread:
        terminal.complain(f"layoutlint: {failure}")
    if wanted is not None and not listed.structs:
        terminal.complain(f"layoutlint: no allocation of a struct {only} was found in these sources")
        call = undeclared.find(inputs, wanted.matches)
        if call is not None:
            terminal.complain(f"layoutlint: note: {call}")
        sys.exit(EXIT_UNKNOWN)
    sys.exit(EXIT_UNKNOWN if unread else 0)
