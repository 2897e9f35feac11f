"""Words of judgement: rules, kinds, verdicts, findings and the report."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from keyword import iskeyword
from typing import ClassVar, Literal, Protocol

from layoutlint.errors import RuleFileError
from layoutlint.judgement.condition import ALWAYS, When, excluded
from layoutlint.judgement.context import Access, Context
from layoutlint.judgement.lookup import About
from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import Reading
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Source, Struct

VARIABLES = "(variables)"
"""Stands for the struct of a rule that is about variables."""
UNUSED = "unused"
"""The kind of findings about what is written in vain."""
RULE_FILE = "rule file"


class Severity(Enum):
    """How much a finding weighs; notes never change the exit status."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


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


@dataclass(frozen=True, slots=True)
class Traits:
    """What code outside of a kind must know of it, to prepare a verdict or to explain it."""

    fields: Literal["named", "near", "all"] = "all"
    """The fields on which a verdict depends: those that the rule or its accesses name, these and the fields
    that can be on a line with them, or all fields of the struct."""
    needs_size: bool = True
    """Whether a verdict depends on the size of the struct."""
    arranges: Literal["apart", "together"] | None = None
    """Whether rules keep fields apart or together; None if neither, or if their parameters decide."""
    in_containers: bool = False
    """Whether a rule with `around` can be of this kind."""
    uses_accesses: bool = False
    """Whether a verdict depends on the declared accesses of fields, even if the rule names none."""
    evidence_key: Literal["fields", "array"] = "fields"
    """The key with which a rule names the evidence of a verdict."""
    is_built_in: bool = False
    """Whether runs state rules of this kind, and rule files cannot."""


class Kind(Protocol):
    """A rule kind with its parameters: finds places, compares integers, yields a verdict."""

    name: ClassVar[str]
    traits: ClassVar[Traits]
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
