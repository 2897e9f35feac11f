"""`layoutlint explain`: print the manual of a rule kind, the reason of a rule, or the help on a message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from layoutlint.commands.option_records import OptionCommand
from layoutlint.commands.options import color_option, width_option
from layoutlint.commands.packs import load_packs_of_inputs
from layoutlint.errors import did_you_mean
from layoutlint.phrases import first_few

if TYPE_CHECKING:
    from layoutlint.reports.styled import Line


@click.command(cls=OptionCommand)
@click.argument("topic", metavar="KIND|RULE|MESSAGE")
@click.option("--rules", "rule_paths", multiple=True, metavar="PATH", help="Search the rule in PATH too.")
@color_option
@width_option
def explain(topic: str, rule_paths: tuple[str, ...], color: str, width: int | None) -> None:
    """Explain a kind, a rule or a message.

    MESSAGE is the name that a report gives in `help: layoutlint explain MESSAGE`.
    """
    from layoutlint.commands import terminal
    from layoutlint.reports import styled

    lines = _lines(topic, rule_paths, terminal.width(width))
    render = styled.render_colored if terminal.has_color(color) else styled.render_plain
    terminal.write(render(lines))


def _lines(topic: str, rule_paths: tuple[str, ...], width: int) -> Iterator[Line]:
    """Return the manual of a kind, a rule in words, or the help on a message; raises click.UsageError."""
    from layoutlint.commands.explain import messages
    from layoutlint.commands.explain.markdown import render_lines
    from layoutlint.commands.explain.text import rule_lines
    from layoutlint.intent.toml import shipped_rules
    from layoutlint.kinds import KINDS, find_kind, manual
    from layoutlint.lint.held_layouts import HeldLayout
    from layoutlint.lint.unused import UnusedIntent

    built_in = {each.name: each for each in (HeldLayout, UnusedIntent)}
    kind = built_in.get(topic) or find_kind(topic)
    if kind is not None:
        return render_lines(manual.explain(kind), width)
    packs = load_packs_of_inputs(rule_paths, ()) + shipped_rules.shipped_packs()
    rules = {rule.id: rule for pack in packs for rule in pack.rules}
    helps = messages.entries()
    if topic in helps and topic not in rules:
        return render_lines(helps[topic], width)
    if topic not in rules:
        near = did_you_mean(topic, [*rules, *KINDS, *helps]) or _kinds_about(topic)
        lists = f"the kinds are {', '.join(KINDS)}; `layoutlint rules list` lists the shipped rules"
        lists += "" if rule_paths else "; `--rules FILE` searches those of a file too"
        raise click.UsageError(f"no kind and no rule is called {topic!r}{near}; {lists}")
    return rule_lines(rules[topic], width)


def _kinds_about(word: str) -> str:
    """Return the kinds whose manual has a word, to end a message; empty for none."""
    from layoutlint.kinds import KINDS, find_kind, manual

    pattern = re.compile(rf"\b{re.escape(word)}", re.IGNORECASE)
    kinds = [(name, kind) for name in KINDS if (kind := find_kind(name)) is not None]
    number = {name: len(pattern.findall(manual.explain(kind))) for name, kind in kinds}
    found = sorted((name for name in number if number[name]), key=lambda name: -number[name])
    return f" (the manual has the word in {first_few([f'`{name}`' for name in found])})" if found else ""
