"""`layoutlint explain`: print the manual of a rule kind, or the reason of a rule."""

from __future__ import annotations

import click

from layoutlint.commands.packs import discover_rule_file, load_packs
from layoutlint.errors import did_you_mean


@click.command()
@click.argument("topic", metavar="KIND|RULE")
@click.option("--rules", "rule_paths", multiple=True, metavar="PATH", help="Search the rule in PATH too.")
def explain(topic: str, rule_paths: tuple[str, ...]) -> None:
    """Explain a rule kind, or the reason of a rule."""
    from layoutlint.commands import terminal
    from layoutlint.intent.toml import rule_file
    from layoutlint.kinds import KINDS, find_kind, manual
    from layoutlint.lint.unused import UnusedIntent
    from layoutlint.reports.explain import explain_rule

    kind = UnusedIntent if topic == UnusedIntent.name else find_kind(topic)
    if kind is not None:
        terminal.say(*manual.explain(kind).split("\n"))
        return
    packs = load_packs(rule_paths or discover_rule_file(), ()) + rule_file.shipped_packs()
    rules = {rule.id: rule for pack in packs for rule in pack.rules}
    if topic not in rules:
        near = did_you_mean(topic, [*rules, *KINDS])
        raise click.UsageError(f"no kind and no rule is called {topic!r}{near}")
    terminal.write(explain_rule(rules[topic]))
