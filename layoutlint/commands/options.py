"""Options that several commands share, as typed groups."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from layoutlint import files, reports
from layoutlint.randstruct import kernel_tree

if TYPE_CHECKING:
    from layoutlint.intent.policy import Policy
    from layoutlint.model.reading import DebugServers, InputText, ReadOptions, TrustedCompilers, Version
    from layoutlint.randstruct.randomisation import Randomisation

Command = Callable[..., Any]
_LAST_COUNTS = ("format_", "color", "width", "jobs", "guesses", "most", "seconds", "rounds")
"""Parameters of which the last value counts, as a script's options yield to those that are added to it."""


class WholeNumber(click.IntRange):
    """A number from a range; click's messages would call it an integer range."""

    name = "whole number"


class SingleValueCommand(click.Command):
    """Refuses an option with one value that is given twice: click would drop the first without a word."""

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
        return rest


def takes_one_value(param: click.Parameter) -> bool:
    """Return whether an option decides something, so that no value of it may be dropped."""
    is_single = isinstance(param, click.Option) and not (param.multiple or param.is_flag or param.count)
    return is_single and param.name not in _LAST_COUNTS


class PlacementOptions(NamedTuple):
    """Options that override the placements of the target."""

    line_size: int | None
    min_align: int | None


class RandomisingOptions(NamedTuple):
    """Options that state how a build randomises layouts."""

    randstruct: str | None
    seed: str | None
    kernel_version: str | None
    randomized: tuple[str, ...]


class ReadingOptions(NamedTuple):
    """Options of commands that read inputs."""

    reader: str | None
    btf_base: str | None
    debug_dirs: tuple[str, ...]
    debuginfod: bool
    quoted_flags: str | None
    include_dirs: tuple[str, ...]
    macros: tuple[str, ...]
    sysroot: str | None
    compile_commands: str | None
    no_compile_commands: bool
    query_drivers: tuple[str, ...]
    jobs: int | None
    allow_unknown: bool
    progress: bool | None
    color: str
    width: int | None
    no_cache: bool


