"""The command line as a whole: its commands, and what becomes of their errors and exit status."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import click

from layoutlint import __version__
from layoutlint.commands.allocations import allocations
from layoutlint.commands.check import check
from layoutlint.commands.containers import containers
from layoutlint.commands.explain import explain
from layoutlint.commands.init import init
from layoutlint.commands.rules import rules_group
from layoutlint.commands.rules_asserts import rules_asserts
from layoutlint.commands.rules_import import rules_import
from layoutlint.commands.show import show
from layoutlint.errors import EXIT_UNKNOWN, EXIT_USAGE, LayoutlintError, ReadError

EXIT_INTERNAL = 4
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells have it; click's own 1 would look like a finding
EXIT_BROKEN_PIPE = 141  # 128 + SIGPIPE, likewise: `layoutlint show vmlinux --all | head`


def _version(ctx: click.Context, param: click.Parameter, asked: bool) -> None:
    """Prints the version; click's own option would look for the compiled modules in every run."""
    if asked and not ctx.resilient_parsing:
        from layoutlint import compiled

        click.echo(f"layoutlint {__version__} (DWARF scanner: {compiled.state()})")
        ctx.exit()


class _ReaderLeft(Exception):
    """Nobody reads our output any more (`| head`)."""


class _Full(Exception):
    """There is no more room where our output goes."""


@contextmanager
def _output() -> Iterator[None]:
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError as error:
        raise _ReaderLeft from error
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise _Full((error.strerror or str(error)).lower()) from error


class _App(click.Group):
    """Tells a reader that has left from findings: click would exit with 1 for both."""

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        with _output():
            return super().make_context(*args, **more)

    def invoke(self, ctx: click.Context) -> Any:
        with _output():
            return super().invoke(ctx)


@click.group(cls=_App, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    "-V",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_version,
    help="Show the version and exit.",
)
def app() -> None:
    """Checks on which cache lines the fields of C structs fall, by written rules.

    Inputs are ELF files with DWARF or BTF (vmlinux, .o, .ko, programs), raw BTF, folders of kernel modules,
    C headers and sources, compile_commands.json, and kernel trees. Compiler flags for headers and sources
    stand behind `--`.

    Exit status: 0 nothing broken, 1 findings, 2 bad usage or rule file, 3 something could not be told,
    4 an internal error.
    """


for command in (check, show, containers, allocations, explain, rules_group, init):
    app.add_command(command)
for command in (rules_import, rules_asserts):
    rules_group.add_command(command)


def _split(arguments: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Our own arguments, and the compiler flags behind `--`."""
    if "--" not in arguments:
        return arguments, ()
    at = arguments.index("--")
    return arguments[:at], tuple(arguments[at + 1 :])


def main() -> NoReturn:
    """Run the command line of this process, and exit with its status."""
    arguments, flags = _split(sys.argv[1:])
    _open_streams()
    try:
        app.main(args=arguments, obj=flags, prog_name="layoutlint", standalone_mode=False)
    except click.ClickException as error:
        with suppress(OSError):
            error.show()
        sys.exit(EXIT_USAGE)
    except click.Abort:
        sys.exit(EXIT_INTERRUPTED)
    except ReadError as error:
        _fail(str(error), EXIT_UNKNOWN)
    except LayoutlintError as error:
        _fail(str(error), EXIT_USAGE)
    except _ReaderLeft:  # nothing more can be said to it
        _drop_output()
        sys.exit(EXIT_BROKEN_PIPE)
    except _Full as error:
        _drop_output()
        _fail(f"cannot write all of the output: {error}", EXIT_USAGE)
    except Exception as error:
        if os.environ.get("LAYOUTLINT_DEBUG"):
            import traceback

            traceback.print_exc()
        _fail(
            f"internal error: {type(error).__name__}: {error} (LAYOUTLINT_DEBUG=1 shows where)", EXIT_INTERNAL
        )
    sys.exit(0)


def _open_streams() -> None:
    """Lets all be written that is told, the same bytes in every locale, for every file name."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if sys.stdout is None:
        _fail("stdout is closed", EXIT_USAGE)


def _drop_output() -> None:
    """Lets what is left of the output go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, status: int) -> NoReturn:
    with suppress(OSError):  # the status says it as well
        for line in message.splitlines():
            has_place = status == EXIT_USAGE and ":" in line.split(" ")[0]
            click.echo(line if has_place else f"layoutlint: {line}", err=True)
    sys.exit(status)
