"""Rules, kinds, and the packs that contain rules."""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import Enum
from functools import cached_property
from keyword import iskeyword
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from layoutlint.errors import RuleFileError
from layoutlint.judgement.condition import ALWAYS, When, exclusion_reason
from layoutlint.judgement.context import Access, Context
from layoutlint.judgement.lookup import StructMap
from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import Reading
from layoutlint.model.record import Record, replace
from layoutlint.model.storage import MALLOC, Allocator, AllocatorWord, Storage
from layoutlint.model.structs import Source, Struct
from layoutlint.model.uses import FunctionEffect

if TYPE_CHECKING:  # few runs know the caches of a kernel
    from layoutlint.geometry.seen_objects import SeenObjects
    from layoutlint.geometry.slab_caches import SlabCaches

VARIABLES = "(variables)"
"""Used as the struct of a rule on variables."""
UNUSED = "unused"
"""The kind of findings on unused rules, suppressions and declarations."""
SNAPSHOT = "snapshot"
"""The kind of findings on layouts that a snapshot holds."""
RULE_FILE = "rule file"


class Severity(Enum):
    """The severity of a finding; notes never change the exit status."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


ACCESSES = ("hot-read", "hot-write", "read-mostly", "cold")
"""The predefined accesses of fields; rule files can define more."""


class Key(Record, frozen=True):
    """A key of a rule that belongs to its kind. The rule file reader checks its type, the kind its value."""

    name: str
    type: Literal["paths", "groups", "path", "integer", "number", "boolean", "word", "words", "positions"]
    doc: str
    required: bool = False
    inside: str = ""
    """The key that names an array: if it is given, these paths are relative to an element."""
    choices: tuple[str, ...] = ()
    """The words that can be in its list; empty for any."""

    @property
    def parameter(self) -> str:
        """The constructor parameter: `except_` for `except`, a keyword of Python."""
        return f"{self.name}_" if iskeyword(self.name) else self.name


class Example(Record, frozen=True):
    """A struct in C and the verdict of a rule on it."""

    code: str
    outcome: Outcome
    message: str


class Manual(Record, frozen=True):
    """The text of a kind's section in the manual, in Markdown, without its summary and keys."""

    meaning: str
    """Exact definition of what is judged, with the special cases."""
    remedy: str
    """What to do if the rule is broken."""
    rule: str
    """The kind's own keys in the rule for the examples, as TOML."""
    breaks: Example
    keeps: Example


class Traits(Record, frozen=True):
    """The properties of a kind that other code needs, to prepare a verdict or to explain the kind."""

    fields: Literal["named", "near", "all"] = "all"
    """The fields on which a verdict depends: those that the rule or its accesses name, these and the fields
    that can be on a line with them, or all fields of the struct."""
    needs_size: bool = True
    """Whether a verdict depends on the size of the struct."""
    arranges: Literal["apart", "together"] | None = None
    """Whether rules keep fields apart or together; None if neither, or if their parameters decide."""
    size_only: bool = False
    """Whether nothing but the size of a struct decides a verdict."""
    judges_arrays: bool = False
    """Whether rules on variables are about arrays, which sources show without addresses."""
    in_containers: bool = False
    """Whether a rule with `around` can be of this kind."""
    uses_accesses: bool = False
    """Whether a verdict depends on the declared accesses of fields, even if the rule names none."""
    about: Literal["struct", "variables", "either"] = "struct"
    """Whether rules name a struct, or are about variables; `either`: about variables with a key of that
    name."""
    line_pairs: bool = False
    """Whether rules can keep fields apart by aligned pairs of lines."""
    line_pairs_if: str = ""
    """The parameter that must be true for that; empty for none."""
    evidence_key: Literal["fields", "array"] = "fields"
    """The key with which a rule names the evidence of a verdict."""
    compares_definitions: bool = False
    """Whether a verdict is about all definitions of a name, and names those with another layout."""
    in_baselines: bool = True
    """Whether a baseline can accept its findings."""
    is_built_in: bool = False
    """Whether runs state rules of this kind, and rule files cannot."""


class Kind(Protocol):
    """A rule kind with its parameters: it finds fields, compares integers, and returns a verdict."""

    name: ClassVar[str]
    traits: ClassVar[Traits]
    keys: ClassVar[tuple[Key, ...]]
    """The keys of a rule of this kind. They are the constructor's parameters. The constructor raises
    ValueError for invalid values."""
    summary: ClassVar[str]
    """One sentence: what a kept rule ensures."""
    manual: ClassVar[Manual]

    def check(self, context: Context) -> Verdict:
        """Judge one struct. Raises CannotTell, with the reason, if that is impossible."""
        ...


