"""The options of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from layoutlint.judgement.verdict import Outcome
from layoutlint.model.flag_files import FlagUse
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import Reading, ReadOptions, Unread, Version
from layoutlint.model.record import Record, field
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from layoutlint.intent.annotations.rules import Suppression
    from layoutlint.judgement.rule import Rule
    from layoutlint.randstruct.randomisation import Randomisation
    from layoutlint.revisions.git import Commit


class Policy(Protocol):
    """The rule files of a base commit."""

    @property
    def commit(self) -> Commit:
        """The commit, which also decides which suppressions count: those that it has too."""
        ...

    def move_to(self, folder: str) -> Policy:
        """Return the policy for a copy of the tree in another folder."""
        ...

    def sentences(
        self, dropped: Mapping[Suppression, str], flag_uses: dict[str, FlagUse] | None = None
    ) -> tuple[str, ...]:
        """Return sentences for the report; `dropped` are the suppressions that do not count, and why;
        `flag_uses` what readings say of files with flags.
        """
        ...


class Selection(Record, frozen=True):
    """The structs that a run judges."""

    glob: str | None = None
    """A name or pattern; None for all structs."""
    names: frozenset[str] | None = None
    """The names of structs that a change can affect; None for all structs."""

    def has_name(self, name: str) -> bool:
        """Return whether a name matches."""
        is_affected = self.names is None or name in self.names
        return is_affected and (self.glob is None or Wanted(patterns=(self.glob,)).matches(name))

    def has(self, struct: Struct) -> bool:
        """Return whether a struct matches, by its tag or a typedef."""
        is_affected = self.names is None or not self.names.isdisjoint((struct.name, *struct.aliases))
        return is_affected and (self.glob is None or struct.matches(self.glob))

    def may_include(self, name: str) -> bool:
        """Return whether a struct that a name or pattern refers to can match."""
        return is_pattern(name) or self.has_name(name)


class ChangeScope(Record, frozen=True):
    """The part of a change that a run judges (`lint.change_effects`)."""

    structs: frozenset[str] | None
    """The names of affected structs; None for all."""
    required: tuple[tuple[Rule, str], ...]
    """Rules that must judge a struct, with the reason if none is there; empty if one may be."""
    unread: tuple[Unread, ...] = ()
    changed_rules: tuple[frozenset[str], ...] = ()
    """For each parent, the ids of the rules that the change adds, or makes judge otherwise than there."""
    changed_files: tuple[str, ...] = ()
    """The C files before and after the change that differ, from the working folder, sorted."""
    own_files: tuple[str, ...] = ()
    """Those of them that are judged for themselves: no filter of pre-commit leaves them out."""
    given: tuple[str, ...] = ()
    """The C files that a person names: they are judged with all that they include."""
    repositories: tuple[str, ...] = ()
    """The submodules that are read from their repository, with their commits."""
    is_whole: bool = False
    """Whether inputs are given and judged whole, so that every rule must judge a struct of them."""
    definers: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The files of the repository that seem to define the structs of rules, by the struct of the rule."""
    removed: frozenset[str] = frozenset()
    """The structs that people removed on purpose: a rule on one of them needs no struct."""


class Held(Record, frozen=True):
    """A snapshot whose layouts the inputs must have."""

    reading: Reading
    update: str
    """The command that writes it again."""


class Options(Record, frozen=True):
    """The options of a run."""

    only: str | None = None
    """A name or pattern of structs: judge no others."""
    fail_on: Outcome = Outcome.AT_RISK
    """The mildest outcome that makes the run fail: at-risk or broken."""
    line_size: int | None = None
    """Bytes of a cache line; None for the target's."""
    min_align: int | None = None
    """The smallest alignment of an object in bytes; None for the target's."""
    finds_allocations: bool = True
    """Whether to search C inputs for allocations that change placements, which notes name."""
    allow_unknown: bool = False
    """Exit with 0 if something could not be judged."""
    ignore_missing: bool = False
    """Skip rules on structs that no input defines (for runs on a few changed files)."""
    unused: bool = False
    """Report shipped rules, and rules whose `when` holds for no input, if they judged nothing."""
    read: ReadOptions = field(default_factory=ReadOptions)
    annotations: bool = False
    """Read annotations and group marks in structs."""
    comments: bool = False
    """Judge what comments claim about cache lines."""
    randomised: Randomisation | None = None
    """How the build randomises layouts; None if nothing states it."""
    kernel: Version | None = None
    """The version of kernels that do not state theirs."""
    suppressions: bool = True
    """Whether `ignore[...]` suppresses findings."""
    policy: Policy | None = None
    """Decides which suppressions count; None if all do."""
    guesses: int = 10
    """How many notes of packs that guess are reported."""
    uses: tuple[str, ...] = ()
    """C sources whose functions rank these notes."""
    today: str | None = None
    """The day, as YYYY-MM-DD, by which suppressions with an end are judged; None for that of the clock."""
    change: ChangeScope | None = None
    """What is judged, if a change is."""
    build: str | None = None
    """The name of the build, if a matrix is judged."""
    compares: bool = False
    """Whether the run is one side of a comparison: it reads all selected structs, and needs no rules."""

    surveyed: tuple[str, ...] | None = None
    """The names and patterns of structs whose layouts a survey keeps beside those of rules; None for another
    run. A survey needs no rules."""

    with_variables: bool = False
    """Whether a comparison is about variables as well, so that a symbol table suffices as an input."""

    held: Held | None = None
    """The snapshot to which layouts are held; None for none."""

    @property
    def skips_missing(self) -> bool:
        """Whether rules on structs that no input defines are skipped: the inputs are a part of the code."""
        is_survey = self.surveyed is not None  # a rule may judge another input of it
        is_part = self.change is not None and not self.change.is_whole
        return self.ignore_missing or is_part or self.compares or is_survey

    def is_removed(self, struct: str) -> bool:
        """Return whether people removed the struct of a rule on purpose."""
        return self.change is not None and struct in self.change.removed

    @property
    def selection(self) -> Selection:
        """The structs that the run judges."""
        return Selection(self.only, self.change.structs if self.change is not None else None)
