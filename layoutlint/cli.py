"""The command line: its commands, and the exit statuses of their errors."""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import click

from layoutlint import __version__, escapes
from layoutlint.commands.group import COMPLETION_VARIABLE, CommandGroup
from layoutlint.errors import (
    EXIT_BROKEN_PIPE,
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_UNKNOWN,
    EXIT_USAGE,
    LayoutlintError,
    ReadError,
    RuleFileError,
    UsageError,
)


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Print the version and exit; click's own option would search compiled modules in every run."""
    if value and not ctx.resilient_parsing:
        from layoutlint.commands import version

        click.echo(f"layoutlint {__version__} (DWARF scanner: {version.state()})")
        ctx.exit()


_EXAMPLES = {
    "check": "ring.h --rules layoutlint.toml",
    "show": "ring.h ring",
    "snapshot": "ring.h --struct ring --output layouts.json",
    "diff": "old.o new.o",
    "bisect": "RULE v6.8..v6.9 include/linux/fs.h",
    "history": "vmlinux-6.1 vmlinux-6.12 address_space",
    "evidence": "report.txt --in vmlinux --struct address_space",
    "containers": "vmlinux list_head",
    "measure": "ring.h ring --write head --read tail",
    "allocations": "src",
    "accesses": "src --struct ring",
    "infer": "compile_commands.json",
    "suggest": "ring.h ring --patch",
    "tune": "ring.h ring --profile report.txt",
    "explain": "separate",
    "survey run": "builds/*/vmlinux --store store",
    "baseline write": "layoutlint-baseline.toml ring.h",
    "baseline update": "layoutlint-baseline.toml ring.h",
    "baseline prune": "layoutlint-baseline.toml ring.h",
    "init": "--dry-run",
    "completion": "bash",
    "rules check": "layoutlint.toml",
    "rules import": "net_cachelines tcp_sock.rst",
    "rules asserts": "tcp_sock --in vmlinux",
}
"""Arguments that show how a command is called."""

_COMPILER_FLAG = re.compile(
    r"-(?:[DIUOWfgmx]|ansi|i(?:dirafter|macros|nclude|prefix|quote|system|with)|nostd|p(?:edantic|thread)|std|undef)"
    r"|--(?:std|include|imacros|(?:un)?define-macro|include-directory|language)\b"
)
_TURN_OFF = 'A rule file turns a rule off: [override."ID"] with `enabled = false` and a `why`.'
_LINKER_FLAG = re.compile(r"-[lL]")
_MACHINE_OPTION = re.compile(r"--?(?:arch|cpu|machine|target|triple)\b")
_OF_COMPILERS = frozenset(
    ("--config", "--help", "--output", "--sysroot", "--target", "--verbose", "--version")
)
"""Options of clang that commands have too."""
_OTHER_WORDS = {
    "--config": "Rules and settings are in a rule file: `--rules FILE`.",
    "--disable": _TURN_OFF,
    "--exclude": _TURN_OFF,
    "--ignore": _TURN_OFF,
    "--cflags": "Compiler flags follow `--`, after all other arguments: `-- -DNDEBUG`.",
    "--extra-arg": "Compiler flags follow `--`, after all other arguments: `-- -DNDEBUG`.",
}
"""Options that other tools or commands have, and what to write here."""
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)
"""Errors for resources that are exhausted: descriptors, memory, processes."""


class _BrokenOutput(Exception):
    """The process that reads the output has ended (`| head`)."""


class _OutputFull(Exception):
    """There is no space for the output."""


@contextmanager
def _classify_output_errors() -> Iterator[None]:
    """Turn errors of writing the output into _BrokenOutput or _OutputFull."""
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError as error:
        raise _BrokenOutput from error
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise _OutputFull((error.strerror or str(error)).lower()) from error


class _App(CommandGroup):
    """Gives closed output an exit status of its own: click would exit with 1, as for findings."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with _classify_output_errors():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            os.getcwd()
        except OSError as error:
            raise ReadError(".", "the working directory does not exist; change to another one") from error
        with _classify_output_errors():
            return super().invoke(ctx)


@click.group(cls=_App, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    "-V",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version and exit.",
)
def app() -> None:
    """Check C structs' cache lines by rules.

    Inputs are ELF files with DWARF or BTF (vmlinux, .o, .ko, programs), raw BTF, folders of kernel modules,
    C headers and sources (`-`: on standard input), compile_commands.json, and kernel trees. Compiler flags
    for headers and sources follow `--`.

    Exit status: 0 nothing broken, 1 findings, 2 bad usage or rule file, 3 something could not be judged,
    4 an internal error, 130 interrupted, 141 closed output.
    """


def _split_flags(arguments: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the arguments of layoutlint, and the compiler flags after `--`."""
    if "--" not in arguments:
        return arguments, ()
    at = arguments.index("--")
    return arguments[:at], tuple(arguments[at + 1 :])


