"""`layoutlint rules asserts`: print assertions in C for structs, rules, and groups of fields."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

import click

from layoutlint.commands.option_records import OptionCommand
from layoutlint.commands.options import ReadingOptions, read_options, reading_options
from layoutlint.errors import EXIT_UNKNOWN

if TYPE_CHECKING:
    from layoutlint.commands.rules.net_cachelines.asserts import GroupAssertion
    from layoutlint.model.reading import ReadOptions

_RULE_FILE = ".toml"
_FORMS = ("c11", "kernel", "build-bug-on")
"""The names of `statements.FORMS`, without that module: help needs none of it."""


@click.command("asserts", cls=OptionCommand)
@click.argument("names", nargs=-1, required=True, metavar="RULEFILE|STRUCT...")
@click.option("--in", "path", metavar="INPUT", help="Read the structs from INPUT.")
@click.option("--c11", is_flag=True, help="Assert rules and whole structs, as --form c11.")
@click.option(
    "--form",
    type=click.Choice(_FORMS),
    help="Assert rules and whole structs, as c11, kernel or build-bug-on.",
)
@reading_options
@click.pass_obj
def rules_asserts(
    flags: tuple[str, ...],
    /,
    names: tuple[str, ...],
    path: str | None,
    c11: bool,
    form: str | None,
    reading: ReadingOptions,
) -> NoReturn:
    """Print assertions in C on structs.

    They are for builds without layoutlint. With --c11 or --form, they hold for a STRUCT of INPUT as it is
    now: its size, its alignment, and the offset of each member, also of inner structs. Of a RULEFILE,
    every rule that C can express exactly becomes an assertion. Comments list the rest, with the reason.
    --form c11 prints _Static_assert, kernel static_assert of Linux, and build-bug-on a function with
    BUILD_BUG_ON.

    Without, they are CACHELINE_ASSERT_GROUP_MEMBER and _SIZE statements. For a STRUCT of INPUT, these pin its
    marked groups as they are now; for a RULEFILE, the groups of its `group` rules and of the sides of its
    accesses.
    """
    from layoutlint.commands import terminal
    from layoutlint.commands.rules.net_cachelines import asserts

    troubles: list[str] = []
    if c11 and form not in (None, "c11"):
        raise click.UsageError(f"--c11 is --form c11, and contradicts --form {form}")
    if form is not None or c11:
        if path is None:
            raise click.UsageError(f"{'--form' if form else '--c11'} needs the structs: --in INPUT")
        terminal.write(_whole_text(names, path, read_options(flags, reading), form or "c11", troubles))
    else:
        if path is None:
            assertions = _assertions_of_files(names)
        else:
            assertions = _assertions_of_structs(path, names, read_options(flags, reading), troubles)
        if assertions:
            terminal.write(asserts.text(assertions))
    for trouble in troubles:
        terminal.complain(f"layoutlint: {trouble}")
    sys.exit(EXIT_UNKNOWN if troubles and not reading.allow_unknown else 0)


def _whole_text(
    names: tuple[str, ...], path: str, options: ReadOptions, form: str, troubles: list[str]
) -> str:
    """Return the assertions for rule files and whole structs, empty for none; add to `troubles`."""
    from layoutlint.commands.rules.rule_assertions import assert_rules
    from layoutlint.commands.rules.statements import FORMS, Block, render
    from layoutlint.commands.rules.struct_assertions import assert_structs
    from layoutlint.intent.toml import rule_file
    from layoutlint.lint.options import Options

    blocks: list[Block] = []
    rule_files = tuple(name for name in names if name.endswith(_RULE_FILE))
    structs = tuple(name for name in names if not name.endswith(_RULE_FILE))
    if rule_files:
        of_rules = assert_rules(path, rule_file.load(rule_files), Options(read=options))
        blocks += [row.block for row in of_rules.rows]
        troubles += map(str, of_rules.unread)
    if structs:
        of_structs = assert_structs(path, structs, options)
        blocks += of_structs.blocks
        troubles += map(str, of_structs.troubles)
    return render(blocks, FORMS[form]) if blocks else ""


def _refuse_structs(names: tuple[str, ...]) -> None:
    for name in names:
        if not name.endswith(_RULE_FILE):
            raise click.UsageError(
                f"{name!r} is not a rule file (*{_RULE_FILE}); for a struct, pass --in INPUT"
            )


def _refuse_rule_files(names: tuple[str, ...]) -> None:
    for name in names:
        if name.endswith(_RULE_FILE):
            raise click.UsageError(
                f"{name!r} is a rule file, and --in has structs; pass --c11 for its rules on them, or leave "
                "--in out for its groups"
            )


def _assertions_of_files(names: tuple[str, ...]) -> list[GroupAssertion]:
    from layoutlint.commands.rules.net_cachelines import asserts
    from layoutlint.intent.toml import rule_file

    _refuse_structs(names)
    assertions = [assertion for pack in rule_file.load(names) for assertion in asserts.from_pack(pack)]
    if not assertions:
        raise click.UsageError(
            f"{', '.join(names)}: no rule names the members of a group, and no access names a side"
        )
    return assertions


def _assertions_of_structs(
    path: str, names: tuple[str, ...], options: ReadOptions, troubles: list[str]
) -> list[GroupAssertion]:
    from layoutlint.commands.rules.net_cachelines import asserts
    from layoutlint.geometry.layout import Layout
    from layoutlint.lint.struct_listing import list_structs

    _refuse_rule_files(names)
    listing = list_structs(path, names, options)
    troubles += map(str, listing.troubles)
    assertions: list[GroupAssertion] = []
    for struct in listing.structs:
        if struct.bit_size is not None and struct.problem is None:
            of_struct = asserts.from_layout(Layout(struct))
            assertions += of_struct
            if not of_struct:
                label = f"{struct.aggregate} {struct.name}"
                troubles.append(f"{path}: {label} marks no groups of fields (--c11 asserts all of it)")
    return assertions
