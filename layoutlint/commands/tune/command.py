"""`layoutlint tune`: from profiles to a patch with a measured gain, and the text for its mail."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import click

from layoutlint.commands.option_records import OptionCommand, add, option
from layoutlint.commands.options import (
    NO_ANNOTATIONS,
    NO_PACKS,
    OUTPUTS,
    PACK_NAMES,
    RULE_PATHS,
    PlacementOptions,
    ReadingOptions,
    WholeNumber,
    format_of,
    parse_outputs,
    placement_options,
    read_options,
    reading_options,
)
from layoutlint.commands.packs import load_packs_of_inputs
from layoutlint.commands.struct_names import refuse_swapped, without_keywords
from layoutlint.errors import EXIT_FINDINGS, EXIT_KEPT, EXIT_UNKNOWN, missing_library
from layoutlint.reports import formats

if TYPE_CHECKING:
    from layoutlint.commands.tune.result import Tuned
    from layoutlint.commands.tune.run import Task

FORMATS = formats(__package__, "text", "json", "markdown", "patch")
"""Functions of a Tuned; the one for people has options."""


class TuneOptions(NamedTuple):
    """Options that only `tune` has."""

    profiles: tuple[str, ...] = option(
        "--profile", multiple=True, required=True, metavar="REPORT",
        help="Take the contention from this text of `perf c2c report --stdio`.",
    )  # fmt: skip
    bases: tuple[str, ...] = option(
        "--base", multiple=True, metavar="ADDRESS", help="Set the address of an object, as in the profile."
    )
    build_id: str | None = option(
        "--build-id", metavar="HEX", help="Set the profiled program's build id (`perf buildid-list`)."
    )
    rule_paths: tuple[str, ...] = RULE_PATHS
    pack_names: tuple[str, ...] = PACK_NAMES
    no_packs: bool = NO_PACKS
    no_annotations: bool = NO_ANNOTATIONS
    most_moves: int | None = option(
        "--moves", type=WholeNumber(1), metavar="N", help="Move at most N declarations."
    )
    force: bool = option(
        "--force", is_flag=True, help="Suggest orders that uses in the sources forbid, too."
    )
    sources: tuple[str, ...] = option(
        "--sources", multiple=True, metavar="PATH",
        help="Search these sources for code that depends on the order.",
    )  # fmt: skip
    no_measure: bool = option("--no-measure", is_flag=True, help="Measure nothing on this machine.")
    seconds: float | None = option(
        "--seconds", type=click.FloatRange(0.1, 600.0),
        help="Measure for about this time (default: 10 or more).",
    )  # fmt: skip
    write: bool = option(
        "--write", is_flag=True, help="Write the change to the file that defines the struct."
    )
    outputs: tuple[str, ...] = OUTPUTS
    format_: str = format_of(FORMATS)


@click.command(cls=OptionCommand)
@click.argument("words", nargs=-1, required=True, metavar="INPUT STRUCT")
@add(TuneOptions, "own")
@placement_options
@reading_options
@click.pass_context
def tune(
    context: click.Context,
    /,
    words: tuple[str, ...],
    own: TuneOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
) -> NoReturn:
    """Make a patch from a profile.

    It runs `evidence`, `suggest --evidence`, `diff` and `measure`: what is contended, the order that leaves
    the least of it, what else changes, and the rates before and after on this machine. --format markdown
    is a draft of the mail.

    Exit status: 0 an order is suggested, or none is needed; 1 no order keeps all rules; 3 refused, or
    nothing was found.
    """
    from layoutlint.commands import file_changes, input_tree, output_files, terminal
    from layoutlint.commands.tune import run
    from layoutlint.commands.tune.other_commands import run_command

    inputs = without_keywords(words)
    if len(inputs) != 2:
        raise click.UsageError("give INPUT and one STRUCT")
    path, name = inputs
    refuse_swapped("tune", path, (name,))
    terminal.complain(*file_changes.finish_interrupted())
    files = parse_outputs(own.outputs, own.format_, FORMATS, "markdown=mail.md")
    output_files.refuse((file for _, file in files), (path, *own.profiles, *own.rule_paths, *own.sources))
    for _, file in files:
        output_files.refuse_source(file)
    say = partial(_say, is_quiet=reading.progress is False)
    task = _task(context.obj, path, name, own, placement, reading)
    result = run.tune(task, partial(run_command, context), say)
    if own.write:
        input_tree.write_changes((result.suggestion,), (path,))
    for format_, file in files:
        output_files.write_bytes(file, FORMATS[format_](result).encode("utf-8", "surrogateescape"))
    render = FORMATS[own.format_]
    if own.format_ == "text":
        render = terminal.fit(render, reading.color, reading.width)
    if own.format_ == "patch":
        terminal.write_bytes(render(result).encode("utf-8", "surrogateescape"))
    else:
        terminal.write(render(result))
    sys.stdout.flush()
    sys.exit(_status(result, own))


def _say(step: str, is_quiet: bool) -> None:
    from layoutlint.commands import terminal

    if not is_quiet:
        terminal.complain(f"layoutlint: {step}")


def _task(
    flags: tuple[str, ...],
    path: str,
    name: str,
    own: TuneOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
) -> Task:
    """Return what is asked for. Raises UsageError and RuleFileError."""
    from layoutlint.intent.overrides import apply_overrides
    from layoutlint.intent.toml import shipped_rules
    from layoutlint.lint.options import Intents, Options

    try:
        from layoutlint.commands.tune.run import Task
        from layoutlint.suggestion.builds import Request
    except ModuleNotFoundError as error:
        raise missing_library(error) from None
    packs = load_packs_of_inputs(own.rule_paths, own.pack_names)
    kernel_packs = () if own.no_packs else shipped_rules.kernel_packs_beside(packs)
    packs, kernel_packs = apply_overrides(packs, kernel_packs)
    options = Options(
        line_size=placement.line_size,
        min_align=placement.min_align,
        read=read_options(flags, reading),
        intents=Intents(annotations=not own.no_annotations),
    )
    request = Request(
        name, ("contention", "moves", "size"), sources=own.sources, is_forced=own.force,
        most_moves=own.most_moves or 0,
    )  # fmt: skip
    bases = [word for base in own.bases for word in ("--base", base)]
    build_id = [] if own.build_id is None else ["--build-id", own.build_id]
    seconds = [] if own.seconds is None else ["--seconds", f"{own.seconds:g}"]
    return Task(
        path, request, [*own.profiles, *bases, *build_id], None if own.no_measure else seconds,
        packs, kernel_packs, options,
    )  # fmt: skip


def _status(result: Tuned, own: TuneOptions) -> int:
    suggestion = result.suggestion
    if suggestion.status == "infeasible":
        return EXIT_FINDINGS
    is_refused = suggestion.status in ("refused", "unknown")
    lacks_patch = own.write and suggestion.is_change and suggestion.patch is None
    return EXIT_UNKNOWN if is_refused or lacks_patch else EXIT_KEPT
