"""`layoutlint suggest INPUT --smallest`: the structs of an input that could be smaller."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

import click

from layoutlint.commands import output_files, standard_input, terminal
from layoutlint.commands.options import parse_outputs, read_options
from layoutlint.errors import EXIT_UNKNOWN
from layoutlint.reports import formats

if TYPE_CHECKING:
    from layoutlint.commands.options import PlacementOptions, ReadingOptions
    from layoutlint.commands.suggest.command import SuggestOptions

FORMATS = formats(__package__, "text", "json", "markdown", prefix="smallest_")
"""Functions of a Smaller; text has options."""


def print_list(
    flags: tuple[str, ...],
    path: str,
    own: SuggestOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
) -> NoReturn:
    """Print the structs of an input that could be smaller, and exit. Raises UsageError and ReadError."""
    from layoutlint.commands.suggest.smaller_structs import find_smaller

    _refuse_options(own)
    (path,), texts = standard_input.take_text((path,))
    outputs = parse_outputs(own.outputs, own.format_, FORMATS, "json=smaller.json")
    output_files.refuse((file for _, file in outputs), (path,))
    for _, file in outputs:
        output_files.refuse_source(file)
    options = read_options(flags, reading, texts=texts)
    found = find_smaller(path, own.globs, placement.line_size, placement.min_align, options)
    for name, file in outputs:
        text = FORMATS[name](found.result)
        output_files.write_bytes(file, text.encode("utf-8", "surrogateescape"))
    fit = {"color": terminal.has_color(reading.color), "width": terminal.width(reading.width)}
    render = FORMATS[own.format_]
    terminal.write(render(found.result, **fit) if own.format_ == "text" else render(found.result))
    terminal.complain(*(f"layoutlint: note: {note}" for note in found.listing.notes))
    terminal.complain(*(f"layoutlint: {trouble}" for trouble in found.listing.troubles))
    sys.stdout.flush()
    sys.exit(EXIT_UNKNOWN if found.listing.troubles and not reading.allow_unknown else 0)


def _refuse_options(own: SuggestOptions) -> None:
    """Raise UsageError for options that need a STRUCT."""
    given = {
        "--moves": own.most_moves,
        "--patch": own.patch,
        "--write": own.write,
        "--force": own.force,
        "--alternative": own.alternative,
        "--sources": own.sources,
        "--rules": own.rule_paths,
        "--pack": own.pack_names,
        "--slabs": own.slabs,
    }
    for option, value in given.items():
        if value:
            raise click.UsageError(f"{option} needs a STRUCT: without one, --smallest lists structs only")