def paths_of(kind: Kind) -> tuple[str, ...]:
    """Return every path and pattern of fields in a kind's parameters, in the order of its keys."""
    paths: list[str] = []
    for key in kind.keys:
        value = getattr(kind, key.parameter)
        if value is None or (key.inside and getattr(kind, key.inside) is not None):
            continue
        if key.type == "path":
            paths.append(value)
        elif key.type == "paths":
            paths += value
        elif key.type == "groups":
            paths += [path for group in value for path in group]
        elif key.type == "positions" and isinstance(value, tuple):
            paths += [path for path, _ in value]
    return tuple(paths)


class Rule(Record, frozen=True):
    """One rule on one struct, or on all that match a pattern."""

    id: str
    struct: str
    kind: Kind
    severity: Severity
    why: str
    source: Source
    evidence: tuple[str, ...] = ()
    when: When = ALWAYS
    tolerate: float = 0.0
    """Share of failing placements, up to which a rule counts as kept."""
    pack: str = ""
    shipped: bool = False
    """Whether it comes from a shipped pack: a struct that the input lacks is then no failure."""
    guess: bool = False
    """Whether it comes from a guessing pack."""
    around: bool = False
    """Whether it is about the surroundings of the struct in each of its containers."""
    line_pairs: bool = False
    """Whether it keeps fields apart by aligned pairs of lines."""

    @property
    def subject(self) -> str:
        """What it is about, as messages print it."""
        return "variables" if self.struct == VARIABLES else f"struct {self.struct}"

    by: str = RULE_FILE
    """What contains the rule, as messages print it."""
    evidence_files: tuple[str, ...] = ()
    """Files with saved evidence (readers/profiles/saved.py), as paths from the working folder."""

    @property
    def origin(self) -> str:
        """What contains the rule, and where."""
        return f"{self.by} at {self.source}"

    @property
    def states_why(self) -> bool:
        """Whether `why` is more than the place of the rule."""
        return self.why != place_as_why(self.source)


def _is_at_or_below(path: str, places: tuple[str, ...]) -> bool:
    """Return whether a path is one of some places, or below one; all are from the working folder."""
    return _depth(path, places) >= 0


def _depth(path: str, places: tuple[str, ...]) -> int:
    """Return the length of the innermost of the places that a path is or is below; -1 if there is none."""
    at = f"{os.path.abspath(path)}{os.sep}" if places else ""
    around = (os.path.abspath(place).rstrip(os.sep) for place in places)
    return max((len(place) for place in around if at.startswith(f"{place}{os.sep}")), default=-1)


def place_as_why(source: Source) -> str:
    """Return the `why` of a rule that states none."""
    return f"declared at {source}"


class StructIntent(Record, frozen=True):
    """The statements of a rule file about a struct, except rules."""

    struct: str
    source: Source
    header: str | None = None
    """The header in a source tree that defines it, as in an `#include` or as a path in the tree."""
    accesses: tuple[Access, ...] = ()
    placement: Storage | None = None
    """The `placement` of its objects; None if not stated."""
    annotated: bool = False
    """Whether annotations in the struct are judged even if no rule names it."""
    when: When = ALWAYS
    """The inputs to which the statements apply."""

    def with_allocator(self, word: AllocatorWord) -> StructIntent:
        """Return the statements with an allocator in place of `malloc`."""
        if self.placement is None or self.placement.word != MALLOC:
            return self
        return replace(self, placement=replace(self.placement, word=word))


class Override(Record, frozen=True):
    """A statement of a rule file about a rule of another one: it is off, or has another severity."""

    rule_id: str
    source: Source
    why: str
    severity: Severity | None
    """None turns the rule off."""


