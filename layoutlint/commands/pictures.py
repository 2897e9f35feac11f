"""Which objects `show` draws: at the bases that the command line names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from layoutlint.phrases import first_few

if TYPE_CHECKING:
    from layoutlint.model.structs import Struct
    from layoutlint.reports.show.options import ShowOptions


def with_bases(
    options: ShowOptions, structs: tuple[Struct, ...], bases: tuple[int, ...] | None, is_picture: bool
) -> ShowOptions:
    """Return options with the bases to draw; raises UsageError for impossible ones, and for too many objects.

    `bases` is () for all bases of a struct, and None for the first one. `is_picture`: all are in one SVG.
    """
    from layoutlint.geometry.layout import Layout
    from layoutlint.geometry.placement import placements
    from layoutlint.model.record import replace
    from layoutlint.reports.show import svg

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
        possible = placements(Layout(struct), options.line_size, options.min_align).bases
        for base in bases or ():
            if base not in possible:
                raise click.UsageError(
                    f"--base {base}: {struct.aggregate} {struct.name} starts at byte "
                    f"{first_few(tuple(map(str, possible)), 16)} of a line (see --min-align)"
                )
    return options
