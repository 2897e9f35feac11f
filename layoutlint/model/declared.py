"""Structs as C source declares them, as far as randomised layouts depend on it."""

from __future__ import annotations

from layoutlint.model.record import Record

Inner = tuple[str, tuple[int, ...]]
"""A struct without a name: the tag or typedef of the struct around it, and the positions of members that lead
to it."""


class Member(Record, frozen=True):
    """One member as its struct declares it, as far as its offset depends on it; alignments are in bytes."""

    name: str | None
    bit_size: int | None
    """None if the input does not state it."""
    align: int | None
    """The alignment of its type; for a bit-field, of the declared type. None if the input does not state
    it."""
    requested_align: int | None = 0
    """The alignment of its own `aligned`; 0 for none, None if the input does not state it."""
    unit: int = 0
    """Bytes of a bit-field's declared type; 0 for other members."""
    is_packed: bool = False


class StructDeclaration(Record, frozen=True):
    """One struct type as C source declares it."""

    key: str | Inner
    align: int | None
    """In bytes; None if the input does not state it."""
    fields: tuple[int | None, ...]
    """For each member the position of its Field; None for an unnamed bit-field."""
    members: tuple[Member, ...]
    is_randomised: bool = False
    """Whether it has `randomize_layout`."""
    is_kept: bool = False
    has_pragma: bool = False
    """Whether a `#pragma pack` may be in force at its definition."""
