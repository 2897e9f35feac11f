"""The ways of randomising: which structs a compiler takes, and in which order it puts their members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from layoutlint.model import Field
from layoutlint.randstruct import clang, draws, gcc
from layoutlint.randstruct.draws import Draw
from layoutlint.randstruct.gcc import Behaviour
from layoutlint.randstruct.seed import Seed

MODES = ("gcc-full", "gcc-performance", "clang", "clang-libc++")
"""Clang's order depends on the C++ library that it was built with: libstdc++, or libc++."""
Version = tuple[int, ...]
"""Of Linux: two numbers, or three."""
_EXCEPT = ("INTNETTRUNKFACTORY", "RAWPCIFACTORY")
"""Structs of VirtualBox that GCC's plugin leaves alone."""
_OLDEST = Behaviour(False, False, False)
_OLD = Behaviour(False, False)
_FIXED = Behaviour(True, False)
_NEW = Behaviour()
BEHAVIOURS = (_OLDEST, _OLD, _FIXED, _NEW)
"""All that GCC's plugin has had; from the third on in stable releases too."""
_FIXED_IN: dict[Version, int] = {
    (4, 14): 331, (4, 19): 300, (5, 4): 262, (5, 10): 202, (5, 15): 140, (6, 1): 64, (6, 5): 13, (6, 6): 3,
}  # fmt: skip
"""The stable releases that brought "randstruct: Fix gcc-plugin performance mode to stay in group"."""
_TRUE_FLEXIBLE_IN: dict[Version, int] = {(6, 5): 13, (6, 6): 3}
"""Likewise "gcc-plugins: randstruct: Only warn about true flexible arrays"."""


def behaviour(version: Version) -> Behaviour:
    """What the plugin of a version does; two numbers mean the last release of their series."""
    return Behaviour(
        _has(version, _FIXED_IN), _has(version, _TRUE_FLEXIBLE_IN), opens_structs=version >= (5, 16)
    )


def first_behaviour(version: Version) -> Behaviour:
    """What the plugin of the first release of a version's series did."""
    return behaviour((*version[:2], 0))


def _has(version: Version, brought: dict[Version, int]) -> bool:
    """Whether a change that came with 6.7 is in a release."""
    since = brought.get(version[:2])
    if since is None or version >= (6, 7):
        return version >= (6, 7)
    return len(version) < 3 or version[2] >= since


@dataclass(frozen=True, slots=True)
class Scheme:
    """How one build randomises."""

    mode: str
    """One of MODES."""
    seed: Seed
    behaviour: Behaviour = _NEW
    """Of GCC's plugin."""

    @property
    def is_gcc(self) -> bool:
        """Whether it is GCC's plugin, and not clang."""
        return self.mode.startswith("gcc")

    def takes(self, fields: Sequence[Field], tag: str | None, is_marked: bool, is_kept: bool) -> bool:
        """Whether a struct is put into another order; `is_kept` says that it is marked to stay as it is."""
        if not self.is_gcc:
            return is_marked or (not is_kept and self._is_all_calls(fields))
        if is_kept or len(fields) < 2 or tag in _EXCEPT:
            return False
        return is_marked or self._is_all_calls(fields)

    def _is_all_calls(self, fields: Sequence[Field]) -> bool:
        """Whether members are pointers to functions only; for GCC arrays and structs of such ones count."""
        return bool(fields) and all(self._is_call(field) for field in fields)

    def _is_call(self, field: Field) -> bool:
        if not self.is_gcc:
            return field.is_function_pointer and not field.dims
        if field.aggregate is None:
            return field.is_function_pointer
        return self.behaviour.opens_structs and all(map(self._is_call, field.members))

    def order(self, fields: Sequence[Field], tag: str | None) -> list[int]:
        """The declared positions of the members in the order that they get."""
        stream = draws.gcc_stream if self.is_gcc else draws.clang_stream
        return self.drawn(fields, stream(self.seed, tag))

    def drawn(self, fields: Sequence[Field], draw: Draw) -> list[int]:
        """The same, by numbers that something else draws: of `draw_bits` bits."""
        if self.is_gcc:
            return gcc.order(fields, draw, self.mode == "gcc-performance", self.behaviour)
        shuffle = draws.libcxx_shuffle if self.mode == "clang-libc++" else draws.libstdcxx_shuffle
        return clang.order(fields, draw, shuffle)

    @property
    def draw_bits(self) -> int:
        """How large the numbers are that are drawn."""
        return 64 if self.is_gcc else 32
