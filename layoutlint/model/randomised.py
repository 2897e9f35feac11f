"""Facts about fields that a compiler puts into a random order."""

from __future__ import annotations

from typing import Literal

from layoutlint.model.record import Record


class Randomisation(Record, frozen=True):
    """How the fields of a struct, or of structs inside it, were put into a random order."""

    mode: str
    """One of randstruct.scheme.MODES."""
    seed: str
    """The SHA-256 of the seed, in hexadecimal."""
    kernel: str | None
    """The Linux version of the plugin; None if it was not given and does not matter."""
    is_own: bool
    """Whether its own fields are in another order, not only those of structs inside it."""


class ShufflingEvidence(Record, frozen=True):
    """The evidence in an input that its compiler randomised layouts."""

    by: Literal["gcc", "clang"]
    """gcc's debug information still has the declared order, clang's the order of the build."""
    mode: str | None
    """`gcc-full` or `gcc-performance`; None if not stated."""
    seed: str | None
    """The SHA-256 of the seed; None if not stated."""
    sign: str
    """The evidence, as shown to users."""
