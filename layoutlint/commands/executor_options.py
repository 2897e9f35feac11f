"""The options of commands that run tasks, on this machine or on others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import click

from layoutlint.commands.options import Command, WholeNumber, collect
from layoutlint.errors import UsageError, missing_library

if TYPE_CHECKING:
    from layoutlint.model.task import Executor


class ExecutorOptions(NamedTuple):
    """Options that choose where tasks run."""

    workers: int | None
    scheduler: str | None
    insecure_scheduler: bool

    @property
    def is_any(self) -> bool:
        """Whether any of the options is given."""
        return self != ExecutorOptions(None, None, False)


def executor_options(workers: str, scheduler: str) -> Callable[[Command], Command]:
    """Return a decorator that adds the options with these help texts, collected as `executor`."""
    return partial(_add_options, workers, scheduler)


def _add_options(workers: str, scheduler: str, command: Command) -> Command:
    options = (
        click.option("--workers", type=WholeNumber(1, 4096), metavar="N", help=workers),
        click.option("--scheduler", metavar="ADDRESS", help=scheduler),
        click.option(
            "--insecure-scheduler",
            is_flag=True,
            help="Allow tcp:// to other machines, which nothing protects.",
        ),
    )
    command = collect(ExecutorOptions, "executor", ExecutorOptions._fields)(command)
    for option in reversed(options):
        command = option(command)
    return command


def make_executor(options: ExecutorOptions, modules: tuple[str, ...]) -> Executor:
    """Return what runs the tasks; `modules` are imported before them. Raises UsageError and ReadError."""
    if options.scheduler is None:
        if options.insecure_scheduler:
            raise UsageError("is for --scheduler, which is not given", "--insecure-scheduler")
        from layoutlint.workers.local import LocalExecutor

        return LocalExecutor(options.workers or 0, modules)
    if options.workers is not None:
        raise UsageError("is for this machine; the workers of --scheduler are started for it", "--workers")
    from layoutlint.workers.scheduler_address import parse_address

    address = parse_address(options.scheduler, allow_insecure=options.insecure_scheduler)
    try:
        from layoutlint.workers.dask_client import DaskExecutor
    except ModuleNotFoundError as error:
        raise missing_library(error) from None
    return DaskExecutor(address, modules, _report)


def _report(text: str) -> None:
    from layoutlint import escapes

    click.echo(escapes.lines((f"layoutlint: {text}",)), nl=False, err=True)
