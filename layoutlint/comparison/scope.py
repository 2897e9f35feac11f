"""The structs that both sides of a comparison can have.

A snapshot lacks structs that were not chosen for it.
"""

from __future__ import annotations

from collections.abc import Iterable

from layoutlint.judgement.finding import Finding, Report
from layoutlint.model.reading import SNAPSHOT_OF, Reading
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct

LACKS_UNUSED = "debug information lacks types that are not used, and C sources have them"
UNTOLD_TYPES = "BTF does not state all of them"


class Scope(Record, frozen=True):
    """The structs about which some readings say whether they are there."""

    label: str
    """The name of the input."""
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

    @property
    def is_source(self) -> bool:
        """Whether it was read from C sources only."""
        return {reading.reader.removeprefix(SNAPSHOT_OF) for reading in self.readings} == {"clang"}

    def missing_folder(self, name: str) -> str:
        """Return the folder with the definition of a struct, if this is a tree without it; else empty."""
        headers = (each for reading in self.readings for each in reading.missing_headers)
        return next((each.folder for each in headers if each.struct == name), "")


def spell_types_alike(old: Iterable[Reading], new: Iterable[Reading]) -> bool:
    """Return whether two sides state types alike: BTF states neither `_Atomic` nor all lengths of arrays."""
    words = [{word for reading in side for word in reading.reader.split()} for side in (old, new)]
    return ("btf" in words[0]) == ("btf" in words[1])


def scope_of(label: str, readings: Iterable[Reading], structs: Iterable[Struct]) -> Scope:
    """Return the scope of one side."""
    names = (name for struct in structs for name in (struct.name, *struct.aliases))
    return Scope(label, tuple(readings), frozenset(names))


class Scopes(Record, frozen=True):
    """The scopes of both sides."""

    old: Scope
    new: Scope

    @property
    def are_alike(self) -> bool:
        """Whether a struct that one side lacks does not exist there, as far as one of its folders has it."""
        return not (self.old.readings and self.new.readings) or self.old.is_source == self.new.is_source

    def absence_from(self, side: Scope, name: str) -> str:
        """Return why a struct that only the other side has can exist on this one; empty if it cannot."""
        if name in side.names:
            return ""
        word = "old" if side is self.old else "new"
        folder = side.missing_folder(name)
        if folder:
            return f"the {word} input has no {folder}, where it is defined"
        return "" if self.are_alike else f"the {word} input does not define it, and {LACKS_UNUSED}"


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
