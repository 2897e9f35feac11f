"""`layoutlint rules asserts`: groups of fields as assertions in C."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from layoutlint.commands.options import read_options, reading_options

if TYPE_CHECKING:
    from layoutlint.intent.net_cachelines.asserts import Asserted
    from layoutlint.model.reading import ReadOptions


@click.command("asserts")
@click.argument("names", nargs=-1, required=True, metavar="RULEFILE|STRUCT...")
@click.option("--in", "path", metavar="INPUT", help="Where the structs are that are named.")
@reading_options
@click.pass_obj
def rules_asserts(
    flags: tuple[str, ...], /, names: tuple[str, ...], path: str | None, **more: Any
) -> NoReturn:
    """Write the CACHELINE_ASSERT_GROUP_MEMBER and _SIZE statements that hold structs to their groups.

    Of a STRUCT of INPUT they assert what it marks, as it is now; of a RULEFILE what its `group` rules and the
    accesses of sides in it ask for.
    """
    from layoutlint.commands import terminal
    from layoutlint.intent.net_cachelines import asserts

    troubles: list[str] = []
    if path is None:
        found = _of_files(names)
    else:
        found = _of_structs(path, names, read_options(flags, more), troubles)
    if found:
        terminal.write(asserts.text(found))
    for trouble in troubles:
        terminal.complain(f"layoutlint: {trouble}")
    sys.exit(3 if troubles and not more["allow_unknown"] else 0)


def _of_files(names: tuple[str, ...]) -> list[Asserted]:
    from layoutlint.intent.net_cachelines import asserts
    from layoutlint.intent.toml import rule_file

    missing = [name for name in names if not name.endswith(".toml")]
    if missing:
        raise click.UsageError(f"{missing[0]!r} is no rule file (*.toml); for a struct, say --in INPUT")
    found = [each for pack in rule_file.load(names) for each in asserts.of_pack(pack)]
    if not found:
        raise click.UsageError(
            f"{', '.join(names)}: no rule names the members of a group, and no access a side"
        )
    return found


def _of_structs(
    path: str, names: tuple[str, ...], options: ReadOptions, troubles: list[str]
) -> list[Asserted]:
    from layoutlint.geometry.layout import Layout
    from layoutlint.intent.net_cachelines import asserts
    from layoutlint.listing.structs import list_structs

    read = list_structs(path, names, options)
    troubles += read.troubles
    found: list[Asserted] = []
    for struct in read.structs:
        if struct.bit_size is not None and struct.problem is None:
            of_struct = asserts.of_layout(Layout(struct))
            found += of_struct
            if not of_struct:
                troubles.append(f"{path}: {struct.aggregate} {struct.name} marks no groups of fields")
    return found
