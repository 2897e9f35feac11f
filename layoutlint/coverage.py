"""What a run looked at, and how high its guesses rank."""

from __future__ import annotations

from dataclasses import dataclass


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
