"""Whether two readers say the same of one struct, apart from what either cannot know (readers/losses.py)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from layoutlint.model.ctype import CType
from layoutlint.model.structs import Field, Struct
from layoutlint.readers.losses import LOSSES

_VECTOR = re.compile(r"__attribute__\(\(__vector_size__\((\d+) \* sizeof\((.*)\)\)\)\) ")
_DIMENSIONS = re.compile(r"(?:\[\d*\])+")


_Side = tuple[str, Callable[[Field], object]]


@dataclass(frozen=True, slots=True)
class _Eyes:
    """What is left to compare when what either reader loses is taken away."""

    lost: frozenset[str]

    def text(self, member: Field) -> str:
        return self.spell(member.type)

    def stands_for(self, member: Field) -> tuple[str, ...]:
        """What its typedef stands for; without what one reader loses, typedefs of typedefs of it can be alike."""
        return tuple(map(self.spell, member.underlying_types))

    def spell(self, of: CType) -> str:
        spelled = str(of)
        if "vector" in self.lost:
            vector = _VECTOR.match(spelled)
            spelled = _VECTOR.sub("", spelled) + (f"[{vector[1]}]" if vector else "")
        if "atomic" in self.lost:
            spelled = spelled.replace("_Atomic ", "")
        if "zero-length" in self.lost:
            spelled = spelled.replace("[0]", "[]")
        if "dimensions" in self.lost:
            spelled = _DIMENSIONS.sub(_product, spelled)
        return spelled

    def dims(self, member: Field) -> tuple[int | None, ...]:
        dims = member.dims
        vector = _VECTOR.match(str(member.type))
        if "vector" in self.lost and vector:
            dims = (*dims, int(vector[1]))
        if "zero-length" in self.lost:
            dims = tuple(count or None for count in dims)
        if "dimensions" in self.lost and dims:
            dims = (math.prod(count or 0 for count in dims) or None,)
        return dims

    def is_gone(self, *members: Field) -> bool:
        """Whether one of them is what pahole leaves of an `_Atomic` type."""
        return "atomic" in self.lost and any(str(member.type) == "void" for member in members)

    def bit_size(self, member: Field, other: Field) -> int | None:
        """Bits; not known on both sides where one reader cannot tell an array from a vector, which may be larger."""
        is_hidden = "vector" in self.lost and other.bit_size is None and member.dims
        return None if is_hidden else member.bit_size

    def is_bitfield(self, member: Field) -> bool:
        whole = member.bit_size in (8, 16, 32, 64) and member.bit_offset % member.bit_size == 0
        return member.is_bitfield and not ("whole-bit-field" in self.lost and whole)


def differences(a: Struct, b: Struct, reader_a: str, reader_b: str) -> list[str]:
    """Everything in which two readings of one struct differ, a line each; empty when they agree."""
    eyes = _Eyes(frozenset(loss.key for loss in LOSSES if loss.reader in (reader_a, reader_b)))
    found = [
        f"{a.name}: {what} {getattr(a, what)} in {reader_a}, {getattr(b, what)} in {reader_b}"
        for what in ("name", "aggregate", "bit_size")
        if getattr(a, what) != getattr(b, what)
    ]
    if a.align is not None and b.align is not None and a.align != b.align:
        found.append(f"{a.name}: align {a.align} in {reader_a}, {b.align} in {reader_b}")
    return found + [f"{line} ({reader_a}, {reader_b})" for line in _members(a.name, a.fields, b.fields, eyes)]


def agreements(a: Struct, several: list[Struct], reader_a: str, reader_b: str) -> list[str]:
    """The differences of `a` from the definition of its name that is nearest to it; empty when one agrees."""
    return min((differences(a, b, reader_a, reader_b) for b in several), key=len)


def _members(path: str, ours: tuple[Field, ...], theirs: tuple[Field, ...], eyes: _Eyes) -> Iterator[str]:
    for a, b in zip_longest(ours, theirs):
        if a is None or b is None:
            extra = a or b
            yield f"{path}: only one has {extra.name} at bit {extra.bit_offset}"
        elif a is not b:
            yield from _member(f"{path}.{a.name or '(anonymous)'}", a, b, eyes)


def _member(path: str, a: Field, b: Field, eyes: _Eyes) -> Iterator[str]:
    place: tuple[_Side, ...] = (
        ("name", lambda field: field.name),
        ("bit_offset", lambda field: field.bit_offset),
    )
    rest: tuple[_Side, ...] = (
        ("type", eyes.text),
        ("stands_for", eyes.stands_for),
        ("bit_size", lambda field: eyes.bit_size(field, b if field is a else a)),
        ("is_bitfield", eyes.is_bitfield),
        ("aggregate", lambda field: field.aggregate),
        ("dims", eyes.dims),
    )
    for what, of in place if eyes.is_gone(a, b) else (*place, *rest):
        if of(a) != of(b):
            yield f"{path}: {what} {of(a)!r} and {of(b)!r}"
    yield from _members(path, a.members, b.members, eyes)


def _product(match: re.Match[str]) -> str:
    counts = re.findall(r"\[(\d*)\]", match[0])
    return f"[{math.prod(int(count or 0) for count in counts) or ''}]"
