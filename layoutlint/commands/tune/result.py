"""What `tune` found: the contention, the order, what else it changes, and its measured effect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layoutlint import escapes
from layoutlint.comparison.comparison import Comparison
from layoutlint.model.record import Record
from layoutlint.readers.profiles.saved import Line, Measured, ProfileReport, Ratio
from layoutlint.reports import change_phrases
from layoutlint.suggestion.orders.result import Suggestion

_CERTAINTIES = {
    "given": "the place of the object is given",
    "unique": "only this place of the object explains the offsets",
    "likely": "the place of the object is likely, not certain",
}
_IDENTITIES = {
    "base": "by the address of the object",
    "code": "code accesses types that the struct has there",
    "struct": "no code shows that it is of this struct",
}


class Effect(Record, frozen=True):
    """What `measure` measured with the accesses of the profile, and the layout before and after."""

    measured: Measured
    text: str
    """Its report."""


class Tuned(Record, frozen=True):
    """The whole way from profiles to a patch."""

    reports: tuple[ProfileReport, ...]
    lines: tuple[Line, ...]
    """The cache lines of the struct."""
    suggestion: Suggestion
    comparison: Comparison | None
    """What changes in the input; None if nothing changes, or if it was not compared."""
    not_compared: str
    """Why it was not compared; empty if it was, or if nothing changes."""
    effect: Effect | None
    not_measured: str
    """Why nothing was measured; empty if it was."""

    @property
    def certainties(self) -> list[str]:
        """How certain each line is, in words."""
        return [
            f"{line.report}:{line.line}, base {line.base}: {_CERTAINTIES[line.certainty]}; "
            f"{_IDENTITIES[line.identified_by]}"
            for line in self.lines
        ]

    @property
    def changes(self) -> list[str]:
        """What changes in the input, in words."""
        return [] if self.comparison is None else list(_changes(self.comparison))

    @property
    def diff(self) -> list[str]:
        """The rows of the patch, with tabs as they are and other signs made visible; empty without one."""
        patch = self.suggestion.patch
        rows = [] if patch is None else patch.diff.splitlines()
        return ["\t".join(map(escapes.inline, row.split("\t"))) for row in rows]

    @property
    def after_to_before(self) -> list[Ratio]:
        """The rates after the change divided by those before it."""
        every = () if self.effect is None else self.effect.measured.ratios
        return [each for each in every if (each.of, each.to) == ("after", "before")]

    @property
    def ratios(self) -> list[str]:
        """The same in words."""
        return [_ratio(each) for each in self.after_to_before]

    @property
    def method(self) -> list[str]:
        """The machine and the method of the measurement, as its report states them."""
        rows = [] if self.effect is None else self.effect.text.splitlines()
        return list(_paragraphs(rows, ("control: ", "machine: ", "compiler: ", "run: ", "note: ")))


def _changes(comparison: Comparison) -> Iterator[str]:
    """Yield what changes in each struct, and what its allocator gives to it."""
    for change in comparison.layouts.changes:
        yield change_phrases.heading(change)
        yield from change_phrases.allocations(change, comparison.allocators)
    for rule in comparison.rules:
        if rule.status.value in ("worse", "better"):
            yield change_phrases.rule_change(rule)


def _ratio(ratio: Ratio) -> str:
    pause = f"every {ratio.interval:,} ns" if ratio.interval else "back to back"
    doubt = "" if ratio.clear else ", unclear"
    who = "all cores" if ratio.core is None else f"core {ratio.core}"
    return f"{who}, {pause}: {ratio.ratio.median:.2f} times the rate before{doubt}"


def _paragraphs(rows: Iterable[str], heads: tuple[str, ...]) -> Iterator[str]:
    """Yield the paragraphs of a report that begin with some words, each in one line."""
    found = ""
    for row in (*rows, ""):
        if found and not row.startswith(" "):
            yield found
            found = ""
        if found or row.startswith(heads):
            found = f"{found} {row.strip()}".strip()
