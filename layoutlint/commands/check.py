"""`layoutlint check`: judge structs by rules."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import click

from layoutlint import reports
from layoutlint.commands.options import (
    files_of,
    kernel_version,
    placement_options,
    randomisation,
    randomising_options,
    read_options,
    reading_options,
)
from layoutlint.commands.packs import discovered, on_for_kernels, packs_of

if TYPE_CHECKING:
    from layoutlint.intent.policy import Policy
    from layoutlint.judgement.finding import Report
    from layoutlint.judgement.rule import Pack
    from layoutlint.judgement.verdict import Outcome
    from layoutlint.lint.options import Options
    from layoutlint.model.build import Build


@click.command()
@click.argument("inputs", nargs=-1, metavar="INPUT...")
@click.option(
    "--matrix", "matrix_path", metavar="FILE", help="Judge the builds that FILE names, in one report."
)
@click.option(
    "--rules", "rule_paths", multiple=True, metavar="PATH", help="A rule file, or a folder of them."
)
@click.option(
    "--pack", "pack_names", multiple=True, metavar="NAME", help="A shipped pack (see `rules list`)."
)
@click.option("--no-packs", is_flag=True, help="Turn off the shipped packs that are on for kernels.")
@click.option(
    "--no-annotations",
    is_flag=True,
    help="Leave out what structs say themselves: comments, macros, marks of groups.",
)
@click.option(
    "--comments",
    is_flag=True,
    help="Judge what comments claim about cache lines, in trees of C text or below --sources.",
)
@click.option("--struct", "only", metavar="GLOB", help="Judge only the structs of this name.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(sorted(reports.FORMATS)),
    default="text",
    help="How stdout reads.",
)
@click.option("--output", "outputs", multiple=True, metavar="F=FILE", help="Write format F to FILE as well.")
@click.option(
    "--fail-on", type=click.Choice(["broken", "at-risk"]), default="at-risk", help="What fails the run."
)
@randomising_options
@placement_options
@click.option(
    "--unused",
    is_flag=True,
    help="Report every rule that judged nothing, shipped ones and those that their `when` leaves out too; "
    "what matches nothing otherwise counts.",
)
@click.option(
    "--guesses",
    type=click.IntRange(0),
    default=10,
    metavar="N",
    help="Report so many notes of packs that guess, the highest (default: 10).",
)
@click.option(
    "--policy-from",
    metavar="REV",
    help="Take rule files, matrix and suppressions from the commit REV, not from the working tree.",
)
@click.option("--no-suppressions", is_flag=True, help="Let findings count that `ignore[...]` suppresses.")
@click.option("--ignore-missing", is_flag=True, help="Pass over rules whose struct is in none of the inputs.")
@click.option(
    "--sources",
    multiple=True,
    metavar="DIR",
    help="Where the C text of compiled inputs stands, whose comments then count as well.",
)
@reading_options
@click.pass_obj
def check(
    flags: tuple[str, ...],
    /,
    inputs: tuple[str, ...],
    matrix_path: str | None,
    rule_paths: tuple[str, ...],
    pack_names: tuple[str, ...],
    no_packs: bool,
    format_: str,
    outputs: tuple[str, ...],
    fail_on: str,
    color: str,
    **more: Any,
) -> NoReturn:
    """Judge the structs of INPUT by rules."""
    from layoutlint.commands import terminal
    from layoutlint.intent.toml import rule_file
    from layoutlint.judgement.verdict import Outcome
    from layoutlint.lint import run

    if not inputs and matrix_path is None:
        raise click.UsageError("Missing argument 'INPUT...'.", click.get_current_context())
    files = files_of(outputs)
    _refuse_outputs(files, (*inputs, *rule_paths, matrix_path or ""), more)
    policy = _policy(more["policy_from"], inputs, more["sources"])
    builds = _builds(matrix_path, inputs, policy)
    if more["comments"]:
        _refuse_no_text((*inputs, *(path for build in builds for path in build.inputs)), more["sources"])
    packs = packs_of(rule_paths or (() if policy else discovered()), pack_names, policy)
    if builds:
        _refuse_guesses(packs)
    kernel_packs = () if no_packs else on_for_kernels(packs)
    rule_file.refuse_same_ids((*packs, *kernel_packs))
    options = _options(flags, inputs, Outcome(fail_on), policy, more)
    if builds:
        from layoutlint.lint import matrix

        report = matrix.check(builds, packs, kernel_packs, options)
    else:
        report = run.check(inputs, packs, kernel_packs, options)
    _write(files, report)
    if format_ == "text":
        from layoutlint.reports.check import text

        terminal.write(text.render(report, color=terminal.colored(color), width=terminal.width()))
    else:
        terminal.write(reports.FORMATS[format_](report))
    sys.exit(report.exit_status)


def _options(
    flags: tuple[str, ...],
    inputs: tuple[str, ...],
    fail_on: Outcome,
    policy: Policy | None,
    more: dict[str, Any],
) -> Options:
    """Return what the run is asked to do; raises UsageError."""
    from layoutlint.lint.options import Options

    return Options(
        only=more["only"],
        annotations=not more["no_annotations"],
        comments=more["comments"],
        fail_on=fail_on,
        line_size=more["line_size"],
        min_align=more["min_align"],
        allow_unknown=more["allow_unknown"],
        ignore_missing=more["ignore_missing"],
        unused=more["unused"],
        guesses=more["guesses"],
        read=read_options(flags, more),
        randomised=randomisation(more, inputs, needs_seed=False),
        kernel=kernel_version(more),
        suppressions=not more["no_suppressions"],
        policy=policy,
    )


def _write(files: list[tuple[str, str]], report: Report) -> None:
    from layoutlint.commands import output_files as outputs

    for name, path in files:
        outputs.write_whole(path, reports.FORMATS[name](report))


def _refuse_outputs(files: list[tuple[str, str]], paths: tuple[str, ...], more: dict[str, Any]) -> None:
    """Raises UsageError for a file that cannot be written, or that must not be lost."""
    from layoutlint.commands import output_files as outputs

    named = (more["btf_base"], more["seed"], more["kernel_version"])
    outputs.refuse((path for _, path in files), (*paths, *more["randomized"], *filter(None, named)))
    for _, path in files:
        outputs.refuse_source(path)


def _refuse_guesses(packs: tuple[Pack, ...]) -> None:
    """Raises UsageError where a pack is for one build."""
    for pack in packs:
        if pack.guesses:
            raise click.UsageError(f"--matrix judges rules, and {pack.name} guesses: give it one build")


def _refuse_no_text(inputs: Iterable[str], sources: tuple[str, ...]) -> None:
    """Raises UsageError where comments are asked for and there is no C text, as input or as source."""
    from layoutlint.readers.clang.kernel import tree

    if not any(tree.text_below(path) for path in (*inputs, *sources)):
        raise click.UsageError("--comments needs C text: as INPUT, or below --sources")


def _policy(revision: str | None, inputs: tuple[str, ...], sources: tuple[str, ...]) -> Policy | None:
    """The rule files and suppressions of a base commit; None without one. Raises UsageError."""
    if revision is None:
        return None
    from layoutlint.intent import policy

    return policy.of_revision(revision, inputs, sources)


def _builds(path: str | None, inputs: tuple[str, ...], policy: Policy | None) -> tuple[Build, ...]:
    """The builds of a matrix file; raises UsageError where inputs are given that none of them reads."""
    if path is None:
        return ()
    from layoutlint.intent.toml import matrix_file

    builds = matrix_file.load(path, inputs, policy.text(path) if policy else None)
    if inputs and not any(build.inputs == inputs for build in builds):
        raise click.UsageError(f"every build of {path} names its own `input`: {inputs[0]} would not be read")
    return builds
