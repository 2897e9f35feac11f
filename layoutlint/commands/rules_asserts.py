"""`layoutlint rules asserts`: print C assertions for groups of fields."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

import click

from layoutlint.commands.options import ReadingOptions, read_options, reading_options
from layoutlint.errors import EXIT_UNKNOWN

if TYPE_CHECKING:
    from layoutlint.intent.net_cachelines.asserts import GroupAssertion
    from layoutlint.model.reading import ReadOptions


@click.command("asserts")
@click.argument("names", nargs=-1, required=True, metavar="RULEFILE|STRUCT...")
@click.option("--in", "path", metavar="INPUT", help="Read the structs from INPUT.")
@reading_options
@click.pass_obj
def rules_asserts(
    flags: tuple[str, ...], /, names: tuple[str, ...], path: str | None, reading: ReadingOptions
) -> NoReturn:
    """Print CACHELINE_ASSERT_GROUP_MEMBER and _SIZE statements for the groups of structs.

    For a STRUCT of INPUT, the assertions pin its marked groups as they are now. For a RULEFILE, they pin the
    groups of its `group` rules and of the sides of its accesses.
    """
    from layoutlint.commands import terminal
    from layoutlint.intent.net_cachelines import asserts

    troubles: list[str] = []
    if path is None:
        assertions = _assertions_of_files(names)
    else:
        assertions = _assertions_of_structs(path, names, read_options(flags, reading), troubles)
    if assertions:
        terminal.write(asserts.text(assertions))
    for trouble in troubles:
        terminal.complain(f"layoutlint: {trouble}")
    sys.exit(EXIT_UNKNOWN if troubles and not reading.allow_unknown else 0)


def _assertions_of_files(names: tuple[str, ...]) -> list[GroupAssertion]:
    from layoutlint.intent.net_cachelines import asserts
    from layoutlint.intent.toml import rule_file

    missing = [name for name in names if not name.endswith(".toml")]
    if missing:
        raise click.UsageError(f"{missing[0]!r} is not a rule file (*.toml); for a struct, pass --in INPUT")
    assertions = [assertion for pack in rule_file.load(names) for assertion in asserts.from_pack(pack)]
    if not assertions:
        raise click.UsageError(
            f"{', '.join(names)}: no rule names the members of a group, and no access names a side"
        )
    return assertions


def _assertions_of_structs(
    path: str, names: tuple[str, ...], options: ReadOptions, troubles: list[str]
) -> list[GroupAssertion]:
    from layoutlint.geometry.layout import Layout
    from layoutlint.intent.net_cachelines import asserts
    from layoutlint.listing.structs import list_structs

    listing = list_structs(path, names, options)
    troubles += listing.troubles
    assertions: list[GroupAssertion] = []
    for struct in listing.structs:
        if struct.bit_size is not None and struct.problem is None:
            of_struct = asserts.from_layout(Layout(struct))
            assertions += of_struct
            if not of_struct:
                troubles.append(f"{path}: {struct.aggregate} {struct.name} marks no groups of fields")
    return assertions
