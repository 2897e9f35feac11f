"""Words of judgement: rules, kinds, verdicts, findings and the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from keyword import iskeyword
from typing import ClassVar, Literal, Protocol

from layoutlint.allocators import Storage
from layoutlint.builds import Build
from layoutlint.context import Access as Access
from layoutlint.context import CannotTell as CannotTell
from layoutlint.context import Context as Context
from layoutlint.context import NoSuchField as NoSuchField
from layoutlint.coverage import Coverage as Coverage
from layoutlint.coverage import Rank
from layoutlint.errors import RuleFileError
from layoutlint.layout import Place, is_pattern
from layoutlint.model import Reading, Source, Struct, Unread
from layoutlint.named import About
from layoutlint.placement import Placements
from layoutlint.when import ALWAYS, When, excluded

VARIABLES = "(variables)"
"""Stands for the struct of a rule that is about variables."""
UNUSED = "unused"
"""The kind of findings about what is written in vain."""
REPORT_SCHEMA = "layoutlint/report/1"
RULE_FILE = "rule file"


class Outcome(Enum):
    """What became of a rule on a struct, over all placements."""

    KEPT = "kept"
    BROKEN = "broken"
    AT_RISK = "at-risk"
    UNKNOWN = "unknown"


class Severity(Enum):
    """How much a finding weighs; notes never change the exit status."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Orders:
    """Over which orders of fields a verdict is, where a compiler may choose any, and how often a rule fails.

    An order is as likely as the compiler makes it; in each, one base is as likely as another.
    """

    mode: str
    """How the build randomises."""
    counted: Literal["exact", "sampled"]
    share: float
    """Of the placements of all orders, those in which the rule fails."""
    error: float
    """With CONFIDENCE, the true share is no further off than this; 0 for an exact one."""
    drawn: int | None
    """How many orders were drawn by chance; None where all were counted."""
    witness: tuple[str, ...]
    """The fields in one order, in which the rule fails if it does so in any."""
    base: int | None
    """A base at which it fails there; None where it does not, or bases play no part."""
    shown: Struct
    """The struct in that order."""


CONFIDENCE = 0.99


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of one rule on one struct, with its numbers and places."""

    outcome: Outcome
    message: str
    evidence: tuple[Place, ...] = ()
    """The fields concerned, the primary one first."""
    bases: tuple[int, ...] = ()
    """The violating placements."""
    total: int = 0
    """How many placements there are; 0 for a kind that does not depend on them."""
    line_size: int | None = None
    in_pairs: bool = False
    """Whether `line_size` is that of an aligned pair of lines."""
    basis: str = ""
    """Why those are the placements; empty for a kind that does not depend on them."""
    is_placed: bool = False
    """Whether a rule file's `placement` is among the reasons."""
    advice: str = ""
    """What would make the rule hold, in a sentence; empty when nothing is wrong."""
    is_missing_field: bool = False
    """Unknown because the rule names a field that the struct has not."""
    is_passed_over: bool = False
    """Nothing is said of one of many structs: the rule speaks of what it has none of."""
    orders: Orders | None = None
    """Where fields may stand in any of many orders; `evidence` is then of one of them, `bases` of all."""

    @property
    def witness(self) -> int | None:
        """One base at which the rule fails, in the order that `evidence` shows."""
        if self.orders is not None:
            return self.orders.base
        return self.bases[0] if self.bases else None


def judge(
    placements: Placements, bases: tuple[int, ...], message: str, evidence: tuple[Place, ...], advice: str
) -> Verdict:
    """The verdict that `bases` violate a rule: kept for none, broken for all, at-risk for some."""
    total = len(placements.bases)
    if not bases:
        outcome, advice = Outcome.KEPT, ""
    else:
        outcome = Outcome.BROKEN if len(bases) == total else Outcome.AT_RISK
    return Verdict(
        outcome, message, evidence, bases, total, placements.line_size, placements.in_pairs, advice=advice
    )


def settle(holds: bool, message: str, evidence: tuple[Place, ...], advice: str) -> Verdict:
    """The verdict of a rule that does not depend on the placement."""
    if holds:
        return Verdict(Outcome.KEPT, message, evidence)
    return Verdict(Outcome.BROKEN, message, evidence, advice=advice)


def spell(place: Place) -> str:
    """A field and where it stands, as messages say it: "`cpu` at 20..23"."""
    return f"`{place.path}` at {place.extent}"


def listing(places: Sequence[Place], limit: int = 6) -> str:
    """Fields and where they stand; the first `limit` of them, and how many more there are."""
    more = len(places) - limit
    return ", ".join(map(spell, places[:limit])) + (f" and {more} more" if more > 0 else "")


def unknown(reason: str, missing_field: bool = False) -> Verdict:
    """The verdict that nothing could be told, and why."""
    return Verdict(Outcome.UNKNOWN, reason, is_missing_field=missing_field)


ACCESSES = ("hot-read", "hot-write", "read-mostly", "cold")
"""The words for how a field is used; a project's rule files may name more."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a rule that belongs to its kind; rulefile checks its type, the kind its sense."""

    name: str
    type: Literal["paths", "groups", "path", "integer", "number", "boolean", "word", "words"]
    doc: str
    required: bool = False
    inside: str = ""
    """The key that names an array, where it is given and these are paths in one of its elements."""

    @property
    def parameter(self) -> str:
        """The name by which the kind's constructor takes it: `except_` for `except`, a word of Python's."""
        return f"{self.name}_" if iskeyword(self.name) else self.name


