"""An allocation in C source: which call makes objects of which struct (docs/rules.md).

C is read as text, without headers: macros are not expanded, all branches of `#ifdef` count, and names are
resolved in the function around them. If that is not enough, the Allocation has a problem.
"""

from __future__ import annotations

from layoutlint.model.record import Record
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Source


class Allocation(Record, frozen=True):
    """One place in a source that makes objects of a struct."""

    struct: str
    """Its tag or typedef, as written."""
    call: str
    """The function or macro."""
    source: Source
    storage: Storage | None
    """Where the objects start, in terms of a rule file; None if it cannot be derived."""
    is_typedef: bool = False
    """Whether `struct` is a word without `struct` before it, which need not name a struct."""
    details: tuple[str, ...] = ()
    """The parts of the call that decided: its flags, a constructor."""
    problem: str = ""
    """Why `storage` cannot be derived."""
    cache: str = ""
    """The name of the slab cache that the call makes; empty if it makes none, or it is not shown."""
