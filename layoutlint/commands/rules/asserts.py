"""`layoutlint rules asserts`: print C assertions for groups of fields."""

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


@click.command("asserts", cls=OptionCommand)
@click.argument("names", nargs=-1, required=True, metavar="RULEFILE|STRUCT...")
@click.option("--in", "path", metavar="INPUT", help="Read the structs from INPUT.")
@click.option(
    "--c11",
    is_flag=True,
    help="Print the rules as _Static_assert statements of C11.",
)
@reading_options
@click.pass_obj
def rules_asserts(
    flags: tuple[str, ...], /, names: tuple[str, ...], path: str | None, c11: bool, reading: ReadingOptions
) -> NoReturn:
    """Print CACHELINE_ASSERT_GROUP_MEMBER and _SIZE statements for the groups of structs.

    For a STRUCT of INPUT, the assertions pin its marked groups as they are now. For a RULEFILE, they pin the
    groups of its `group` rules and of the sides of its accesses.

    With --c11, every rule that C can express exactly becomes an assertion. Comments list the others, with
    the reason.
    """
    from layoutlint.commands import terminal
    from layoutlint.commands.rules.net_cachelines import asserts

    troubles: list[str] = []
    if c11:
        _print_c11(names, path, read_options(flags, reading), reading.allow_unknown)
    if path is None:
        assertions = _assertions_of_files(names)
    else:
        assertions = _assertions_of_structs(path, names, read_options(flags, reading), troubles)
    if assertions:
        terminal.write(asserts.text(assertions))
    for trouble in troubles:
        terminal.complain(f"layoutlint: {trouble}")
    sys.exit(EXIT_UNKNOWN if troubles and not reading.allow_unknown else 0)


def _print_c11(
    names: tuple[str, ...], path: str | None, options: ReadOptions, allow_unknown: bool
) -> NoReturn:
    """Print the rules of files as assertions in C11, and exit."""
    from layoutlint.commands import terminal
    from layoutlint.commands.rules import c11
    from layoutlint.commands.rules.rule_assertions import assert_rules
    from layoutlint.intent.toml import rule_file
    from layoutlint.lint.options import Options

    if path is None:
        raise click.UsageError("--c11 needs the structs: --in INPUT")
    _refuse_structs(names, "leave --c11 out")
    assertions = assert_rules(path, rule_file.load(names), Options(read=options))
    terminal.write(c11.render(assertions.rows))
    for unread in assertions.unread:
        terminal.complain(f"layoutlint: {unread}")
    sys.exit(EXIT_UNKNOWN if assertions.unread and not allow_unknown else 0)


def _refuse_structs(names: tuple[str, ...], remedy: str) -> None:
    """Raise UsageError for a name that is no rule file; `remedy` is what a struct needs."""
    for name in names:
        if not name.endswith(_RULE_FILE):
            raise click.UsageError(f"{name!r} is not a rule file (*{_RULE_FILE}); for a struct, {remedy}")


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

    _refuse_structs(names, "pass --in INPUT")
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
                troubles.append(f"{path}: {struct.aggregate} {struct.name} marks no groups of fields")
    return assertions
