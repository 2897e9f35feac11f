"""`layoutlint rules`: what rule files say, and what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from layoutlint.commands.packs import packs_of

if TYPE_CHECKING:
    from layoutlint.rule import Rule


@click.group("rules")
def rules_group() -> None:
    """List rules, and check rule files."""


@rules_group.command("list")
@click.option(
    "--rules", "rule_paths", multiple=True, metavar="PATH", help="A rule file, or a folder of them."
)
@click.option("--pack", "pack_names", multiple=True, metavar="NAME", help="Only this shipped pack.")
def rules_list(rule_paths: tuple[str, ...], pack_names: tuple[str, ...]) -> None:
    """List the shipped packs and their rules, or those of the given files."""
    from layoutlint import rulefile

    packs = packs_of(rule_paths, pack_names) or rulefile.shipped()
    for pack in packs:
        click.echo(f"{pack.name}{'  (on for Linux kernels)' if pack.kernel else ''}")
        for rule in pack.rules:
            click.echo(_listed(rule))


def _listed(rule: Rule) -> str:
    return f"  {rule.id:<44} {rule.kind.name:<12} {rule.severity.value:<8} {rule.struct}"


@rules_group.command("check")
@click.argument("rule_paths", nargs=-1, required=True, metavar="PATH...")
def rules_check(rule_paths: tuple[str, ...]) -> None:
    """Say what is wrong with rule files: every mistake, each with file and line."""
    from layoutlint import rulefile

    packs = rulefile.load(rule_paths)
    count = sum(len(pack.rules) for pack in packs)
    click.echo(f"{_counted(count, 'rule')} in {_counted(len(packs), 'file')}: no mistakes")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
