"""Findings, the report, and what a run looked at."""

from __future__ import annotations

from dataclasses import dataclass

from layoutlint.judgement.rule import Rule
from layoutlint.judgement.verdict import Verdict
from layoutlint.model.build import Build
from layoutlint.model.reading import Reading, Unread
from layoutlint.model.structs import Source, Struct


@dataclass(frozen=True, slots=True)
class NotCovered:
    """A part of an input that was not looked at."""

    origin: str
    """The input."""
    reason: str
    structs: tuple[str, ...] | None = None
    """The structs that it defines, sorted; None where it can define any."""
    rules: int = 0
    """How many rules could apply to it; the exit status is 3 unless there are none."""
    builds: tuple[str, ...] = ()
    """The builds of a matrix of which this is true."""

    def __str__(self) -> str:
        builds = f" (in {', '.join(self.builds)})" if self.builds else ""
        several = "rule" if self.rules == 1 else "rules"
        could = f"; {self.rules:,} {several} could apply to it" if self.rules else ""
        return f"{self.origin}: {self.reason}{could}{builds}"


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was looked at, so that a green result can be trusted."""

    rules: int
    """Rules that were asked for."""
    applied: int
    """Rules that judged at least one struct."""
    structs: int
    """Struct definitions judged."""
    unresolved: tuple[str, ...] = ()
    """Structs and fields that a rule names and no input has, each with the reason."""
    skipped: tuple[str, ...] = ()
    """Rules that their `when` excludes, each with the reason."""
    policy: tuple[str, ...] = ()
    """Whose rule files and suppressions were used, where a base commit decides."""
    not_covered: tuple[NotCovered, ...] = ()
    """Parts of inputs that were not looked at."""
    guessed: tuple[str, ...] = ()
    """How many notes packs that guess have, and how many of them are in the report."""


@dataclass(frozen=True, slots=True)
class Rank:
    """How high a note of a pack that guesses stands among all of them (docs/generic.md)."""

    place: int
    """1 for the highest."""
    of: int
    """How many notes there are."""
    holders: int
    """Structs of other names that hold the struct, or point to it."""
    share: float
    """Of the placements, those in which the rule fails."""

    @property
    def score(self) -> float:
        """What it is ranked by."""
        return self.holders * self.share


REPORT_SCHEMA = "layoutlint/report/1"


@dataclass(frozen=True, slots=True)
class Around:
    """One place of an embedded struct, whose surroundings a rule is about."""

    struct: str
    """The embedded struct."""
    path: str
    """Where the container has it, with the lengths of arrays."""
    offset: int
    """Of the first one, in bytes from the start of the container."""
    source: Source | None
    """Where the member is declared that holds it."""
    places: int
    """How many places there are in containers."""
    judged: int
    """In how many of them something is declared that the rule speaks of."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule judged on one definition of a struct (or on none, when it was not found)."""

    rule: Rule
    struct: Struct | None
    verdict: Verdict
    input: str
    """The first file that has the definition."""
    also: tuple[str, ...] = ()
    """The other files that have the same."""
    around: Around | None = None
    """The place of the embedded struct that a rule on surroundings is about; `struct` is its container."""
    suppressed: str | None = None
    """Why it does not count, when something says so (baselines and comments come with later versions)."""
    builds: tuple[tuple[str, Finding], ...] = ()
    """What it is in each build of a matrix that has the struct, once for each definition."""
    is_lack: bool = False
    """Whether a kernel lacks what a shipped rule names: kernels do; coverage and `--unused` say so."""
    rank: Rank | None = None
    """Where a note of a pack that guesses stands; None for what is no guess."""

    @property
    def files(self) -> tuple[str, ...]:
        """All files that have the definition; none for a struct that was not found."""
        return (self.input, *self.also) if self.input else ()

    @property
    def place(self) -> Source:
        """Where to point an editor at: the primary field, else the struct, else the rule."""
        for place in self.verdict.evidence:
            if place.field.source is not None:
                return place.field.source
        if self.around is not None and self.around.source is not None:
            return self.around.source
        if self.struct is not None and self.struct.source is not None:
            return self.struct.source
        return self.rule.source


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a run, in the order in which it is printed."""

    readings: tuple[Reading, ...]
    findings: tuple[Finding, ...]
    """Everything that is not kept."""
    kept: tuple[Finding, ...]
    coverage: Coverage
    exit_status: int
    unread: tuple[Unread, ...] = ()
    rules: tuple[Rule, ...] = ()
    """Every rule that was asked for, for formats that list them."""
    builds: tuple[Build, ...] = ()
    """Those of the matrix, when one was given."""
