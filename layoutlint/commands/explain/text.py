"""Formats `layoutlint explain RULE`."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.judgement.rule import Rule
from layoutlint.reports.styled import Line, line, paragraph


def rule_lines(rule: Rule, width: int) -> Iterator[Line]:
    """Yield a rule in words: what it requires, why, its evidence, and its place."""
    pack = f" of pack {rule.pack}" if rule.pack else ""
    yield line((rule.id, "bold"), f": {rule.severity.value}, kind {rule.kind.name}, on {rule.subject}")
    yield line()
    yield from paragraph("asks: ", rule.kind.summary, width)
    for key in rule.kind.keys:
        value = getattr(rule.kind, key.parameter, None)
        if value not in (None, ()):
            yield from paragraph(f"  {key.name}: ", _spelling(value), width)
    yield from paragraph("why: ", rule.why, width)
    for evidence in rule.evidence:
        yield from paragraph("evidence: ", evidence, width)
    for path in rule.evidence_files:
        yield from paragraph("evidence file: ", path, width)
    when = (*rule.when.config, *rule.when.arch, *([f"Linux {rule.when.kernel}"] if rule.when.kernel else []))
    if when:
        yield from paragraph("when: ", ", ".join(when), width)
    if rule.line_pairs:
        counts = "aligned pairs of cache lines, as an adjacent-line prefetcher fetches them"
        yield from paragraph("counts: ", counts, width)
    if rule.tolerate:
        yield from paragraph("tolerates: ", f"failing in up to {rule.tolerate:.1%} of the placements", width)
    yield from paragraph("written in: ", f"{rule.source}{pack}", width)


def _spelling(value: object) -> str:
    """Return a value as a rule file spells it: groups in brackets, words unquoted."""
    if isinstance(value, tuple):
        return ", ".join(
            f"[{_spelling(element)}]" if isinstance(element, tuple) else _spelling(element)
            for element in value
        )
    return str(value).lower() if isinstance(value, bool) else str(value)