def collect(
    group: Callable[..., Any], parameter: str, names: tuple[str, ...]
) -> Callable[[Command], Command]:
    """Return a decorator for a command that takes several options as one parameter of a typed group."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(*arguments: Any, **values: Any) -> Any:
            own = {name: values.pop(name) for name in names}
            return command(*arguments, **{parameter: group(**own)}, **values)

        return run

    return decorate


def _add_group(
    command: Command, group: Callable[..., Any], parameter: str, options: dict[str, Command]
) -> Command:
    """Add options to a command, by the names of the fields of their group."""
    command = collect(group, parameter, tuple(options))(command)
    for option in reversed(options.values()):
        command = option(command)
    return command


def format_option(formats: Iterable[str], note: str = "") -> Callable[[Command], Command]:
    """Return a decorator that adds the option for the format of stdout; `note` ends its help."""
    return click.option(
        "--format",
        "format_",
        type=click.Choice(sorted(formats)),
        default="text",
        help=f"Choose the format of stdout{note}.",
    )


def rule_options(command: Command) -> Command:
    """Add the options that choose what is judged: rule files, packs and annotations."""
    options = (
        click.option(
            "--rules",
            "rule_paths",
            multiple=True,
            metavar="PATH",
            help="Use the rules of a file, or of a folder of rule files.",
        ),
        click.option(
            "--pack",
            "pack_names",
            multiple=True,
            metavar="NAME",
            help="Use a shipped pack (see `rules list`).",
        ),
        click.option("--no-packs", is_flag=True, help="Turn off the shipped packs that are on for kernels."),
        click.option(
            "--no-annotations",
            is_flag=True,
            help="Ignore annotations (in comments and macros) and group marks.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _power_of_two(ctx: click.Context, param: click.Parameter, text: str | None) -> int | None:
    """Return a number of bytes that is a power of two, up to 1 MiB."""
    if text is None:
        return None
    number = int(text) if text.isdecimal() and len(text) < 8 else 0
    if number < 1 or number & (number - 1) or number > 1 << 20:
        raise click.BadParameter(f"{text!r} is not a power of two", ctx, param)
    return number


def placement_options(command: Command) -> Command:
    """Add the options of PlacementOptions; the command takes them as `placement`."""
    line_size = click.option(
        "--line-size",
        metavar="BYTES",
        callback=_power_of_two,
        help="Set the cache line size (default: the target's).",
    )
    min_align = click.option(
        "--min-align",
        metavar="BYTES",
        callback=_power_of_two,
        help="Set the smallest object alignment (default: the target's).",
    )
    options = {"line_size": line_size, "min_align": min_align}
    return _add_group(command, PlacementOptions, "placement", options)


def randomising_options(command: Command) -> Command:
    """Add the options of RandomisingOptions; the command takes them as `randomising`."""
    options = {
        "randstruct": click.option(
            "--randstruct",
            type=click.Choice(kernel_tree.MODES),
            help="Randomise layouts in this way (clang: with libstdc++).",
        ),
        "seed": click.option(
            "--seed",
            metavar="FILE|HEX",
            help="Use this seed: 64 hexadecimal digits, or a file with them.",
        ),
        "kernel_version": click.option(
            "--kernel-version",
            metavar="X.Y[.Z]|FOLDER",
            help="Set the version of Linux, or a folder with its source.",
        ),
        "randomized": click.option(
            "--randomized",
            multiple=True,
            metavar="NAMES",
            help="Name the marked structs: A,B or a file; `!A` is not marked.",
        ),
    }
    return _add_group(command, RandomisingOptions, "randomising", options)


def randomisation(
    randomising: RandomisingOptions,
    paths: tuple[str, ...],
    needs_seed: bool = True,
    needs_mode: bool | None = None,
) -> Randomisation | None:
    """Return how layouts are randomised: as options state, or the kernel build around the inputs.

    None if they are not. `needs_mode` tells whether --kernel-version is for nothing else, which it is by
    default where a seed is needed. Raises UsageError, and ReadError for the seed of another build.
    """
    mode, result = randomising.randstruct, None
    if mode is not None or kernel_tree.find_folder(paths, kernel_tree.SEEDS) is not None:
        from layoutlint.randstruct import options

        result = options.read_randomisation(
            mode, randomising.seed, randomising.kernel_version, randomising.randomized, paths
        )
    if result is None:
        _refuse_without_mode(randomising, needs_seed if needs_mode is None else needs_mode)
    elif result.seed is None and needs_seed:
        raise click.UsageError(f"--randstruct {mode} needs the seed of the build: --seed FILE|HEX")
    return result


def _refuse_without_mode(randomising: RandomisingOptions, needs_mode: bool) -> None:
    """Raise UsageError for options that have no effect without --randstruct."""
    is_for_rules = not needs_mode and kernel_version(randomising) is not None
    values = {
        "--seed": randomising.seed,
        "--kernel-version": None if is_for_rules else randomising.kernel_version,
        "--randomized": randomising.randomized,
    }
    for option, value in values.items():
        if value:
            raise click.UsageError(f"{option} needs --randstruct")


def kernel_version(randomising: RandomisingOptions) -> Version | None:
    """Return the version of Linux that the options state; None if they state none, or name a source."""
    text = randomising.kernel_version
    if text is None or files.is_folder(text):
        return None
    from layoutlint.readers.linux import version

    number = version.release_version(text.removeprefix("v"))
    if number is None:
        raise click.UsageError(f"--kernel-version {text!r}: expected X.Y, such as 6.12")
    return number


def _build_flags(ctx: click.Context, param: click.Parameter, folder: str | None) -> tuple[str, ...]:
    """Return a build folder as kernels name it to their compiler flags; () without one."""
    return () if _existing_folder(ctx, param, folder) is None else (f"O={os.path.abspath(folder or '')}",)


def _existing_folder(ctx: click.Context, param: click.Parameter, folder: str | None) -> str | None:
    """Return a folder; raises BadParameter if there is none of this name."""
    if folder is not None and not files.is_folder(folder):
        raise click.BadParameter(f"{folder!r}: {no_folder_reason(folder)}", ctx, param)
    return folder


def no_folder_reason(path: str) -> str:
    """Return why a path is no folder, and what to give if it is another file."""
    return "is a file: give the folder with it" if files.exists(path) else "no such folder"


build_option = click.option(
    "--build",
    metavar="DIR",
    callback=_build_flags,
    help="Use the headers or compile_commands.json of this build.",
)


def _sources(ctx: click.Context, param: click.Parameter, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return paths of C sources; refuses others."""
    for path in paths:
        if not files.exists(path):
            raise click.BadParameter(f"{path!r}: no such file or directory", ctx, param)
        from layoutlint.readers import dispatch

        if dispatch.sniff(path) != "clang":
            raise click.BadParameter(f"{path!r} is compiled; name its C sources", ctx, param)
    return paths


uses_option = click.option(
    "--uses",
    metavar="SOURCE",
    multiple=True,
    callback=_sources,
    help="Rank by the functions of C sources, as `infer` does.",
)

color_option = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Colour the text (auto: on a terminal).",
)
width_option = click.option(
    "--width",
    type=WholeNumber(60, 1000),
    help="Wrap text at N columns (default: the terminal, up to 100).",
)


