"""`layoutlint survey`: read and judge many inputs, and keep layouts and verdicts in a store."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import click

from layoutlint import files
from layoutlint.commands.executor_options import ExecutorOptions, executor_options, make_executor
from layoutlint.commands.option_records import OptionCommand, add, option
from layoutlint.commands.options import (
    NO_ANNOTATIONS,
    NO_PACKS,
    PACK_NAMES,
    RULE_PATHS,
    PlacementOptions,
    ReadingOptions,
    format_of,
    format_option,
    placement_options,
    read_options,
    reading_options,
    width_option,
)
from layoutlint.commands.packs import load_packs, load_packs_of_inputs
from layoutlint.commands.struct_names import strip_keyword, without_keywords
from layoutlint.errors import ReadError, UsageError, missing_library
from layoutlint.reports import formats

if TYPE_CHECKING:
    from layoutlint.commands.survey.run import Request
    from layoutlint.commands.survey.survey_file import Job
    from layoutlint.judgement.rule import Pack

_STDIN = "-"
_LARGEST_LIST = 1 << 28
"""The most bytes of a list on standard input."""

REPORT_FORMATS = formats(__package__, "text", "json", "csv", prefix="report_")
"""Functions of a StoreReport, and `csv` of failing verdicts."""

FORMATS = formats(__package__, "text", "json")
"""Functions of a SurveyResult."""


def _memory(ctx: click.Context, param: click.Parameter, text: str | None) -> int | None:
    if text is None:
        return None
    from layoutlint.commands.survey.survey_file import memory
    from layoutlint.intent.toml.converters import Misfit

    try:
        return memory(text)
    except Misfit as misfit:
        raise click.BadParameter(misfit.reason, ctx, param) from None


class SurveyOptions(NamedTuple):
    """Options that only `survey run` has."""

    store: str = option("--store", required=True, metavar="DIR", help="Keep results in this folder.")
    rule_paths: tuple[str, ...] = RULE_PATHS
    pack_names: tuple[str, ...] = PACK_NAMES
    no_packs: bool = NO_PACKS
    no_annotations: bool = NO_ANNOTATIONS
    globs: tuple[str, ...] = option(
        "--struct", multiple=True, metavar="GLOB",
        callback=lambda ctx, param, names: without_keywords(names),
        help="Keep layouts of structs with a matching name too.",
    )  # fmt: skip
    task_seconds: float | None = option(
        "--task-seconds", type=click.FloatRange(0, 604_800, min_open=True), metavar="N",
        help="Stop a task after N seconds (default: 600).",
    )  # fmt: skip
    task_memory: int | None = option(
        "--task-memory", metavar="BYTES", callback=_memory,
        help="Stop a task with more memory, as 512M or 4G (default: 4G).",
    )  # fmt: skip
    retry_failed: bool = option(
        "--retry-failed", is_flag=True, help="Run tasks again that are not complete."
    )
    again: bool = option("--again", is_flag=True, help="Run all tasks again.")
    by_build_id: bool = option(
        "--by-build-id", is_flag=True, help="Recognise ELF files by build id, also in later runs."
    )
    fail_on: str = option(
        "--fail-on", type=click.Choice(["broken", "at-risk"]), default="at-risk",
        help="Choose the mildest outcome that fails the run.",
    )  # fmt: skip
    ignore_missing: bool = option(
        "--ignore-missing", is_flag=True, help="Skip rules on structs that no input defines."
    )
    format_: str = format_of(FORMATS)


class _WithDefault(click.Group):
    """A group whose first command is meant if a call names none of them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group("survey", cls=_WithDefault)
def survey_group() -> None:
    """Judge many inputs, and query results.

    `survey INPUT...` is short for `survey run INPUT...`.
    """


@survey_group.command("run", cls=OptionCommand)
@click.argument("inputs", nargs=-1, required=True, metavar="JOB|INPUT...")
@add(SurveyOptions, "own")
@executor_options(
    "Run N tasks at a time (default: one on each processor).",
    "Run tasks on a Dask scheduler's workers (tls://HOST:PORT).",
)
@placement_options
@reading_options
@click.pass_obj
def run_survey(
    flags: tuple[str, ...],
    /,
    inputs: tuple[str, ...],
    own: SurveyOptions,
    executor: ExecutorOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
) -> NoReturn:
    """Judge many inputs, and keep the results.

    Each INPUT is a task of its own; its rows are kept in a store (Parquet). JOB is a TOML file with
    inputs, rules and limits. `-` reads a list of inputs from standard input. A later run does only what
    is new. Exit status as `check`; inputs that failed or were not read whole make it 3.
    """
    from layoutlint.commands import terminal

    job = _job(inputs)
    try:
        import pyarrow.parquet  # noqa: F401

        from layoutlint.commands.survey import run
        from layoutlint.surveys.store import create_store
    except ModuleNotFoundError as error:
        raise missing_library(error) from None

    request = _request(job, flags, own, placement, reading)
    runner = make_executor(executor, ("layoutlint.commands.survey.preload",))
    result = run.survey(request, create_store(own.store, own.by_build_id), runner)
    render = FORMATS[own.format_]
    fit = {"width": terminal.width(reading.width)} if own.format_ == "text" else {}
    terminal.write(render(result, **fit))
    sys.stdout.flush()
    sys.exit(result.exit_status)


