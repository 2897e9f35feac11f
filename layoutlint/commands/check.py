"""`layoutlint check`: judge structs by rules."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click

from layoutlint import accesses, reports
from layoutlint.commands import replay, standard_input
from layoutlint.commands.options import (
    PlacementOptions,
    RandomisingOptions,
    ReadingOptions,
    collect,
    format_option,
    kernel_version,
    parse_outputs,
    placement_options,
    randomisation,
    randomising_options,
    read_options,
    reading_options,
    rule_options,
)
from layoutlint.commands.packs import discover_rule_file, load_packs
from layoutlint.commands.struct_names import strip_keyword

if TYPE_CHECKING:
    from layoutlint.intent.policy import Policy
    from layoutlint.judgement.finding import Report
    from layoutlint.judgement.rule import Pack
    from layoutlint.lint.options import Options
    from layoutlint.model.build import Build
    from layoutlint.model.reading import InputText
    from layoutlint.reports.check.diagnostics import Repository


_FROM_TOP = ("gitlab", "rdjson", "checkstyle")
"""Formats for tools that want paths from the top of the repository."""


class CheckOptions(NamedTuple):
    """Options that only `check` has."""

    matrix_path: str | None
    rule_paths: tuple[str, ...]
    pack_names: tuple[str, ...]
    no_packs: bool
    no_annotations: bool
    comments: bool
    only: str | None
    format_: str
    outputs: tuple[str, ...]
    fail_on: str
    unused: bool
    guesses: int
    policy_from: str | None
    no_suppressions: bool
    ignore_missing: bool
    staged: bool
    sources: tuple[str, ...]
    quiet: bool
    verbose: bool
    statistics: bool


@click.command()
@click.argument("inputs", nargs=-1, metavar="INPUT...")
@click.option(
    "--matrix", "matrix_path", metavar="FILE", help="Judge the builds that FILE names, in one report."
)
@rule_options
@click.option(
    "--comments",
    is_flag=True,
    help="Judge what comments of C sources claim about cache lines.",
)
@click.option(
    "--struct",
    "only",
    metavar="GLOB",
    callback=strip_keyword,
    help="Judge only structs with a matching name.",
)
@format_option(reports.FORMATS)
@click.option("--output", "outputs", multiple=True, metavar="F=FILE", help="Write format F to FILE too.")
@click.option(
    "--fail-on",
    type=click.Choice(["broken", "at-risk"]),
    default="at-risk",
    help="Choose the mildest outcome that fails the run.",
)
@randomising_options
@placement_options
@click.option(
    "--unused",
    is_flag=True,
    help="Report rules that judged nothing, and fail on unused suppressions and annotations.",
)
@click.option(
    "--guesses",
    type=click.IntRange(0),
    default=10,
    metavar="N",
    help="Report the N highest notes of packs that guess (default: 10).",
)
@click.option(
    "--policy-from",
    metavar="REV",
    help="Take rule files, matrix and suppressions from commit REV.",
)
@click.option("--no-suppressions", is_flag=True, help="Count findings that `ignore[...]` suppresses.")
@click.option("--ignore-missing", is_flag=True, help="Skip rules on structs that no input defines.")
@click.option(
    "--staged",
    is_flag=True,
    help="Judge what the staged change of a git repository can affect (for pre-commit).",
)
@click.option(
    "--sources",
    multiple=True,
    metavar="DIR",
    help="Read annotations in the comments of this source directory of a compiled input.",
)
@click.option(
    "--quiet", "-q", is_flag=True, help="Print only findings, and why something could not be judged."
)
@click.option("--verbose", "-v", is_flag=True, help="Print all drawings, evidence and lists.")
@click.option("--statistics", is_flag=True, help="Print the number of findings of each rule instead of them.")
@reading_options
@collect(CheckOptions, "own", CheckOptions._fields)
@click.pass_obj
def check(
    flags: tuple[str, ...],
    /,
    inputs: tuple[str, ...],
    own: CheckOptions,
    randomising: RandomisingOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
) -> NoReturn:
    """Judge the structs of INPUT by rules."""
    from layoutlint.commands import terminal

    if not inputs and own.matrix_path is None and not own.staged:
        raise click.MissingParameter(
            ctx=click.get_current_context(), param_type="argument", param_hint="'INPUT...'"
        )
    _refuse_without_effect(own, inputs)
    files = parse_outputs(own.outputs)
    inputs, texts = standard_input.take_text(inputs, own.rule_paths)
    arguments = _Arguments(flags, inputs, texts, own, randomising, placement, reading)
    memory = None
    depends_on_git = own.staged or own.policy_from is not None
    if replay.is_on(reading.no_cache) and not files and not depends_on_git:
        memory = replay.memory_for("check", reading.color, reading.width, *_deciding(arguments))
    kept = None if memory is None else replay.recall(memory)
    if kept is not None:
        terminal.write(kept.text)
        sys.exit(kept.status)
    with accesses.recording() if memory is not None else nullcontext(None) as log:
        report = _run(arguments, files)
        _write(files, report, own, reading)
        text = _text(report, own, reading)
    terminal.write(text)
    sys.stdout.flush()
    if memory is not None and log is not None:
        replay.keep(memory, log, replay.Output(text, report.exit_status))
    sys.exit(report.exit_status)


class _Arguments(NamedTuple):
    """The command line of `check`."""

    flags: tuple[str, ...]
    inputs: tuple[str, ...]
    texts: tuple[InputText, ...]
    own: CheckOptions
    randomising: RandomisingOptions
    placement: PlacementOptions
    reading: ReadingOptions


def _deciding(arguments: _Arguments) -> _Arguments:
    """Return the command line without options on which the output does not depend."""
    return arguments._replace(reading=arguments.reading._replace(jobs=None, progress=None, color=""))


def _run(arguments: _Arguments, files: list[tuple[str, str]]) -> Report:
    """Return the report on the inputs; raises UsageError for outputs that must not be written."""
    from layoutlint.intent.overrides import apply_overrides
    from layoutlint.intent.toml import rule_file
    from layoutlint.lint import run

    _, inputs, _, own, randomising, _, reading = arguments
    read_paths = (*inputs, *own.rule_paths, own.matrix_path, reading.btf_base)
    randomising_paths = (*randomising.randomized, randomising.seed, randomising.kernel_version)
    _refuse_outputs(files, filter(None, (*read_paths, *randomising_paths)))
    policy = _policy(own.policy_from, inputs, own.sources)
    builds = _builds(own.matrix_path, inputs, policy)
    if own.comments and not own.staged:
        _refuse_without_text((*inputs, *(path for build in builds for path in build.inputs)), own.sources)
    packs = load_packs(own.rule_paths or (() if policy else discover_rule_file()), own.pack_names, policy)
    if builds:
        _refuse_guesses(packs)
    kernel_packs = () if own.no_packs else rule_file.kernel_packs_beside(packs)
    packs, kernel_packs = apply_overrides(packs, kernel_packs)
    options = _options(arguments, policy)
    if own.staged:
        inputs, packs, kernel_packs, options = _affected(inputs, packs, kernel_packs, options)
    if not builds:
        return run.check(inputs, packs, kernel_packs, options)
    from layoutlint.lint import matrix

    return matrix.check(builds, packs, kernel_packs, options)


def _options(arguments: _Arguments, policy: Policy | None) -> Options:
    """Return the options of the run; raises UsageError."""
    from layoutlint.judgement.verdict import Outcome
    from layoutlint.lint.options import Options

    flags, inputs, texts, own, randomising, placement, reading = arguments
    if own.quiet and reading.progress is None:
        reading = reading._replace(progress=False)
    return Options(
        only=own.only,
        annotations=not own.no_annotations,
        comments=own.comments,
        fail_on=Outcome(own.fail_on),
        line_size=placement.line_size,
        min_align=placement.min_align,
        allow_unknown=reading.allow_unknown,
        ignore_missing=own.ignore_missing,
        unused=own.unused,
        guesses=own.guesses,
        read=read_options(flags, reading, own.sources, policy, texts),
        randomised=randomisation(randomising, inputs or (os.curdir,) * own.staged, needs_seed=False),
        kernel=kernel_version(randomising),
        suppressions=not own.no_suppressions,
        policy=policy,
    )


def _write(files: list[tuple[str, str]], report: Report, own: CheckOptions, reading: ReadingOptions) -> None:
    from layoutlint.commands import output_files

    for name, path in files:
        text = reports.FORMATS[name](report, **_format_options(name, own, reading.width))
        output_files.write_whole(path, text)


def _text(report: Report, own: CheckOptions, reading: ReadingOptions) -> str:
    """Return what is printed on stdout."""
    from layoutlint.commands import terminal

    options = _format_options(own.format_, own, terminal.width(reading.width))
    if own.format_ == "text":
        options["color"] = terminal.has_color(reading.color)
    return reports.FORMATS[own.format_](report, **options)


def _format_options(name: str, own: CheckOptions, width: int | None) -> dict[str, Any]:
    """Return the options of a format; only those for people have any."""
    if name == "concise":
        return {"summary": not own.quiet}
    if name in _FROM_TOP:
        return {"repository": _repository()}
    if name != "text":
        return {}
    from layoutlint.reports.check.summary import Detail

    detail = Detail.QUIET if own.quiet else Detail.VERBOSE if own.verbose else Detail.NORMAL
    wrapped = {} if width is None else {"width": width}
    return {"detail": detail, "statistics": own.statistics, **wrapped}


def _repository() -> Repository:
    """Return where this run stands in the repository around the working folder."""
    from layoutlint import files
    from layoutlint.reports.check.diagnostics import Repository

    folder = files.real_path(os.curdir)
    top = folder
    while not files.exists(os.path.join(top, ".git")):
        if top == os.path.dirname(top):
            return Repository()
        top = os.path.dirname(top)
    return Repository(top, os.path.relpath(folder, top))


def _refuse_without_effect(own: CheckOptions, inputs: tuple[str, ...]) -> None:
    """Raise UsageError for options that contradict each other, or have no effect."""
    if own.staged and standard_input.WORD in inputs:
        raise click.UsageError("--staged judges files of a git repository, and `-` is standard input")
    if own.staged and own.matrix_path is not None:
        raise click.UsageError("--staged chooses the inputs, and the builds of --matrix name their own")
    if own.quiet and own.verbose:
        raise click.UsageError("--quiet and --verbose contradict each other")
    formats = {own.format_, *(output.partition("=")[0] for output in own.outputs)}
    for option, is_given in (("--verbose", own.verbose), ("--statistics", own.statistics)):
        if is_given and "text" not in formats:
            raise click.UsageError(f"{option} is for --format text")


def _refuse_outputs(files: list[tuple[str, str]], read_paths: Iterable[str]) -> None:
    """Raise UsageError for a file that cannot be written, or that must not be lost."""
    from layoutlint.commands import output_files

    output_files.refuse((path for _, path in files), read_paths)
    for _, path in files:
        output_files.refuse_source(path)


def _refuse_guesses(packs: tuple[Pack, ...]) -> None:
    """Raise UsageError for a pack that guesses, which judges one build only."""
    for pack in packs:
        if pack.guesses:
            raise click.UsageError(
                f"--matrix cannot use the pack {pack.name}, which guesses; check one build"
            )


def _refuse_without_text(inputs: Iterable[str], sources: tuple[str, ...]) -> None:
    """Raise UsageError if no input or source directory has C sources, whose comments can be judged."""
    from layoutlint.readers.clang.kernel import tree

    if not any(tree.source_folders(path) for path in (*inputs, *sources)):
        raise click.UsageError("--comments needs C sources: as INPUT, or below --sources DIR")


def _policy(revision: str | None, inputs: tuple[str, ...], sources: tuple[str, ...]) -> Policy | None:
    """Return the rule files and suppressions of a base commit; None without one. Raises UsageError."""
    if revision is None:
        return None
    from layoutlint.intent import policy

    return policy.from_revision(revision, inputs, sources)


def _affected(
    names: tuple[str, ...], packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> tuple[tuple[str, ...], tuple[Pack, ...], tuple[Pack, ...], Options]:
    """Return inputs, packs and options for what the staged change affects; raises UsageError, ReadError."""
    from layoutlint.intent import change
    from layoutlint.lint import affected
    from layoutlint.model.record import replace

    own_names = affected.split_names(names)
    result = affected.find(change.staged(), own_names, packs, kernel_packs, options)
    return result.inputs, result.packs, result.kernel_packs, replace(options, change=result.scope)


def _builds(path: str | None, inputs: tuple[str, ...], policy: Policy | None) -> tuple[Build, ...]:
    """Return the builds of a matrix file. Raises UsageError if an input is read by no build."""
    if path is None:
        return ()
    from layoutlint.intent.toml import matrix_file

    builds = matrix_file.load(path, inputs, policy.text(path) if policy else None)
    if inputs and not any(build.inputs == inputs for build in builds):
        raise click.UsageError(f"no build of {path} reads {inputs[0]}: every build names its own `input`")
    return builds
