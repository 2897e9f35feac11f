"""Findings, the report, and the coverage of a run."""

from __future__ import annotations

from enum import Enum

from layoutlint.judgement.origin import EvidenceUse, Origin
from layoutlint.judgement.rule import Pack, Rule, Severity
from layoutlint.judgement.verdict import Verdict
from layoutlint.model.build import Build
from layoutlint.model.json_object import JsonObject, Natural
from layoutlint.model.reading import Reading, Unread
from layoutlint.model.record import Record
from layoutlint.model.structs import Source, Struct


class CoverageGap(JsonObject, frozen=True):
    """A part of an input that was not checked."""

    origin: str
    """The input."""
    reason: str
    """What was not checked, and why."""
    structs: tuple[str, ...] | None = None
    """The structs that it defines. Null if it can define any."""
    rules: Natural = 0
    """How many rules could apply to it. The exit status is 3 unless this is 0 everywhere, or
    `--allow-unknown` is given."""
    builds: tuple[str, ...] = ()
    """The builds of a matrix that it belongs to."""

    def __str__(self) -> str:
        return f"{self.origin}: {self.sentence}"

    @property
    def sentence(self) -> str:
        """The part, the reason and the consequence, without the input."""
        builds = f" (in {', '.join(self.builds)})" if self.builds else ""
        several = "rule" if self.rules == 1 else "rules"
        could = f"; {self.rules:,} {several} could apply to it" if self.rules else ""
        return f"{self.reason}{could}{builds}"


class SkippedRule(Record, frozen=True):
    """A rule whose `when` does not hold for an input."""

    rule_id: str
    reason: str
    builds: tuple[str, ...] = ()
    """The builds of a matrix in which it is so."""

    def __str__(self) -> str:
        return f"{self.rule_id}: {self.reason}"


class Unresolved(Record, frozen=True):
    """A struct or field that is named and that no input contains."""

    by: str
    """The rule, or the place of the declaration, that names it."""
    reason: str
    builds: tuple[str, ...] = ()
    """The builds of a matrix in which it is so."""

    def __str__(self) -> str:
        return f"{self.by}: {self.reason}"


class Coverage(Record, frozen=True):
    """The rules and structs that a run judged, and the parts that it did not."""

    rules: int
    """Number of requested rules."""
    applied: int
    """Number of rules that judged at least one struct."""
    structs: int
    """Number of judged struct definitions."""
    unresolved: tuple[Unresolved, ...] = ()
    """Structs and fields that a rule names and no input contains."""
    skipped: tuple[SkippedRule, ...] = ()
    """Rules that their `when` excludes, each with the reason."""
    settings: tuple[str, ...] = ()
    """The options that rule files set, as `line-size = 32 in layoutlint.toml`."""
    policy: tuple[str, ...] = ()
    """Origins of the rule files and suppressions, if a base commit decides."""
    not_covered: tuple[CoverageGap, ...] = ()
    """Parts of inputs that were not checked."""
    overridden: tuple[str, ...] = ()
    """Rules that rule files turn off or give another severity, each with the place and the reason."""
    today: str | None = None
    """The day, as YYYY-MM-DD, by which suppressions with an end were judged; None if none has one."""
    guessed: tuple[str, ...] = ()
    """Number of notes of the guessing packs, and number of them in the report."""
    drafts: tuple[str, ...] = ()
    """The rule files that have no rules yet, if no rules applied."""
    unreached: str = ""
    """Why a change left nothing to judge; empty if something was judged, or no change was."""


MOST_ELEMENTS = 64
"""The most elements of an array that count for its rank: more processors seldom use it at once."""


class UseRank(Record, frozen=True):
    """How much what functions do to its fields makes a note likely."""

    score: float
    """The score of `infer`; 0 if no function is known to use the fields."""
    reasons: tuple[str, ...]
    """Sentences on the functions that use the two fields that disturb each other most."""


class Rank(Record, frozen=True):
    """The rank of a note among all notes of the guessing packs (docs/servers.md)."""

    place: int
    """1 for the highest."""
    total: int
    """Number of notes."""
    holders: int
    """Number of structs with other names that contain the struct or a pointer to it."""
    share: float
    """Share of the placements in which the rule fails."""
    elements: int | None = None
    """Outside Linux, number of elements of an array, which count if there are more than holders: 0 for an
    unknown number, None for a note on other fields."""
    counts_variables: bool = False
    """Whether variables that contain the struct or a pointer to it are among the holders."""
    uses: UseRank | None = None
    """What functions do to its fields, by which notes that have it are ranked; None if that is not known."""

    @property
    def score(self) -> float:
        """The value by which notes are ranked."""
        return max(self.holders, self.counted_elements) * self.share

    @property
    def counted_elements(self) -> int:
        """The number of elements that counts."""
        return 0 if self.elements is None else min(self.elements or MOST_ELEMENTS, MOST_ELEMENTS)



class EmbeddedPlace(Record, frozen=True):
    """One place of an embedded struct, for a rule on its surroundings."""

    struct: str
    """The embedded struct."""
    path: str
    """Path in the container, with the lengths of arrays."""
    offset: int
    """Offset of the first element, in bytes from the start of the container."""
    source: Source | None
    """Declaration of the member that contains the struct."""
    places: int
    """Number of places in containers."""
    judged: int
    """Number of places with declarations to which the rule applies."""


