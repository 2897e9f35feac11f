"""How `show` and `containers` print what they list."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from layoutlint.errors import EXIT_UNKNOWN

if TYPE_CHECKING:
    from layoutlint.listing.containers import Contained
    from layoutlint.listing.structs import Shown
    from layoutlint.reports.show.options import ShowOptions


def show_options(more: dict[str, Any]) -> ShowOptions:
    """What the options say of how structs are shown."""
    from layoutlint.commands import terminal
    from layoutlint.reports.show.options import ShowOptions

    return ShowOptions(
        expand=more.get("expand", False),
        line_size=more["line_size"],
        min_align=more["min_align"],
        color=terminal.colored(more["color"]),
        width=terminal.width(),
    )


def print_listing(chunks: Iterable[str], found: Shown | Contained, more: dict[str, Any]) -> NoReturn:
    """Print a listing, and on stderr what the user should know of it and what could not be told."""
    from layoutlint.commands import terminal

    for chunk in chunks:
        terminal.write(chunk)
    for note in found.notes:
        terminal.complain(f"layoutlint: note: {note}")
    for trouble in found.troubles:
        terminal.complain(f"layoutlint: {trouble}")
    sys.exit(EXIT_UNKNOWN if found.troubles and not more["allow_unknown"] else 0)
