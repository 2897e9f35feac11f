"""The options of commands that run tasks, on this machine or on others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import click

from layoutlint.commands.option_records import TASKS, Command, add, option
from layoutlint.commands.options import WholeNumber
from layoutlint.errors import UsageError, missing_library

if TYPE_CHECKING:
    from layoutlint.model.task import Executor


class ExecutorOptions(NamedTuple):
    """Options that choose where tasks run; commands say what a task is."""

    workers: int | None = option("--workers", type=WholeNumber(1, 4096), metavar="N")
    scheduler: str | None = option("--scheduler", metavar="ADDRESS")
    insecure_scheduler: bool = option(
        "--insecure-scheduler", is_flag=True, help="Allow tcp:// to other machines, which nothing protects."
    )

    @property
    def is_any(self) -> bool:
        """Whether any of the options is given."""
        return self != ExecutorOptions(None, None, False)


def executor_options(workers: str, scheduler: str) -> Callable[[Command], Command]:
    """Return a decorator that adds the options with these help texts, collected as `executor`."""
    return add(ExecutorOptions, "executor", TASKS, is_rare=True, workers=workers, scheduler=scheduler)


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
