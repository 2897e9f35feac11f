"""What `layoutlint explain RULE` says of a rule."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from layoutlint import escapes
from layoutlint.judgement.rule import Rule


def explain_rule(rule: Rule) -> str:
    """A rule in words: what it asks, why, how that is known, and where it is written."""
    return escapes.lines(_lines(rule))


def _lines(rule: Rule) -> Iterator[str]:
    pack = f" of pack {rule.pack}" if rule.pack else ""
    yield f"{rule.id}: {rule.severity.value}, kind {rule.kind.name}, on {rule.subject}"
    yield ""
    yield from _wrapped("asks: ", rule.kind.summary)
    for key in rule.kind.keys:
        value = getattr(rule.kind, key.parameter, None)
        if value not in (None, ()):
            yield from _wrapped(f"  {key.name}: ", _spelled(value))
    yield from _wrapped("why: ", rule.why)
    for evidence in rule.evidence:
        yield from _wrapped("evidence: ", evidence)
    when = (*rule.when.config, *rule.when.arch, *([f"Linux {rule.when.kernel}"] if rule.when.kernel else []))
    if when:
        yield from _wrapped("when: ", ", ".join(when))
    if rule.line_pairs:
        yield "counts: aligned pairs of cache lines, as an adjacent-line prefetcher fetches them"
    if rule.tolerate:
        yield f"tolerates: at-risk in up to {rule.tolerate:.1%} of the placements"
    yield f"written in: {rule.source}{pack}"


def _wrapped(label: str, text: str) -> Iterator[str]:
    yield from textwrap.wrap(
        label + text, 100, subsequent_indent=" " * len(label), break_long_words=False, break_on_hyphens=False
    )


def _spelled(value: object) -> str:
    """A rule's value as a rule file spells it: groups in brackets, words as they are."""
    if isinstance(value, tuple):
        return ", ".join(f"[{_spelled(v)}]" if isinstance(v, tuple) else _spelled(v) for v in value)
    return str(value).lower() if isinstance(value, bool) else str(value)
