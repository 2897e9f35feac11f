"""`layoutlint bisect`: the commits that changed the verdict of a rule."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import click

from layoutlint.commands.option_records import OptionCommand, add, option
from layoutlint.commands.options import (
    BUILD,
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
from layoutlint.reports import formats

if TYPE_CHECKING:
    from layoutlint.commands.history.search_result import SearchResult
    from layoutlint.judgement.rule import Pack

FORMATS = formats(__package__, "text", "json", prefix="bisect_")
"""Functions of a SearchResult."""


class BisectOptions(NamedTuple):
    """Options that only `bisect` has."""

    rule_paths: tuple[str, ...] = RULE_PATHS
    pack_names: tuple[str, ...] = PACK_NAMES
    no_packs: bool = NO_PACKS
    no_annotations: bool = NO_ANNOTATIONS
    build: tuple[str, ...] = BUILD
    """The build folder as a flag; empty without one."""
    judges_all: bool = option(
        "--all", is_flag=True, help="Judge each commit that can change the verdict, however many."
    )
    format_: str = format_of(FORMATS)


@click.command(cls=OptionCommand)
@click.argument("rule", metavar="RULE")
@click.argument("revisions", metavar="OLD..NEW")
@click.argument("path", required=False, metavar="[PATH]")
@add(BisectOptions, "own")
@placement_options
@reading_options
@click.pass_obj
def bisect(
    flags: tuple[str, ...],
    /,
    rule: str,
    revisions: str,
    path: str | None,
    own: BisectOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
) -> NoReturn:
    """Find the commits that changed RULE.

    They are the commits after OLD, up to NEW, in which RULE got worse or better, from C headers alone.
    PATH is a file or folder of the repository (default: all of it). Nothing is checked out or built. Exit
    status: 0 the commits are found, 3 only a range is found, because commits in it could not be judged.
    """
    from layoutlint.commands import terminal

    result = _search((*flags, *own.build), rule, revisions, path, own, placement, reading)
    render = FORMATS[own.format_]
    if own.format_ == "text":
        render = terminal.fit(render, reading.color, reading.width)
    terminal.write(render(result))
    sys.stdout.flush()
    sys.exit(result.exit_status)


def _search(
    flags: tuple[str, ...],
    rule: str,
    revisions: str,
    path: str | None,
    own: BisectOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
) -> SearchResult:
    from layoutlint.commands import diff_sides
    from layoutlint.commands.history.commit_verdicts import CommitVerdicts
    from layoutlint.commands.history.history_search import HistorySearch
    from layoutlint.intent.overrides import apply_overrides
    from layoutlint.intent.toml import shipped_rules
    from layoutlint.lint.options import Intents, Options
    from layoutlint.revisions import exported_tree, git, tree_copies
    from layoutlint.workers.temporary_folder import temporary_folder

    old, new = git.revision_range(revisions, "bisect")
    packs = load_packs_of_inputs(own.rule_paths, own.pack_names)
    kernel_packs = () if own.no_packs else shipped_rules.kernel_packs_beside(packs)
    packs, kernel_packs = apply_overrides(packs, kernel_packs)
    _refuse_unknown(rule, packs + kernel_packs)
    inside = diff_sides.path_in_tree(new, path)
    options = Options(
        line_size=placement.line_size,
        min_align=placement.min_align,
        read=read_options(flags, reading),
        intents=Intents(annotations=not own.no_annotations),
    )
    wanted = exported_tree.wanted_files(new, inside, packs + kernel_packs)
    with temporary_folder() as root:
        working_tree = tree_copies.working_tree(new, root, wanted)
        verdicts = CommitVerdicts(rule, packs, kernel_packs, options, inside, wanted, root, working_tree)
        return HistorySearch(verdicts, old, new, own.judges_all).result()


def _refuse_unknown(rule: str, packs: tuple[Pack, ...]) -> None:
    """Raise UsageError for a rule that no rule file has."""
    from layoutlint.errors import did_you_mean

    names = {each.id for pack in packs for each in pack.rules}
    if rule not in names:
        raise click.UsageError(f"no rule is called {rule!r}{did_you_mean(rule, names)}")
