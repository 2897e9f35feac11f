"""The random numbers of compilers: the same for the same seed and the same name of a struct."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence
from random import Random
from typing import Any

from layoutlint.randstruct.seed import Seed

_U64 = (1 << 64) - 1
_U32 = (1 << 32) - 1
UNNAMED = "anonymous"
"""The name that GCC's plugin uses for a struct without a tag."""
Draw = Callable[[], int]
"""Returns the next number of a stream."""
Shuffle = Callable[[MutableSequence[Any], Draw], None]
"""Shuffles a list in place with numbers of 32 bits."""


def name_hash(name: str) -> int:
    """Return the 32-bit hash of a struct's tag that GCC's plugin computes."""
    value = 0
    for byte in name.encode():
        value = (value + (byte << 4) + (byte >> 4)) * 11 & _U64
    return value & _U32


def gcc_stream(seed: Seed, tag: str | None) -> Draw:
    """Return the 64-bit numbers that GCC's plugin draws for one struct: Bob Jenkins' small generator."""
    key = name_hash(tag or UNNAMED)
    a, b, c, d = (word ^ key for word in seed.words)

    def draw() -> int:
        nonlocal a, b, c, d
        e = a - _rotate(b, 7) & _U64
        a = b ^ _rotate(c, 13)
        b = c + _rotate(d, 37) & _U64
        c = d + e & _U64
        d = e + a & _U64
        return d

    for _ in range(30):
        draw()
    return draw


def _rotate(word: int, by: int) -> int:
    return (word << by | word >> (64 - by)) & _U64


def clang_stream(seed: Seed, tag: str | None) -> Draw:
    """Return the 32-bit numbers that clang draws for one struct: mt19937, seeded with seed and tag."""
    characters = [byte - 256 if byte > 127 else byte for byte in (seed.text + (tag or "")).encode()]
    state = _seed_sequence([value & _U32 for value in characters])
    generator = Random()
    generator.setstate((3, (*state, len(state)), None))
    return lambda: generator.getrandbits(32)


def _seed_sequence(values: list[int], n: int = 624) -> list[int]:
    """Return the state of mt19937 by std::seed_seq::generate (C++17, 26.6.7.1)."""
    size, t = len(values), 11
    p, q = (n - t) // 2, (n - t) // 2 + t
    m = max(size + 1, n)
    state = [0x8B8B8B8B] * n
    for k in range(m):
        at, first, second = k % n, (k + p) % n, (k + q) % n
        first_value = 1664525 * _mix(state[at] ^ state[first] ^ state[(k - 1) % n]) & _U32
        second_value = first_value + (size if k == 0 else at + values[k - 1] if k <= size else at) & _U32
        state[first] = state[first] + first_value & _U32
        state[second] = state[second] + second_value & _U32
        state[at] = second_value
    for k in range(m, m + n):
        at, first, second = k % n, (k + p) % n, (k + q) % n
        third_value = 1566083941 * _mix(state[at] + state[first] + state[(k - 1) % n] & _U32) & _U32
        fourth_value = third_value - at & _U32
        state[first] ^= third_value
        state[second] ^= fourth_value
        state[at] = fourth_value
    return state


def _mix(word: int) -> int:
    return word ^ word >> 27


def libstdcxx_shuffle(items: MutableSequence[Any], draw: Draw) -> None:
    """Shuffle as std::shuffle of GNU's C++ library, which draws one number for two swaps."""
    count = len(items)
    if count < 2:
        return
    at = 1
    if count % 2 == 0:
        _swap(items, 1, _draw_libstdcxx(2, draw))
        at = 2
    while at < count:
        both = _draw_libstdcxx((at + 1) * (at + 2), draw)
        _swap(items, at, both // (at + 2))
        _swap(items, at + 1, both % (at + 2))
        at += 2


def _draw_libstdcxx(limit: int, draw: Draw) -> int:
    """Draw a number below a limit as std::uniform_int_distribution of GNU's C++ library does since GCC 11: by
    Lemire's multiplication.
    """
    product = draw() * limit
    if product & _U32 < limit:
        threshold = ((1 << 32) - limit) % limit
        while product & _U32 < threshold:
            product = draw() * limit
    return product >> 32


def libcxx_shuffle(items: MutableSequence[Any], draw: Draw) -> None:
    """Shuffle as std::shuffle of LLVM's C++ library."""
    for first in range(len(items) - 1):
        _swap(items, first, first + _draw_libcxx(len(items) - first, draw))


def _draw_libcxx(limit: int, draw: Draw) -> int:
    """Draw a number below a limit as std::uniform_int_distribution of LLVM's C++ library: with the fewest
    bits, repeated if too large.
    """
    if limit == 1:
        return 0
    mask = (1 << (limit - 1).bit_length()) - 1
    while (value := draw() & mask) >= limit:
        pass
    return value


def _swap(items: MutableSequence[Any], one: int, other: int) -> None:
    items[one], items[other] = items[other], items[one]
