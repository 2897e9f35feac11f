"""The declarations that decide the layout of a struct or union, for the layouts of gcc and of clang."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from itertools import product

from layoutlint.model.record import Record, replace

UNKNOWN = -1
"""An `aligned` whose value libclang does not state: an expression that is not computed."""
_GUESSES = tuple(1 << bit for bit in range(21))
"""The values that it can have, in bytes."""


class Mode(Enum):
    """How gcc sees the type of a member (GET_MODE_CLASS), as far as layouts depend on it."""

    INTEGER = "integer"
    """Integers, pointers and enums."""
    DOUBLE = "double"
    """Other types that i386 aligns to a word in structs: `double`, complex `double` and integers."""
    OTHER = "other"
    NONE = "none"
    """Vectors without registers (BLKmode)."""


class TypeFacts(Record, frozen=True):
    """A type to gcc."""

    bit_size: int
    """0 for a flexible array."""
    align: int
    """The alignment outside of structs, in bytes (TYPE_ALIGN)."""
    is_user_aligned: bool = False
    """Whether an `aligned` decides it (TYPE_USER_ALIGN)."""
    mode: Mode = Mode.OTHER
    """That of an element, for an array."""
    qualifiers: frozenset[str] = frozenset()
    """Those that its typedefs have by their declarations."""
    element_qualifiers: frozenset[str] = frozenset()
    """Those of the elements of an array that has no typedef."""
    plain_align: int | None = None
    """The alignment without the `aligned` of its typedefs, in bytes; None for the same."""
    is_plain_user_aligned: bool = False
    """Whether an `aligned` of a struct, and not of its typedefs, decides that."""
    atomic_align: int | None = None
    """The alignment of an atomic type without that of its typedefs, in bytes; None for another type."""
    is_array: bool = False
    is_record: bool = False
    problem: str | None = None
    """Why the type to gcc is not known; None if it is."""


class MemberFacts(Record, frozen=True):
    """A member, with its type to both compilers."""

    type: TypeFacts
    clang_bit_size: int
    clang_align: int
    """The alignment of its type to clang, in bytes."""
    builtin_bits: int
    """The bits of its type, or of an array's elements, if that is an arithmetic type; else 0."""
    width: int | None = None
    """The bits of a bit-field; None for another member."""
    is_named: bool = True
    aligned: int = 0
    """The largest `aligned` of the member itself, in bytes, or UNKNOWN; 0 for none."""
    clang_aligned: int = 0
    """The same to clang."""
    is_packed: bool = False
    """Whether the member itself is packed."""


class RecordFacts(Record, frozen=True):
    """A struct or union without the members' names."""

    members: tuple[MemberFacts, ...]
    is_union: bool
    is_packed: bool
    """Whether its definition has `packed`."""
    aligned: tuple[int, ...]
    """The bytes of each `aligned` of its definition, or UNKNOWN, in the order of the text."""
    clang_is_packed: bool
    """Whether clang packs it, also by an earlier declaration."""
    clang_aligned: int
    """The largest `aligned` to clang, in bytes, also of an earlier declaration; 0 for none."""
    is_ms: bool
    """Whether gcc lays out its bit-fields as Microsoft's compilers do."""
    clang_is_ms: bool
    """Whether clang does."""


    def possibilities(self) -> Iterator[RecordFacts]:
        """Yield the declarations with each value that is unknown."""
        if UNKNOWN not in self.aligned and all(member.aligned != UNKNOWN for member in self.members):
            yield self
            return
        of_members = _GUESSES if any(member.aligned == UNKNOWN for member in self.members) else (0,)
        of_record = _GUESSES if UNKNOWN in self.aligned else (0,)
        for guess, own in product(of_members, of_record):
            members = (
                replace(member, aligned=guess, clang_aligned=guess) if member.aligned == UNKNOWN else member
                for member in self.members
            )
            aligned = tuple(own if value == UNKNOWN else value for value in self.aligned)
            of_clang = max(self.clang_aligned, own)
            yield replace(self, members=tuple(members), aligned=aligned, clang_aligned=of_clang)


class RecordLayout(Record, frozen=True):
    """A layout; offsets are those of the members, in order."""

    bit_size: int
    align: int
    """Bytes."""
    bit_offsets: tuple[int, ...]


def round_up(number: int, multiple: int) -> int:
    """Return the next multiple of a power of two, in the unit of both."""
    return (number + multiple - 1) & -multiple