class Pack(Record, frozen=True, dict=True):
    """One rule file."""

    name: str
    path: str
    rules: tuple[Rule, ...]
    structs: tuple[StructIntent, ...] = ()
    variables: tuple[Access, ...] = ()
    """The accesses of variables; the paths begin with their names."""
    allocators: tuple[Allocator, ...] = ()
    """The functions of the project that allocate."""
    known_functions: tuple[FunctionEffect, ...] = ()
    """What functions of the project do to what they are given."""
    entries: tuple[tuple[str, float], ...] = ()
    """Functions at which work arrives, as names or patterns, with weights."""
    description: str = ""
    kernel: bool = False
    """Whether it is about Linux, and so active by default for a kernel input."""
    guesses: bool = False
    """Whether it guesses for code without rules: its notes are ranked, and no shipped pack is
    active with it."""
    shipped: bool = False
    has_drafts: bool = False
    """Whether comments of its file have rules, as those that `init` writes."""
    overrides: tuple[Override, ...] = ()
    """What it states about rules of other packs."""
    overridden: tuple[str, ...] = ()
    """What other packs changed in its rules, as sentences for the coverage."""
    scopes: tuple[str, ...] | None = None
    """The inputs that it applies to, or folders of them, from the working folder; None for all inputs."""
    excluded: tuple[str, ...] = ()
    """Those that it does not apply to: of another repository, or where another file overrides its rules. The
    innermost of both decides."""
    slabs: SlabCaches | None = None
    """The slab caches of the kernel that the input is; None if they are not known."""
    objects: SeenObjects | None = None
    """The objects of the program that were seen; None without any."""

    @property
    def is_draft(self) -> bool:
        """Whether it states nothing yet, and comments have rules to choose from."""
        parts = self.rules, self.structs, self.variables, self.allocators, self.known_functions, self.entries
        return self.has_drafts and not (any(parts) or self.overrides or self.overridden)

    def applies_to(self, path: str) -> bool:
        """Return whether it applies to the input at a path."""
        included = 0 if self.scopes is None else _depth(path, self.scopes)
        return included > (_depth(path, self.excluded) if self.excluded else -1)

    def shares_inputs(self, other: Pack) -> bool:
        """Return whether it and another pack may apply to the same input."""
        if self.scopes is None or other.scopes is None:
            return True
        pairs = ((self.scopes, other.scopes), (other.scopes, self.scopes))
        return any(_is_at_or_below(each, outer) for outer, inner in pairs for each in inner)

    def override(self, own: Pack, folders: tuple[str, ...] | None) -> Iterator[Pack]:
        """Yield the pack for the inputs outside of some folders, and `own`, which replaces it inside.

        None stands for all folders.
        """
        if folders is None:
            inside = self.scopes
        elif self.scopes is None:
            inside = folders
        else:
            inner = [each for each in folders if _is_at_or_below(each, self.scopes)]
            outer = [each for each in self.scopes if _is_at_or_below(each, folders)]
            inside = tuple(dict.fromkeys((*inner, *outer)))
        if inside == ():
            yield self
        elif inside == self.scopes:
            yield replace(own, scopes=inside, excluded=self.excluded)
        else:
            yield replace(self, excluded=(*self.excluded, *(inside or ())))
            yield replace(own, scopes=inside, excluded=self.excluded)

    @cached_property
    def _intents(self) -> StructMap[StructIntent]:
        return StructMap((intent.struct, intent) for intent in self.structs)

    def intents_for(self, struct: Struct) -> list[StructIntent]:
        """Return the statements of the file about a struct, except rules."""
        return self._intents.find(struct)

    def select_for(self, reading: Reading) -> Pack:
        """Return the pack with the statements that apply to an input: the first of alternatives.

        `malloc` is the allocator that the input names.
        """
        if reading.allocator is not None:
            structs = tuple(intent.with_allocator(reading.allocator) for intent in self.structs)
            return replace(self, structs=structs).select_for(replace(reading, allocator=None))
        if all(intent.when == ALWAYS for intent in self.structs):
            return self
        chosen: list[StructIntent] = []
        names: set[tuple[str, str]] = set()
        for intent in self.structs:
            key = intent.struct, intent.source.file
            if key not in names and not exclusion_reason(intent.when, reading):
                chosen.append(intent)
                names |= {key} if intent.when != ALWAYS else set()
        return replace(self, structs=tuple(chosen))

    def accesses(self, struct: Struct) -> tuple[Access, ...]:
        """Return the declared accesses of the fields of a struct."""
        return tuple(access for intent in self.intents_for(struct) for access in intent.accesses)

    @property
    def structs_with_accesses(self) -> tuple[str, ...]:
        """The names and patterns of structs with declared accesses."""
        return tuple(intent.struct for intent in self.structs if intent.accesses)

    def storage(self, struct: Struct) -> Storage | None:
        """Return where objects of a struct start: as stated, completed by what is known of a running program.

        None if neither tells. Raises RuleFileError if two statements contradict each other.
        """
        stated = self.stated_storage(struct)
        if self.objects is not None:
            stated = self.objects.complete(struct, stated)
        return stated if self.slabs is None else self.slabs.complete(struct, stated)

    def stated_storage(self, struct: Struct) -> Storage | None:
        """Return the stated `placement` of a struct: by its name, else by a pattern; None for none.

        Raises RuleFileError if two statements contradict each other.
        """
        placed = [intent for intent in self.intents_for(struct) if intent.placement is not None]
        chosen = [intent for intent in placed if not is_pattern(intent.struct)] or placed
        storages = [intent.placement for intent in chosen if intent.placement is not None]
        for other in storages[1:]:
            if replace(other, source=storages[0].source) != storages[0]:
                message = (
                    f"`placement` `{other.spelling}` of {struct.name} contradicts `{storages[0].spelling}`"
                )
                raise RuleFileError((f"{other.source}: {message} at {storages[0].source}",))
        return storages[0] if storages else None
