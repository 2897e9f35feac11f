"""The command line: options in, lint, print, exit status. No judgement lives here.

Commands import what they use when they run: `--version`, `--help` and mistakes in the command line need
none of it.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import click

from layoutlint import __version__, reports
from layoutlint.cli_options import (
    files_of,
    placement_options,
    randomisation,
    randomising_options,
    reading_options,
    words,
)
from layoutlint.errors import LayoutlintError, ReadError, did_you_mean

if TYPE_CHECKING:
    from layoutlint.contained import Contained
    from layoutlint.model import ReadOptions
    from layoutlint.reports.show.options import ShowOptions
    from layoutlint.rule import Pack, Rule
    from layoutlint.shown import Shown

EXIT_USAGE = 2
EXIT_UNKNOWN = 3
EXIT_INTERNAL = 4
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells have it; click's own 1 would look like a finding
EXIT_BROKEN_PIPE = 141  # 128 + SIGPIPE, likewise: `layoutlint show vmlinux --all | head`

_DISCOVERED = "layoutlint.toml"


def _version(ctx: click.Context, param: click.Parameter, asked: bool) -> None:
    """Prints the version; click's own option would look for the compiled modules in every run."""
    if asked and not ctx.resilient_parsing:
        from layoutlint import compiled

        click.echo(f"layoutlint {__version__} (DWARF scanner: {compiled.state()})")
        ctx.exit()


class _ReaderLeft(Exception):
    """Nobody reads our output any more (`| head`)."""


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


