"""`layoutlint diff`: compare the layouts and verdicts of two inputs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import click

from layoutlint.commands.option_records import OptionCommand, add, option
from layoutlint.commands.options import (
    BUILD,
    HTML,
    NO_ANNOTATIONS,
    NO_PACKS,
    PACK_NAMES,
    RULE_PATHS,
    SLABS,
    USES,
    PlacementOptions,
    RandomisingOptions,
    ReadingOptions,
    format_of,
    kernel_version,
    placement_options,
    randomisation,
    randomising_options,
    read_options,
    reading_options,
    slab_caches,
)
from layoutlint.commands.packs import load_packs_of_inputs
from layoutlint.commands.struct_names import strip_keywords
from layoutlint.reports import formats

if TYPE_CHECKING:
    from layoutlint.comparison.comparison import Comparison
    from layoutlint.judgement.rule import Pack
    from layoutlint.lint.options import Options
    from layoutlint.lint.sides import SideInput
    from layoutlint.randstruct.randomisation import Randomisation

_CRITERIA = ("worse", "size", "lines", "holes", "share", "moved", "types")
"""What can make a comparison fail, as `comparison.compare` defines it."""

FORMATS: dict[str, Callable[..., str]] = formats(__package__, "text", "markdown", "sarif", "json", "html")
"""Functions of a Comparison; the one for people has options."""


class DiffOptions(NamedTuple):
    """Options that only `diff` has."""

    rule_paths: tuple[str, ...] = RULE_PATHS
    pack_names: tuple[str, ...] = PACK_NAMES
    no_packs: bool = NO_PACKS
    no_annotations: bool = NO_ANNOTATIONS
    slabs: str | None = SLABS
    only: tuple[str, ...] = option(
        "--struct", multiple=True, metavar="GLOB", callback=strip_keywords,
        help="Compare only structs with a matching name.",
    )  # fmt: skip
    revisions: str | None = option(
        "--git", metavar="A..B", help="Compare two revisions: `diff --git A..B [PATH]`."
    )
    patch: str | None = option(
        "--patch", metavar="FILE|-", help="Compare a source tree without and with a patch."
    )
    build: tuple[str, ...] = BUILD
    """The build folder as a flag; empty without one."""
    format_: str = format_of(FORMATS)
    html: str | None = HTML
    fail_on: tuple[str, ...] = option(
        "--fail-on", type=click.Choice(_CRITERIA), multiple=True, default=("worse",),
        help="Choose what fails the run (default: rules that got worse).",
    )  # fmt: skip
    renames: bool = option(
        "--renames", is_flag=True, help="With --fail-on moved, accept fields with another name."
    )
    uses: tuple[str, ...] = USES
    variables: bool = option("--variables", is_flag=True, help="Compare the cache lines of variables too.")
    variable: tuple[str, ...] = option(
        "--variable", metavar="GLOB", multiple=True,
        help="Compare and describe only variables with a matching name.",
    )  # fmt: skip
    verbose: bool = option("--verbose", "-v", is_flag=True, help="Print all entries of long lists.")

    @property
    def with_variables(self) -> bool:
        """Whether variables are compared as well."""
        return self.variables or bool(self.variable)


@click.command(cls=OptionCommand)
@click.argument("inputs", nargs=-1, metavar="OLD NEW")
@add(DiffOptions, "own")
@randomising_options
@placement_options
@reading_options
@click.pass_obj
def diff(
    flags: tuple[str, ...],
    /,
    inputs: tuple[str, ...],
    own: DiffOptions,
    randomising: RandomisingOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
) -> NoReturn:
    """Show what changed between OLD and NEW.

    Printed are the structs that differ: what moved, why, and which rules got worse. Exit status: 0 the
    same or better, 1 worse, 3 something could not be compared.
    """
    from layoutlint.commands import terminal

    if own.renames and "moved" not in own.fail_on:
        raise click.UsageError("--renames needs --fail-on moved")
    _refuse_wrong_inputs(inputs, own)
    if own.html is not None:
        from layoutlint.commands import output_files

        output_files.refuse_page(own.html, (*inputs, *own.rule_paths, *own.uses, *filter(None, (own.patch,))))
    comparison = _compare((*flags, *own.build), inputs, own, randomising, placement, reading)
    if own.html is not None:
        output_files.write_whole(own.html, FORMATS["html"](comparison))
    terminal.write(_text(comparison, own, reading))
    sys.stdout.flush()
    for note in comparison.notes if comparison.is_silent else ():
        terminal.complain(f"layoutlint: note: {note}")
    sys.exit(comparison.exit_status)


def _compare(
    flags: tuple[str, ...],
    inputs: tuple[str, ...],
    own: DiffOptions,
    randomising: RandomisingOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
) -> Comparison:
    from layoutlint.comparison import comparison
    from layoutlint.intent.overrides import apply_overrides
    from layoutlint.intent.toml import shipped_rules
    from layoutlint.lint import sides
    from layoutlint.model.record import replace

    packs = load_packs_of_inputs(own.rule_paths, own.pack_names)
    kernel_packs = () if own.no_packs else shipped_rules.kernel_packs_beside(packs)
    packs, kernel_packs = apply_overrides(packs, kernel_packs)
    options = replace(
        _options(flags, own, placement, reading),
        randomised=_randomisation(randomising, inputs),
        kernel=kernel_version(randomising),
    )
    with _sides(inputs, own, packs + kernel_packs, flags) as read:
        before, after = sides.read_sides(read, packs, kernel_packs, options, own.with_variables)
        query = None
        if own.with_variables:
            from layoutlint.lint.variables import variable_query

            query = variable_query(packs + kernel_packs, own.variable, placement.line_size)
        compared = comparison.compare(before, after, own.fail_on, reading.allow_unknown, query, own.renames)
        if compared.layouts.changes:
            from layoutlint.lint.changed_allocators import find_allocators

            allocators = find_allocators(compared, read[1], packs, kernel_packs, options)
            compared = replace(compared, allocators=allocators)
    if not own.uses:
        return compared
    from layoutlint.commands.diff import likely_sharing

    return likely_sharing.rank(compared, own.uses, packs, kernel_packs, options)


@contextmanager
def _sides(
    inputs: tuple[str, ...], own: DiffOptions, packs: tuple[Pack, ...], flags: tuple[str, ...]
) -> Iterator[tuple[SideInput, SideInput]]:
    """Hand out what is compared; temporary files are removed afterwards."""
    from layoutlint.commands import diff_sides
    from layoutlint.lint.sides import SideInput

    if own.revisions is not None:
        path = inputs[0] if inputs else None
        with diff_sides.sides_of_revisions(own.revisions, path, packs, flags) as sides:
            yield sides
    elif own.patch is not None:
        with diff_sides.sides_of_patch(own.patch, inputs[0], packs, flags) as sides:
            yield sides
    else:
        old, new = (SideInput(path, (path,)) for path in inputs)
        yield old, new


def _refuse_wrong_inputs(inputs: tuple[str, ...], own: DiffOptions) -> None:
    """Raise UsageError for another number of inputs than what is compared needs."""
    if own.revisions is not None and own.patch is not None:
        raise click.UsageError("--git and --patch exclude each other")
    expected = (
        "a path at most" if own.revisions else "one source tree" if own.patch else "two inputs, OLD and NEW"
    )
    is_right = len(inputs) < 2 if own.revisions else len(inputs) == (1 if own.patch else 2)
    if not is_right:
        raise click.UsageError(
            f"`diff` {'with --git ' * bool(own.revisions)}{'with --patch ' * bool(own.patch)}"
            f"takes {expected}; {len(inputs)} {'is' if len(inputs) == 1 else 'are'} given. "
            f"For example: `layoutlint diff {_example(inputs, own)}`"
        )


def _example(inputs: tuple[str, ...], own: DiffOptions) -> str:
    """Return arguments as they should be."""
    if own.revisions is not None:
        return f"--git {own.revisions} {inputs[0]}"
    if own.patch is not None:
        return f"--patch {own.patch} TREE"
    return f"--git HEAD~1..HEAD {inputs[0]}" if len(inputs) == 1 else "old.o new.o"


def _options(
    flags: tuple[str, ...], own: DiffOptions, placement: PlacementOptions, reading: ReadingOptions
) -> Options:
    from layoutlint.lint.options import Intents, Options, Strictness

    return Options(
        only=own.only,
        line_size=placement.line_size,
        min_align=placement.min_align,
        read=read_options(flags, reading),
        intents=Intents(annotations=not own.no_annotations),
        slabs=None if own.slabs is None else slab_caches(own.slabs, has_changed=True),
        strictness=Strictness(allow_unknown=reading.allow_unknown),
    )


def _randomisation(randomising: RandomisingOptions, inputs: tuple[str, ...]) -> Randomisation | None:
    """Return the order into which a seed puts the fields of both sides; None without --randstruct.

    A seed beside one input is not that of the other, so none is searched. Raises UsageError.
    """
    if randomising.randstruct is not None and randomising.seed is None:
        raise click.UsageError(
            f"--randstruct {randomising.randstruct} needs the seed for both sides: --seed FILE|HEX"
        )
    return randomisation(randomising, inputs if randomising.randstruct is not None else ())


def _text(comparison: Comparison, own: DiffOptions, reading: ReadingOptions) -> str:
    """Return what is printed on stdout."""
    from layoutlint.commands import terminal

    render = FORMATS[own.format_]
    if own.format_ != "text":
        return render(comparison)
    return terminal.fit(render, reading.color, reading.width)(comparison, verbose=own.verbose)
