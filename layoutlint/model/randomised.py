"""Facts about fields that a compiler puts into a random order."""

from __future__ import annotations

from typing import Literal

from layoutlint.model.json_object import JsonObject, Natural
from layoutlint.model.record import Record


class MemberChances(JsonObject, frozen=True):
    """A member."""

    name: str
    """The name; for a member without one, its kind and the first names in it."""
    size: Natural
    """Its bytes; 0 for a flexible array."""
    starts: tuple[Natural, ...]
    """For each step of the struct, the number of orders in which the member begins there."""


class Chances(Record, frozen=True):
    """Where the members of a struct begin in orders that a compiler may choose."""

    orders: int
    """How many were drawn."""
    step: int
    """The bytes of a step."""
    smallest: int
    largest: int
    """The sizes of the struct in these orders, in bytes."""
    members: tuple[MemberChances, ...]
    """In declared order; a member without a name is one."""


class Randomisation(Record, frozen=True):
    """How the fields of a struct, or of structs inside it, were put into a random order."""

    mode: str
    """The way in which the build randomises."""
    seed: str | None
    """The SHA-256 of the seed, in hexadecimal digits. Null if it is not known."""
    kernel: str | None
    """The version of Linux, if it matters."""
    is_own: bool
    """Whether its own fields are in another order, not only those of structs inside it."""
    chances: Chances | None = None
    """Where its members can land, if the seed is not known."""


class ShufflingEvidence(Record, frozen=True):
    """The evidence in an input that its compiler randomised layouts."""

    by: Literal["gcc", "clang"]
    """The compiler. gcc's debug information still has the declared order, clang's the order of the build."""
    mode: str | None
    """`gcc-full` or `gcc-performance`."""
    seed: str | None
    """The SHA-256 of the seed."""
    sign: str
    """The evidence, as messages show it."""
