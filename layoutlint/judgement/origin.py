"""The origins of findings: what a finding rests on, and since when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from layoutlint.model.json_object import JsonObject, Natural, Positive

if TYPE_CHECKING:
    from layoutlint.judgement.finding import Finding
    from layoutlint.judgement.rule import Rule

Basis = Literal["declared", "inferred", "profiled", "measured"]
"""declared: people state the rule. inferred: it is a guess from sources. profiled: a profile has the accesses
that it keeps apart. measured: a measurement shows what the layout costs."""
Support = Literal["supports", "possible", "other-build", "other-layout"]
"""supports: it is about this layout. possible: it is, if a cache line was one of this struct. other-build and
other-layout: it is about another one, and does not count."""
_RANKS: tuple[Basis, ...] = ("inferred", "declared", "profiled", "measured")
_PREFIXES: dict[Support, str] = {
    "supports": "",
    "possible": "possibly ",
    "other-build": "not counted: ",
    "other-layout": "not counted: ",
}
INFERRED = "inferred from sources"
"""What `infer --format toml` writes as the evidence of a rule."""


class Origin(JsonObject, frozen=True, rename={"basis": "origin"}):
    """An origin."""

    basis: Basis
    """What it is."""
    support: Support
    """Whether it counts. `possible`: only if a cache line is one of this struct. `other-build` and
    `other-layout`: it is about another one, and does not count."""
    text: str
    """What it says, with the numbers."""
    file: str
    """The file that states it."""
    line: Positive | None = None
    """Line number, from 1. Null for saved evidence."""
    report: str | None = None
    """The format of the profiler's report, the report, and its line. Null for none."""
    date: str | None = None
    """When it was recorded, as the file states it. Null if it does not."""

    @property
    def sentence(self) -> str:
        """The text of the origin, with its file, and whether it counts."""
        stated = ", ".join(filter(None, (self.report, self.date)))
        text = f"{self.text} ({stated})" if stated else self.text
        return f"{_PREFIXES[self.support]}{self.basis}: {text}, in {self.file}"


class EvidenceUse(JsonObject, frozen=True, rename={"uncounted": "not_counted"}):
    """A file."""

    file: str
    """The file."""
    supported: Natural
    """Number of findings that it supports."""
    uncounted: Natural
    """Number of findings for which it is about another build or layout, or is not certain."""


def rule_origin(rule: Rule) -> Origin:
    """Return who states a rule: people, or a guess from sources."""
    source = rule.source
    if rule.guess:
        return Origin("inferred", "supports", f"a guess of the pack {rule.pack}", source.file, source.line)
    if INFERRED in rule.evidence:
        return Origin("inferred", "supports", f"{INFERRED}, by a {rule.by}", source.file, source.line)
    return Origin("declared", "supports", rule.by, source.file, source.line)


def origins(finding: Finding) -> tuple[Origin, ...]:
    """Return all origins of a finding, that of its rule first."""
    return (rule_origin(finding.rule), *finding.origins)


def basis(finding: Finding) -> Basis:
    """Return the best thing that a finding rests on."""
    return max((each.basis for each in origins(finding) if each.support == "supports"), key=_RANKS.index)


def origin_sentences(finding: Finding) -> tuple[str, ...]:
    """Return the origins in words; none for a finding that is only declared, as most are."""
    own = rule_origin(finding.rule)
    inferred = (f"{own.basis}: {own.text}",) if own.basis == "inferred" else ()
    return (*inferred, *(each.sentence for each in finding.origins))


def origin_lines(finding: Finding) -> list[str]:
    """Return the origins of a finding as sentences, each on a line of its own."""
    sentences = (" ".join(text.split()) for text in origin_sentences(finding))
    return [text[:1].upper() + text[1:] for text in sentences]
