"""Randomised structs by brute force: every order one by one, every member laid out, every byte looked at.

It knows nothing of layoutlint.randstruct.randomisation: the orders are made as the sources of the compilers' plugins say it, step by
step with every number that could be drawn, and the layouts by the C rules, a bit at a time where it must be.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations, product

from layoutlint.model.reading import Reading
from layoutlint.model.structs import CType, Field, Struct
from tests.harness.build import X86_64


@dataclass(frozen=True)
class Member:
    """A member: bytes, its alignment, bits where it is a bit-field, dimensions, and what it holds."""

    name: str
    size: int
    align: int
    bits: int = 0
    dims: tuple[int | None, ...] = ()
    inner: Type | None = None

    @property
    def width(self) -> int:
        return self.bits or self.size * 8


@dataclass(frozen=True)
class Type:
    name: str
    members: tuple[Member, ...]
    marked: bool


Order = tuple[int, ...]
Orders = list[tuple[Order, Fraction]]
"""Orders with their chances."""


@dataclass(frozen=True)
class Placed:
    """One layout: where members start, in bits, by their names, and the size in bytes."""

    order: Order
    starts: dict[str, int]
    size: int
    inner: dict[str, Placed]


def place(members: list[Member], narrow: bool) -> tuple[list[int], int, int]:
    """Where members stand in this order, in bits; the size in bytes and the alignment."""
    end, largest, starts = 0, 1, []
    for member in members:
        unit, align = member.size, member.align
        if member.bits and narrow:
            unit = align = next(size for size in (1, 2, 4, 8) if size * 8 >= member.bits)
        if member.bits:
            while end // (unit * 8) != (end + member.bits - 1) // (unit * 8):
                end += 1
        else:
            while end % (align * 8):
                end += 1
        starts.append(end)
        end += member.width
        largest = max(largest, align)
    while end % (largest * 8):
        end += 1
    return starts, end // 8, largest


def declare(type_: Type) -> Struct:
    fields, size, align = _declare(type_)
    return Struct(type_.name, "struct", size * 8, align, fields, X86_64, None, "random.c")


def _declare(type_: Type) -> tuple[tuple[Field, ...], int, int]:
    starts, size, align = place(list(type_.members), False)
    fields = tuple(
        Field(
            member.name, _spell(member), start, member.width, bool(member.bits), "struct" if member.inner else None,
            member.dims, _declare(member.inner)[0] if member.inner else (), member.align,
        )
        for member, start in zip(type_.members, starts, strict=True)
    )  # fmt: skip
    return fields, size, align


def _spell(member: Member) -> CType:
    if member.inner:
        return CType(f"struct {member.inner.name}")
    names = {1: "unsigned char", 2: "short unsigned int", 4: "unsigned int"}
    return CType(names.get(member.size, "long unsigned int") if member.bits else "char", "")


def reading(type_: Type) -> tuple[Reading, Struct, str]:
    """What a reader of DWARF gives of a type, and of all inside it; and the names of those that are marked."""
    types = list(_types(type_))
    structs = {one.name: declare(one) for one in types}
    names = ",".join(one.name for one in types if one.marked)
    return Reading("random.o", "dwarf", X86_64, tuple(structs.values())), structs[type_.name], names


def _types(type_: Type) -> Iterator[Type]:
    for member in type_.members:
        if member.inner:
            yield from _types(member.inner)
    yield type_


def layouts(type_: Type, mode: str) -> Iterator[tuple[Placed, Fraction]]:
    """Every layout of a type, with its chance; the same type inside twice has one order."""
    inner = list(dict.fromkeys(member.inner for member in type_.members if member.inner))
    for chosen in product(*(list(layouts(one, mode)) for one in inner)):
        held = {one: placed for one, (placed, _) in zip(inner, chosen, strict=True)}
        chance = Fraction(1)
        for _, part in chosen:
            chance *= part
        members = [replace(m, size=held[m.inner].size) if m.inner else m for m in type_.members]
        every = orders(type_.members, mode) if type_.marked else [(tuple(range(len(members))), Fraction(1))]
        for order, part in every:
            starts, size, _ = place([members[p] for p in order], type_.marked and mode != "clang")
            at = {members[p].name: start for p, start in zip(order, starts, strict=True)}
            yield Placed(order, at, size, {m.name: held[m.inner] for m in members if m.inner}), chance * part


def orders(members: tuple[Member, ...], mode: str) -> Orders:
    """Every order that a compiler can make, with its chance."""
    if mode == "clang":
        return _clang(members)
    count = len(members)
    if members[-1].dims and members[-1].dims[0] is None:
        count -= 1
    if mode == "gcc-full":
        steps = [(at, 0) for at in range(count - 1, 0, -1)]
        return _swap(members, steps, False)
    groups, start, total = [], 0, 0
    for at in range(count):
        total += _type_size(members[at])
        if total >= 64:
            groups.append((start, at + 1))
            start, total = at + 1, 0
    if start < count:
        groups.append((start, count))
    found: dict[Order, Fraction] = {}
    turns = list(permutations(groups))
    for turn in turns:
        steps = [(at, first if mode == "gcc-performance" else 0) for first, end in turn for at in range(end - 1, first, -1)]
        for order, chance in _swap(members, steps, True):
            found[order] = found.get(order, Fraction(0)) + chance / len(turns)
    return list(found.items())


def _type_size(member: Member) -> int:
    return next(s for s in (1, 2, 4, 8) if s * 8 >= member.bits) if member.bits else member.size


def _swap(members: tuple[Member, ...], steps: list[tuple[int, int]], keeps_bits: bool) -> Orders:
    """Every number that can be drawn at every step: `lowest + draw % (at - lowest + 1)`."""
    found = {tuple(range(len(members))): Fraction(1)}
    for at, lowest in steps:
        after: dict[Order, Fraction] = {}
        for order, chance in found.items():
            if keeps_bits and members[order[at]].bits:
                after[order] = after.get(order, Fraction(0)) + chance
                continue
            for other in range(lowest, at + 1):
                new = list(order)
                if not (keeps_bits and members[order[other]].bits):
                    new[at], new[other] = new[other], new[at]
                after[tuple(new)] = after.get(tuple(new), Fraction(0)) + chance / (at - lowest + 1)
        found = after
    return list(found.items())


def _clang(members: tuple[Member, ...]) -> Orders:
    """Buckets of 64 bits as Randstruct.cpp fills them; then buckets and what is in them, in any order."""
    tail: list[int] = []
    queue = list(range(len(members)))
    last = members[-1]
    if last.dims and (last.dims[0] is None or last.dims[0] <= 2):
        tail.append(queue.pop())
    buckets: list[tuple[list[int], bool]] = []
    current: list[int] | None = None
    run: list[int] | None = None
    held = skipped = 0
    while queue:
        if skipped >= len(queue):
            skipped = 0
            if current is not None:
                buckets.append((current, False))
                current = None
        at = queue[0]
        if members[at].bits:
            run = [*(run or []), at]
            queue.pop(0)
            continue
        if run:
            buckets.append((run, True))
            run = None
        if current is None:
            current, held = [], 0
        if members[at].size * 8 >= 64:
            buckets.append(([at], False))
            queue.pop(0)
        elif held + members[at].size * 8 <= 64:
            current.append(at)
            held += members[at].size * 8
            queue.pop(0)
            if held >= 64:
                skipped = 0
                buckets.append((current, False))
                current = None
        else:
            skipped += 1
            queue.append(queue.pop(0))
    buckets += [(one, kind) for one, kind in ((current, False), (run, True)) if one is not None]
    found: list[Order] = [
        (*(p for row in rows for p in row), *tail)
        for turn in permutations(buckets)
        for rows in product(*([tuple(row)] if is_run else list(permutations(row)) for row, is_run in turn))
    ]
    return [(order, Fraction(1, len(found))) for order in found]


@dataclass(frozen=True)
class Drawer:
    """Random types, the same for the same number."""

    random: random.Random

    def member(self, name: str, depth: int, has_bits: bool) -> Member:
        draw = self.random.random()
        if depth and draw < 0.15:
            return self.holding(name)
        if has_bits and draw < 0.35:
            size = self.random.choice((1, 2, 4))
            return Member(name, size, size, bits=self.random.randint(1, size * 8 - 1))
        if draw < 0.5:
            size, count = self.random.choice((1, 2, 4, 8)), self.random.randint(1, 6)
            return Member(name, size * count, size, dims=(count,))
        if draw < 0.55:
            return Member(name, self.random.choice((16, 40)), 8, dims=(2,))
        if draw < 0.6:
            return Member(name, 32, 32)
        size = self.random.choice((1, 2, 4, 8, 8))
        return Member(name, size, size)

    def holding(self, name: str) -> Member:
        inner = self.type(f"in_{name}", self.random.randint(2, 3), 0, False, self.random.random() < 0.7)
        _, size, align = place(list(inner.members), False)
        return Member(name, size, align, inner=inner)

    def type(self, name: str, count: int, depth: int, has_bits: bool, marked: bool = True) -> Type:
        members = [self.member(f"f{number}", depth, has_bits) for number in range(count)]
        if self.random.random() < 0.15:
            members[-1] = Member("tail", 0, 8, dims=(None,))
        return Type(name, tuple(members), marked)


def bytes_of(placed: Placed, type_: Type, path: str) -> set[int]:
    """The bytes that the field at a path touches; of a flexible array the first."""
    name, _, rest = path.partition(".")
    member = next(m for m in type_.members if m.name == name)
    start = placed.starts[name]
    if rest:
        assert member.inner
        return {start // 8 + byte for byte in bytes_of(placed.inner[name], member.inner, rest)}
    if member.dims and member.dims[0] is None:
        return {start // 8}
    width = placed.inner[name].size * 8 if member.inner else member.width
    return {bit // 8 for bit in range(start, start + width)}
