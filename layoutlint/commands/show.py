"""`layoutlint show`: print the layouts of structs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

import click

from layoutlint import reports
from layoutlint.commands import standard_input
from layoutlint.commands.option_records import OptionCommand
from layoutlint.commands.options import (
    PlacementOptions,
    RandomisingOptions,
    ReadingOptions,
    format_option,
    html_option,
    placement_options,
    randomisation,
    randomising_options,
    read_options,
    reading_options,
    slab_caches,
    slabs_option,
)
from layoutlint.commands.output import print_listing, show_options
from layoutlint.commands.struct_names import refuse_swapped, without_keywords
from layoutlint.phrases import first_few

if TYPE_CHECKING:
    from layoutlint.judgement.rule import Pack
    from layoutlint.lint.struct_listing import StructListing
    from layoutlint.model.structs import Struct
    from layoutlint.reports.show.options import ShowOptions

_OFFSET = re.compile(r"0[xX][0-9a-fA-F]{1,15}|[0-9]{1,18}")


def _offsets(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> tuple[int, ...]:
    """Return offsets in bytes, given as decimal or hexadecimal numbers."""
    for text in texts:
        if not _OFFSET.fullmatch(text):
            raise click.BadParameter(f"{text!r} is not a number of bytes, such as 52 or 0x34", ctx, param)
    return tuple(int(text, 16 if text[:2].lower() == "0x" else 10) for text in texts)


_DRAWN = ("text", "svg")
"""Formats that draw objects at bases."""
_WITH_CHANCES = ("text", "json", "html")
"""Formats that show where members can land if the seed is not known."""
_PICTURES = ("svg", "html")
"""Formats that show the declared accesses of fields."""


def _bases(ctx: click.Context, param: click.Parameter, text: str | None) -> tuple[int, ...] | None:
    """Return a base in bytes; () for all bases."""
    if text is None:
        return None
    return () if text == "all" else _offsets(ctx, param, (text,))


@click.command(cls=OptionCommand)
@click.argument("input", metavar="INPUT")
@click.argument("names", nargs=-1, metavar="[STRUCT]...")
@click.option("--all", "everything", is_flag=True, help="Print every struct and union of the input.")
@format_option(reports.SHOW_FORMATS)
@html_option
@click.option(
    "--at",
    "offsets",
    multiple=True,
    metavar="OFFSET",
    callback=_offsets,
    help="Print the field at this byte, and the fields on its line.",
)
@click.option(
    "--base",
    "bases",
    metavar="N|all",
    callback=_bases,
    help="Draw the object at byte N of a line, or at every place.",
)
@click.option(
    "--rules",
    "rule_paths",
    multiple=True,
    metavar="PATH",
    help="Take placements and accesses from rule files too.",
)
@click.option("--expand", is_flag=True, help="Print the members of embedded structs too.")
@randomising_options
@placement_options
@slabs_option
@reading_options
@click.pass_obj
def show(
    flags: tuple[str, ...],
    /,
    input: str,
    names: tuple[str, ...],
    everything: bool,
    format_: str,
    html: str | None,
    offsets: tuple[int, ...],
    bases: tuple[int, ...] | None,
    rule_paths: tuple[str, ...],
    expand: bool,
    randomising: RandomisingOptions,
    placement: PlacementOptions,
    slabs: str | None,
    reading: ReadingOptions,
) -> NoReturn:
    """Print layouts, with lines and holes.

    STRUCT may be a pattern.
    """
    if everything and names:
        raise click.UsageError("--all prints every struct: leave the names out, or leave --all out")
    if not everything and not names:
        raise click.UsageError(f"name some structs (`layoutlint show {input} NAME`), or give --all")
    if offsets and (everything or format_ != "text"):
        raise click.UsageError("--at needs STRUCT, and --format text")
    if html is not None and offsets:
        raise click.UsageError("--html is for whole structs; leave --at out")
    if bases is not None and (offsets or format_ not in _DRAWN):
        raise click.UsageError("--base is for --format text and svg, without --at")
    from layoutlint.lint.struct_listing import list_structs

    refuse_swapped("show", input, names)
    names = without_keywords(names)
    (input,), texts = standard_input.take_text((input,))

    needs_seed = format_ not in _WITH_CHANCES or bool(offsets)
    how = randomisation(randomising, (input,), needs_seed, needs_mode=True)
    if html is not None:
        from layoutlint.commands import output_files

        output_files.refuse_page(html, (input, *rule_paths))
    is_picture = format_ in _PICTURES or html is not None
    listing = list_structs(input, names, read_options(flags, reading, texts=texts), how, is_picture)
    options = show_options(placement, reading, expand, listing.is_kernel)
    if is_picture or rule_paths or not everything:
        options = _with_intent(options, input, listing, rule_paths, is_picture)
    if slabs is not None:
        options, listing = _with_slabs(options, listing, slabs)
    if bases is not None or format_ == "svg":
        options = _add_bases(options, listing.structs, bases, format_ == "svg")
    if html is not None:
        output_files.write_whole(html, "".join(reports.SHOW_FORMATS["html"](listing.structs, options)))
    if offsets:
        _print_at(listing, offsets, options, reading.allow_unknown)
    print_listing(reports.SHOW_FORMATS[format_](listing.structs, options), listing, reading.allow_unknown)


def _with_intent(
    options: ShowOptions, path: str, listing: StructListing, rule_paths: tuple[str, ...], is_picture: bool
) -> ShowOptions:
    """Add what rule files and, for a kernel, the shipped packs state: where objects come from, and accesses.

    Accesses are for pictures, as are those in annotations.
    """
    is_text = any(reading.reader == "clang" for reading in listing.inputs)
    if not (rule_paths or listing.is_kernel or is_text or is_picture):
        return options
    from layoutlint.commands.packs import load_packs
    from layoutlint.lint.allocator_listing import add_calls, fitting_storages
    from layoutlint.model.record import replace

    packs = load_packs(rule_paths, ()) if rule_paths else ()
    kernel_packs: tuple[Pack, ...] = ()
    if listing.is_kernel:
        from layoutlint.intent.toml import shipped_rules

        kernel_packs = shipped_rules.kernel_packs_beside(packs)
    packs = (*packs, *kernel_packs)
    stated = fitting_storages(listing, packs)
    storages = add_calls({name: (own,) for name, own in stated.items()}, path, listing, packs)
    options = replace(options, storages=storages, stated=stated)
    if not is_picture:
        return options
    from layoutlint.lint.declared_accesses import declared_accesses

    return replace(options, accesses=declared_accesses(listing.structs, listing.inputs, packs))


def _with_slabs(
    options: ShowOptions, listing: StructListing, name: str
) -> tuple[ShowOptions, StructListing]:
    """Add the caches of a kernel to what rule files state, and notes on caches that are not used."""
    from layoutlint.lint import slab_placements
    from layoutlint.model.record import replace

    slabs = slab_caches(name)
    unused = slab_placements.misfits(listing.inputs, slabs)
    if unused:
        return options, replace(listing, notes=(*listing.notes, *unused))
    added = slab_placements.storages(listing.structs, options.stated, slabs)
    storages = {**options.storages, **dict.fromkeys(added, ())}  # their slabs are known, and not estimated
    notes = (*listing.notes, *slab_placements.refusals(listing.structs, slabs))
    options = replace(options, storages=storages, stated={**options.stated, **added})
    return options, replace(listing, notes=notes)


def _print_at(
    listing: StructListing, offsets: tuple[int, ...], options: ShowOptions, allow_unknown: bool
) -> NoReturn:
    """Print the fields at some bytes, and exit."""
    from layoutlint.model.record import replace
    from layoutlint.reports.show import byte_fields

    troubles = [it for each in listing.structs for it in byte_fields.outside_messages(each, offsets)]
    listing = replace(listing, troubles=(*listing.troubles, *troubles))
    print_listing(byte_fields.render(listing.structs, offsets, options), listing, allow_unknown)


def _add_bases(
    options: ShowOptions, structs: tuple[Struct, ...], bases: tuple[int, ...] | None, is_picture: bool
) -> ShowOptions:
    """Return options with the bases to draw; raises UsageError for impossible ones, and for too many objects.

    `bases` is () for all bases of a struct, and None for the first one. `is_picture`: all are in one SVG.
    """
    from layoutlint.geometry.layout import Layout
    from layoutlint.model.record import replace
    from layoutlint.reports.show import starts, svg

    drawn = 0
    options = replace(options, bases=bases)
    for struct in structs:
        drawn += len(svg.picture_bases(struct, options))
        if is_picture and drawn > svg.MOST_PICTURES:
            raise click.UsageError(
                f"one SVG has at most {svg.MOST_PICTURES} objects; name fewer structs, or --base N"
            )
        if struct.problem is not None or struct.bit_size is None:
            continue
        possible = starts.object_placements(Layout(struct), options).bases
        for base in bases or ():
            if base not in possible:
                raise click.UsageError(
                    f"--base {base}: {struct.aggregate} {struct.name} starts at byte "
                    f"{first_few(tuple(map(str, possible)), 16)} of a line (see --min-align)"
                )
    return options
