"""`layoutlint suggest`: an order of the members that keeps the rules, as a patch or a series of them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import click

from layoutlint.commands import standard_input
from layoutlint.commands.option_records import OptionCommand, add, option
from layoutlint.commands.options import (
    NO_ANNOTATIONS,
    NO_PACKS,
    OUTPUTS,
    PACK_NAMES,
    RULE_PATHS,
    SLABS,
    PlacementOptions,
    ReadingOptions,
    WholeNumber,
    format_of,
    parse_outputs,
    placement_options,
    read_options,
    reading_options,
    slab_caches,
)
from layoutlint.commands.packs import load_packs_of_inputs
from layoutlint.commands.struct_names import (
    refuse_swapped,
    strip_keywords,
    without_keyword,
    without_keywords,
)
from layoutlint.commands.suggest import smaller_list
from layoutlint.errors import EXIT_FINDINGS, EXIT_KEPT, EXIT_UNKNOWN, missing_library
from layoutlint.reports import formats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from layoutlint.model.build import Build
    from layoutlint.model.reading import InputText
    from layoutlint.suggestion.builds import Request
    from layoutlint.suggestion.orders.problem import Aim
    from layoutlint.suggestion.orders.result import Suggestion

_EFFORT = 4.0
_MOST_EFFORT = 1000.0

FORMATS = formats(__package__, "text", "patch", "json")
"""Functions of Suggestions; the one for people has options."""


class SuggestOptions(NamedTuple):
    """Options that only `suggest` has."""

    rule_paths: tuple[str, ...] = RULE_PATHS
    pack_names: tuple[str, ...] = PACK_NAMES
    matrix_path: str | None = option(
        "--matrix", metavar="FILE", help="Find one order for all builds that FILE names."
    )
    no_packs: bool = NO_PACKS
    no_annotations: bool = NO_ANNOTATIONS
    slabs: str | None = SLABS
    optimize: str = option(
        "--optimize", type=click.Choice(["moves", "lines"]), default="moves", show_default=True,
        help="After the rules: move few members, or touch few lines.",
    )  # fmt: skip
    evidence: tuple[str, ...] = option(
        "--evidence", multiple=True, metavar="FILE",
        help="Minimise the contention that `layoutlint evidence --format json` saved.",
    )  # fmt: skip
    smallest: bool = option(
        "--smallest", is_flag=True, help="Minimise the size; without STRUCT, list all structs."
    )
    most_moves: int | None = option(
        "--moves", type=WholeNumber(1), metavar="N",
        help="With --smallest or --evidence: move at most N declarations.",
    )
    globs: tuple[str, ...] = option(
        "--struct", multiple=True, metavar="GLOB", callback=strip_keywords,
        help="Without STRUCT: list structs with a matching name only.",
    )  # fmt: skip
    patch: bool = option(
        "--patch", is_flag=True, help="Print the change as a patch, with a draft of its message."
    )
    write: bool = option(
        "--write", is_flag=True, help="Write the change to the file that defines the struct."
    )
    force: bool = option(
        "--force", is_flag=True, help="Suggest orders that uses in the sources forbid, too."
    )
    alternative: int | None = option(
        "--alternative", type=WholeNumber(1), metavar="N",
        help="Suggest alternative N of the report, if no order will do.",
    )  # fmt: skip
    sources: tuple[str, ...] = option(
        "--sources", multiple=True, metavar="PATH",
        help="Search these sources for code that depends on the order.",
    )  # fmt: skip
    effort: float = option(
        "--effort", type=click.FloatRange(0.01, _MOST_EFFORT), metavar="N", default=_EFFORT,
        show_default=True,
        help="Limit the search for each aim; about seconds of a processor.",
    )  # fmt: skip
    outputs: tuple[str, ...] = OUTPUTS
    format_: str = format_of(
        (FORMATS | smaller_list.FORMATS).keys() - {"patch"}, " (markdown: without STRUCT)"
    )


@click.command(cls=OptionCommand)
@click.argument("words", metavar="INPUT [STRUCT]...", nargs=-1)
@add(SuggestOptions, "own")
@placement_options
@reading_options
@click.pass_obj
def suggest(
    flags: tuple[str, ...],
    /,
    words: tuple[str, ...],
    own: SuggestOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
) -> NoReturn:
    """Suggest an order that keeps the rules.

    The order is of the members of each STRUCT. Of all orders that keep the rules at every placement, it
    is the one that moves the fewest declarations; then the smallest, then the one with the fewest holes.
    Where the sources depend on the order, only orders that they allow are suggested. `pip install
    layoutlint[suggest]` adds the solver that proves that no order keeps the rules. Several patches are a
    series: each is found with those before it applied. With --smallest and no STRUCT, it lists all
    structs that could be smaller, the most bytes first.

    Exit status: 0 an order is suggested, or none is needed; 1 no order keeps all rules; 3 refused, or
    nothing was found.
    """
    from layoutlint.commands import file_changes, input_tree, output_files, terminal

    _refuse_combinations(own)
    inputs = without_keywords(words)
    if own.smallest and len(inputs) == 1 and own.matrix_path is None:

        smaller_list.print_list(flags, inputs[0], own, placement, reading)
    _refuse_list_options(own)
    terminal.complain(*file_changes.finish_interrupted())
    question = _question(words, own)
    outputs = parse_outputs(own.outputs, own.format_, FORMATS, "patch=0001.patch")
    read = (*question.paths, *own.rule_paths, *own.sources, *own.evidence)
    output_files.refuse((name for _, name in outputs), read)
    for _, name in outputs:
        output_files.refuse_source(name)
    results = _run(flags, question, own, placement, reading)
    for name, file in outputs:
        output_files.write_bytes(file, _encode(FORMATS[name](results)))
    if own.write:
        input_tree.write_changes(results, question.paths)
    _print(results, own, reading)
    sys.exit(_status(results, own))


def _print(results: Sequence[Suggestion], own: SuggestOptions, reading: ReadingOptions) -> None:
    """Print the patches or the report; if a requested patch is missing, the report on stderr.

    What a person should know who applies the patches is on stderr.
    """
    from layoutlint.commands import terminal

    if own.patch and all(result.patch is not None for result in results):
        terminal.write_bytes(_encode(FORMATS["patch"](results)))
        notes = [note for result in results if result.patch for note in (*result.notes, *result.patch.notes)]
        terminal.complain(*(f"note: {note}" for note in dict.fromkeys(notes)))
    elif own.format_ == "json":
        terminal.write(FORMATS["json"](results))
    else:
        color = not own.patch and terminal.has_color(reading.color)
        text = FORMATS["text"](results, color=color, width=terminal.width(reading.width))
        if own.patch:
            terminal.complain(*text.splitlines())
        else:
            terminal.write(text)
    sys.stdout.flush()


def _encode(text: str) -> bytes:
    """Return text with the bytes of files that are no UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def _refuse_combinations(own: SuggestOptions) -> None:
    if own.smallest and own.optimize == "lines":
        raise click.UsageError("--smallest and --optimize lines are different aims: choose one")
    if own.evidence and (own.smallest or own.optimize == "lines"):
        raise click.UsageError("--evidence is an aim, as --smallest and --optimize lines are: choose one")
    if own.evidence and own.matrix_path is not None:
        raise click.UsageError("--evidence is of one build: leave --matrix out")
    if own.most_moves and not (own.smallest or own.evidence):
        raise click.UsageError("--moves limits --smallest and --evidence: the fewest are found without them")
    if own.patch and own.format_ != "text":
        raise click.UsageError("--patch prints a patch: write JSON to a file with --output json=FILE")