def _job(words: tuple[str, ...]) -> Job:
    """Return the job that the command line names or is. Raises UsageError and RuleFileError."""
    from layoutlint.commands.survey import survey_file

    jobs = [word for word in words if word.endswith(".toml") and not files.is_folder(word)]
    if jobs and len(words) > 1:
        raise click.UsageError(f"{jobs[0]} is a job, which names its inputs itself; give nothing else")
    if jobs:
        return survey_file.load(jobs[0])
    names = [word for word in words if word != _STDIN]
    if words.count(_STDIN) > 1:
        raise click.UsageError("standard input can be read once: give `-` once")
    if _STDIN in words:
        names += survey_file.split_names(_read_list())
    if not names:
        raise UsageError("standard input names no inputs")
    return survey_file.Job(tuple(names))


def _read_list() -> bytes:
    data = sys.stdin.buffer.read(_LARGEST_LIST + 1)
    if len(data) > _LARGEST_LIST:
        raise ReadError("<stdin>", f"has more than the {_LARGEST_LIST:,} bytes that are read")
    return data


def _request(
    job: Job,
    flags: tuple[str, ...],
    own: SurveyOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
) -> Request:
    """Return what the survey is to do. Raises UsageError and RuleFileError before any task starts."""
    from layoutlint.commands.survey.run import Request, plan_of
    from layoutlint.commands.survey.task import Survey
    from layoutlint.intent.overrides import apply_overrides
    from layoutlint.intent.toml import shipped_rules
    from layoutlint.judgement.verdict import Outcome
    from layoutlint.lint.options import Intents, Options, Strictness
    from layoutlint.model.task import LIMITS_OF_INPUT, Limits

    own_rules = (*job.rules, *own.rule_paths)
    pack_names = (*job.packs, *own.pack_names)
    load = load_packs if job.packs else load_packs_of_inputs
    packs = load(own_rules, pack_names)
    _refuse_partial(packs)
    kernel_packs = () if own.no_packs else shipped_rules.kernel_packs_beside(packs)
    packs, kernel_packs = apply_overrides(packs, kernel_packs)
    options = Options(
        line_size=placement.line_size,
        min_align=placement.min_align,
        read=read_options(flags, reading),
        intents=Intents(annotations=not own.no_annotations),
        strictness=Strictness(fail_on=Outcome(own.fail_on), allow_unknown=reading.allow_unknown),
        mode=Survey((*job.structs, *own.globs)),
    )
    seconds = own.task_seconds or job.task_seconds or LIMITS_OF_INPUT.seconds
    limits = Limits(seconds, own.task_memory or job.task_memory or LIMITS_OF_INPUT.memory)
    return Request(
        job.inputs,
        plan_of(packs, kernel_packs, options),
        limits,
        retries_failed=own.retry_failed,
        repeats=own.again,
        ignores_missing=own.ignore_missing,
        progress=options.read.progress,
    )


def _refuse_partial(packs: tuple[Pack, ...]) -> None:
    """Raise UsageError for a rule file of some inputs: equal ones are judged once, wherever they are."""
    for pack in packs:
        if pack.scopes is not None:
            raise UsageError(
                f"{pack.path} belongs to some of the inputs, and a survey judges all by the same rules: "
                "run one for each folder, or name the rules with `--rules`"
            )


@survey_group.command("report", cls=OptionCommand)
@click.argument("store", metavar="DIR")
@click.option("--rule", default="*", metavar="GLOB", help="Report rules with a matching name only.")
@click.option(
    "--struct",
    "struct",
    default="*",
    metavar="GLOB",
    callback=strip_keyword,
    help="Report structs with a matching name only.",
)
@format_option(REPORT_FORMATS, note=" (csv: verdicts not kept)")
@click.option("--verbose", "-v", is_flag=True, help="Print whole lists, and whole names of inputs.")
@width_option
def report_store(
    store: str, rule: str, struct: str, format_: str, verbose: bool, width: int | None
) -> None:
    """Report what a store has.

    Reported are rules that fail, and since when; structs that differ; failures; costs. The latest run of
    each input counts.
    """
    from layoutlint.commands import terminal

    try:
        import duckdb  # noqa: F401
        import pyarrow.parquet  # noqa: F401

        from layoutlint.surveys import queries
        from layoutlint.surveys.store import open_store
    except ModuleNotFoundError as error:
        raise missing_library(error) from None

    render, filters = REPORT_FORMATS[format_], queries.Filters(rule, struct)
    opened = open_store(store)
    if format_ == "csv":
        terminal.write(render(queries.failing_verdicts(opened, filters)))
    elif format_ == "text":
        terminal.write(render(queries.report(opened, filters), verbose, terminal.width(width)))
    else:
        terminal.write(render(queries.report(opened, filters)))
