"""What a run is asked to do besides its inputs and packs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from layoutlint.judgement.verdict import Outcome
from layoutlint.model.reading import ReadOptions, Version

if TYPE_CHECKING:
    from layoutlint.intent.annotations.rules import Suppression
    from layoutlint.randstruct.randomisation import Randomisation


class Policy(Protocol):
    """What a change cannot edit: the suppressions of a base commit."""

    def counts(self, one: Suppression) -> bool:
        """Return whether a suppression counts."""
        ...

    def sentences(self, dropped: tuple[Suppression, ...]) -> tuple[str, ...]:
        """Return what the report says of the policy; `dropped` are suppressions that do not count."""
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """What a run is asked to do besides its inputs and packs."""

    only: str | None = None
    """Judge only structs that this name or pattern means."""
    fail_on: Outcome = Outcome.AT_RISK
    """The mildest outcome that makes the run fail: at-risk or broken."""
    line_size: int | None = None
    min_align: int | None = None
    allow_unknown: bool = False
    ignore_missing: bool = False
    """A struct that no input defines is passed over (for runs on a few changed files)."""
    unused: bool = False
    """A rule that judges nothing is a finding also where it is shipped, or its `when` leaves it out."""
    read: ReadOptions = field(default_factory=ReadOptions)
    annotations: bool = False
    """Whether what the inputs say themselves of their structs counts."""
    comments: bool = False
    """Whether what comments claim about cache lines is judged."""
    randomised: Randomisation | None = None
    """How the build randomises layouts; None where nothing is said."""
    kernel: Version | None = None
    """The version of the kernels among the inputs that do not tell theirs."""
    suppressions: bool = True
    """Whether `ignore[...]` suppresses findings."""
    policy: Policy | None = None
    """What decides which suppressions count; None where all do."""
    guesses: int = 10
    """How many notes of packs that guess are in the report."""
