"""`layoutlint measure`: what a layout costs on this machine."""

from __future__ import annotations

import sys
import time
from math import ceil
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import click

from layoutlint.commands.option_records import OptionCommand, add, option
from layoutlint.commands.options import (
    NO_ANNOTATIONS,
    NO_PACKS,
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
from layoutlint.commands.struct_names import refuse_swapped, without_keyword
from layoutlint.errors import EXIT_UNKNOWN, ReadError
from layoutlint.reports import formats

if TYPE_CHECKING:
    from layoutlint.commands.measure.machine import Machine
    from layoutlint.commands.measure.plan import Plan
    from layoutlint.commands.measure.result import Measurement
    from layoutlint.lint.subject import Request, Source, Subjects

_SECONDS, _MOST_SECONDS = 10.0, 600.0
_ROUNDS, _MOST_ROUNDS = 7, 100
_MOST_INTERVAL = 1_000_000

FORMATS = formats(__package__, "text", "json", "svg")
"""Functions of a Measurement; the one for people has options."""


def _numbers(ctx: click.Context, param: click.Parameter, text: str | None) -> tuple[int, ...]:
    """Return numbers separated by commas, without duplicates."""
    if text is None:
        return ()
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdecimal() and len(word) < 8 for word in words):
        raise click.BadParameter(f"{text!r}: expected numbers separated by commas, such as 0,1", ctx, param)
    return tuple(dict.fromkeys(map(int, words)))


def _intervals(ctx: click.Context, param: click.Parameter, text: str | None) -> tuple[int, ...]:
    from layoutlint.measurement.experiment import INTERVALS

    numbers = _numbers(ctx, param, text) or INTERVALS
    if max(numbers) > _MOST_INTERVAL or len(numbers) > 8:
        raise click.BadParameter(f"{text!r}: at most 8 numbers up to {_MOST_INTERVAL}", ctx, param)
    return numbers


class MeasureOptions(NamedTuple):
    """Options that only `measure` has."""

    rule_paths: tuple[str, ...] = RULE_PATHS
    pack_names: tuple[str, ...] = PACK_NAMES
    no_packs: bool = NO_PACKS
    no_annotations: bool = NO_ANNOTATIONS
    rule: str | None = option("--rule", metavar="RULE", help="Measure the accesses of this rule's fields.")
    before: str | None = option(
        "--before", metavar="FILE", help="Take the layout before a change from FILE."
    )
    after: str | None = option("--after", metavar="FILE", help="Take the layout after a change from FILE.")
    reads: tuple[str, ...] = option("--read", multiple=True, metavar="FIELD", help="Read FIELD.")
    writes: tuple[str, ...] = option("--write", multiple=True, metavar="FIELD", help="Write FIELD.")
    locks: tuple[str, ...] = option(
        "--lock", multiple=True, metavar="FIELD", help="Try to take the lock FIELD."
    )
    stores: bool = option(
        "--stores", is_flag=True, help="Write by plain stores instead of atomic additions."
    )
    sweep: bool = option(
        "--sweep", is_flag=True, help="Let one core access many objects, not two cores one."
    )
    intervals: tuple[int, ...] = option(
        "--intervals", metavar="NS,...", callback=_intervals,
        help="Pause the first core N ns (default: 0,100,1000,10000).",
    )  # fmt: skip
    cores: tuple[int, ...] = option(
        "--cores", metavar="N,N", callback=_numbers, help="Use these processors (default: the first cores)."
    )
    seconds: float | None = option(
        "--seconds", type=click.FloatRange(0.1, _MOST_SECONDS),
        help="Measure for about this time (default: 10 or more).",
    )  # fmt: skip
    rounds: int = option(
        "--rounds", type=WholeNumber(1, _MOST_ROUNDS), default=_ROUNDS, show_default=True,
        help="Repeat all measurements N times, in random order.",
    )  # fmt: skip
    dry_run: bool = option("--dry-run", is_flag=True, help="Print the C program, and run nothing.")
    outputs: tuple[str, ...] = option(
        "--output", multiple=True, metavar="[F=]FILE",
        help="Write format F (text, json, svg) to FILE too; without F=, all to FILE only.",
    )  # fmt: skip
    format_: str = format_of(FORMATS.keys() - {"svg"})


