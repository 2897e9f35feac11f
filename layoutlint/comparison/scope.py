"""The structs that both sides of a comparison can have.

A snapshot says nothing about structs that it was not asked for.
"""

from __future__ import annotations

from collections.abc import Iterable

from layoutlint.judgement.finding import Finding, Report
from layoutlint.model.reading import Reading
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct


class Scope(Record, frozen=True):
    """The structs about which some readings say whether they are there."""

    readings: tuple[Reading, ...]
    names: frozenset[str]
    """The structs that are there."""

    @property
    def is_whole(self) -> bool:
        """Whether a struct that is not there does not exist."""
        return not self.readings or any(reading.chosen is None for reading in self.readings)

    def has_name(self, name: str) -> bool:
        """Return whether a struct of this name is there, or does not exist."""
        if self.is_whole or name in self.names:
            return True
        return any(reading.chosen is not None and reading.chosen.has_name(name) for reading in self.readings)


def scope_of(readings: Iterable[Reading], structs: Iterable[Struct]) -> Scope:
    """Return the scope of one side."""
    names = (name for struct in structs for name in (struct.name, *struct.aliases))
    return Scope(tuple(readings), frozenset(names))


def structs_within(structs: Iterable[Struct], other: Scope) -> tuple[Struct, ...]:
    """Return the structs that the other side can have too."""
    return tuple(struct for struct in structs if any(map(other.has_name, (struct.name, *struct.aliases))))


def report_within(report: Report, other: Scope) -> Report:
    """Return a report without findings and gaps on structs that the other side cannot have."""
    gaps = tuple(
        part
        for part in report.coverage.not_covered
        if part.structs is None or any(map(other.has_name, part.structs))
    )
    return replace(
        report,
        findings=tuple(finding for finding in report.findings if _is_within(finding, other)),
        kept_findings=tuple(finding for finding in report.kept_findings if _is_within(finding, other)),
        coverage=replace(report.coverage, not_covered=gaps),
    )


def _is_within(finding: Finding, other: Scope) -> bool:
    struct = finding.struct
    names = (finding.rule.struct,) if struct is None else (struct.name, *struct.aliases)
    return any(map(other.has_name, names))