@app.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "--rules", "rule_paths", multiple=True, metavar="PATH", help="A rule file, or a folder of them."
)
@click.option(
    "--pack", "pack_names", multiple=True, metavar="NAME", help="A shipped pack (see `rules list`)."
)
@click.option("--no-packs", is_flag=True, help="Turn off the shipped packs that are on for kernels.")
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
@placement_options
@click.option("--ignore-missing", is_flag=True, help="Pass over rules whose struct is in none of the inputs.")
@reading_options
@click.pass_obj
def check(
    flags: tuple[str, ...],
    /,
    inputs: tuple[str, ...],
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
    from layoutlint import lint, rulefile, terminal
    from layoutlint.rule import Outcome

    files = files_of(outputs)
    packs = _packs(rule_paths or _discovered(), pack_names)
    named = {pack.name for pack in packs}
    kernel_packs = (
        () if no_packs else tuple(p for p in rulefile.shipped() if p.kernel and p.name not in named)
    )
    rulefile.refuse_same_ids((*packs, *kernel_packs))
    options = lint.Options(
        only=more["only"],
        fail_on=Outcome(fail_on),
        line_size=more["line_size"],
        min_align=more["min_align"],
        allow_unknown=more["allow_unknown"],
        ignore_missing=more["ignore_missing"],
        read=_read_options(flags, more),
    )
    report = lint.check(inputs, packs, kernel_packs, options)
    for name, path in files:
        terminal.write_whole(path, reports.FORMATS[name](report))
    if format_ == "text":
        from layoutlint.reports import text

        told = text.render(report, color=terminal.colored(color), width=terminal.width())
        click.echo(told, nl=False, color=True)
    else:
        click.echo(reports.FORMATS[format_](report), nl=False)
    sys.exit(report.exit_status)


@app.command()
@click.argument("input", metavar="INPUT")
@click.argument("names", nargs=-1, metavar="[STRUCT]...")
@click.option("--all", "everything", is_flag=True, help="Every struct and union of the input.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(sorted(reports.SHOW_FORMATS)),
    default="text",
    help="How stdout reads.",
)
@click.option("--expand", is_flag=True, help="The members of embedded structs as well.")
@randomising_options
@placement_options
@reading_options
@click.pass_obj
def show(
    flags: tuple[str, ...], /, input: str, names: tuple[str, ...], everything: bool, format_: str, **more: Any
) -> NoReturn:
    """Print the layout of structs, with lines, holes and straddles (STRUCT may be a pattern)."""
    if everything == bool(names):
        raise click.UsageError("name some structs, or give --all")
    from layoutlint import shown

    found = shown.of(input, names, _read_options(flags, more), randomisation(more))
    _list(reports.SHOW_FORMATS[format_](found.structs, _show_options(more)), found, more)


@app.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.argument("name", metavar="STRUCT")
@click.option("--direct", is_flag=True, help="Without those that hold it only through another struct.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(sorted(reports.CONTAINERS_FORMATS)),
    default="text",
    help="How stdout reads.",
)
@placement_options
@reading_options
@click.pass_obj
def containers(
    flags: tuple[str, ...], /, inputs: tuple[str, ...], name: str, direct: bool, format_: str, **more: Any
) -> NoReturn:
    """List the structs that embed STRUCT, with offsets, arrays and places on lines.

    STRUCT is a tag, or a typedef that stands for a struct.
    """
    from layoutlint import contained

    found = contained.of(inputs, name, direct, _read_options(flags, more))
    _list(reports.CONTAINERS_FORMATS[format_](found.found, _show_options(more)), found, more)


@app.command()
@click.argument("topic", metavar="KIND|RULE")
@click.option("--rules", "rule_paths", multiple=True, metavar="PATH", help="Look for the rule here as well.")
def explain(topic: str, rule_paths: tuple[str, ...]) -> None:
    """Say what a rule kind means, or why a rule is there."""
    from layoutlint import rulefile
    from layoutlint.kinds import KINDS, kind_named, manual
    from layoutlint.reports.explain import explain_rule

    kind = kind_named(topic)
    if kind is not None:
        click.echo(manual.explain(kind))
        return
    packs = _packs(rule_paths or _discovered(), ()) + rulefile.shipped()
    rules = {rule.id: rule for pack in packs for rule in pack.rules}
    if topic not in rules:
        near = did_you_mean(topic, [*rules, *KINDS])
        raise click.UsageError(f"no kind and no rule is called {topic!r}{near}")
    click.echo(explain_rule(rules[topic]))


@app.group("rules")
def rules_group() -> None:
    """List rules, and check rule files."""


@rules_group.command("list")
@click.option(
    "--rules", "rule_paths", multiple=True, metavar="PATH", help="A rule file, or a folder of them."
)
@click.option("--pack", "pack_names", multiple=True, metavar="NAME", help="Only this shipped pack.")
def rules_list(rule_paths: tuple[str, ...], pack_names: tuple[str, ...]) -> None:
    """List the shipped packs and their rules, or those of the given files."""
    from layoutlint import rulefile

    packs = _packs(rule_paths, pack_names) or rulefile.shipped()
    for pack in packs:
        click.echo(f"{pack.name}{'  (on for Linux kernels)' if pack.kernel else ''}")
        for rule in pack.rules:
            click.echo(_listed(rule))


def _listed(rule: Rule) -> str:
    return f"  {rule.id:<44} {rule.kind.name:<12} {rule.severity.value:<8} {rule.struct}"


@rules_group.command("check")
@click.argument("rule_paths", nargs=-1, required=True, metavar="PATH...")
def rules_check(rule_paths: tuple[str, ...]) -> None:
    """Say what is wrong with rule files: every mistake, each with file and line."""
    from layoutlint import rulefile

    packs = rulefile.load(rule_paths)
    count = sum(len(pack.rules) for pack in packs)
    click.echo(f"{_counted(count, 'rule')} in {_counted(len(packs), 'file')}: no mistakes")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _packs(rule_paths: Iterable[str], pack_names: tuple[str, ...]) -> tuple[Pack, ...]:
    from layoutlint import rulefile

    shipped = {pack.name: pack for pack in rulefile.shipped()} if pack_names else {}
    for name in pack_names:
        if name not in shipped:
            raise click.UsageError(f"no shipped pack is called {name!r}{did_you_mean(name, list(shipped))}")
    return (*rulefile.load(rule_paths), *(shipped[name] for name in dict.fromkeys(pack_names)))


def _discovered() -> tuple[str, ...]:
    """The rule file of the project one stands in: nearest upwards, not above the top of its repository."""
    folder = os.getcwd()
    while True:
        found = os.path.join(folder, _DISCOVERED)
        if os.path.isfile(found):
            return (os.path.relpath(found),)
        above = os.path.dirname(folder)
        if above == folder or os.path.exists(os.path.join(folder, ".git")):
            return ()
        folder = above


def _read_options(flags: tuple[str, ...], more: dict[str, Any]) -> ReadOptions:
    from layoutlint import terminal
    from layoutlint.model import DEBUG_DIR, ReadOptions

    return ReadOptions(
        flags=(*words(more["quoted_flags"] or ""), *flags),
        progress=terminal.progress_on_stderr(more["progress"]),
        jobs=more["jobs"] or 0,
        reader=more["reader"],
        btf_base=more["btf_base"],
        debug_dirs=more["debug_dirs"] or (DEBUG_DIR,),
    )


def _show_options(more: dict[str, Any]) -> ShowOptions:
    from layoutlint import terminal
    from layoutlint.reports.show.options import ShowOptions

    return ShowOptions(
        expand=more.get("expand", False),
        line_size=more["line_size"],
        min_align=more["min_align"],
        color=terminal.colored(more["color"]),
        width=terminal.width(),
    )


def _list(chunks: Iterable[str], found: Shown | Contained, more: dict[str, Any]) -> NoReturn:
    """Prints a listing, and on stderr what the user should know of it and what could not be told."""
    for chunk in chunks:
        sys.stdout.write(chunk)
    for note in found.notes:
        click.echo(f"layoutlint: note: {note}", err=True)
    for trouble in found.troubles:
        click.echo(f"layoutlint: {trouble}", err=True)
    sys.exit(EXIT_UNKNOWN if found.troubles and not more["allow_unknown"] else 0)


def _split(arguments: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Our own arguments, and the compiler flags behind `--`."""
    if "--" not in arguments:
        return arguments, ()
    at = arguments.index("--")
    return arguments[:at], tuple(arguments[at + 1 :])


def main() -> NoReturn:
    """Run the command line of this process, and exit with its status."""
    arguments, flags = _split(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # the same bytes in every locale, for every file name
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        app.main(args=arguments, obj=flags, prog_name="layoutlint", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_USAGE)
    except click.Abort:
        sys.exit(EXIT_INTERRUPTED)
    except ReadError as error:
        _fail(str(error), EXIT_UNKNOWN)
    except LayoutlintError as error:
        _fail(str(error), EXIT_USAGE)
    except _ReaderLeft:  # nothing more can be said to it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_BROKEN_PIPE)
    except Exception as error:
        if os.environ.get("LAYOUTLINT_DEBUG"):
            import traceback

            traceback.print_exc()
        _fail(
            f"internal error: {type(error).__name__}: {error} (LAYOUTLINT_DEBUG=1 shows where)", EXIT_INTERNAL
        )
    sys.exit(0)


def _fail(message: str, status: int) -> NoReturn:
    for line in message.splitlines():
        click.echo(
            line if status == EXIT_USAGE and ":" in line.split(" ")[0] else f"layoutlint: {line}", err=True
        )
    sys.exit(status)
