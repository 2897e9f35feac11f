"""`layoutlint rules`: what rule files say, and what is wrong with them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

import click

from layoutlint import reports
from layoutlint.commands.packs import packs_of

if TYPE_CHECKING:
    from layoutlint.judgement.rule import Rule


@click.group("rules")
def rules_group() -> None:
    """List rules, check rule files, and test rules."""


@rules_group.command("list")
@click.option(
    "--rules", "rule_paths", multiple=True, metavar="PATH", help="A rule file, or a folder of them."
)
@click.option("--pack", "pack_names", multiple=True, metavar="NAME", help="Only this shipped pack.")
def rules_list(rule_paths: tuple[str, ...], pack_names: tuple[str, ...]) -> None:
    """List the shipped packs and their rules, or those of the given files."""
    from layoutlint.commands import terminal
    from layoutlint.intent.toml import rule_file

    packs = packs_of(rule_paths, pack_names) or rule_file.shipped()
    for pack in packs:
        on = "  (on for Linux kernels)" if pack.kernel else ""
        terminal.say(f"{pack.name}{f'  (guesses: only with --pack {pack.name})' if pack.guesses else on}")
        for rule in pack.rules:
            terminal.say(_listed(rule))
        annotated = [intent.struct for intent in pack.structs if intent.annotated]
        if annotated:
            terminal.say(f"  what these structs say themselves: {', '.join(annotated)}")


def _listed(rule: Rule) -> str:
    return f"  {rule.id:<44} {rule.kind.name:<12} {rule.severity.value:<8} {rule.struct}"


@rules_group.command("check")
@click.argument("rule_paths", nargs=-1, required=True, metavar="PATH...")
def rules_check(rule_paths: tuple[str, ...]) -> None:
    """Say what is wrong with rule files, and with their cases: every mistake, each with file and line."""
    from layoutlint.commands import terminal
    from layoutlint.intent.toml import case_file, rule_file

    loaded = case_file.load_all(rule_file.load(rule_paths))
    count = sum(len(pack.rules) for pack, _ in loaded)
    cases = sum(len(cases) for _, cases in loaded)
    told = f"{_counted(count, 'rule')} in {_counted(len(loaded), 'file')}"
    also = f", {_counted(cases, 'case')}" if cases else ""
    terminal.say(f"{told}{also}: no mistakes")


@rules_group.command("test")
@click.argument("rule_paths", nargs=-1, metavar="[PATH]...")
@click.option("--pack", "pack_names", multiple=True, metavar="NAME", help="This shipped pack.")
@click.option("--strict", is_flag=True, help="Fail for a rule without a breaking and a keeping case.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(sorted(reports.TRIAL_FORMATS)),
    default="text",
    help="How stdout reads.",
)
def rules_test(
    rule_paths: tuple[str, ...], pack_names: tuple[str, ...], strict: bool, format_: str
) -> NoReturn:
    """Judge the cases of rule files: structs in C, each with what the rules must say of it.

    The cases of locks.toml stand beside it in locks.cases.toml. Without PATH and --pack, those of all
    shipped packs are judged.
    """
    from layoutlint.commands import terminal
    from layoutlint.intent.toml import rule_file
    from layoutlint.lint import cases

    trials = cases.run(packs_of(rule_paths, pack_names) or rule_file.shipped(), strict)
    terminal.write(reports.TRIAL_FORMATS[format_](trials))
    sys.exit(0 if all(tried.passed for tried in trials) else 1)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
