"""`layoutlint measure`: what a layout costs on this machine."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import click

from layoutlint.commands.option_records import OptionCommand, add, option
from layoutlint.commands.options import (
    NO_ANNOTATIONS,
    NO_PACKS,
    PACK_NAMES,
    RULE_PATHS,
    SLABS,
    PlacementOptions,
    ReadingOptions,
    WholeNumber,
    format_of,
    parse_outputs,
    placement_options,
    read_options,
    reading_options,
    slab_caches,
)
from layoutlint.commands.packs import load_packs_of_inputs
from layoutlint.commands.struct_names import refuse_swapped, without_keyword
from layoutlint.errors import EXIT_UNKNOWN, ReadError
from layoutlint.reports import formats

if TYPE_CHECKING:
    from layoutlint.lint.subject import Request, Source, Subjects
    from layoutlint.measurement.experiment import Mode
    from layoutlint.measurement.machine import Machine
    from layoutlint.measurement.mix import Mix
    from layoutlint.measurement.plan import Plan
    from layoutlint.measurement.result import Measurement
    from layoutlint.measurement.run import Setup
    from layoutlint.readers.profiles.saved import Saved

_MOST_SECONDS = 600.0
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
    numbers = _numbers(ctx, param, text)
    if max(numbers, default=0) > _MOST_INTERVAL or len(numbers) > 8:
        raise click.BadParameter(f"{text!r}: at most 8 numbers up to {_MOST_INTERVAL}", ctx, param)
    return numbers


class MeasureOptions(NamedTuple):
    """Options that only `measure` has."""

    rule_paths: tuple[str, ...] = RULE_PATHS
    pack_names: tuple[str, ...] = PACK_NAMES
    no_packs: bool = NO_PACKS
    no_annotations: bool = NO_ANNOTATIONS
    slabs: str | None = SLABS
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
    evidence: tuple[str, ...] = option(
        "--evidence", multiple=True, metavar="FILE", help="Replay a profile: the JSON of `evidence`."
    )
    stores: bool = option(
        "--stores", is_flag=True, help="Write by plain stores instead of atomic additions."
    )
    sweep: bool = option(
        "--sweep", is_flag=True, help="Let one core access many objects, not two cores one."
    )
    intervals: tuple[int, ...] = option(
        "--intervals", metavar="NS,...", callback=_intervals,
        help="Pause the first core N ns (default: 0,100,1000,10000; of a profile 0).",
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

    Cores of this machine access the fields of STRUCT. layoutlint generates a C program with the
    offsets, compiles it and runs it. The accesses come from a rule (--rule) and its declared accesses, from
    --read, --write and --lock, or from a profile (--evidence). --before and --after compare two layouts;
    one of them can be INPUT.

    Exit status: 0 measured, whatever the result is; 3 this machine cannot measure it.
    """
    from layoutlint.measurement.machine import CannotMeasure

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
    read = (*own.rule_paths, *own.evidence)
    output_files.refuse(paths, [*(each.path for each in sources), *read])
    for path in paths:
        output_files.refuse_source(path)
    ready = _make_plan(flags, sources, name, own, placement, reading)
    selection, plan, machine = ready.selection, ready.plan, ready.machine
    if own.dry_run:
        from layoutlint.measurement import runner

        terminal.write(runner.program_text(plan))
        sys.exit(0)
    if reading.progress is not False:
        cores = ", ".join(map(str, plan.cores))
        noun = "cores" if len(plan.cores) > 1 else "core"
        terminal.complain(
            f"measuring for about {plan.timing.seconds:.0f} s on {noun} {cores}, with {machine.compiler}"
        )
    from layoutlint.measurement import run

    measurement = run.measure(
        name, selection.subjects, plan, machine,
        rule=selection.rule, mix=ready.mix, notes=selection.notes,
    )  # fmt: skip
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
) -> _Prepared:
    """Read the layouts, and return what is measured and where.

    Raises ReadError, UsageError and CannotMeasure.
    """
    from layoutlint.intent.overrides import apply_overrides
    from layoutlint.intent.toml import shipped_rules
    from layoutlint.lint import subject
    from layoutlint.lint.options import Intents, Options
    from layoutlint.measurement import run
    from layoutlint.measurement.mix import read_mix

    setup = run.Setup(own.cores, own.seconds, own.rounds, own.dry_run)
    request = _request(name, own, run.line_size(setup))
    files = _load_evidence(own.evidence)
    packs = load_packs_of_inputs(own.rule_paths, own.pack_names)
    kernel_packs = () if own.no_packs else shipped_rules.kernel_packs_beside(packs)
    packs, kernel_packs = apply_overrides(packs, kernel_packs)
    options = Options(
        line_size=placement.line_size,
        min_align=placement.min_align,
        read=read_options(flags, reading),
        intents=Intents(annotations=not own.no_annotations),
        slabs=None if own.slabs is None else slab_caches(own.slabs),
    )
    selection = subject.find_subjects(sources, request, packs, kernel_packs, options)
    mix = None
    if files:
        layouts = [each.context.layout for each in selection.subjects]
        mix = read_mix(files, layouts, own.stores)
        plan = run.plan_replay(selection.subjects, mix, own.intervals or (0,), setup)
    else:
        plan = _plan(selection, request, own, setup)
    return _Prepared(selection, mix, plan, run.find_machine(plan, setup))


class _Prepared(NamedTuple):
    """What is measured, and where."""

    selection: Subjects
    mix: Mix | None
    plan: Plan
    machine: Machine


def _load_evidence(paths: tuple[str, ...]) -> tuple[Saved, ...]:
    """Return saved profiles. Raises ReadError, also for files that are none: nothing can be measured."""
    from layoutlint.errors import UsageError
    from layoutlint.readers.profiles import saved

    try:
        return tuple(saved.load(path) for path in dict.fromkeys(paths))
    except UsageError as error:
        raise ReadError(error.place, error.reason) from None


def _request(name: str, own: MeasureOptions, line_size: int) -> Request:
    from layoutlint.lint.subject import Request
    from layoutlint.measurement.arrange import Uses

    named = (*own.reads, *own.writes, *own.locks)
    _refuse_ambiguous(named)
    if own.evidence and (named or own.rule is not None or own.sweep):
        raise click.UsageError(
            "--evidence has the accesses of all cores: leave out --rule, --read, --write, --lock and --sweep"
        )
    uses = Uses(own.reads, own.writes, own.locks, own.stores)
    if own.rule is None and len(named) == 1 and not own.sweep:
        raise click.UsageError("two cores need two fields: add a --read, --write or --lock (or --sweep)")
    return Request(name, own.rule, uses, line_size, bool(own.evidence))


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


def _plan(selection: Subjects, request: Request, own: MeasureOptions, setup: Setup) -> Plan:
    """Return the experiment with cores and times. Raises ReadError, UsageError and CannotMeasure."""
    from layoutlint.measurement import arrange, run
    from layoutlint.measurement.experiment import INTERVALS
    from layoutlint.model.record import replace

    is_sweep = own.sweep or selection.arranges == "together"
    subjects = selection.subjects
    if own.sweep and selection.arranges == "apart":  # lines that are apart cost a sweep more
        subjects = tuple(replace(each, verdict=None) for each in subjects)
    mode: Mode = "sweep" if is_sweep else "contention"
    intervals = own.intervals or INTERVALS
    try:
        experiment = arrange.experiment(mode, subjects, request.uses, intervals, request.line_size)
    except ValueError as error:
        raise ReadError(subjects[0].origin, str(error)) from None
    return run.make_plan(experiment, 1 if is_sweep else 2, subjects[0].origin, setup)
