"""The options of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from layoutlint.judgement.verdict import Outcome
from layoutlint.model.flag_files import FlagUse
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import ReadOptions, Unread, Version
from layoutlint.model.record import Record, field, replace
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from layoutlint.geometry.seen_objects import SeenObjects
    from layoutlint.geometry.slab_caches import SlabCaches
    from layoutlint.intent.annotations.rules import Suppression
    from layoutlint.judgement.finding import Finding, Report
    from layoutlint.judgement.rule import Rule
    from layoutlint.lint.reading import Inputs
    from layoutlint.randstruct.randomisation import Randomisation
    from layoutlint.revisions.git import Commit


_UNREACHED = "the change reaches no wanted struct"


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

    globs: tuple[str, ...] = ()
    """Names and patterns; empty for all structs."""
    names: frozenset[str] | None = None
    """The names of structs that a change can affect; None for all structs."""

    def has_name(self, name: str) -> bool:
        """Return whether a name matches."""
        is_affected = self.names is None or name in self.names
        return is_affected and (not self.globs or Wanted(patterns=self.globs).matches(name))

    def has(self, struct: Struct) -> bool:
        """Return whether a struct matches, by its tag or a typedef."""
        is_affected = self.names is None or not self.names.isdisjoint((struct.name, *struct.aliases))
        return is_affected and (not self.globs or any(map(struct.matches, self.globs)))

    def may_include(self, name: str) -> bool:
        """Return whether a struct that a name or pattern refers to can match."""
        return is_pattern(name) or self.has_name(name)


class Mode(Record, frozen=True):
    """How a run differs from a plain check of inputs by rules, which this is."""

    @property
    def needs_rules(self) -> bool:
        """Whether it is a mistake if no rule applies."""
        return True

    @property
    def sees_all(self) -> bool:
        """Whether a definition that is not read is one that the inputs lack."""
        return True

    @property
    def structs(self) -> frozenset[str] | None:
        """The names of the structs that are judged; None for all."""
        return None

    @property
    def skips_missing(self) -> bool:
        """Whether rules on structs that no input defines are skipped: the inputs are a part of the code."""
        return False

    @property
    def unread(self) -> tuple[Unread, ...]:
        """What is known not to have been read before inputs are."""
        return ()

    def is_removed(self, struct: str) -> bool:
        """Return whether people removed the struct of a rule on purpose."""
        return False

    def request(self, wanted: Wanted, options: Options) -> Wanted:
        """Return what is read, of what rules want. Raises UsageError."""
        return wanted

    def narrow(self, inputs: Inputs, wanted: Wanted) -> Inputs:
        """Return the inputs with what rules judge, which want `wanted`."""
        return inputs

    def judge(self, inputs: Inputs, options: Options) -> tuple[list[Finding], list[Unread]]:
        """Return findings by no written rule, and what they could not be made for."""
        return [], []

    def requirements(self, strictness: Strictness) -> tuple[tuple[Rule, str], ...]:
        """Return rules that must judge a struct, with the reason if none is there."""
        return ()

    def select_rules(self, rules: tuple[Rule, ...], findings: Iterable[Finding]) -> tuple[Rule, ...]:
        """Return the rules of the report."""
        return rules

    def finish(self, report: Report, inputs: Inputs) -> Report:
        """Return the report of the run."""
        return report


class ChangeScope(Mode, frozen=True):
    """The part of a change that a run judges (`lint.change_effects`)."""

    affected: frozenset[str] | None
    """The names of affected structs; None for all."""
    demands: tuple[tuple[Rule, str], ...]
    """Rules that must judge a struct, with the reason if none is there; empty if one may be."""
    gaps: tuple[Unread, ...] = ()
    """What the change does that cannot be known."""
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

    @property
    def needs_rules(self) -> bool:
        """Whether inputs are judged whole: of a part, there may be none."""
        return self.is_whole

    @property
    def sees_all(self) -> bool:
        """Return False: files that the change leaves as they are can define structs too."""
        return False

    @property
    def structs(self) -> frozenset[str] | None:
        """The names of affected structs; None for all."""
        return self.affected

    @property
    def skips_missing(self) -> bool:
        """Whether the inputs are a part of the code."""
        return not self.is_whole

    @property
    def unread(self) -> tuple[Unread, ...]:
        """What the change does that cannot be known."""
        return self.gaps

    def is_removed(self, struct: str) -> bool:
        """Return whether people removed the struct of a rule on purpose."""
        return struct in self.removed

    def requirements(self, strictness: Strictness) -> tuple[tuple[Rule, str], ...]:
        """Return rules that must judge a struct, with the reason if none is there."""
        return () if strictness.ignore_missing else self.demands

    def select_rules(self, rules: tuple[Rule, ...], findings: Iterable[Finding]) -> tuple[Rule, ...]:
        """Return the rules of the report: if a part is judged, those that judged something there."""
        every = tuple(dict.fromkeys((*rules, *(rule for rule, _ in self.demands))))
        judging = {finding.rule for finding in findings}
        return every if self.is_whole else tuple(rule for rule in every if rule in judging)

    def finish(self, report: Report, inputs: Inputs) -> Report:
        """Return the report, with the reason if it is empty."""
        has_any = report.findings or report.kept_findings or report.unread
        if has_any or any(gap.rules for gap in report.coverage.not_covered):
            return report
        return replace(report, coverage=replace(report.coverage, unreached=_UNREACHED))


class Intents(Record, frozen=True):
    """What people wrote beside rule files, and how far it counts."""

    annotations: bool = False
    """Read annotations and group marks in structs."""
    comments: bool = False
    """Judge what comments claim about cache lines."""
    suppressions: bool = True
    """Whether `ignore[...]` suppresses findings."""
    policy: Policy | None = None
    """Decides which suppressions count; None if all do."""
    today: str | None = None
    """The day, as YYYY-MM-DD, by which suppressions with an end are judged; None for that of the clock."""
    sought: str = ""
    """Where no rule file was found, for people: `from src up to .`; empty if one was, or none was sought."""


class Strictness(Record, frozen=True):
    """What makes a run fail."""

    fail_on: Outcome = Outcome.AT_RISK
    """The mildest outcome that makes the run fail: at-risk or broken."""
    allow_unknown: bool = False
    """Exit with 0 if something could not be judged."""
    ignore_missing: bool = False
    """Skip rules on structs that no input defines (for runs on a few changed files)."""
    unused: bool = False
    """Report shipped rules, and rules whose `when` holds for no input, if they judged nothing."""


class Guessing(Record, frozen=True):
    """How the notes of packs that guess are ranked."""

    most: int = 10
    """How many are reported."""
    uses: tuple[str, ...] = ()
    """C sources whose functions rank them."""


class Options(Record, frozen=True):
    """The options of a run."""

    only: tuple[str, ...] = ()
    """Names and patterns of structs: judge no others; empty for all."""
    line_size: int | None = None
    """Bytes of a cache line; None for the target's."""
    min_align: int | None = None
    """The smallest alignment of an object in bytes; None for the target's."""
    finds_allocations: bool = True
    """Whether to search C inputs for allocations that change placements, which notes name."""
    read: ReadOptions = field(default_factory=ReadOptions)
    randomised: Randomisation | None = None
    """How the build randomises layouts; None if nothing states it."""
    kernel: Version | None = None
    """The version of kernels that do not state theirs."""
    build: str | None = None
    """The name of the build, if a matrix is judged."""
    intents: Intents = Intents()
    strictness: Strictness = Strictness()
    guessing: Guessing = Guessing()
    mode: Mode = Mode()
    slabs: SlabCaches | None = None
    """The slab caches of a kernel; None for those that sizes imply."""
    objects: SeenObjects | None = None
    """Objects of the program that were seen; None without any."""

    def of_input(self, path: str) -> Options:
        """Return the options for an input."""
        own = self.read.nearest(path)
        if own is None:
            return self
        return replace(
            self,
            line_size=own.line_size or self.line_size,
            min_align=own.min_align or self.min_align,
            read=self.read.of_input(path),
        )

    @property
    def skips_missing(self) -> bool:
        """Whether rules on structs that no input defines are skipped."""
        return self.strictness.ignore_missing or self.mode.skips_missing

    @property
    def selection(self) -> Selection:
        """The structs that the run judges."""
        return Selection(self.only, self.mode.structs)
