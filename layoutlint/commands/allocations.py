"""`layoutlint allocations`: list what C sources say of where objects come from."""

from __future__ import annotations

import sys
from typing import NoReturn

import click

from layoutlint import reports
from layoutlint.errors import EXIT_UNKNOWN


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("--struct", "only", metavar="GLOB", help="Only what makes objects of structs of this name.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(sorted(reports.ALLOCATIONS_FORMATS)),
    default="text",
    help="How stdout reads; toml is for a rule file.",
)
@click.option(
    "--jobs",
    "-j",
    type=click.IntRange(1, 1024),
    help="Processes (default: one for each processor, where there are many files).",
)
@click.option(
    "--progress/--no-progress", default=None, help="Show progress on stderr (default: on a terminal)."
)
def allocations(
    inputs: tuple[str, ...], only: str | None, format_: str, jobs: int | None, progress: bool | None
) -> NoReturn:
    """List the calls that make objects of structs, as `placement` for rule files.

    INPUT is a C source, or a folder of them. They are read as text, without compiler flags: slab caches,
    kmalloc and its kin, per-CPU variables and variables on lines of their own.
    """
    from layoutlint.commands import terminal
    from layoutlint.model.wanted import Wanted
    from layoutlint.readers.allocations import proposals, sources

    wanted = Wanted(patterns=(only,)) if only is not None else None
    found, unread = sources.read(inputs, wanted, jobs or 0, terminal.progress_on_stderr(progress))
    told = proposals.of(found, unread, has_typedefs=only is not None)
    for chunk in reports.ALLOCATIONS_FORMATS[format_](told):
        terminal.write(chunk)
    for each in unread:
        terminal.complain(f"layoutlint: {each}")
    if only is not None and not told.structs:
        terminal.complain(f"layoutlint: nothing in these sources is seen to allocate a struct {only}")
        sys.exit(EXIT_UNKNOWN)
    sys.exit(EXIT_UNKNOWN if unread else 0)