@click.command(cls=OptionCommand)
@click.argument("words", nargs=-1, required=True, metavar="[INPUT] STRUCT")
@add(MeasureOptions, "own")
@placement_options
@reading_options
@click.pass_obj
def measure(
    flags: tuple[str, ...],
    /,
    words: tuple[str, ...],
    own: MeasureOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
) -> NoReturn:
    """Measure here what a layout costs.

    Two cores of this machine access the fields of STRUCT. layoutlint generates a C program with the
    offsets, compiles it and runs it. The accesses come from a rule (--rule) and its declared accesses, or
    from --read, --write and --lock. --before and --after compare two layouts; one of them can be INPUT.

    Exit status: 0 measured, whatever the result is; 3 this machine cannot measure it.
    """
    from layoutlint.commands.measure.machine import CannotMeasure

    try:
        _measure(flags, words, own, placement, reading)
    except CannotMeasure as error:
        from layoutlint.commands import terminal

        terminal.complain(f"layoutlint: cannot measure: {error}")
        sys.exit(EXIT_UNKNOWN)


def _measure(
    flags: tuple[str, ...],
    words: tuple[str, ...],
    own: MeasureOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
) -> NoReturn:
    from layoutlint.commands import output_files, terminal

    sources, name = _sources(words, own)
    if own.dry_run and own.outputs:
        raise click.UsageError("--dry-run prints a program only: leave --output out, or redirect stdout")
    outputs = parse_outputs(own.outputs, own.format_, FORMATS, "svg=rates.svg")
    paths = [path for _, path in outputs]
    output_files.refuse(paths, [*(each.path for each in sources), *own.rule_paths])
    for path in paths:
        output_files.refuse_source(path)
    selection, plan, machine = _make_plan(flags, sources, name, own, placement, reading)
    if own.dry_run:
        from layoutlint.commands.measure import runner

        terminal.write(runner.program_text(plan))
        sys.exit(0)
    if reading.progress is not False:
        cores = ", ".join(map(str, plan.cores))
        noun = "cores" if len(plan.cores) > 1 else "core"
        terminal.complain(
            f"measuring for about {plan.timing.seconds:.0f} s on {noun} {cores}, with {machine.compiler}"
        )
    measurement = _result(name, selection, plan, machine)
    for format_, path in outputs:
        output_files.write_whole(path, FORMATS[format_](measurement))
    _print(measurement, own.format_, reading)


def _print(measurement: Measurement, format_: str, reading: ReadingOptions) -> NoReturn:
    """Print the report, or the reason why the machine could not tell, and exit."""
    from layoutlint.commands import terminal

    refusal = measurement.refusal()
    if format_ == "json":
        terminal.write(FORMATS["json"](measurement))
    elif refusal is None:
        width, color = terminal.width(reading.width), terminal.has_color(reading.color)
        terminal.write(FORMATS["text"](measurement, color=color, width=width))
    sys.stdout.flush()
    if refusal is not None:
        terminal.complain(f"layoutlint: this machine cannot measure it: {refusal}")
    sys.exit(0 if refusal is None else EXIT_UNKNOWN)


def _sources(words: tuple[str, ...], own: MeasureOptions) -> tuple[tuple[Source, ...], str]:
    """Return the inputs, the layout before a change first, and the name of the struct."""
    from layoutlint.lint.subject import Source
    from layoutlint.model.paths import is_pattern

    *paths, last = words
    if paths and paths[-1] in ("struct", "union"):
        paths.pop()
    name = without_keyword(last)
    if is_pattern(name):
        raise click.UsageError(f"{name!r} is a pattern; measure one struct")
    given = sum(1 for path in (own.before, own.after) if path is not None) + len(paths)
    if len(paths) > 1 or given == 0 or given > 2:
        raise click.UsageError(
            "give INPUT STRUCT, or STRUCT and two layouts: --before FILE and --after FILE, or one of them "
            "and INPUT"
        )
    if paths:
        refuse_swapped("measure", paths[0], (last,))
    if given == 1:
        path = (*paths, own.before, own.after)[0]
        if not paths:
            raise click.UsageError("--before and --after are for two layouts; give the other one, too")
        return (Source("", str(path)),), name
    before = own.before if own.before is not None else paths[0]
    after = own.after if own.after is not None else paths[0]
    return (Source("before", before), Source("after", after)), name


def _make_plan(
    flags: tuple[str, ...],
    sources: tuple[Source, ...],
    name: str,
    own: MeasureOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
) -> tuple[Subjects, Plan, Machine]:
    """Read the layouts, and return what is measured and where.

    Raises ReadError, UsageError and CannotMeasure.
    """
    from layoutlint.commands.measure import machine as this_machine
    from layoutlint.commands.measure import runner
    from layoutlint.intent.overrides import apply_overrides
    from layoutlint.intent.toml import shipped_rules
    from layoutlint.lint import subject
    from layoutlint.lint.options import Intents, Options

    line_size, second = this_machine.cache_sizes(min(own.cores, default=0))
    if line_size is None:
        raise this_machine.CannotMeasure("the system does not state the size of a cache line")
    request = _request(name, own, line_size)
    packs = load_packs_of_inputs(own.rule_paths, own.pack_names)
    kernel_packs = () if own.no_packs else shipped_rules.kernel_packs_beside(packs)
    packs, kernel_packs = apply_overrides(packs, kernel_packs)
    options = Options(
        line_size=placement.line_size,
        min_align=placement.min_align,
        read=read_options(flags, reading),
        intents=Intents(annotations=not own.no_annotations),
    )
    selection = subject.find_subjects(sources, request, packs, kernel_packs, options)
    plan = _plan(selection, request, own, second)
    model, is_virtual = this_machine.processor()
    compiler = "" if own.dry_run else this_machine.find_compiler()
    version = "" if own.dry_run else runner.compiler_version(compiler)
    available = len(this_machine.allowed_processors())
    machine = this_machine.Machine(
        model, is_virtual, plan.cores, available, line_size, second, compiler, version
    )
    return selection, plan, machine


