"""`layoutlint accesses`: list what functions do with the fields of structs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

import click

from layoutlint.commands.option_records import OptionCommand
from layoutlint.commands.options import ReadingOptions, format_option, read_options, reading_options
from layoutlint.errors import EXIT_KEPT, EXIT_UNKNOWN
from layoutlint.reports import formats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from layoutlint.inference.analysis import Analysis
    from layoutlint.model.reading import Unread
    from layoutlint.sources.bodies import Bodies

FORMATS = formats(__package__, "text", "json", prefix="accesses_")
"""Functions of fields and an Analysis."""


@click.command(cls=OptionCommand)
@click.argument("inputs", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--struct", "only", metavar="GLOB", help="List only structs with a matching name.")
@click.option(
    "--rules",
    "rule_paths",
    multiple=True,
    metavar="PATH",
    help="Use this rule file (default: those of the inputs).",
)
@format_option(FORMATS)
@reading_options
@click.pass_obj
def accesses(
    flags: tuple[str, ...],
    /,
    inputs: tuple[str, ...],
    only: str | None,
    rule_paths: tuple[str, ...],
    format_: str,
    reading: ReadingOptions,
) -> NoReturn:
    """List the functions that use fields.

    Printed are the functions that read, write and lock the fields of structs. SOURCE is a C source, a
    folder, a compile_commands.json, or a configured kernel tree or a folder of one (`-- O=BUILD` names
    its build folder). What functions in headers do counts for their callers.
    """
    from layoutlint.commands import packs, terminal
    from layoutlint.inference.analysis import analyse
    from layoutlint.sources import bodies
    from layoutlint.sources.whole_program.fields import fields_of

    rules = packs.load_packs_of_inputs(rule_paths, ())
    read_bodies = bodies.read(inputs, read_options(flags, reading))
    analysis = analyse(read_bodies, rules)
    fields = tuple(fields_of(analysis.uses, analysis.heat, only))
    terminal.write(FORMATS[format_](fields, analysis))
    print_failures(read_bodies)
    if only is not None and not fields:
        terminal.complain(f"layoutlint: no function of these sources uses a field of a struct {only}")
        sys.exit(EXIT_UNKNOWN)
    sys.exit(exit_status(analysis, reading.allow_unknown))


def print_failures(bodies: Bodies) -> None:
    """Print what was not read, and notes, on stderr."""
    from layoutlint.commands import terminal

    for note in bodies.notes:
        terminal.complain(f"layoutlint: note: {note}")
    for failure in bodies.unread:
        terminal.complain(f"layoutlint: {failure}")
    if not bodies.functions and not bodies.unread:
        terminal.complain("layoutlint: these sources define no function: give the *.c files too")


def exit_status(analysis: Analysis, allow_unknown: bool, lost: Sequence[Unread] = ()) -> int:
    """Return 3 if a source or a struct is lost or nothing defines a function, unless that is allowed; else 0.

    Uses are no findings.
    """
    is_complete = analysis.program.functions and not analysis.bodies.unread and not lost
    return EXIT_KEPT if is_complete or allow_unknown else EXIT_UNKNOWN