class Definition(Record, frozen=True):
    """Where a definition of a struct stands, to tell it from others of its name."""

    source: Source | None
    size: int
    """Size of the struct in bytes; 0 if it is not known."""
    files: tuple[str, ...]
    """The files with the definition; empty if they are not known."""
    others: tuple[str, ...] = ()
    """Units or files in which the same definition has another layout."""


class State(Enum):
    """How a finding compares with the baseline."""

    NEW = "new"
    WORSE = "worse"
    """It was accepted, and fails in more placements or at other fields now."""
    NOT_COMPARED = "not-compared"
    """It was accepted, and could not be judged now."""
    KNOWN = "known"
    """It was accepted, and is no worse."""


class SuppressionUse(Record, frozen=True):
    """A suppression in a source, and what a run shows about it."""

    source: Source
    text: str
    """`ignore[RULE, ...]`."""
    is_used: bool
    """Whether it suppresses a finding, or would if it had not expired."""
    doubt: str = ""
    """Why the run does not show that nothing needs it; empty if it shows that, or if it is used."""

    @property
    def is_needless(self) -> bool:
        """Whether all its rules were judged on its struct or exist no more, and it suppresses no finding."""
        return not self.is_used and not self.doubt


class BaselineUse(Record, frozen=True):
    """The use of a baseline by a run."""

    file: str
    unneeded: tuple[str, ...]
    """The entries that no finding needs any more: `RULE on STRUCT`."""
    not_judged: int
    """Number of entries that the run did not judge: of other structs or builds, or of parts not read."""
    command: str = ""
    """If it is a revision, the command that lists the findings which were there before; empty for a file."""


class Fix(Record, frozen=True):
    """Lines of one file that are replaced."""

    file: str
    """The file, as findings name it."""
    first_line: int
    """The first line that is replaced, from 1."""
    last_line: int
    text: str
    """The new lines, with their ends."""
    description: str
    """What it does, as a sentence."""


class Finding(Record, frozen=True):
    """One rule judged on one definition of a struct, or on none if it was not found."""

    rule: Rule
    struct: Struct | None
    verdict: Verdict
    input: str
    """The first file with the definition."""
    also: tuple[str, ...] = ()
    """The other files with the same definition."""
    around: EmbeddedPlace | None = None
    """The place of the embedded struct, for a rule on surroundings; `struct` is then its container."""
    definition: Definition | None = None
    """Where the struct is defined, if its input defines several of its name."""
    confirmation: str = ""
    """For a guess, what to write down so that it becomes certain; empty for other findings."""
    suppressed: str | None = None
    """The reason of a suppression."""
    builds: tuple[tuple[str, Finding], ...] = ()
    """The findings in each build of a matrix that contains the struct, one for each definition."""
    is_lack: bool = False
    """Whether a kernel lacks a name of a shipped rule. This is normal, and only coverage and `--unused`
    report it."""
    rank: Rank | None = None
    """The rank of a guess; None for other findings."""
    expired: str | None = None
    """The suppression that does not count any more: its reason, place, and last day."""
    state: State | None = None
    """How it compares with the baseline; None without one, and for findings that never fail a run."""
    origins: tuple[Origin, ...] = ()
    """What saved evidence says about it."""
    fix: Fix | None = None
    """A safe change that mends it; None if none was searched or found."""

    @property
    def is_accepted(self) -> bool:
        """Whether people accept it, in a suppression or a baseline: it does not fail the run."""
        return self.suppressed is not None or self.state is State.KNOWN

    @property
    def counts(self) -> bool:
        """Whether it counts for the exit status: notes do not, nor what people accept."""
        return not self.is_accepted and self.rule.severity is not Severity.NOTE

    @property
    def files(self) -> tuple[str, ...]:
        """All files with the definition; empty for a struct that was not found."""
        return (self.input, *self.also) if self.input else ()

    @property
    def place(self) -> Source:
        """The position for editors: the primary field, else the struct, else the rule."""
        for place in self.verdict.evidence:
            if place.field.source is not None:
                return place.field.source
        if self.around is not None and self.around.source is not None:
            return self.around.source
        if self.struct is not None and self.struct.source is not None:
            return self.struct.source
        return self.rule.source


class Report(Record, frozen=True):
    """The result of a run, in printed order."""

    readings: tuple[Reading, ...]
    findings: tuple[Finding, ...]
    """All findings except kept rules."""
    kept_findings: tuple[Finding, ...]
    coverage: Coverage
    exit_status: int
    unread: tuple[Unread, ...] = ()
    rules: tuple[Rule, ...] = ()
    """Every requested rule, for formats that list them."""
    builds: tuple[Build, ...] = ()
    """The builds of the matrix, if one was given."""
    suppressions: tuple[SuppressionUse, ...] = ()
    """The suppressions in what was read, of all builds."""
    baseline: BaselineUse | None = None
    """What it used of the baseline, if one was given."""
    evidence: tuple[EvidenceUse, ...] = ()
    """What it used of saved evidence, for each file."""
    packs: tuple[Pack, ...] = ()
    """What was declared for its inputs, also in annotations; each pack as it applies to an input."""
