"""Options that several commands share, as typed groups."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from layoutlint import files, reports
from layoutlint.commands.option_records import (
    FAILURE,
    GUESSES,
    INPUTS,
    OUTPUT,
    PLACEMENTS,
    RANDOMISED,
    RULES,
    Command,
    add,
    option,
    single,
)
from layoutlint.randstruct import kernel_tree

if TYPE_CHECKING:
    from layoutlint.commands.settings import Value
    from layoutlint.geometry.slab_caches import SlabCaches
    from layoutlint.intent.policy import Policy
    from layoutlint.model.reading import DebugServers, InputText, ReadOptions, TrustedCompilers, Version
    from layoutlint.randstruct.randomisation import Randomisation



class WholeNumber(click.IntRange):
    """A number from a range; click's messages would call it an integer range."""

    name = "whole number"


def _power_of_two(ctx: click.Context, param: click.Parameter, text: str | None) -> int | None:
    """Return a number of bytes that is a power of two, up to 1 MiB."""
    if text is None:
        return None
    number = int(text) if text.isdecimal() and len(text) < 8 else 0
    if number < 1 or number & (number - 1) or number > 1 << 20:
        raise click.BadParameter(f"{text!r} is not a power of two", ctx, param)
    return number


def _existing_folder(ctx: click.Context, param: click.Parameter, folder: str | None) -> str | None:
    """Return a folder; raises BadParameter if there is none of this name."""
    if folder is not None and not files.is_folder(folder):
        raise click.BadParameter(f"{folder!r}: {no_folder_reason(folder)}", ctx, param)
    return folder


def no_folder_reason(path: str) -> str:
    """Return why a path is no folder, and what to give if it is another file."""
    return "is a file: give the folder with it" if files.exists(path) else "no such folder"


def _build_flags(ctx: click.Context, param: click.Parameter, folder: str | None) -> tuple[str, ...]:
    """Return a build folder as kernels name it to their compiler flags; () without one."""
    return () if _existing_folder(ctx, param, folder) is None else (f"O={os.path.abspath(folder or '')}",)


