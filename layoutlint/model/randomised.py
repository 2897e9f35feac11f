"""Words of fact for fields that a compiler has put into a random order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Randomised:
    """How the fields of a struct, or of structs inside it, came into another order than the declared one."""

    mode: str
    """One of kernel_build.MODES."""
    seed: str
    """The SHA-256 of the seed, in hexadecimal."""
    kernel: str | None
    """The Linux version whose plugin it is; None where none was said, and none matters."""
    is_own: bool
    """Whether its own fields are in another order, not only those of structs inside it."""


@dataclass(frozen=True, slots=True)
class Shuffled:
    """What an input says of being built by a compiler that puts fields into a random order."""

    by: Literal["gcc", "clang"]
    """GCC's debug information has the declared order all the same, clang's that of the build."""
    mode: str | None
    """`gcc-full` or `gcc-performance`; None where it is not said."""
    seed: str | None
    """The SHA-256 of the seed; None where it is not said."""
    sign: str
    """What says so."""