def _request(name: str, own: MeasureOptions, line_size: int) -> Request:
    from layoutlint.lint.subject import Request
    from layoutlint.measurement.arrange import Uses

    named = (*own.reads, *own.writes, *own.locks)
    _refuse_ambiguous(named)
    uses = Uses(own.reads, own.writes, own.locks, own.stores)
    if own.rule is None and len(named) == 1 and not own.sweep:
        raise click.UsageError("two cores need two fields: add a --read, --write or --lock (or --sweep)")
    return Request(name, own.rule, uses, line_size)


def _refuse_ambiguous(named: tuple[str, ...]) -> None:
    """Raise UsageError for patterns, and for fields of which one is the other or a part of it."""
    from itertools import combinations

    from layoutlint.model.paths import is_pattern, overlap

    for path in named:
        if is_pattern(path):
            raise click.UsageError(f"{path!r} is a pattern; name each field")
    for path, other in combinations(named, 2):
        if path == other:
            raise click.UsageError(f"`{path}` is given twice; choose one of --read, --write and --lock")
        if overlap(path, other):
            raise click.UsageError(f"`{path}` and `{other}` are the same field, or parts of one another")


def _plan(selection: Subjects, request: Request, own: MeasureOptions, second: int | None) -> Plan:
    """Return the experiment with cores and times. Raises ReadError, UsageError and CannotMeasure."""
    from layoutlint.commands.measure import machine
    from layoutlint.commands.measure.plan import Plan, Timing
    from layoutlint.measurement import arrange
    from layoutlint.model.record import replace

    is_sweep = own.sweep or selection.arranges == "together"
    subjects = selection.subjects
    if own.sweep and selection.arranges == "apart":  # lines that are apart cost a sweep more
        subjects = tuple(replace(each, verdict=None) for each in subjects)
    try:
        experiment = arrange.experiment(
            "sweep" if is_sweep else "contention", subjects, request.uses, own.intervals, request.line_size
        )
        number = 1 if is_sweep else 2
        cores = tuple(range(number)) if own.dry_run else machine.choose_cores(number, own.cores)
        plan = Plan(experiment, cores, Timing(own.seconds or _SECONDS, own.rounds), second or 1 << 20)
        assert plan.arena
    except ValueError as error:
        raise ReadError(subjects[0].origin, str(error)) from None
    least = plan.timing.least_seconds(len(plan.cells))
    if own.seconds is not None and own.seconds < least:
        raise click.UsageError(
            f"--seconds {own.seconds:g} is too short for {len(plan.cells)} situations in {own.rounds} "
            f"rounds: give at least {ceil(10 * least) / 10}, or less --rounds or --intervals"
        )
    seconds = max(plan.timing.seconds, least)
    return replace(plan, timing=replace(plan.timing, seconds=seconds))


def _result(name: str, selection: Subjects, plan: Plan, machine: Machine) -> Measurement:
    """Run the program, and return what it measured."""
    from layoutlint.commands.measure import machine as this_machine
    from layoutlint.commands.measure import result, runner
    from layoutlint.measurement import arrange

    load, stolen, begun = this_machine.load(), this_machine.stolen_ticks(), time.monotonic()
    samples = runner.run(plan, machine.compiler)
    seconds, now = time.monotonic() - begun, this_machine.stolen_ticks()
    passed = now[1] - stolen[1]
    share = (now[0] - stolen[0]) / passed if passed > 0 else None
    conditions = result.Conditions(load, share, seconds, time.strftime("%Y-%m-%d"))
    total, valid, series = result.series_of_samples(samples, plan)
    rule = selection.rule
    return result.Measurement(
        name,
        selection.subjects[0].struct.source,
        None if rule is None else rule.id,
        None if rule is None else rule.kind.name,
        plan,
        machine,
        conditions,
        total,
        valid,
        series,
        (
            *selection.notes,
            *this_machine.foreign_layouts(each.struct.target.name for each in selection.subjects),
            *arrange.notes(selection.subjects, plan.experiment),
        ),
    )
