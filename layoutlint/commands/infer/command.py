"""`layoutlint infer`: guess from sources which fields disturb each other, best guess first."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

import click

from layoutlint.commands.infer.accesses import exit_status, print_failures
from layoutlint.commands.option_records import OptionCommand
from layoutlint.commands.options import (
    ReadingOptions,
    WholeNumber,
    format_option,
    read_options,
    reading_options,
)
from layoutlint.errors import EXIT_UNKNOWN
from layoutlint.reports import formats

if TYPE_CHECKING:
    from layoutlint.judgement.rule import Pack
    from layoutlint.model.reading import ReadOptions
    from layoutlint.model.structs import Struct

_DEFAULT_MOST = 150

FORMATS = formats(__package__, "text", "toml", "json")
"""Functions of an Inference."""


@click.command(cls=OptionCommand)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("--struct", "only", metavar="GLOB", help="Consider only structs with a matching name.")
@click.option(
    "--profile",
    "profile_path",
    metavar="FILE",
    help="Weigh functions by `perf report --stdio --sort symbol`.",
)
@click.option(
    "--most",
    type=WholeNumber(1, 1_000_000),
    default=_DEFAULT_MOST,
    show_default=True,
    help="Print at most N notes.",
)
@click.option(
    "--rules",
    "rule_paths",
    multiple=True,
    metavar="PATH",
    help="Use this rule file (default: those of the inputs).",
)
@click.option(
    "--no-packs", is_flag=True, help="Ignore the accesses that shipped packs declare."
)
@format_option(FORMATS, "; toml is a draft of a rule file")
@reading_options
@click.pass_obj
def infer(
    flags: tuple[str, ...],
    /,
    inputs: tuple[str, ...],
    only: str | None,
    profile_path: str | None,
    most: int,
    rule_paths: tuple[str, ...],
    no_packs: bool,
    format_: str,
    reading: ReadingOptions,
) -> NoReturn:
    """Guess false sharing from C sources.

    Guesses are written fields that share a cache line with fields that others read. INPUT names C
    sources, as for `accesses`. Layouts come from them, or from compiled files and snapshots if any are
    given as well. The best guess is first. Contradictions are declared accesses that the source
    contradicts.

    Exit status: 0, whatever is guessed; 3 a source could not be read, or --struct or --profile matches
    nothing.
    """
    from layoutlint.commands import terminal
    from layoutlint.inference.analysis import analyse
    from layoutlint.inference.infer import infer as infer_notes
    from layoutlint.lint.declared_accesses import with_annotations
    from layoutlint.model.uses import plain_name
    from layoutlint.readers import dispatch
    from layoutlint.readers.profiles import functions as profiled_functions
    from layoutlint.sources import bodies

    compiled = tuple(path for path in inputs if dispatch.sniff(path) != "clang")
    sources = tuple(path for path in inputs if path not in compiled)
    if not sources:
        raise click.UsageError("give C sources too: the uses of fields are in functions")
    options = read_options(flags, reading)
    weights = None if profile_path is None else profiled_functions.read(profile_path)
    read_bodies = bodies.read(sources, options)
    packs = _packs(rule_paths, no_packs, read_bodies.is_kernel)
    analysis = analyse(read_bodies, packs, weights)
    packs = with_annotations(read_bodies.structs, sources, packs, options)
    names = tuple(dict.fromkeys(map(plain_name, analysis.uses)))
    structs = _layouts(compiled, names, options) if compiled else read_bodies.structs
    inferred = infer_notes(analysis, structs, packs, only, most)
    terminal.write(FORMATS[format_](inferred))
    print_failures(read_bodies)
    for failure in inferred.lost:
        terminal.complain(f"layoutlint: {failure}")
    for name in inferred.ambiguous:
        text = f"struct {name} is left out: sources define several, and its file does not state which"
        terminal.complain(f"layoutlint: note: {text}")
    if weights is not None and not analysis.has_any(weights):
        terminal.complain(f"layoutlint: {profile_path}: no function of the profile is in these sources")
        sys.exit(EXIT_UNKNOWN)
    if only is not None and not inferred.fields:
        terminal.complain(f"layoutlint: no function of these sources uses a field of a struct {only}")
        sys.exit(EXIT_UNKNOWN)
    sys.exit(exit_status(analysis, reading.allow_unknown, inferred.lost))


def _packs(rule_paths: tuple[str, ...], no_packs: bool, is_kernel: bool) -> tuple[Pack, ...]:
    from layoutlint.commands.packs import load_packs_of_inputs
    from layoutlint.intent.toml import shipped_rules

    packs = load_packs_of_inputs(rule_paths, ())
    return (*packs, *shipped_rules.kernel_packs_beside(packs)) if is_kernel and not no_packs else packs


def _layouts(paths: tuple[str, ...], names: tuple[str, ...], options: ReadOptions) -> tuple[Struct, ...]:
    """Return the structs of compiled inputs; raises ReadError."""
    from layoutlint.lint.struct_listing import list_structs

    return tuple(
        struct
        for path in paths
        for struct in list_structs(path, names, options).structs
        if struct.bit_size is not None
    )