def main() -> NoReturn:
    """Run the command line of this process, and exit with its status."""
    arguments, flags = _split_flags(sys.argv[1:])
    _open_streams()
    try:
        if COMPLETION_VARIABLE in os.environ:
            from layoutlint.commands.completed_values import complete_values

            complete_values(app)
        _refuse_ambiguous(arguments)
        _refuse_empty(arguments)
        _note_options_behind(arguments, flags)
        app.main(args=arguments, obj=flags, prog_name="layoutlint", standalone_mode=False)
    except click.ClickException as error:
        _show(error, arguments, flags)
        sys.exit(EXIT_USAGE)
    except click.Abort:
        sys.exit(EXIT_INTERRUPTED)
    except ReadError as error:
        _exit_with((f"layoutlint: {error}", *_help(str(error))), EXIT_UNKNOWN)
    except LayoutlintError as error:
        _exit_with(_usage_messages(error), EXIT_USAGE)
    except (MemoryError, RecursionError) as error:
        is_deep = isinstance(error, RecursionError)
        cause = "the input is nested too deeply" if is_deep else "there is not enough memory"
        _fail(f"{cause}; the run was not finished", EXIT_UNKNOWN)
    except _BrokenOutput:
        _drop_output()
        sys.exit(EXIT_BROKEN_PIPE)
    except _OutputFull as error:
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
    """Raise UsageError for an option that is also the name of a file: tools append file names.

    A hostile tree can contain a file `--rules=e.h`, which a hook passes like every file name.
    """
    for word in arguments:
        if word.startswith("-") and os.path.lexists(word):
            raise UsageError(
                f"{word!r} is an option and also a file in this folder; "
                f"write './{word}' for the file, or rename it"
            )


def _note_options_behind(arguments: list[str], flags: tuple[str, ...]) -> None:
    """Say of options of the command behind `--` that they are compiler flags there."""
    names = {word.partition("=")[0] for word in flags if word.startswith("--")} - _OF_COMPILERS
    command: click.Command | None = app if names else None
    words = iter(arguments)
    while isinstance(command, click.Group) and (word := next(words, None)) is not None:
        command = command.get_command(click.Context(command), word) or command
    own = {each for param in command.params for each in param.opts} if command is not None else set()
    for option in sorted(names & own):
        message = f"note: {option} behind `--` is a compiler flag: write options of layoutlint before `--`"
        sys.stderr.write(escapes.lines((f"layoutlint: {message}",)))


def _refuse_empty(arguments: list[str]) -> None:
    """Raise UsageError for an empty argument; only compiler flags (`--flags ''`) can be empty."""
    for before, word in zip(("", *arguments), arguments, strict=False):
        if not word and before != "--flags":
            place = f" after {before!r}" if before else ""
            raise UsageError(f"an argument{place} is empty: is a variable of the shell not set?")


def _usage_messages(error: LayoutlintError) -> tuple[str, ...]:
    """Return the messages of an error, which begin with a place in a file or with the program."""
    if isinstance(error, RuleFileError):
        return error.messages
    has_place = isinstance(error, UsageError) and error.place
    return (str(error) if has_place else f"layoutlint: {error}", *_help(str(error)))


def _help(message: str) -> tuple[str, ...]:
    """Return the line that names the help on a message; nothing if there is none."""
    from layoutlint.reports import help_entries

    return tuple(filter(None, (help_entries.help_line((message,)),)))


def _internal(error: Exception) -> NoReturn:
    if os.environ.get("LAYOUTLINT_DEBUG"):
        import traceback

        traceback.print_exc()
    from layoutlint.commands import version

    message = f"internal error: {type(error).__name__}: {error} (LAYOUTLINT_DEBUG=1 shows where)"
    if remedy := version.remedy(error):
        message = f"{remedy} ({type(error).__name__}: {error})"
    _fail(message, EXIT_INTERNAL)


def _open_streams() -> None:
    """Make stdout and stderr write the same bytes in every locale, whatever the file names."""
    _open_standard_descriptors()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)
    if sys.stdout is None:
        _fail("stdout is closed", EXIT_USAGE)


def _open_standard_descriptors() -> None:
    """Open closed standard streams, so that no file gets their number and their output."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number


def _drop_output() -> None:
    """Discard the rest of the output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, status: int) -> NoReturn:
    """Write a message that begins with no place to stderr, and exit."""
    _exit_with((f"layoutlint: {message}",), status)


