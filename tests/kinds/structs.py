"""Structs that several kinds are tried on, each with one oddity."""

from __future__ import annotations

from layoutlint.model.ctype import CType
from layoutlint.model.record import replace
from layoutlint.model.structs import Field
from tests.harness.build import bits, flexible, member, struct


def empty(name: str, offset: int) -> Field:
    """A field of an empty struct type, as a lock is in some configurations."""
    return Field(name, CType("struct nothing"), offset * 8, 0, aggregate="struct", align=1)


def marker(name: str, offset: int) -> Field:
    """`__u8 name[0]`, as a cache-line group begins."""
    return Field(name, CType("unsigned char", "[0]"), offset * 8, 0, dims=(0,), align=1)


def unsized_field(name: str, offset: int) -> Field:
    """A field of which the input tells no size."""
    return Field(name, CType("struct hidden"), offset * 8, None)


def array(name: str, offset: int, count: int, element: int, *members: Field) -> Field:
    """An array of `count` elements of `element` bytes."""
    return member(name, offset, count * element, *members, dims=(count,), align=element)


WORDS = struct("words", 32, *(member(name, 8 * at, 8, align=8) for at, name in enumerate("abcd")))
LINES = struct("lines", 128, member("a", 0, 8), member("b", 8, 8), member("c", 64, 8), align=64)
BITS = struct("flags", 8, bits("ready", 0, 1), bits("mode", 1, 6), bits("count", 7, 10), member("id", 4, 4))
TAIL = struct("message", 16, member("length", 0, 8), member("kind", 8, 4), flexible("body", 16))
UNION = struct(
    "either", 24, member("tag", 0, 8),
    member(None, 8, 8, member("number", 0, 8), member("text", 0, 4), aggregate="union"), member("last", 16, 8),
)  # fmt: skip
LOCK = member("lock", 8, 40, member("count", 0, 8), member("owner", 8, 8), member("waiters", 16, 24))
NESTED = struct("guarded", 56, member("a", 0, 8), LOCK, member("z", 48, 8))
EMPTY = struct("quiet", 16, member("a", 0, 8), empty("lock", 8), member("b", 8, 8))
RING = struct("ring", 136, member("size", 0, 8), array("slot", 8, 4, 32, member("head", 0, 8), member("tail", 8, 8)))
HIDDEN = struct("secret", 16, member("a", 0, 8), unsized_field("b", 8))
GROUPED = struct(
    "grouped", 128, member("a", 0, 64), marker("begin", 64), member("b", 64, 8), member("c", 72, 56), align=64
)  # fmt: skip
OPEN_UNION = replace(struct("open", 8, flexible("x", 4), member("y", 6, 2)), aggregate="union")
