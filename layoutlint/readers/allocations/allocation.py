"""Facts about allocation that C text tells: which call makes objects of which struct (docs/allocations.md).

C is read as text, without its headers: macros are not expanded, all branches of `#ifdef` count, and what a
name means is looked up in the function around it. What that does not settle is an Allocation with a problem.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutlint.model.storage import Storage
from layoutlint.model.structs import Source


@dataclass(frozen=True, slots=True)
class Allocation:
    """One place in a source that makes objects of a struct."""

    struct: str
    """Its tag, or the typedef that stands there."""
    call: str
    """The function or macro."""
    source: Source
    storage: Storage | None
    """Where the objects start, as a rule file would say it; None when that cannot be told."""
    is_typedef: bool = False
    """Whether `struct` is a word without `struct` before it, which need not stand for a struct."""
    details: tuple[str, ...] = ()
    """What about the call decided: its flags, that there is a constructor."""
    problem: str = ""
    """Why it cannot be told."""
