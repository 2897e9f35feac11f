"""`layoutlint containers`: list the structs that embed a struct."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import click

from layoutlint.commands import standard_input
from layoutlint.commands.option_records import OptionCommand
from layoutlint.commands.options import (
    PlacementOptions,
    ReadingOptions,
    format_option,
    placement_options,
    read_options,
    reading_options,
    slab_caches,
    slabs_option,
)
from layoutlint.commands.output import print_listing, show_options
from layoutlint.commands.struct_names import is_keyword, refuse_swapped, without_keyword
from layoutlint.reports import formats

if TYPE_CHECKING:
    from layoutlint.lint.container_listing import ContainerListing
    from layoutlint.reports.show.options import ShowOptions

FORMATS = formats(__package__, "text", "json")
"""Functions of definitions with what holds them: listings in pieces of text."""


@click.command(cls=OptionCommand)
@click.argument("inputs", nargs=-1, metavar="INPUT...")
@click.argument("name", metavar="STRUCT")
@click.option("--direct", is_flag=True, help="Omit structs that embed STRUCT only through another struct.")
@format_option(FORMATS)
@placement_options
@slabs_option
@reading_options
@click.pass_obj
def containers(
    flags: tuple[str, ...],
    /,
    inputs: tuple[str, ...],
    name: str,
    direct: bool,
    format_: str,
    placement: PlacementOptions,
    slabs: str | None,
    reading: ReadingOptions,
) -> NoReturn:
    """List the structs that embed STRUCT.

    They are printed with offsets, arrays and positions on lines. STRUCT is a tag, or a typedef of a
    struct.
    """
    from layoutlint.lint.container_listing import list_containers

    if not inputs:
        raise click.UsageError(f"name inputs, and then a struct: `layoutlint containers {name} STRUCT`")
    refuse_swapped("containers", inputs[0], (name,))
    if len(inputs) > 1 and is_keyword(inputs[-1]):
        inputs = inputs[:-1]
    name = without_keyword(name)
    inputs, texts = standard_input.take_text(inputs)
    listing = list_containers(inputs, name, direct, read_options(flags, reading, texts=texts))
    options = show_options(placement, reading)
    if slabs is not None:
        options, listing = _with_slabs(options, listing, slabs)
    chunks = FORMATS[format_](listing.definitions, options)
    print_listing(chunks, listing, reading.allow_unknown)


def _with_slabs(
    options: ShowOptions, listing: ContainerListing, name: str
) -> tuple[ShowOptions, ContainerListing]:
    """Add the slab caches of a kernel, and notes on caches that are not used."""
    from layoutlint.lint import slab_placements
    from layoutlint.model.record import replace

    slabs = slab_caches(name)
    unused = slab_placements.misfits(listing.inputs, slabs)
    if unused:
        return options, replace(listing, notes=(*listing.notes, *unused))
    structs = [container.struct for each in listing.definitions for container in each.containers]
    notes = (*listing.notes, *slab_placements.refusals(structs, slabs))
    return replace(options, slabs=slabs), replace(listing, notes=notes)
