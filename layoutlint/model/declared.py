"""Structs as C text declares them, as far as their randomised layouts depend on it."""

from __future__ import annotations

from dataclasses import dataclass

Inner = tuple[str, tuple[int, ...]]
"""A struct type without a name: the tag or typedef of what it stands in, and its members' positions there."""


@dataclass(frozen=True, slots=True)
class Member:
    """One member as its struct declares it, as far as its place depends on it; alignments are in bytes."""

    name: str | None
    bit_size: int | None
    """None when the input does not tell."""
    align: int | None
    """Of its type; for a bit-field of the declared one. None when the input does not tell."""
    asked: int | None = 0
    """What its own `aligned` asks for; 0 for none, None when the input does not tell."""
    unit: int = 0
    """Bytes in the declared type of a bit-field; 0 for what is none."""
    is_packed: bool = False


@dataclass(frozen=True, slots=True)
class Declared:
    """One struct type as C text declares it."""

    key: str | Inner
    align: int | None
    """In bytes; None when the input does not tell."""
    fields: tuple[int | None, ...]
    """For each of its members the position of its Field; None for a bit-field without a name."""
    members: tuple[Member, ...]
    is_randomised: bool = False
    """Whether it has `randomize_layout`, and `is_kept` whether it has `no_randomize_layout`."""
    is_kept: bool = False
    has_pragma: bool = False
    """Whether a `#pragma pack` may hold there."""
