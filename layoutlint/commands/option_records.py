"""Options, declared once: a field of a record says how the command line takes it, and where help lists it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, Protocol, cast

import click

Command = Callable[..., Any]

RULES = "Rules and structs"
FAILURE = "What fails the run"
OUTPUT = "Output"
PLACEMENTS = "Placements"
INPUTS = "Inputs"
RANDOMISED = "Randomised layouts"
GUESSES = "Guesses"
FIXES = "Fixes"
TASKS = "Tasks within limits"
_OWN = "Options"
_HELP = "Help"
_HEADINGS = (_OWN, RULES, FAILURE, OUTPUT, PLACEMENTS, GUESSES, FIXES, INPUTS, RANDOMISED, TASKS, _HELP)
"""The headings of help, in their order; an option that names none is the command's own."""
_ALL = "layoutlint.help_all"
_WIDEST = 28
"""Columns of a longer option: its help begins on the next line."""

_LAST_COUNTS = ("format_", "color", "width", "jobs", "guesses", "most", "seconds", "rounds")
"""Parameters of which the last value counts, as a script's options yield to those that are added to it."""


class ListedOption(click.Option):
    """An option with its place in the help of commands."""

    def __init__(
        self, *arguments: Any, heading: str = _OWN, is_rare: bool = False, **attributes: Any
    ) -> None:
        super().__init__(*arguments, **attributes)
        self.heading = heading
        self.is_rare = is_rare
        """Whether only `--help-all` lists it."""


class _Declaration(NamedTuple):
    flags: tuple[str, ...]
    heading: str | None
    is_rare: bool | None
    attributes: dict[str, Any]


def option(
    *flags: str, heading: str | None = None, is_rare: bool | None = None, **attributes: Any
) -> Any:  # the declared type of its field holds
    """Declare the field of a record as an option: its flags, its place in help, and what click.Option takes.

    None for `heading` and `is_rare` means what `add` says for the whole record.
    """
    return _Declaration(flags, heading, is_rare, attributes)


def add(
    record: Any, parameter: str, heading: str = _OWN, is_rare: bool = False, **helps: str
) -> Callable[[Command], Command]:
    """Return a decorator for a command: adds the options of a record, which the command takes as a parameter.

    `helps` are the help texts of fields that differ between commands.
    """

    def decorate(command: Command) -> Command:
        collecting = _collecting(command)
        collecting.records[parameter] = record
        for name, declared in reversed(record._field_defaults.items()):
            single(name, declared, heading, is_rare, **_help(helps.get(name)))(collecting)
        return collecting

    return decorate


class _Collecting(Protocol):
    """A command that takes options as records, by the names of its parameters."""

    records: dict[str, Any]

    def __call__(self, *arguments: Any, **values: Any) -> Any: ...


def _collecting(command: Command) -> _Collecting:
    """Return a command that takes options as records, around one that does not yet."""
    if hasattr(command, "records"):
        return command

    @wraps(command)
    def run(*arguments: Any, **values: Any) -> Any:
        for parameter, record in run.records.items():  # type: ignore[attr-defined]
            values[parameter] = record(**{name: values.pop(name) for name in record._fields})
        return command(*arguments, **values)

    run.records = {}  # type: ignore[attr-defined]
    return cast(_Collecting, run)


def single(
    name: str, declared: Any, heading: str = _OWN, is_rare: bool = False, **attributes: Any
) -> Callable[[Command], Command]:
    """Return a decorator for a command that takes one declared option by a name."""
    return click.option(
        *declared.flags, name, cls=ListedOption, heading=declared.heading or heading,
        is_rare=is_rare if declared.is_rare is None else declared.is_rare,
        **declared.attributes | attributes,
    )  # fmt: skip


def _help(text: str | None) -> dict[str, str]:
    return {} if text is None else {"help": text}


class OptionCommand(click.Command):
    """Lists its options by headings, and refuses one that is given twice where click would drop a value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments of the command; raise UsageError, with the name of the option."""
        words = list(args)
        rest = super().parse_args(ctx, args)
        if ctx.resilient_parsing:
            return rest
        order = self.make_parser(ctx).parse_args(words)[2]
        for param in order:
            if takes_one_value(param) and order.count(param) > 1:
                raise click.UsageError(f"{param.opts[0]} is given more than once, and takes one value", ctx)
        from layoutlint.commands import kernel_trees, settings  # help needs none

        kernel_trees.apply(ctx)
        settings.apply(ctx)
        return rest

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters with those of help."""
        params = super().get_params(ctx)
        how: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False}
        text = f"List all {len(options_of(self)) + 2} options."
        is_same = not any(map(_is_rare, params))
        every = click.Option(["--help-all"], callback=_print_all, help=text, hidden=is_same, **how)
        return [*params, every]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options below their headings; rare ones only for `--help-all`."""
        rows = records_by_heading(self, ctx, lists_all=bool(ctx.meta.get(_ALL)))
        width = max(len(name) for below in rows.values() for name, _ in below if len(name) <= _WIDEST)
        for heading, below in rows.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), text) for name, text in below])


def records_by_heading(
    command: click.Command, ctx: click.Context, lists_all: bool
) -> dict[str, list[tuple[str, str]]]:
    """Return how help spells the options of a command, and what they do, by heading."""
    rows: dict[str, list[tuple[str, str]]] = {heading: [] for heading in _HEADINGS}
    for param in command.get_params(ctx):
        is_listed = isinstance(param, click.Option) and (lists_all or not _is_rare(param))
        record = param.get_help_record(ctx) if is_listed else None
        if record is not None:
            rows[_heading(param) if param in command.params else _HELP].append(record)
    return {heading: below for heading, below in rows.items() if below}


def takes_one_value(param: click.Parameter) -> bool:
    """Return whether an option decides something, so that no value of it may be dropped."""
    is_single = isinstance(param, click.Option) and not (param.multiple or param.is_flag or param.count)
    return is_single and param.name not in _LAST_COUNTS


def options_of(command: click.Command) -> list[click.Option]:
    """Return the options that a command declares."""
    return [param for param in command.params if isinstance(param, click.Option)]


def _is_rare(param: click.Parameter) -> bool:
    return isinstance(param, ListedOption) and param.is_rare


def _heading(param: click.Parameter) -> str:
    return param.heading if isinstance(param, ListedOption) else _OWN


def _print_all(ctx: click.Context, param: click.Parameter, is_given: bool) -> None:
    if is_given and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()
