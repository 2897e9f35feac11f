"""`layoutlint baseline`: write, update and prune the findings that a project accepts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import click

from layoutlint.commands import judging, standard_input
from layoutlint.commands.group import Subcommands
from layoutlint.commands.judging import Arguments, JudgingOptions, judging_options
from layoutlint.commands.option_records import Command, OptionCommand
from layoutlint.commands.options import (
    PlacementOptions,
    RandomisingOptions,
    ReadingOptions,
    placement_options,
    randomising_options,
    reading_options,
)
from layoutlint.errors import EXIT_KEPT, EXIT_UNKNOWN, UsageError

if TYPE_CHECKING:
    from layoutlint.comparison.baseline_match import Entry
    from layoutlint.judgement.finding import Finding, Report
    from layoutlint.lint.options import Options

_Change = Callable[["Report", "tuple[Entry, ...]", "Options"], "tuple[Entry, ...]"]
"""Returns the entries of a new baseline, from a report and the entries of the old one."""


@click.group("baseline", cls=Subcommands)
def baseline_group() -> None:
    """Accept present findings, in a file.

    `check --baseline FILE` then fails only for new and worse ones. Exit status: 0 written, 3 written, but
    some rules could not be judged, or not written, because no input could be read.
    """


def _parameters(command: Command) -> Command:
    """Add the arguments and options of a command that changes a baseline."""
    command = reading_options(click.pass_obj(command))
    command = judging_options(randomising_options(placement_options(command)))
    command = click.argument("inputs", nargs=-1, metavar="INPUT...")(command)
    return click.argument("file", metavar="FILE")(command)


@baseline_group.command("write", cls=OptionCommand)
@_parameters
def write(flags: tuple[str, ...], /, file: str, **values: Any) -> NoReturn:
    """Accept all present findings.

    FILE is new. An older baseline is replaced; any other existing FILE is an error.
    """
    from layoutlint.lint import baseline

    arguments = _arguments(flags, **values)
    _change(file, arguments, lambda report, _, options: baseline.new_entries(report, options))


@baseline_group.command("update", cls=OptionCommand)
@_parameters
def update(flags: tuple[str, ...], /, file: str, **values: Any) -> NoReturn:
    """Accept new and worse findings.

    Entries that are no longer needed are removed. Entries of structs, builds and inputs that this run
    does not judge are kept.
    """
    from layoutlint.lint import baseline

    _change(file, _arguments(flags, **values), baseline.updated_entries, must_exist=True)


@baseline_group.command("prune", cls=OptionCommand)
@_parameters
def prune(flags: tuple[str, ...], /, file: str, **values: Any) -> NoReturn:
    """Remove entries that are not needed.

    Nothing new is accepted. If a finding got better, its entry is tightened.
    """
    from layoutlint.lint import baseline

    _change(file, _arguments(flags, **values), baseline.pruned_entries, must_exist=True)


def _arguments(
    flags: tuple[str, ...],
    inputs: tuple[str, ...],
    judging: JudgingOptions,
    randomising: RandomisingOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
) -> Arguments:
    if not inputs and judging.matrix_path is None:
        raise click.MissingParameter(
            ctx=click.get_current_context(), param_type="argument", param_hint="'INPUT...'"
        )
    inputs, texts = standard_input.take_text(inputs, judging.rule_paths)
    return Arguments(flags, inputs, texts, judging, randomising, placement, reading)


def _change(path: str, arguments: Arguments, change: _Change, must_exist: bool = False) -> NoReturn:
    """Judge the inputs, write a baseline whole or not at all, print what changed, and exit."""
    from layoutlint import files
    from layoutlint.commands import output_files, terminal
    from layoutlint.intent.toml import baseline_file

    output_files.refuse((path,), arguments.read_paths)
    old: tuple[Entry, ...] = ()
    text = ""
    if must_exist:
        text = baseline_file.read_text(path)
        old = baseline_file.parse(text, path)
    elif files.is_file(path) and not baseline_file.is_baseline(path):
        raise UsageError(f"cannot write {path}: it exists, and is not a baseline")
    judged = judging.judge(arguments, judging.base_policy(arguments))
    report, options = judged.report, judged.options
    new = change(report, old, options)
    if must_exist and baseline_file.read_text(path) != text:
        raise UsageError(f"{path} was changed during the run; run this again")
    is_written = bool(report.readings)
    if is_written:
        output_files.write_whole(path, baseline_file.render(new))
        terminal.say(f"{path}: {_summary(old, new, must_exist)}")
    left = list(_unaccepted_failures(report, new))
    for sentence in left:
        terminal.complain(f"layoutlint: not accepted: {sentence}")
    if not is_written:
        terminal.complain(f"layoutlint: {path} was not written: no input could be read")
        sys.exit(EXIT_UNKNOWN)
    sys.exit(EXIT_UNKNOWN if left and not options.strictness.allow_unknown else EXIT_KEPT)


def _summary(old: tuple[Entry, ...], new: tuple[Entry, ...], is_change: bool) -> str:
    from collections import Counter

    from layoutlint.phrases import quantity

    if not is_change:
        return f"{quantity(len(new), 'finding')} accepted"
    before, after = Counter(old), Counter(new)
    added, removed = (after - before).total(), (before - after).total()
    return f"{added:,} added, {removed:,} removed, {quantity(len(new), 'finding')} accepted"


def _unaccepted_failures(report: Report, entries: Iterable[Entry]) -> Iterable[str]:
    """Yield what could not be judged, and is not in a baseline."""
    from layoutlint.comparison.baseline_match import can_be_accepted
    from layoutlint.comparison.standings import finding_key
    from layoutlint.judgement.verdict import Outcome

    accepted = {(entry.build, entry.key) for entry in entries if entry.standing.outcome is Outcome.UNKNOWN}
    for finding in report.findings:
        for build, each in finding.builds or (("", finding),):
            is_unknown = each.verdict.outcome is Outcome.UNKNOWN and can_be_accepted(each)
            if is_unknown and (build, finding_key(each)) not in accepted:
                yield _sentence(build, each)
    yield from map(str, report.unread)
    yield from (str(part) for part in report.coverage.not_covered if part.rules)


def _sentence(build: str, finding: Finding) -> str:
    from layoutlint.judgement.messages import finding_message

    where = f" (in {build})" if build else ""
    return f"{finding.rule.id}: {finding_message(finding)}{where}"