@dataclass(frozen=True, slots=True)
class Example:
    """A struct in C and what a rule says of it."""

    code: str
    outcome: Outcome
    message: str


@dataclass(frozen=True, slots=True)
class Manual:
    """The text of a kind's section in the manual, in Markdown, besides its summary and keys."""

    meaning: str
    """What is judged, exactly, and what becomes of the odd cases."""
    remedy: str
    """What to do when it is broken."""
    rule: str
    """The kind's own keys of the rule that the examples are judged by, as TOML."""
    breaks: Example
    keeps: Example


class Kind(Protocol):
    """A rule kind with its parameters: finds places, compares integers, yields a verdict."""

    name: ClassVar[str]
    keys: ClassVar[tuple[Key, ...]]
    """The keys of a rule of this kind; the constructor takes them by these names and raises ValueError for
    values that make no sense."""
    summary: ClassVar[str]
    """One sentence: what holds when the rule is kept."""
    manual: ClassVar[Manual]

    def check(self, context: Context) -> Verdict:
        """Judge one struct; raises CannotTell when it cannot be told, with the reason."""
        ...


def paths_of(kind: Kind) -> tuple[str, ...]:
    """Every path and pattern by which a kind names fields of the struct, in the order of its keys."""
    found: list[str] = []
    for key in kind.keys:
        value = getattr(kind, key.parameter)
        if value is None or (key.inside and getattr(kind, key.inside) is not None):
            continue
        if key.type == "path":
            found.append(value)
        elif key.type == "paths":
            found += value
        elif key.type == "groups":
            found += [path for group in value for path in group]
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Rule:
    """One written rule on one struct, or on all that a pattern means."""

    id: str
    struct: str
    kind: Kind
    severity: Severity
    why: str
    source: Source
    evidence: tuple[str, ...] = ()
    when: When = ALWAYS
    tolerate: float = 0.0
    """At-risk in up to this share of the placements counts as kept."""
    pack: str = ""
    shipped: bool = False
    """Whether it comes from a pack of layoutlint's own: a struct that the input lacks is then no failure."""
    guess: bool = False
    """Whether it is of a pack that guesses."""
    around: bool = False
    """Whether it is about what stands around the struct in each of its containers."""
    line_pairs: bool = False
    """Whether it holds fields apart by aligned pairs of lines."""

    @property
    def subject(self) -> str:
        """What it is about, as messages say it."""
        return "variables" if self.struct == VARIABLES else f"struct {self.struct}"

    by: str = RULE_FILE
    """What states it."""


@dataclass(frozen=True, slots=True)
class StructIntent:
    """What a rule file says about a struct besides its rules."""

    struct: str
    source: Source
    header: str | None = None
    """Where a source tree defines it, as an `#include` names it or as a path in the tree."""
    accesses: tuple[Access, ...] = ()
    placement: Storage | None = None
    """Where objects of it start; None when nothing is said."""
    annotated: bool = False
    """Whether what the struct says itself is judged, though no rule names it."""
    when: When = ALWAYS
    """For which inputs it is said."""


@dataclass(frozen=True, slots=True)
class Pack:
    """One rule file."""

    name: str
    path: str
    rules: tuple[Rule, ...]
    structs: tuple[StructIntent, ...] = ()
    variables: tuple[Access, ...] = ()
    """How variables are used; the paths begin with their names."""
    description: str = ""
    kernel: bool = False
    """Whether it is about Linux, and so is on by default for a kernel input."""
    guesses: bool = False
    """Whether it is for code without rules: its notes are ranked, and no shipped pack is on beside it."""
    shipped: bool = False
    _about: list[About[StructIntent]] = field(default_factory=list, init=False, compare=False, repr=False)

    def about(self, struct: Struct) -> list[StructIntent]:
        """What the file says of a struct besides its rules."""
        if not self._about:
            self._about.append(About((intent.struct, intent) for intent in self.structs))
        return self._about[0].of(struct)

    def applied(self, reading: Reading) -> Pack:
        """Return the pack with what it says of the structs of an input: of alternatives the first."""
        if all(intent.when == ALWAYS for intent in self.structs):
            return self
        chosen: list[StructIntent] = []
        taken: set[tuple[str, str]] = set()
        for intent in self.structs:
            named = intent.struct, intent.source.file
            if named not in taken and not excluded(intent.when, reading):
                chosen.append(intent)
                taken |= {named} if intent.when != ALWAYS else set()
        return replace(self, structs=tuple(chosen))

    def accesses(self, struct: Struct) -> tuple[Access, ...]:
        """The accesses that are declared of the fields of a struct."""
        return tuple(access for intent in self.about(struct) for access in intent.accesses)

    @property
    def declared(self) -> tuple[str, ...]:
        """The names and patterns of structs for which accesses are declared."""
        return tuple(intent.struct for intent in self.structs if intent.accesses)

    def storage(self, struct: Struct) -> Storage | None:
        """Where objects of a struct start: what is said by its name, else by a pattern; None for nothing.

        Raises RuleFileError when two places of the file say different things of it.
        """
        said = [intent for intent in self.about(struct) if intent.placement is not None]
        named = [intent for intent in said if not is_pattern(intent.struct)] or said
        found = [intent.placement for intent in named if intent.placement is not None]
        for other in found[1:]:
            if replace(other, source=found[0].source) != found[0]:
                message = f"`placement` `{other.spelling}` of {struct.name} contradicts `{found[0].spelling}`"
                raise RuleFileError((f"{other.source}: {message} at {found[0].source}",))
        return found[0] if found else None


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
