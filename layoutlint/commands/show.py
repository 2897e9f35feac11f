"""`layoutlint show`: print the layouts of structs."""

from __future__ import annotations

from typing import Any, NoReturn

import click

from layoutlint import reports
from layoutlint.commands.options import (
    placement_options,
    randomisation,
    randomising_options,
    read_options,
    reading_options,
)
from layoutlint.commands.output import print_listing, show_options


@click.command()
@click.argument("input", metavar="INPUT")
@click.argument("names", nargs=-1, metavar="[STRUCT]...")
@click.option("--all", "everything", is_flag=True, help="Every struct and union of the input.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(sorted(reports.SHOW_FORMATS)),
    default="text",
    help="How stdout reads.",
)
@click.option("--expand", is_flag=True, help="The members of embedded structs as well.")
@randomising_options
@placement_options
@reading_options
@click.pass_obj
def show(
    flags: tuple[str, ...], /, input: str, names: tuple[str, ...], everything: bool, format_: str, **more: Any
) -> NoReturn:
    """Print the layout of structs, with lines, holes and straddles (STRUCT may be a pattern)."""
    if everything == bool(names):
        raise click.UsageError("name some structs, or give --all")
    from layoutlint.listing.structs import list_structs

    found = list_structs(input, names, read_options(flags, more), randomisation(more, (input,)))
    print_listing(reports.SHOW_FORMATS[format_](found.structs, show_options(more)), found, more)