def _refuse_list_options(own: SuggestOptions) -> None:
    """Raise UsageError for options of the list of structs that could be smaller."""
    if own.globs:
        raise click.UsageError("--struct chooses from the list of --smallest: leave STRUCT out")
    if own.format_ == "markdown":
        raise click.UsageError("--format markdown is for the list of --smallest: leave STRUCT out")


class _Question(NamedTuple):
    """What is asked about: structs in an input, or in the builds of a matrix."""

    path: str
    """The input; the matrix file if there is one."""
    structs: tuple[str, ...]
    builds: tuple[Build, ...] = ()
    """Empty without a matrix."""
    texts: tuple[InputText, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """All files that are read for the suggestion."""
        return (self.path, *dict.fromkeys(path for build in self.builds for path in build.inputs))


def _question(words: tuple[str, ...], own: SuggestOptions) -> _Question:
    """Return what the arguments ask about. Raises UsageError."""
    words = without_keywords(words)
    if own.matrix_path is not None:
        return _question_about_builds(words, own.matrix_path, own)
    if len(words) < 2:
        raise _missing_argument("INPUT" if not words else "STRUCT")
    path, *structs = words
    refuse_swapped("suggest", path, tuple(structs))
    (path,), texts = standard_input.take_text((path,), own.rule_paths)
    return _Question(path, _names(structs), (), texts)


def _missing_argument(name: str) -> click.UsageError:
    context = click.get_current_context()
    return click.MissingParameter(ctx=context, param_type="argument", param_hint=f"'{name}'")


def _question_about_builds(words: tuple[str, ...], matrix: str, own: SuggestOptions) -> _Question:
    """Return the structs and the builds of a matrix; INPUT comes first if builds name no input."""
    from layoutlint.intent.toml import matrix_file

    if not words:
        raise _missing_argument("STRUCT")
    inputs, texts = standard_input.take_text(words[: len(words) > 1], (*own.rule_paths, matrix))
    builds = matrix_file.load(matrix, inputs)
    is_read = bool(inputs) and any(build.inputs == inputs for build in builds)
    if inputs and not is_read and (texts or os.path.lexists(words[0])):
        raise click.UsageError(f"no build of {matrix} reads {inputs[0]}: every build names its own `input`")
    return _Question(matrix, _names(words[is_read:]), builds, texts)


def _names(structs: Sequence[str]) -> tuple[str, ...]:
    """Return the names of structs, each once. Raises UsageError for a pattern."""
    from layoutlint.model.paths import is_pattern

    names = tuple(dict.fromkeys(map(without_keyword, structs)))
    for name in names:
        if is_pattern(name):
            raise click.UsageError(f"{name!r} is a pattern; name each struct")
    return names


def _run(
    flags: tuple[str, ...],
    question: _Question,
    own: SuggestOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
) -> tuple[Suggestion, ...]:
    from layoutlint.intent.overrides import apply_overrides
    from layoutlint.intent.toml import shipped_rules
    from layoutlint.lint.options import Intents, Options

    packs = load_packs_of_inputs(own.rule_paths, own.pack_names)
    kernel_packs = () if own.no_packs else shipped_rules.kernel_packs_beside(packs)
    packs, kernel_packs = apply_overrides(packs, kernel_packs)
    options = Options(
        line_size=placement.line_size,
        min_align=placement.min_align,
        read=read_options(flags, reading, texts=question.texts),
        intents=Intents(annotations=not own.no_annotations),
        slabs=None if own.slabs is None else slab_caches(own.slabs),
    )
    try:
        from layoutlint.commands.suggest import matrix, series
        from layoutlint.suggestion.run import suggest
    except ModuleNotFoundError as error:
        raise missing_library(error) from None

    def suggest_one(request: Request, options: Options) -> Suggestion:
        if not question.builds:
            return suggest(question.path, request, packs, kernel_packs, options)
        return matrix.suggest_for_builds(
            question.path, question.builds, request, packs, kernel_packs, options
        )

    if (own.alternative or own.evidence) and len(question.structs) > 1:
        raise click.UsageError(f"{'--alternative' if own.alternative else '--evidence'} is for one STRUCT")
    request = _request(question.structs[0], own)
    return series.suggest_series(question.structs, request, options, suggest_one)


def _request(name: str, own: SuggestOptions) -> Request:
    from layoutlint.suggestion.builds import Request

    aims: tuple[Aim, ...] = ("moves", "size", "holes")
    if own.smallest:
        aims = ("size", "moves", "holes")
    elif own.optimize == "lines":
        aims = ("lines", *aims)
    elif own.evidence:
        aims = ("contention", "moves", "size")
    return Request(
        name, aims, own.effort, own.sources, own.force,
        own.alternative or 0, own.most_moves or 0, own.evidence,
    )  # fmt: skip


def _status(results: Sequence[Suggestion], own: SuggestOptions) -> int:
    statuses = {_status_of(result, own) for result in results}
    return next((status for status in (EXIT_FINDINGS, EXIT_UNKNOWN) if status in statuses), EXIT_KEPT)


def _status_of(result: Suggestion, own: SuggestOptions) -> int:
    if result.status == "infeasible":
        return EXIT_FINDINGS
    if result.status in ("refused", "unknown"):
        return EXIT_UNKNOWN
    needs_patch = (own.patch or own.write) and result.is_change
    return EXIT_UNKNOWN if needs_patch and result.patch is None else EXIT_KEPT
