"""Formats `layoutlint explain RULE`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from layoutlint import escapes
from layoutlint.judgement.rule import Rule


def explain_rule(rule: Rule) -> str:
    """Return a rule in words: what it requires, why, its evidence, and its place."""
    return escapes.lines(_lines(rule))


def _lines(rule: Rule) -> Iterator[str]:
    pack = f" of pack {rule.pack}" if rule.pack else ""
    yield f"{rule.id}: {rule.severity.value}, kind {rule.kind.name}, on {rule.subject}"
    yield ""
    yield from _wrap("asks: ", rule.kind.summary)
    for key in rule.kind.keys:
        value = getattr(rule.kind, key.parameter, None)
        if value not in (None, ()):
            yield from _wrap(f"  {key.name}: ", _spelling(value))
    yield from _wrap("why: ", rule.why)
    for evidence in rule.evidence:
        yield from _wrap("evidence: ", evidence)
    when = (*rule.when.config, *rule.when.arch, *([f"Linux {rule.when.kernel}"] if rule.when.kernel else []))
    if when:
        yield from _wrap("when: ", ", ".join(when))
    if rule.line_pairs:
        yield "counts: aligned pairs of cache lines, as an adjacent-line prefetcher fetches them"
    if rule.tolerate:
        yield f"tolerates: at-risk in up to {rule.tolerate:.1%} of the placements"
    yield f"written in: {rule.source}{pack}"


def _wrap(label: str, text: str) -> Iterator[str]:
    yield from textwrap.wrap(
        label + text, 100, subsequent_indent=" " * len(label), break_long_words=False, break_on_hyphens=False
    )


def _spelling(value: object) -> str:
    """Return a value as a rule file spells it: groups in brackets, words unquoted."""
    if isinstance(value, tuple):
        return ", ".join(
            f"[{_spelling(element)}]" if isinstance(element, tuple) else _spelling(element)
            for element in value
        )
    return str(value).lower() if isinstance(value, bool) else str(value)