def reading_options(command: Command) -> Command:
    """Add the options of ReadingOptions; the command takes them as `reading`."""
    options = {
        "reader": click.option(
            "--reader",
            type=click.Choice(["dwarf", "btf"]),
            help="Choose the debug information to read if a file has both.",
        ),
        "btf_base": click.option(
            "--btf-base", metavar="FILE", help="Use this vmlinux BTF as the base of a module's split BTF."
        ),
        "debug_dirs": click.option(
            "--debug-dir",
            "debug_dirs",
            multiple=True,
            metavar="DIR",
            help="Search debug files in DIR (default: /usr/lib/debug).",
        ),
        "debuginfod": click.option(
            "--debuginfod",
            is_flag=True,
            help="Ask DEBUGINFOD_URLS for missing debug information.",
        ),
        "quoted_flags": click.option(
            "--flags",
            "quoted_flags",
            metavar="FLAGS",
            help="Pass compiler flags as one string (for pre-commit).",
        ),
        **_compiler_options(),
        "jobs": click.option(
            "--jobs",
            "-j",
            type=WholeNumber(1, 1024),
            help="Use N processes (default: one per processor).",
        ),
        "allow_unknown": click.option(
            "--allow-unknown", is_flag=True, help="Do not fail if something could not be judged."
        ),
        "progress": click.option(
            "--progress/--no-progress",
            default=None,
            help="Show progress on stderr (default: on a terminal).",
        ),
        "color": color_option,
        "width": width_option,
        "no_cache": click.option(
            "--no-cache", is_flag=True, help="Neither use nor keep results of other runs."
        ),
    }
    return _add_group(command, ReadingOptions, "reading", options)


query_driver_option = click.option(
    "--query-driver",
    "query_drivers",
    multiple=True,
    metavar="GLOB",
    help="Ask compilers of databases that match GLOB.",
)


def _compiler_options() -> dict[str, Command]:
    """Return the options that choose the flags of C headers and sources."""
    return {
        "include_dirs": click.option(
            "-I", "include_dirs", multiple=True, metavar="DIR", help="Search headers in DIR, like a compiler."
        ),
        "macros": click.option(
            "-D", "macros", multiple=True, metavar="NAME[=VALUE]", help="Define a macro, like a compiler."
        ),
        "sysroot": click.option(
            "--sysroot",
            metavar="DIR",
            callback=_existing_folder,
            help="Search the headers of the system below DIR.",
        ),
        "compile_commands": click.option(
            "--compile-commands",
            metavar="FILE",
            help="Use this compile_commands.json (default: the nearest).",
        ),
        "no_compile_commands": click.option(
            "--no-compile-commands",
            is_flag=True,
            help="Do not search for a compile_commands.json.",
        ),
        "query_drivers": query_driver_option,
    }


def read_options(
    flags: tuple[str, ...],
    reading: ReadingOptions,
    sources: tuple[str, ...] = (),
    policy: Policy | None = None,
    texts: tuple[InputText, ...] = (),
) -> ReadOptions:
    """Return the options of readers; `flags` are the compiler flags after `--`. Raises UsageError."""
    from layoutlint.commands import replay, terminal
    from layoutlint.model.flag_files import ON_DISK
    from layoutlint.model.reading import DEBUG_DIR, ReadOptions

    _refuse_folders_without_c(sources)
    _refuse_inputs_behind(flags)
    return ReadOptions(
        flags=(*split_flags(reading.quoted_flags or ""), *_compiler_flags(reading), *flags),
        finds_flags=not reading.no_compile_commands,
        compile_commands=_compile_commands(reading, policy),
        query_drivers=trusted_compilers(reading.query_drivers),
        progress=terminal.progress_on_stderr(reading.progress),
        jobs=reading.jobs or 0,
        reader=reading.reader,
        btf_base=reading.btf_base,
        debug_dirs=reading.debug_dirs or (DEBUG_DIR,),
        sources=sources,
        servers=debug_servers(reading),
        texts=texts,
        flag_files=ON_DISK if policy is None else policy.flag_files,
        cache=policy is None and replay.is_on(reading.no_cache),
    )


_WITHOUT_ARGUMENT = re.compile(r"[^-].*|-[cSE]|-[IDUOWfgm].+|-std=.*|-p\w+")
"""Words of a compiler's command line that the next word is no argument of."""


def _refuse_inputs_behind(flags: tuple[str, ...]) -> None:
    """Raise UsageError for C files behind `--` that are not inputs as well: nothing would read them."""
    context = click.get_current_context(silent=True)
    values = [] if context is None else context.params.values()
    inputs = {name for value in values for name in (value if isinstance(value, tuple) else (value,))}
    for before, word in zip(("-c", *flags), flags, strict=False):
        is_file = word.endswith((".c", ".h")) and not word.startswith("-") and files.is_file(word)
        if is_file and word not in inputs and _WITHOUT_ARGUMENT.fullmatch(before):
            raise click.UsageError(f"{word!r} behind `--` is not read: write inputs before `--`")


