"""`layoutlint rules`: list rules, and check and test rule files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

import click

from layoutlint.commands.group import Subcommands
from layoutlint.commands.option_records import OptionCommand
from layoutlint.commands.options import format_option
from layoutlint.commands.packs import load_packs
from layoutlint.commands.rules.asserts import rules_asserts
from layoutlint.commands.rules.imports import rules_import
from layoutlint.reports import formats

if TYPE_CHECKING:
    from layoutlint.judgement.rule import Rule

FORMATS = formats(__package__, "text", "json")
"""Functions of Trials."""


@click.group("rules", cls=Subcommands)
def rules_group() -> None:
    """List, check and test rules."""


rules_group.add_command(rules_import)
rules_group.add_command(rules_asserts)


@rules_group.command("list")
@click.option(
    "--rules", "rule_paths", multiple=True, metavar="PATH", help="List the rules of a file or folder."
)
@click.option("--pack", "pack_names", multiple=True, metavar="NAME", help="List only this shipped pack.")
def rules_list(rule_paths: tuple[str, ...], pack_names: tuple[str, ...]) -> None:
    """List shipped rules, or those of files."""
    from layoutlint.commands import terminal
    from layoutlint.intent.toml import shipped_rules

    packs = load_packs(rule_paths, pack_names) or shipped_rules.shipped_packs()
    for pack in packs:
        on = "  (on for Linux kernels)" if pack.kernel else ""
        terminal.say(f"{pack.name}{f'  (guesses: only with --pack {pack.name})' if pack.guesses else on}")
        for rule in pack.rules:
            terminal.say(_rule_line(rule))
        annotated = [intent.struct for intent in pack.structs if intent.annotated]
        if annotated:
            terminal.say(f"  what these structs say themselves: {', '.join(annotated)}")


def _rule_line(rule: Rule) -> str:
    return f"  {rule.id:<44} {rule.kind.name:<12} {rule.severity.value:<8} {rule.struct}"


@rules_group.command("check")
@click.argument("rule_paths", nargs=-1, required=True, metavar="PATH...")
def rules_check(rule_paths: tuple[str, ...]) -> None:
    """Report every mistake in rule files.

    Their cases are read too; each mistake has file and line.
    """
    from layoutlint.commands import terminal
    from layoutlint.commands.rules import case_file
    from layoutlint.intent.overrides import read_overrides
    from layoutlint.intent.toml import rule_file

    packs = rule_file.load(rule_paths)
    read_overrides(packs)
    loaded = case_file.load_all(packs)
    count = sum(len(pack.rules) for pack, _ in loaded)
    cases = sum(len(cases) for _, cases in loaded)
    summary = f"{_count(count, 'rule')} in {_count(len(loaded), 'file')}"
    of_cases = f", {_count(cases, 'case')}" if cases else ""
    terminal.say(f"{summary}{of_cases}: no mistakes")


@rules_group.command("test", cls=OptionCommand)
@click.argument("rule_paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--pack", "pack_names", multiple=True, metavar="NAME", help="Judge the cases of a shipped pack."
)
@click.option("--strict", is_flag=True, help="Fail for rules without a breaking and a keeping case.")
@format_option(FORMATS)
def rules_test(
    rule_paths: tuple[str, ...], pack_names: tuple[str, ...], strict: bool, format_: str
) -> NoReturn:
    """Judge the cases of rule files.

    Cases are structs in C with expected outcomes. The cases of locks.toml are in locks.cases.toml beside
    it. Without PATH and --pack, the cases of all shipped packs are judged.
    """
    from layoutlint.commands import terminal
    from layoutlint.commands.rules import cases
    from layoutlint.intent.toml import shipped_rules

    trials = cases.run(load_packs(rule_paths, pack_names) or shipped_rules.shipped_packs(), strict)
    terminal.write(FORMATS[format_](trials))
    sys.exit(0 if all(trial.passes for trial in trials) else 1)


def _count(number: int, noun: str) -> str:
    """Return a number with a noun: `1 rule`, `3 rules`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
