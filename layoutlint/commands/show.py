"""`layoutlint show`: print the layouts of structs."""

from __future__ import annotations

from typing import NoReturn

import click

from layoutlint import reports
from layoutlint.commands.options import (
    PlacementOptions,
    RandomisingOptions,
    ReadingOptions,
    placement_options,
    randomisation,
    randomising_options,
    read_options,
    reading_options,
)
from layoutlint.commands.output import print_listing, show_options
from layoutlint.commands.struct_names import refuse_swapped, without_keywords


@click.command()
@click.argument("input", metavar="INPUT")
@click.argument("names", nargs=-1, metavar="[STRUCT]...")
@click.option("--all", "everything", is_flag=True, help="Print every struct and union of the input.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(sorted(reports.SHOW_FORMATS)),
    default="text",
    help="Choose the format of stdout.",
)
@click.option("--expand", is_flag=True, help="Print the members of embedded structs too.")
@randomising_options
@placement_options
@reading_options
@click.pass_obj
def show(
    flags: tuple[str, ...],
    /,
    input: str,
    names: tuple[str, ...],
    everything: bool,
    format_: str,
    expand: bool,
    randomising: RandomisingOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
) -> NoReturn:
    """Print the layouts of structs, with lines, holes and straddles (STRUCT may be a pattern)."""
    if everything == bool(names):
        example = "" if everything else f" (`layoutlint show {input} NAME`)"
        raise click.UsageError(f"name some structs{example}, or give --all")
    from layoutlint.listing.structs import list_structs

    refuse_swapped("show", input, names)
    names = without_keywords(names)

    how = randomisation(randomising, (input,))
    listing = list_structs(input, names, read_options(flags, reading), how)
    options = show_options(placement, reading, expand)
    print_listing(reports.SHOW_FORMATS[format_](listing.structs, options), listing, reading.allow_unknown)