def _exit_with(messages: tuple[str, ...], status: int) -> NoReturn:
    with suppress(OSError):  # the status remains
        sys.stderr.write(escapes.lines(messages))
        sys.stderr.flush()
    sys.exit(status)


def _unknown_option_hint(error: click.ClickException, arguments: list[str]) -> str:
    """Return what to write in place of an option that there is not; empty for other mistakes."""
    if not isinstance(error, click.NoSuchOption):
        return ""
    if error.option_name == "--struct" and error.ctx is not None:
        return _struct_hint(error.ctx)
    word = next((word for word in arguments if word.startswith(error.option_name)), error.option_name)
    if error.ctx is not None and error.ctx.parent is None and _is_option_of_check(error.option_name):
        return f"Options follow the command: `layoutlint check INPUT {word}`."
    if _MACHINE_OPTION.match(word):
        return "Inputs state their machine; C text takes a compiler flag: `-- --target=aarch64-linux-gnu`."
    if _COMPILER_FLAG.match(word):
        return f"Compiler flags follow `--`, after all other arguments: `-- {word}`."
    if _LINKER_FLAG.match(word):
        return f"{word} is for the linker, and no layout depends on it: leave it out."
    if other := _OTHER_WORDS.get(error.option_name):
        return other
    longer = [] if error.ctx is None else _options_like(error.option_name, error.ctx.command)
    return f"Did you mean {' or '.join(longer)}?" if longer else ""


def _is_option_of_check(name: str) -> bool:
    command = app.get_command(click.Context(app), "check")
    return command is not None and any(name in parameter.opts for parameter in command.params)


def _struct_hint(context: click.Context) -> str:
    """Return how a command takes structs; empty for one that takes none."""
    if not any("STRUCT" in parameter.make_metavar(context) for parameter in context.command.params):
        return ""
    example = _EXAMPLES.get(context.command_path.removeprefix("layoutlint "), "")
    return f"Structs follow the input, without an option: `{context.command_path} {example}`."


def _rule_file_hint(error: click.ClickException) -> str:
    """Return how to give a rule file that is an argument too many; empty for other mistakes."""
    match = re.fullmatch(r"Got unexpected extra argument \((\S+\.toml)\)", error.message)
    context = error.ctx if isinstance(error, click.UsageError) else None
    parameters = [] if context is None else context.command.params
    takes_rules = any("--rules" in parameter.opts for parameter in parameters)
    return f"A rule file follows an option: `--rules {match[1]}`." if match and takes_rules else ""


def _options_like(word: str, command: click.Command) -> list[str]:
    """Return the options of a command that begin with the letter of a short option."""
    names = (name for parameter in command.params for name in parameter.opts)
    return [name for name in names if len(word) == 2 and name.startswith(f"-{word}")][:3]


def _show(error: click.ClickException, arguments: list[str], flags: tuple[str, ...]) -> None:
    """Write a mistake in the command line to stderr; its text quotes the command line."""
    unknown_option = _unknown_option_hint(error, arguments)
    hints = (_missing_input_hint(error, flags), unknown_option, _rule_file_hint(error))
    if isinstance(error, click.NoSuchOption) and any(hints):
        error = click.UsageError(error.message, error.ctx)  # without the names that look alike
    message, usage = error.format_message(), io.StringIO()
    error.show(file=usage)
    text = usage.getvalue()
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None or message != context.get_help():  # help quotes nothing, and has many lines
        message_on_a_line = re.sub(r"\s*\n\s*", " ", message)  # click lists choices on lines of their own
        text = text.replace(message, escapes.inline(" ".join(filter(None, (message_on_a_line, *hints)))))
    with suppress(OSError):
        sys.stderr.write(escapes.lines(text.splitlines()))
        sys.stderr.flush()


def _missing_input_hint(error: click.ClickException, flags: tuple[str, ...]) -> str:
    """Return how to give the argument that is missing; empty for other mistakes."""
    if not isinstance(error, click.MissingParameter) or error.ctx is None:
        return ""
    command = error.ctx.command_path
    files = [flag for flag in flags if not flag.startswith("-") and os.path.exists(flag)]
    if files:
        rest = [flag for flag in flags if flag != files[0]]
        return (
            f"What follows `--` is for the compiler. Write the input before it: "
            f"`{' '.join((command, files[0], *(['--', *rest] if rest else [])))}`"
        )
    example = _EXAMPLES.get(command.removeprefix("layoutlint "))
    return f"For example: `{command} {example}`" if example else ""
