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

from layoutlint import __version__, escapes
from layoutlint.commands.allocations import allocations
from layoutlint.commands.check import check
from layoutlint.commands.containers import containers
from layoutlint.commands.explain import explain
from layoutlint.commands.init import init
from layoutlint.commands.rules import rules_group
from layoutlint.commands.rules_asserts import rules_asserts
from layoutlint.commands.rules_import import rules_import
from layoutlint.commands.schema import schema
from layoutlint.commands.show import show
from layoutlint.errors import (
    EXIT_UNKNOWN,
    EXIT_USAGE,
    LayoutlintError,
    ReadError,
    RuleFileError,
    UsageError,
)

EXIT_INTERNAL = 4
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells have it; click's own 1 would look like a finding
EXIT_BROKEN_PIPE = 141  # 128 + SIGPIPE, likewise: `layoutlint show vmlinux --all | head`


def _version(ctx: click.Context, param: click.Parameter, asked: bool) -> None:
    """Prints the version; click's own option would look for the compiled modules in every run."""
    if asked and not ctx.resilient_parsing:
        from layoutlint.commands import version

        click.echo(f"layoutlint {__version__} (DWARF scanner: {version.state()})")
        ctx.exit()


_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)
"""What the system has no more of: descriptors, memory, processes."""


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
        try:
            os.getcwd()
        except OSError as error:
            raise ReadError(".", "the working folder is gone; change to one that exists") from error
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


for command in (check, show, containers, allocations, explain, schema, rules_group, init):
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
        _refuse_ambiguous(arguments)
        app.main(args=arguments, obj=flags, prog_name="layoutlint", standalone_mode=False)
    except click.ClickException as error:
        _show(error)
        sys.exit(EXIT_USAGE)
    except click.Abort:
        sys.exit(EXIT_INTERRUPTED)
    except ReadError as error:
        _fail(escapes.inline(str(error)), EXIT_UNKNOWN)
    except RuleFileError as error:
        _fail("\n".join(map(escapes.inline, error.messages)), EXIT_USAGE)
    except LayoutlintError as error:
        _fail(escapes.inline(str(error)), EXIT_USAGE)
    except MemoryError:
        _fail("there is not enough memory; the run was not finished", EXIT_UNKNOWN)
    except _ReaderLeft:  # nothing more can be said to it
        _drop_output()
        sys.exit(EXIT_BROKEN_PIPE)
    except _Full as error:
        _drop_output()
        _fail(f"cannot write all of the output: {error}", EXIT_USAGE)
    except OSError as error:
        if error.errno not in _EXHAUSTED:
            _internal(error)
        _fail(f"{(error.strerror or str(error)).lower()}; the run was not finished", EXIT_UNKNOWN)
    except Exception as error:
        _internal(error)
    sys.exit(0)


def _refuse_ambiguous(arguments: list[str]) -> None:
    """Raise UsageError for an option that is also the name of a file: tools append the names of files.

    A hostile tree can hold a file `--rules=e.h`, which a hook passes as it passes every name.
    """
    for word in arguments:
        if word.startswith("-") and os.path.lexists(word):
            raise UsageError(
                f"{word!r} is an option, and the name of a file in this folder; "
                f"write './{word}' for the file, or rename it"
            )


def _internal(error: Exception) -> NoReturn:
    if os.environ.get("LAYOUTLINT_DEBUG"):
        import traceback

        traceback.print_exc()
    told = f"internal error: {type(error).__name__}: {error} (LAYOUTLINT_DEBUG=1 shows where)"
    _fail(escapes.inline(told), EXIT_INTERNAL)


def _open_streams() -> None:
    """Lets all be written that is told, the same bytes in every locale, for every file name."""
    _open_standard_descriptors()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)
    if sys.stdout is None:
        _fail("stdout is closed", EXIT_USAGE)


def _open_standard_descriptors() -> None:
    """Give no file or pipe the number of a stream that is closed: what writes to the stream would meet it."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free


def _drop_output() -> None:
    """Lets what is left of the output go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, status: int) -> NoReturn:
    with suppress(OSError):  # the status says it as well
        for line in message.split("\n"):
            has_place = status == EXIT_USAGE and ":" in line.split(" ")[0]
            sys.stderr.write(escapes.lines((line if has_place else f"layoutlint: {line}",)))
        sys.stderr.flush()
    sys.exit(status)


def _show(error: click.ClickException) -> None:
    """Write a mistake in the command line, which repeats what stands there."""
    told, shown = error.format_message(), io.StringIO()
    error.show(file=shown)
    with suppress(OSError):
        sys.stderr.write(escapes.lines(shown.getvalue().replace(told, escapes.inline(told)).splitlines()))
        sys.stderr.flush()
