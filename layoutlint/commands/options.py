"""Options that several commands share, and what texts of options mean."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from layoutlint import reports
from layoutlint.randstruct import kernel_tree

if TYPE_CHECKING:
    from layoutlint.model.reading import ReadOptions, Version
    from layoutlint.randstruct.randomisation import Randomisation


def _power_of_two(ctx: click.Context, param: click.Parameter, text: str | None) -> int | None:
    """A number of bytes that is a power of two, up to 1 MiB."""
    if text is None:
        return None
    number = int(text) if text.isdecimal() and len(text) < 8 else 0
    if number < 1 or number & (number - 1) or number > 1 << 20:
        raise click.BadParameter(f"{text!r} is not a power of two", ctx, param)
    return number


def placement_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that override the target's placements."""
    line_size = click.option(
        "--line-size",
        metavar="BYTES",
        callback=_power_of_two,
        help="Cache line size (default: the target's).",
    )
    min_align = click.option(
        "--min-align",
        metavar="BYTES",
        callback=_power_of_two,
        help="Smallest alignment of an object (default: the target's).",
    )
    return line_size(min_align(command))


def randomising_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say how a build randomises layouts."""
    for option in reversed(
        (
            click.option(
                "--randstruct",
                type=click.Choice(kernel_tree.MODES),
                help="Take the layouts of a build that randomises in this way (clang: built with libstdc++).",
            ),
            click.option(
                "--seed",
                metavar="FILE|HEX",
                help="Its seed: 64 hexadecimal digits, randstruct.seed or randomize_layout_seed.h. `check` "
                "without it judges every order that the compiler may choose.",
            ),
            click.option(
                "--kernel-version",
                metavar="X.Y[.Z]|FOLDER",
                help="The Linux whose GCC plugin it is, or its source, where the layout depends on it; for "
                "`check` a version is also that of kernels that do not tell theirs, for `when` in rules.",
            ),
            click.option(
                "--randomized",
                multiple=True,
                metavar="NAMES",
                help="The structs that are marked, in inputs that do not show it: names with commas between "
                "them, or a file of names; `!NAME` for one that is marked not to be.",
            ),
        )
    ):
        command = option(command)
    return command


def randomisation(
    more: dict[str, Any], paths: tuple[str, ...], needs_seed: bool = True
) -> Randomisation | None:
    """What the options, or the kernel build that the inputs stand in, say of how layouts are randomised.

    None where they are not. Raises UsageError, and ReadError for a seed that is another build's.
    """
    mode, found = more["randstruct"], None
    if mode is not None or kernel_tree.around(paths, kernel_tree.SEEDS) is not None:
        from layoutlint.randstruct import options

        words = more["seed"], more["kernel_version"], tuple(more["randomized"])
        found = options.randomisation(mode, *words, paths)
    if found is None:
        without = [name for name in ("seed", "kernel_version", "randomized") if more[name]]
        if not needs_seed and kernel_version(more) is not None:
            without.remove("kernel_version")  # it is for rules
        if without:
            raise click.UsageError(f"--{without[0].replace('_', '-')} says nothing without --randstruct")
    elif found.seed is None and needs_seed:
        raise click.UsageError(f"--randstruct {mode} needs the seed of the build: --seed FILE|HEX")
    return found


def kernel_version(more: dict[str, Any]) -> Version | None:
    """The version of Linux that the options say; None where they say none, or name a source."""
    text = more["kernel_version"]
    if text is None or os.path.isdir(text):
        return None
    from layoutlint.readers.linux import version

    found = version.of_release(text.removeprefix("v"))
    if found is None:
        raise click.UsageError(f"--kernel-version {text!r}: wanted X.Y, such as 6.12")
    return found


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of commands that read inputs."""
    for option in reversed(
        (
            click.option(
                "--reader",
                type=click.Choice(["dwarf", "btf"]),
                help="Which debug information to read where a file has both.",
            ),
            click.option(
                "--btf-base", metavar="FILE", help="The vmlinux BTF that a module's split BTF builds on."
            ),
            click.option(
                "--debug-dir",
                "debug_dirs",
                multiple=True,
                metavar="DIR",
                help="Where separate debug files stand (default: /usr/lib/debug).",
            ),
            click.option(
                "--flags",
                "quoted_flags",
                metavar="FLAGS",
                help="Compiler flags as one string, for callers that put INPUT last.",
            ),
            click.option(
                "--jobs",
                "-j",
                type=click.IntRange(1, 1024),
                help="Processes (default: one for each processor, where there is much DWARF or a folder of "
                "modules to read). Several inputs are read side by side when this is given.",
            ),
            click.option(
                "--allow-unknown", is_flag=True, help="What could not be told does not fail the run."
            ),
            click.option(
                "--progress/--no-progress",
                default=None,
                help="Show progress on stderr (default: on a terminal).",
            ),
            click.option(
                "--color",
                type=click.Choice(["auto", "always", "never"]),
                default="auto",
                help="Colour in text.",
            ),
        )
    ):
        command = option(command)
    return command


def read_options(flags: tuple[str, ...], more: dict[str, Any]) -> ReadOptions:
    """What the options say of reading; `flags` are the compiler flags behind `--`. Raises UsageError."""
    from layoutlint.commands import terminal
    from layoutlint.model.reading import DEBUG_DIR, ReadOptions

    return ReadOptions(
        flags=(*words(more["quoted_flags"] or ""), *flags),
        progress=terminal.progress_on_stderr(more["progress"]),
        jobs=more["jobs"] or 0,
        reader=more["reader"],
        btf_base=more["btf_base"],
        debug_dirs=more["debug_dirs"] or (DEBUG_DIR,),
        sources=_folders(more.get("sources", ())),
    )


def words(quoted: str) -> tuple[str, ...]:
    """A string cut as a shell does it; raises click.UsageError for a quote that is not closed."""
    if not quoted:
        return ()
    import shlex

    try:
        return tuple(shlex.split(quoted))
    except ValueError as error:
        raise click.UsageError(f"--flags {quoted!r}: {str(error).lower()}") from error


def _folders(named: tuple[str, ...]) -> tuple[str, ...]:
    """The `--sources` options; raises click.UsageError for what is no folder."""
    for path in named:
        if not os.path.isdir(path):
            raise click.UsageError(f"--sources {path!r}: no such folder")
    return named


def files_of(outputs: tuple[str, ...]) -> list[tuple[str, str]]:
    """The `--output F=FILE` options; raises click.UsageError for one that names no format or no file."""
    files = []
    for text in outputs:
        name, equals, path = text.partition("=")
        if not equals or not path or name not in reports.FORMATS:
            raise click.UsageError(
                f"--output {text!r}: wanted F=FILE, where F is one of {', '.join(sorted(reports.FORMATS))}"
            )
        files.append((name, path))
    return files