def debug_servers(reading: ReadingOptions) -> DebugServers | None:
    """Return the servers to search for debug information, None without --debuginfod; raise UsageError.

    The variables are those of elfutils (debuginfod_find_debuginfo(3)).
    """
    if not reading.debuginfod:
        return None
    from layoutlint.model.reading import DebugServers

    words = os.environ.get("DEBUGINFOD_URLS", "").split()
    urls = tuple(word for word in words if not word.startswith("ima:"))
    if not urls:
        raise click.UsageError("--debuginfod needs servers: DEBUGINFOD_URLS=https://debuginfod.elfutils.org/")
    for url in urls:
        if not url.startswith(("http://", "https://")):
            raise click.UsageError(f"DEBUGINFOD_URLS: {url!r} is not an http or https server")
    usual = DebugServers()
    return DebugServers(
        urls,
        _positive("DEBUGINFOD_TIMEOUT", usual.seconds),
        _positive("DEBUGINFOD_MAXTIME", usual.total_seconds),
        _positive("DEBUGINFOD_MAXSIZE", usual.most),
    )


def _positive(variable: str, usual: int) -> int:
    """Return the number in an environment variable; `usual` if it is 0 or not set. Raises UsageError."""
    text = os.environ.get(variable) or "0"
    if not text.isdecimal() or len(text) > 15:
        raise click.UsageError(f"{variable}: {text!r} is not a number")
    return int(text) or usual


def _compiler_flags(reading: ReadingOptions) -> tuple[str, ...]:
    """Return the compiler flags that are options as well."""
    sysroot = () if reading.sysroot is None else (f"--sysroot={reading.sysroot}",)
    return (
        *(f"-I{folder}" for folder in reading.include_dirs),
        *(f"-D{macro}" for macro in reading.macros),
        *sysroot,
    )


def _compile_commands(reading: ReadingOptions, policy: Policy | None) -> str | None:
    """Return the compilation database that the user names: as an option, or in layoutlint.toml."""
    if reading.no_compile_commands:
        if reading.compile_commands is not None:
            raise click.UsageError("--compile-commands contradicts --no-compile-commands")
        return None
    path, by = reading.compile_commands, "--compile-commands"
    if path is None:
        from layoutlint.commands.packs import stated_compile_commands

        path, by = stated_compile_commands(policy)
    if path is not None and not files.is_file(path):
        inside = os.path.join(path, "compile_commands.json")
        hint = f" (it is a folder: give {inside})" if files.is_file(inside) else ""
        raise click.UsageError(f"{by} {path!r}: no such file{hint}")
    return path


def trusted_compilers(globs: tuple[str, ...]) -> TrustedCompilers | None:
    """Return the compilers that may be asked; raises UsageError."""
    if not globs:
        return None
    from layoutlint.readers.clang import query_driver

    return query_driver.trusted_compilers(globs, os.environ.get("PATH", os.defpath))


def split_flags(quoted: str) -> tuple[str, ...]:
    """Split a string as a shell does; raise click.UsageError for an open quote."""
    if not quoted:
        return ()
    import shlex

    try:
        return tuple(shlex.split(quoted))
    except ValueError as error:
        raise click.UsageError(f"--flags {quoted!r}: {str(error).lower()}") from error


def _refuse_folders_without_c(sources: tuple[str, ...]) -> None:
    """Raise UsageError for source directories in which nothing is to be read."""
    for path in sources:
        if not files.is_folder(path):
            raise click.UsageError(f"--sources {path!r}: {no_folder_reason(path)}")
        names = (name for _, _, names in files.walk(path) for name in names)
        if not any(name.endswith((".c", ".h")) for name in names):
            raise click.UsageError(f"--sources {path!r}: no C source or header (*.c, *.h) in this folder")


html_option = click.option(
    "--html", metavar="FILE", help="Write a self-contained page to FILE too."
)


def html_output(path: str | None) -> list[tuple[str, str]]:
    """Return format and path of `--html FILE`; empty without it."""
    return [] if path is None else [("html", path)]


def parse_outputs(
    outputs: tuple[str, ...], formats: Iterable[str] = reports.FORMATS, example: str = "sarif=report.sarif"
) -> list[tuple[str, str]]:
    """Return format and path of `--output F=FILE`; raise click.UsageError if one of them is missing."""
    paths = []
    for text in outputs:
        name, equals, path = text.partition("=")
        if not equals or not path or name not in formats:
            raise click.UsageError(
                f"--output {text!r}: expected F=FILE, where F is one of {', '.join(sorted(formats))} "
                f"(for example {example})"
            )
        paths.append((name, path))
    return paths
