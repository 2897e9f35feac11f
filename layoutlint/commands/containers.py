"""`layoutlint containers`: list what embeds a struct."""

from __future__ import annotations

from typing import Any, NoReturn

import click

from layoutlint import reports
from layoutlint.commands.options import placement_options, read_options, reading_options
from layoutlint.commands.output import print_listing, show_options


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.argument("name", metavar="STRUCT")
@click.option("--direct", is_flag=True, help="Without those that hold it only through another struct.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(sorted(reports.CONTAINERS_FORMATS)),
    default="text",
    help="How stdout reads.",
)
@placement_options
@reading_options
@click.pass_obj
def containers(
    flags: tuple[str, ...], /, inputs: tuple[str, ...], name: str, direct: bool, format_: str, **more: Any
) -> NoReturn:
    """List the structs that embed STRUCT, with offsets, arrays and places on lines.

    STRUCT is a tag, or a typedef that stands for a struct.
    """
    from layoutlint.listing.containers import list_containers

    found = list_containers(inputs, name, direct, read_options(flags, more))
    print_listing(reports.CONTAINERS_FORMATS[format_](found.found, show_options(more)), found, more)