def _sources(ctx: click.Context, param: click.Parameter, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return paths of C sources; refuses others."""
    for path in paths:
        if not files.exists(path):
            raise click.BadParameter(f"{path!r}: no such file or directory", ctx, param)
        from layoutlint.readers import dispatch

        if dispatch.sniff(path) != "clang":
            raise click.BadParameter(f"{path!r} is compiled; name its C sources", ctx, param)
    return paths


RULE_PATHS = option(
    "--rules", heading=RULES, is_rare=False, multiple=True, metavar="PATH",
    help="Use the rules of a file, or of a folder of rule files.",
)  # fmt: skip
PACK_NAMES = option(
    "--pack", heading=RULES, is_rare=False, multiple=True, metavar="NAME",
    help="Use a shipped pack (see `rules list`).",
)  # fmt: skip
NO_PACKS = option(
    "--no-packs", heading=RULES, is_rare=True, is_flag=True,
    help="Turn off the shipped packs that are on for kernels.",
)  # fmt: skip
NO_ANNOTATIONS = option(
    "--no-annotations", heading=RULES, is_rare=True, is_flag=True,
    help="Ignore annotations (in comments and macros) and group marks.",
)  # fmt: skip
IGNORE_MISSING = option(
    "--ignore-missing", heading=RULES, is_flag=True, help="Skip rules on structs that no input defines."
)
SOURCES = option(
    "--sources", heading=RULES, multiple=True, metavar="DIR",
    help="Read annotations in the comments of this source directory.",
)  # fmt: skip
OUTPUTS = option(
    "--output", heading=OUTPUT, multiple=True, metavar="[F=]FILE",
    help="Write format F to FILE too; without F=, all to FILE only.",
)  # fmt: skip
HTML = option(
    "--html", heading=OUTPUT, metavar="FILE", help="Write a self-contained page to FILE too."
)
BUILD = option(
    "--build", metavar="DIR", callback=_build_flags,
    help="Use the headers or compile_commands.json of this build.",
)  # fmt: skip
USES = option(
    "--uses", heading=GUESSES, is_rare=True, metavar="SOURCE", multiple=True, callback=_sources,
    help="Rank by the functions of C sources, as `infer` does.",
)  # fmt: skip
COLOR = option(
    "--color", heading=OUTPUT, type=click.Choice(["auto", "always", "never"]), default="auto",
    help="Colour the text (auto: on a terminal).",
)  # fmt: skip
WIDTH = option(
    "--width", heading=OUTPUT, type=WholeNumber(60, 1000), metavar="N",
    help="Wrap text at N columns (default: the terminal, up to 100).",
)  # fmt: skip
KERNEL = option(
    "--kernel", heading=INPUTS, metavar="TREE",
    help="Read C files outside of kernel TREE with its flags.",
)  # fmt: skip
QUERY_DRIVERS = option(
    "--query-driver", heading=INPUTS, multiple=True, metavar="GLOB",
    help="Ask compilers of databases that match GLOB.",
)  # fmt: skip

LIVE = "live"
"""The value of `--slabs` for the running kernel."""
SLABS = option(
    "--slabs", heading=PLACEMENTS, is_rare=True, metavar="live|FILE",
    help="Use this kernel's slab caches, or what `slabs` wrote.",
)  # fmt: skip


def format_of(formats: Iterable[str], note: str = "") -> Any:
    """Declare the option for the format of stdout; `note` ends its help."""
    names = sorted(formats)
    return option(
        "--format", heading=OUTPUT, type=click.Choice(names), default="text", metavar="FORMAT",
        help=f"Choose the format of stdout: {', '.join(names)}{note}.",
    )  # fmt: skip


class PlacementOptions(NamedTuple):
    """Options that override the placements of the target."""

    line_size: int | None = option(
        "--line-size", is_rare=False, metavar="BYTES", callback=_power_of_two,
        help="Set the cache line size (default: the target's).",
    )  # fmt: skip
    min_align: int | None = option(
        "--min-align", metavar="BYTES", callback=_power_of_two,
        help="Set the smallest object alignment (default: the target's).",
    )  # fmt: skip


class RandomisingOptions(NamedTuple):
    """Options that state how a build randomises layouts."""

    randstruct: str | None = option(
        "--randstruct", type=click.Choice(kernel_tree.MODES),
        help="Randomise layouts in this way (clang: with libstdc++).",
    )  # fmt: skip
    seed: str | None = option(
        "--seed", metavar="FILE|HEX", help="Use this seed: 64 hexadecimal digits, or a file with them."
    )
    kernel_version: str | None = option(
        "--kernel-version", metavar="X.Y[.Z]|FOLDER",
        help="Set the version of Linux; a folder is as for --kernel.",
    )  # fmt: skip
    randomized: tuple[str, ...] = option(
        "--randomized", multiple=True, metavar="NAMES",
        help="Name the marked structs: A,B or a file; `!A` is not marked.",
    )  # fmt: skip


class ReadingOptions(NamedTuple):
    """Options of commands that read inputs."""

    reader: str | None = option(
        "--reader", type=click.Choice(["dwarf", "btf"]),
        help="Choose the debug information to read if a file has both.",
    )  # fmt: skip
    btf_base: str | None = option(
        "--btf-base", metavar="FILE", help="Use this vmlinux BTF as the base of a module's split BTF."
    )
    debug_dirs: tuple[str, ...] = option(
        "--debug-dir", multiple=True, metavar="DIR",
        help="Search debug files in DIR (default: /usr/lib/debug).",
    )  # fmt: skip
    debuginfod: bool = option(
        "--debuginfod", is_flag=True, help="Ask DEBUGINFOD_URLS for missing debug information."
    )
    kernel_tree: str | None = KERNEL
    quoted_flags: str | None = option(
        "--flags", metavar="FLAGS", help="Pass compiler flags as one string (for pre-commit)."
    )
    include_dirs: tuple[str, ...] = option(
        "-I", multiple=True, metavar="DIR", help="Search headers in DIR, like a compiler."
    )
    macros: tuple[str, ...] = option(
        "-D", multiple=True, metavar="NAME[=VALUE]", help="Define a macro, like a compiler."
    )
    sysroot: str | None = option(
        "--sysroot", metavar="DIR", callback=_existing_folder,
        help="Search the headers of the system below DIR.",
    )  # fmt: skip
    compile_commands: str | None = option(
        "--compile-commands", is_rare=False, metavar="FILE",
        help="Use this compile_commands.json (default: the nearest).",
    )  # fmt: skip
    no_compile_commands: bool = option(
        "--no-compile-commands", is_flag=True, help="Do not search for a compile_commands.json."
    )
    query_drivers: tuple[str, ...] = QUERY_DRIVERS
    jobs: int | None = option(
        "--jobs", "-j", type=WholeNumber(1, 1024), metavar="N",
        help="Use N processes (default: one per processor).",
    )
    allow_unknown: bool = option(
        "--allow-unknown", heading=FAILURE, is_flag=True,
        help="Do not fail if something could not be judged.",
    )  # fmt: skip
    progress: bool | None = option(
        "--progress/--no-progress", heading=OUTPUT, default=None,
        help="Show progress on stderr (default: on a terminal; elsewhere every 5 seconds).",
    )  # fmt: skip
    color: str = COLOR
    width: int | None = WIDTH
    no_cache: bool = option(
        "--no-cache", is_flag=True, help="Neither use nor keep results of other runs."
    )


html_option = single("html", HTML)
color_option = single("color", COLOR)
width_option = single("width", WIDTH)
slabs_option = single("slabs", SLABS)
query_driver_option = single("query_drivers", QUERY_DRIVERS)


def format_option(formats: Iterable[str], note: str = "") -> Callable[[Command], Command]:
    """Return a decorator that adds the option for the format of stdout; `note` ends its help."""
    return single("format_", format_of(formats, note))


placement_options = add(PlacementOptions, "placement", PLACEMENTS, is_rare=True)
"""Adds the options of PlacementOptions; the command takes them as `placement`."""
randomising_options = add(RandomisingOptions, "randomising", RANDOMISED, is_rare=True)
"""Adds the options of RandomisingOptions; the command takes them as `randomising`."""
reading_options = add(ReadingOptions, "reading", INPUTS, is_rare=True)
"""Adds the options of ReadingOptions; the command takes them as `reading`."""


def slab_caches(name: str, sources: tuple[str, ...] = (), has_changed: bool = False) -> SlabCaches:
    """Return the slab caches that `--slabs` names; `sources` are folders that name those of structs.

    With `has_changed`, inputs are of other versions than the kernel. Raises ReadError.
    """
    from layoutlint.geometry.slab_caches import SlabCaches
    from layoutlint.readers.linux import slabs
    from layoutlint.sources.allocations.sources import read_cache_names

    document = slabs.read_live() if name == LIVE else slabs.read_file(name)
    label = slabs.FOLDER if name == LIVE else name
    return SlabCaches(label, document, read_cache_names(sources) if sources else {}, has_changed)


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
    is_tree = randomising.kernel_version is not None and files.is_folder(randomising.kernel_version)
    is_for_rules = is_tree or (not needs_mode and kernel_version(randomising) is not None)
    values = {
        "--seed": randomising.seed,
        "--kernel-version": None if is_for_rules else randomising.kernel_version,
        "--randomized": randomising.randomized,
    }
    for flag, value in values.items():
        if value:
            raise click.UsageError(f"{flag} needs --randstruct")


def kernel_version(randomising: RandomisingOptions) -> Version | None:
    """Return the version of Linux that the options state; None if they state none, or name a folder."""
    text = randomising.kernel_version
    if text is None or files.is_folder(text):
        return None
    from layoutlint.readers.linux import version

    return version.release_version(text.removeprefix("v"))


def read_options(
    flags: tuple[str, ...],
    reading: ReadingOptions,
    sources: tuple[str, ...] = (),
    policy: Policy | None = None,
    texts: tuple[InputText, ...] = (),
) -> ReadOptions:
    """Return the options of readers; `flags` are the compiler flags after `--`. Raises UsageError."""
    from layoutlint.commands import replay, settings, terminal
    from layoutlint.model.flag_files import ON_DISK
    from layoutlint.model.reading import DEBUG_DIR, ReadOptions
    from layoutlint.model.record import replace

    _refuse_folders_without_c(sources)
    _refuse_inputs_behind(flags)
    given = settings.current()
    of_line = (*_compiler_flags(reading), *flags)
    own = split_flags(reading.quoted_flags or "")
    nearer = (replace(each, flags=(*(each.flags or own), *of_line)) for each in given.nearer)
    return ReadOptions(
        flags=(*own, *of_line),
        finds_flags=not reading.no_compile_commands,
        kernel_tree=_kernel_tree(reading, (*own, *of_line)),
        compile_commands=_compile_commands(reading, given.database),
        nearer=tuple(nearer),
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


def _kernel_tree(reading: ReadingOptions, words: tuple[str, ...]) -> str | None:
    """Return the kernel tree that the user names; raises UsageError for two."""
    build = next((word for word in words if word.startswith("O=")), None)
    if reading.kernel_tree is not None and build is not None:
        raise click.UsageError(f"--kernel contradicts {build}: --kernel takes the build folder itself")
    return reading.kernel_tree


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


def _compile_commands(reading: ReadingOptions, stated: Value | None) -> str | None:
    """Return the compilation database that the user names: as an option, or in a rule file."""
    other = "--kernel" if reading.kernel_tree else "--no-compile-commands" * reading.no_compile_commands
    if other:
        if reading.compile_commands is not None:
            raise click.UsageError(f"--compile-commands contradicts {other}")
        return None
    path, by = reading.compile_commands, "--compile-commands"
    if path is None and stated is not None:
        path, by = str(stated.value), f"{stated.place}: compile_commands"
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


def html_output(path: str | None) -> list[tuple[str, str]]:
    """Return format and path of `--html FILE`; empty without it."""
    return [] if path is None else [("html", path)]


def parse_outputs(
    outputs: tuple[str, ...],
    own_format: str,
    formats: Iterable[str] = reports.FORMATS,
    example: str = "sarif=report.sarif",
) -> list[tuple[str, str]]:
    """Return format and path of each `--output [F=]FILE`; raise click.UsageError if one of them is missing.

    FILE alone gets the command's own format, and nothing is written to stdout.
    """
    paths, alone = [], list[str]()
    for text in outputs:
        name, equals, path = text.partition("=")
        if not equals and text and text not in formats:
            name, path = own_format, text
            alone.append(text)
        elif not path or name not in formats:
            raise click.UsageError(
                f"--output {text!r}: expected F=FILE, where F is one of {', '.join(sorted(formats))} "
                f"(for example {example})"
            )
        paths.append((name, path))
    if len(alone) > 1:
        raise click.UsageError(f"--output {alone[0]} contradicts --output {alone[1]}: one stands for stdout")
    if alone:
        from layoutlint.commands import terminal

        terminal.mute()
    return paths
