"""`layoutlint explain`: what a kind means, and why a rule is there."""

from __future__ import annotations

import click

from layoutlint.commands.packs import discovered, packs_of
from layoutlint.errors import did_you_mean


@click.command()
@click.argument("topic", metavar="KIND|RULE")
@click.option("--rules", "rule_paths", multiple=True, metavar="PATH", help="Look for the rule here as well.")
def explain(topic: str, rule_paths: tuple[str, ...]) -> None:
    """Say what a rule kind means, or why a rule is there."""
    from layoutlint.commands import terminal
    from layoutlint.intent.toml import rule_file
    from layoutlint.kinds import KINDS, kind_named, manual
    from layoutlint.lint.unused import Unused
    from layoutlint.reports.explain import explain_rule

    kind = Unused if topic == Unused.name else kind_named(topic)
    if kind is not None:
        terminal.say(*manual.explain(kind).split("\n"))
        return
    packs = packs_of(rule_paths or discovered(), ()) + rule_file.shipped()
    rules = {rule.id: rule for pack in packs for rule in pack.rules}
    if topic not in rules:
        near = did_you_mean(topic, [*rules, *KINDS])
        raise click.UsageError(f"no kind and no rule is called {topic!r}{near}")
    terminal.write(explain_rule(rules[topic]))
