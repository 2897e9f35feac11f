"""`layoutlint history`: one struct over several builds."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import click

from layoutlint.commands import standard_input
from layoutlint.commands.option_records import OptionCommand, add, option
from layoutlint.commands.options import (
    HTML,
    NO_ANNOTATIONS,
    NO_PACKS,
    PACK_NAMES,
    RULE_PATHS,
    PlacementOptions,
    ReadingOptions,
    format_of,
    placement_options,
    read_options,
    reading_options,
)
from layoutlint.commands.packs import load_packs_of_inputs
from layoutlint.commands.struct_names import refuse_swapped, without_keywords
from layoutlint.errors import missing_library
from layoutlint.reports import formats

if TYPE_CHECKING:
    from layoutlint.commands.history.builds import History
    from layoutlint.comparison.layouts import NotCompared
    from layoutlint.lint.sides import SideInput
    from layoutlint.model.reading import InputText

FORMATS = formats(__package__, "text", "json", "svg", "html")
"""Functions of a History; the one for people has options."""


class HistoryOptions(NamedTuple):
    """Options that only `history` has."""

    rule_paths: tuple[str, ...] = RULE_PATHS
    pack_names: tuple[str, ...] = PACK_NAMES
    no_packs: bool = NO_PACKS
    no_annotations: bool = NO_ANNOTATIONS
    pairs: tuple[tuple[str, str], ...] = option(
        "--pair", nargs=2, multiple=True, metavar="FIELD FIELD",
        help="Count the placements in which two fields share a line.",
    )  # fmt: skip
    input_names: tuple[str, ...] = option(
        "--input", multiple=True, metavar="GLOB", help="Use only inputs with a matching name (of a store)."
    )
    format_: str = format_of(FORMATS)
    html: str | None = HTML
    verbose: bool = option("--verbose", "-v", is_flag=True, help="List the fields that never moved too.")


@click.command(cls=OptionCommand)
@click.argument("words", nargs=-1, metavar="INPUT... STRUCT")
@add(HistoryOptions, "own")
@placement_options
@reading_options
@click.pass_obj
def history(
    flags: tuple[str, ...],
    /,
    words: tuple[str, ...],
    own: HistoryOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
) -> NoReturn:
    """Follow STRUCT over several builds.

    Printed are sizes, fields that moved, verdicts, and what changed when. INPUT can be the store of a
    survey. Builds are in the order of their Linux versions, if all state one; else as given. Exit status:
    0 the struct is known in every build, 3 something is not known.
    """
    from layoutlint.commands import terminal

    if own.html is not None:
        from layoutlint.commands import output_files

        output_files.refuse_page(own.html, (*words[:-1], *own.rule_paths))
    traced = _trace(flags, words, own, placement, reading)
    if own.html is not None:
        output_files.write_whole(own.html, FORMATS["html"](traced))
    render = FORMATS[own.format_]
    if own.format_ == "text":
        text = terminal.fit(render, reading.color, reading.width)(traced, verbose=own.verbose)
    else:
        text = render(traced)
    terminal.write(text)
    sys.stdout.flush()
    sys.exit(0 if reading.allow_unknown else traced.exit_status)


def _trace(
    flags: tuple[str, ...],
    words: tuple[str, ...],
    own: HistoryOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
) -> History:
    """Read the inputs. Raises UsageError without a struct, or for a field that no build has."""
    from layoutlint.commands.history.builds import trace_struct
    from layoutlint.intent.overrides import apply_overrides
    from layoutlint.intent.toml import shipped_rules
    from layoutlint.lint import sides
    from layoutlint.lint.options import Intents, Options
    from layoutlint.model.record import replace

    paths, name = _split(words)
    paths, texts = standard_input.take_text(paths)
    packs = load_packs_of_inputs(own.rule_paths, own.pack_names)
    kernel_packs = () if own.no_packs else shipped_rules.kernel_packs_beside(packs)
    packs, kernel_packs = apply_overrides(packs, kernel_packs)
    options = Options(
        only=(name,),
        line_size=placement.line_size,
        min_align=placement.min_align,
        read=read_options(flags, reading, texts=texts),
        intents=Intents(annotations=not own.no_annotations),
    )
    inputs, stored, gaps = _inputs(paths, name, own.input_names)
    options = replace(options, read=replace(options.read, texts=(*texts, *stored)))
    read = sides.read_sides(inputs, packs, kernel_packs, options)
    traced = trace_struct(name, read, own.pairs, placement.line_size, placement.min_align)
    traced = replace(traced, gaps=(*traced.gaps, *gaps))
    if all(build.is_missing for build in traced.builds):
        from layoutlint.errors import ReadError
        from layoutlint.lint.missing_name import missing_name_hint

        hint = missing_name_hint(name, paths, options.read)
        raise ReadError(", ".join(paths), f"no struct {name}{hint}")
    _refuse_unknown_fields(traced)
    return traced


def _inputs(
    paths: tuple[str, ...], name: str, patterns: tuple[str, ...]
) -> tuple[list[SideInput], list[InputText], list[NotCompared]]:
    """Return what paths stand for: themselves, or what a store has of the struct. Raises UsageError."""
    from layoutlint.lint.sides import SideInput
    from layoutlint.surveys.store import is_store, open_store

    stores = [path for path in paths if is_store(path)]
    if patterns and not stores:
        raise click.UsageError("`--input` chooses inputs of a store, and no store is given")
    inputs: list[SideInput] = []
    texts: list[InputText] = []
    gaps: list[NotCompared] = []
    for path in paths:
        if path not in stores:
            inputs.append(SideInput(path, (path,)))
            continue
        try:
            from layoutlint.commands.history.stored_builds import stored_builds

            stored = stored_builds(open_store(path), name, patterns)
        except ModuleNotFoundError as error:
            raise missing_library(error) from None
        inputs += stored.inputs
        texts += stored.texts
        gaps += stored.gaps
    return inputs, texts, gaps


def _split(words: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return the inputs and the name of the struct, which is last."""
    words = without_keywords(words)
    if len(words) < 2:
        raise click.UsageError("name some inputs, and then a struct: `layoutlint history old.o new.o ring`")
    paths, name = words[:-1], words[-1]
    refuse_swapped("history", paths[0], (name,))
    if any(letter in name for letter in "*?["):
        raise click.UsageError(f"`history` follows one struct, and {name!r} is a pattern")
    return paths, name


def _refuse_unknown_fields(traced: History) -> None:
    """Raise UsageError for a field of a pair that no build has, if any build has the struct."""
    from layoutlint.errors import did_you_mean

    if all(build.struct is None for build in traced.builds):
        return
    known = [row.path for row in traced.fields]
    for pair in traced.pairs:
        if all(each is None for each in pair.meetings):
            missing = next((path for path in (pair.first, pair.second) if path not in known), pair.first)
            raise click.UsageError(
                f"no build has both `{pair.first}` and `{pair.second}`{did_you_mean(missing, known)}"
            )
