"""`layoutlint check`: judge structs by rules."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import partial
from time import strftime, time_ns
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import click

from layoutlint import reports
from layoutlint.commands import judging, replay, standard_input
from layoutlint.commands.executor_options import ExecutorOptions, executor_options, make_executor
from layoutlint.commands.judging import Arguments, JudgingOptions, Scope, judging_options
from layoutlint.commands.option_records import FAILURE, FIXES, GUESSES, OUTPUT, OptionCommand, add, option
from layoutlint.commands.options import (
    HTML,
    LIVE,
    OUTPUTS,
    USES,
    PlacementOptions,
    RandomisingOptions,
    ReadingOptions,
    WholeNumber,
    format_of,
    html_output,
    parse_outputs,
    placement_options,
    randomising_options,
    reading_options,
)
from layoutlint.commands.struct_names import strip_keywords
from layoutlint.errors import UsageError, missing_library
from layoutlint.files import accesses

if TYPE_CHECKING:
    from layoutlint.commands.fix import Fixer
    from layoutlint.commands.judging import Judged
    from layoutlint.intent.policy import Policy
    from layoutlint.judgement.finding import Report
    from layoutlint.lint.held_layouts import Held
    from layoutlint.readers.profiles.saved import Saved
    from layoutlint.reports.check.diagnostics import Repository


_FROM_TOP = ("github", "gitlab", "rdjson", "checkstyle", "sarif")
"""Formats for tools that want paths from the top of the repository."""


_WITH_FIXES = ("sarif", "rdjson")
"""Formats with fixes."""


class CheckOptions(NamedTuple):
    """Options that only `check` has."""

    fail_on: str = option(
        "--fail-on", heading=FAILURE, type=click.Choice(["broken", "at-risk"]), default="at-risk",
        help="Choose the mildest outcome that fails the run.",
    )  # fmt: skip
    since: str | None = option(
        "--since", heading=FAILURE, metavar="REV",
        help="Fail only for findings that are new or worse since REV.",
    )  # fmt: skip
    staged: bool = option(
        "--staged", heading=FAILURE, is_flag=True,
        help="Fail only for new or worse findings of the staged change.",
    )  # fmt: skip
    baseline: str | None = option(
        "--baseline", heading=FAILURE, metavar="FILE",
        help="Fail only for findings that are new or worse than in FILE.",
    )  # fmt: skip
    snapshot: str | None = option(
        "--snapshot", heading=FAILURE, metavar="FILE",
        help="Fail for structs that differ from the snapshot FILE.",
    )  # fmt: skip
    renames: bool = option(
        "--renames", heading=FAILURE, is_rare=True, is_flag=True,
        help="With --snapshot, accept fields with another name.",
    )  # fmt: skip
    all_findings: bool = option(
        "--all-findings", heading=FAILURE, is_rare=True, is_flag=True,
        help="With --staged or --since, fail for old findings too.",
    )  # fmt: skip
    removed: tuple[str, ...] = option(
        "--removed", heading=FAILURE, is_rare=True, multiple=True, metavar="STRUCT", callback=strip_keywords,
        help="With --staged or --since, STRUCT is gone on purpose.",
    )  # fmt: skip
    verbose: bool = option(
        "--verbose", "-v", heading=OUTPUT, is_flag=True, help="Print all drawings, evidence and lists."
    )
    format_: str = format_of(reports.FORMATS)
    outputs: tuple[str, ...] = OUTPUTS
    html: str | None = HTML._replace(is_rare=True)
    quiet: bool = option(
        "--quiet", "-q", heading=OUTPUT, is_rare=True, is_flag=True,
        help="Print only findings, and why something could not be judged.",
    )  # fmt: skip
    statistics: bool = option(
        "--statistics", heading=OUTPUT, is_rare=True, is_flag=True,
        help="Print only the number of findings of each rule.",
    )  # fmt: skip
    evidence: tuple[str, ...] = option(
        "--evidence", heading=OUTPUT, is_rare=True, multiple=True, metavar="FILE",
        help="Add the JSON of `evidence` or `measure` to findings.",
    )  # fmt: skip
    guesses: int = option(
        "--guesses", heading=GUESSES, is_rare=True, type=WholeNumber(0), default=10, metavar="N",
        help="Report the N most likely guesses (default: 10).",
    )  # fmt: skip
    uses: tuple[str, ...] = USES
    fix: bool = option(
        "--fix", heading=FIXES, is_rare=True, is_flag=True,
        help="Remove unnecessary suppressions from tracked C files.",
    )  # fmt: skip
    suggest: bool = option(
        "--suggest", heading=FIXES, is_rare=True, is_flag=True,
        help="Add safe orders of members as fixes, in sarif and rdjson.",
    )  # fmt: skip


@click.command(cls=OptionCommand)
@click.argument("inputs", nargs=-1, metavar="INPUT...")
@judging_options
@add(CheckOptions, "own")
@randomising_options
@placement_options
@executor_options(
    "Read N inputs, or judge N builds, at a time within limits.",
    "Read inputs or builds on Dask workers (tls://HOST:PORT).",
)
@reading_options
@click.pass_obj
def check(
    flags: tuple[str, ...],
    /,
    inputs: tuple[str, ...],
    own: CheckOptions,
    judging: JudgingOptions,
    randomising: RandomisingOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
    executor: ExecutorOptions,
) -> NoReturn:
    """Judge the structs of INPUT by rules."""
    from layoutlint.commands import settings, terminal

    is_change = own.staged or own.since is not None
    if not inputs and judging.matrix_path is None and not is_change:
        raise click.MissingParameter(
            ctx=click.get_current_context(), param_type="argument", param_hint="'INPUT...'"
        )
    _refuse_without_effect(own, judging, inputs)
    _refuse_scheduler_beside_change(executor, is_change)
    files = parse_outputs(own.outputs, own.format_) + html_output(own.html)
    if own.quiet and reading.progress is None:
        reading = reading._replace(progress=False)
    inputs, texts = standard_input.take_text(inputs, judging.rule_paths)
    arguments = Arguments(flags, inputs, texts, judging, randomising, placement, reading)
    memory = None
    depends_on_kernel = judging.slabs == LIVE  # each moment has other numbers of objects
    depends_on_git = is_change or judging.policy_from is not None or depends_on_kernel
    fixer = _fixer(arguments) if own.fix else None
    depends_on_more = depends_on_git or own.fix or own.suggest or executor.is_any
    if replay.is_on(reading.no_cache) and not files and not depends_on_more:
        relevant = _relevant_arguments(arguments)
        given = settings.current()
        memory = replay.memory_for("check", reading.color, reading.width, own, given, *relevant)
    kept = None if memory is None else replay.recall(memory)
    if kept is not None:
        terminal.write(kept.text)
        sys.exit(kept.status)
    with accesses.log_answers() if memory is not None else nullcontext(None) as log:
        report = _with_settings(_run(arguments, own, files, executor))
        _write(files, report, own, reading)
        text = _text(report, own, reading)
    terminal.write(text)
    sys.stdout.flush()
    if fixer is not None:
        _fix(report, fixer)
    if memory is not None and log is not None:
        replay.keep(memory, log, replay.Output(text, report.exit_status))
    sys.exit(report.exit_status)


def _fixer(arguments: Arguments) -> Fixer:
    """Return what removes suppressions from the inputs; raises UsageError outside of a git repository."""
    from layoutlint.commands import fix

    return fix.fixer(arguments.inputs, arguments.judging.sources, time_ns())


def _fix(report: Report, fixer: Fixer) -> None:
    """Remove the suppressions that nothing needs, and print what was done on stderr."""
    from layoutlint.commands import fix, terminal
    from layoutlint.model.record import replace

    reason = fix.gaps(report)
    if reason:
        terminal.complain(f"layoutlint: --fix removed nothing, because {reason}")
        return
    inputs = (*fixer.inputs, *(path for build in report.builds for path in build.inputs))
    for sentence in replace(fixer, inputs=inputs).fix(report):
        terminal.complain(f"layoutlint: {sentence}")


def _with_settings(report: Report) -> Report:
    """Return a report that states which options rule files set."""
    from layoutlint.commands import settings
    from layoutlint.model.record import replace

    told = settings.current().sentences
    return replace(report, coverage=replace(report.coverage, settings=told)) if told else report


def _relevant_arguments(arguments: Arguments) -> Arguments:
    """Return the command line without options on which the output does not depend, and with the day."""
    judged = arguments.judging._replace(today=arguments.judging.today or strftime("%Y-%m-%d"))
    reading = arguments.reading._replace(jobs=None, progress=None, color="")
    return arguments._replace(judging=judged, reading=reading)


def _run(
    arguments: Arguments, own: CheckOptions, files: list[tuple[str, str]], executor: ExecutorOptions
) -> Report:
    """Return the report on the inputs; raises UsageError for outputs that must not be written."""
    read = (*arguments.read_paths, *own.evidence, *own.uses, *filter(None, (own.baseline, own.snapshot)))
    _refuse_outputs(files, read)
    given: tuple[Saved, ...] = ()
    if own.evidence:
        from layoutlint.lint import origins

        given = origins.load_all(own.evidence)
    report = _judge(arguments, own, executor)
    if not given and not any(rule.evidence_files for rule in report.rules):
        return report
    from layoutlint.lint import origins

    _refuse_outputs(files, origins.rule_files(report))
    return origins.attach(report, given)


def _judge(arguments: Arguments, own: CheckOptions, executor: ExecutorOptions) -> Report:
    """Return the report on the inputs, compared with a baseline or a revision if one is requested."""
    policy = judging.base_policy(arguments)
    held = None
    if own.snapshot is not None:
        held = _read_held_layouts(own.snapshot, own.renames, arguments, policy)
    preloaded = "layoutlint.readers.preload", "layoutlint.lint.run"
    runner = make_executor(executor, preloaded) if executor.is_any else None
    judges_all = own.all_findings or own.baseline is not None
    scope = Scope(
        own.fail_on, own.guesses, own.staged, own.since, held, own.uses, own.removed, runner, judges_all
    )
    if own.baseline is None:
        judged = judging.judge(arguments, policy, scope)
        return _with_fixes(_compare(judged.report, judged, own), judged, own)
    from layoutlint.intent.toml import baseline_file

    text = policy.text(own.baseline) if policy is not None else None
    text = baseline_file.read_text(own.baseline) if text is None else text
    entries = baseline_file.parse(text, own.baseline)
    from layoutlint.lint import baseline

    judged = judging.judge(arguments, policy, scope)
    report = baseline.apply(judged.report, entries, own.baseline, judged.options)
    return _with_fixes(_compare(report, judged, own), judged, own)


def _with_fixes(report: Report, judged: Judged, own: CheckOptions) -> Report:
    """Return a report whose findings have safe fixes, if they are requested. Raises ReadError."""
    if not own.suggest:
        return report
    try:
        from layoutlint.suggestion import fixes
    except ModuleNotFoundError as error:
        raise missing_library(error) from None
    return fixes.with_fixes(report, judged.packs, judged.kernel_packs, judged.options)


def _read_held_layouts(path: str, renames: bool, arguments: Arguments, policy: Policy | None) -> Held:
    """Return the snapshot to which layouts are held, as the base commit has it if that decides."""
    import shlex

    from layoutlint.lint.held_layouts import Held
    from layoutlint.readers import snapshot
    from layoutlint.readers.snapshot.decode import decode

    text = policy.text(path) if policy is not None else None
    reading = snapshot.load(path) if text is None else decode(text.encode(), path)
    flags = ("--", *arguments.flags) if arguments.flags else ()
    words = ("layoutlint", "snapshot", *arguments.inputs, "--update", path, *flags)
    return Held(reading, shlex.join(words), renames)


def _compare(report: Report, judged: Judged, own: CheckOptions) -> Report:
    """Return a report with the structs that a change takes from rules, and in which findings that were there
    before are known.

    Files that are named although they are unchanged are judged as they are. Raises UsageError and ReadError.
    """
    change = judged.change
    if change is None or not change.parents:
        return report
    names_others = own.since is None and judged.names_others
    if names_others and change.is_empty:
        return report
    from layoutlint.lint import since

    option = "--staged" if own.since is None else f"--since {own.since}"
    base = since.BaseRun(judged.inputs, judged.packs, judged.kernel_packs, judged.options)
    accepts_known = not (own.all_findings or names_others or own.baseline is not None)
    return since.compare(report, change, base, f"layoutlint check {option} -v", accepts_known)


def _write(files: list[tuple[str, str]], report: Report, own: CheckOptions, reading: ReadingOptions) -> None:
    from layoutlint.commands import output_files

    for name, path in files:
        text = _renderer(name, own, reading.width)(report)
        output_files.write_whole(path, text)


def _text(report: Report, own: CheckOptions, reading: ReadingOptions) -> str:
    """Return what is printed on stdout."""
    from layoutlint.commands import terminal

    color = terminal.has_color(reading.color)
    return _renderer(own.format_, own, terminal.width(reading.width), color)(report)


def _renderer(
    name: str, own: CheckOptions, width: int | None, color: bool = False
) -> Callable[[Report], str]:
    """Return the function of a format, with its options; only those for people have any."""
    render = reports.FORMATS[name]
    if name == "concise":
        return partial(render, summary=not own.quiet)
    if name in _FROM_TOP:
        return partial(render, repository=_repository())
    if name != "text":
        return render
    from layoutlint.reports.check.summary import Detail

    detail = Detail.QUIET if own.quiet else Detail.VERBOSE if own.verbose else Detail.NORMAL
    render = partial(render, detail=detail, statistics=own.statistics, color=color)
    return render if width is None else partial(render, width=width)


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

    def list_files() -> frozenset[str]:
        from layoutlint.revisions import git  # only debug information needs it

        try:
            return git.tracked_paths(top)
        except UsageError:  # git is missing, or takes too long
            return frozenset()

    return Repository(top, os.path.relpath(folder, top), list_files)


def _refuse_without_effect(own: CheckOptions, judging: JudgingOptions, inputs: tuple[str, ...]) -> None:
    """Raise UsageError for options that contradict each other, or have no effect."""
    _refuse_beside_change(own, judging, inputs)
    for flag, is_given in (("--all-findings", own.all_findings), ("--removed", own.removed)):
        if is_given and not (own.staged or own.since is not None):
            raise click.UsageError(f"{flag} needs --staged or --since")
    if own.renames and own.snapshot is None:
        raise click.UsageError("--renames needs --snapshot")
    if own.snapshot is not None:
        _refuse_beside_snapshot(own, judging)
    partial = {
        "--staged": own.staged,
        "--since": own.since is not None,
        "--policy-from": judging.policy_from is not None,
        "--no-suppressions": judging.no_suppressions,
        "--no-annotations": judging.no_annotations,
    }
    for flag, is_given in partial.items():
        if own.fix and is_given:
            raise click.UsageError(f"--fix needs all suppressions; {flag} leaves some out")
    if own.quiet and own.verbose:
        raise click.UsageError("--quiet and --verbose contradict each other")
    formats = {own.format_, *(output.partition("=")[0] for output in own.outputs)}
    if own.suggest:
        _refuse_beside_suggest(formats, judging)
    for flag, is_given in (("--verbose", own.verbose), ("--statistics", own.statistics)):
        if is_given and "text" not in formats:
            raise click.UsageError(f"{flag} is for --format text")


def _refuse_scheduler_beside_change(executor: ExecutorOptions, is_change: bool) -> None:
    """Raise UsageError for a copy of files on this machine, which other machines lack."""
    if is_change and executor.scheduler is not None:
        raise click.UsageError(
            "--scheduler: a change is judged in a copy of its files, which other machines lack; use --workers"
        )


def _refuse_beside_suggest(formats: set[str], judging: JudgingOptions) -> None:
    if formats.isdisjoint(_WITH_FIXES):
        raise click.UsageError(f"--suggest is for the formats {' and '.join(_WITH_FIXES)}")
    if judging.matrix_path is not None:
        raise click.UsageError("--suggest is for one build; it cannot be given with --matrix")


def _refuse_beside_snapshot(own: CheckOptions, judging: JudgingOptions) -> None:
    """Raise UsageError for options that judge a part, or several builds: a snapshot is of one build."""
    others = {
        "--staged": own.staged,
        "--since": own.since is not None,
        "--matrix": judging.matrix_path is not None,
    }
    for flag, is_given in others.items():
        if is_given:
            raise click.UsageError(f"--snapshot holds all of one build; {flag} cannot be given with it")


def _refuse_beside_change(own: CheckOptions, judging: JudgingOptions, inputs: tuple[str, ...]) -> None:
    """Raise UsageError for options that contradict --staged or --since."""
    if own.staged and standard_input.WORD in inputs:
        raise click.UsageError("--staged judges files of a git repository, and `-` is standard input")
    if own.since is not None:
        _refuse_beside_since(own, judging, inputs)
    if own.staged and judging.matrix_path is not None:
        raise click.UsageError(
            "--staged chooses the inputs, and the builds of --matrix name their own; pre-commit has the hook "
            "`layoutlint-tree` for them"
        )


def _refuse_beside_since(own: CheckOptions, judging: JudgingOptions, inputs: tuple[str, ...]) -> None:
    """Raise UsageError for options that contradict --since."""
    others = {
        "--staged": own.staged,
        "--baseline": own.baseline is not None,
        "--matrix": judging.matrix_path is not None,
        "`-`": standard_input.WORD in inputs,
    }
    for flag, is_given in others.items():
        if is_given:
            raise click.UsageError(f"--since compares with a revision; {flag} cannot be given with it")


def _refuse_outputs(files: list[tuple[str, str]], read_paths: Iterable[str]) -> None:
    """Raise UsageError for a file that cannot be written, or that must not be lost."""
    from layoutlint.commands import output_files

    output_files.refuse((path for _, path in files), read_paths)
    for _, path in files:
        output_files.refuse_source(path)
