"""Schemes of randomisation: the structs that a compiler reorders, and the order of their members."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from layoutlint.model.record import Record
from layoutlint.model.structs import Field
from layoutlint.randstruct import clang_order, gcc_order, generators
from layoutlint.randstruct.gcc_order import Behaviour
from layoutlint.randstruct.generators import Draw
from layoutlint.randstruct.seed import Seed

CLANG = (Behaviour(), Behaviour(opens_structs=False))
"""Clang 22 shuffles structs of function pointers that hold others, clang 16 to 19 do not."""
_NEVER_RANDOMISED = ("INTNETTRUNKFACTORY", "RAWPCIFACTORY")
"""Structs of VirtualBox that GCC's plugin does not randomise."""


class Scheme(Record, frozen=True):
    """How one build randomises."""

    mode: str
    """One of kernel_tree.MODES."""
    seed: Seed
    behaviour: Behaviour = gcc_order.NEWEST
    """The behaviour of GCC's plugin."""

    @property
    def is_gcc(self) -> bool:
        """Whether GCC's plugin randomises, and not clang."""
        return self.mode.startswith("gcc")

    def is_reordered(
        self, tag: str | None, count: int, is_marked: bool, is_kept: bool, is_pure: Callable[[], bool]
    ) -> bool:
        """Return whether a struct of `count` members is reordered.

        `is_kept` says that it is marked as not randomised, `is_pure` whether it contains only pointers to
        functions.
        """
        if not self.is_gcc:
            return is_marked or (not is_kept and is_pure())
        if is_kept or count < 2 or tag in _NEVER_RANDOMISED:
            return False
        return is_marked or is_pure()

    def order(self, fields: Sequence[Field], tag: str | None) -> list[int]:
        """Return the declared positions of the members in their new order."""
        stream = generators.gcc_stream if self.is_gcc else generators.clang_stream
        return self.order_by_draws(fields, stream(self.seed, tag))

    def order_by_draws(self, fields: Sequence[Field], draw: Draw) -> list[int]:
        """Return the order for given random numbers, of `draw_bits` bits each."""
        if self.is_gcc:
            return gcc_order.order(fields, draw, self.mode == "gcc-performance", self.behaviour)
        shuffle = generators.libcxx_shuffle if self.mode == "clang-libc++" else generators.libstdcxx_shuffle
        return clang_order.order(fields, draw, shuffle)

    @property
    def draw_bits(self) -> int:
        """Number of bits of each random number."""
        return 64 if self.is_gcc else 32
