"""`layoutlint slabs`: save where the objects of this machine's kernel are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from layoutlint.commands.option_records import OptionCommand

if TYPE_CHECKING:
    from layoutlint.model.slabs import Document


@click.command(cls=OptionCommand)
@click.option("--output", metavar="FILE", help="Write to FILE instead of stdout.")
def slabs(output: str | None) -> None:
    """Save the slab caches of this machine.

    The JSON has the caches of the running kernel, from /sys/kernel/slab or /proc/slabinfo, for `--slabs
    FILE` of other commands. Most kernels show them to root only. Nothing is written to /sys.
    """
    from layoutlint.commands import output_files, terminal
    from layoutlint.readers.linux.slabs import read_live

    if output is not None:
        output_files.refuse((output,))
        output_files.refuse_source(output)
    text = _text(read_live())
    if output is None:
        terminal.write(text)
    else:
        output_files.write_whole(output, text)


def _text(document: Document) -> str:
    """Return the JSON of a document, each cache on a line of its own."""
    from layoutlint.model.record import replace
    from layoutlint.reports.json_values import row_text

    head = row_text(replace(document, caches=())).removesuffix("[]}")
    rows = "".join(f",\n  {row_text(cache)}" for cache in document.caches)[1:]
    return f"{head}[{rows}]}}\n"
