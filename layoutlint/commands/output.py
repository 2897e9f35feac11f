"""Output of the commands `show` and `containers`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, NoReturn

from layoutlint.errors import EXIT_UNKNOWN

if TYPE_CHECKING:
    from layoutlint.commands.options import PlacementOptions, ReadingOptions
    from layoutlint.lint.container_listing import ContainerListing
    from layoutlint.lint.struct_listing import StructListing
    from layoutlint.reports.show.options import ShowOptions


def show_options(
    placement: PlacementOptions, reading: ReadingOptions, expand: bool = False, is_kernel: bool = False
) -> ShowOptions:
    """Return the options of reports that show structs."""
    from layoutlint.commands import terminal
    from layoutlint.reports.show.options import ShowOptions

    return ShowOptions(
        expand=expand,
        line_size=placement.line_size,
        min_align=placement.min_align,
        color=terminal.has_color(reading.color),
        width=terminal.width(reading.width),
        is_kernel=is_kernel,
    )


def print_listing(
    chunks: Iterable[str], listing: StructListing | ContainerListing, allow_unknown: bool
) -> NoReturn:
    """Print a listing, with notes and failures on stderr, and exit."""
    from layoutlint.commands import terminal

    for chunk in chunks:
        terminal.write(chunk)
    for note in listing.notes:
        terminal.complain(f"layoutlint: note: {note}")
    for trouble in listing.troubles:
        terminal.complain(f"layoutlint: {trouble}")
    sys.exit(EXIT_UNKNOWN if listing.troubles and not allow_unknown else 0)
