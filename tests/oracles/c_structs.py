"""Random C structs for hypothesis, as text and as the list of their fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.vendor.pretty import RepresentationPrinter

PRELUDE = """\
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef u32 wide_u32 __attribute__((aligned(16)));
typedef u64 tight_u64 __attribute__((aligned(2)));
typedef int (*handler_t)(void *, int);
enum colour { RED, GREEN, BLUE };
enum __attribute__((packed)) tiny { ONE, TWO };
enum huge { HUGE = 1LL << 40 };
struct empty { };
struct opaque;
"""
SCALARS = (
    "char", "signed char", "u8", "short", "unsigned short", "int", "u32", "long", "unsigned long", "long long", "u64",
    "_Bool", "float", "double", "long double", "__int128", "unsigned __int128", "enum colour", "enum tiny", "enum huge",
    "void *", "const char *", "struct opaque *", "handler_t", "volatile int", "const u64", "_Atomic int", "_Complex float",
)  # fmt: skip
UNEVEN = ("wide_u32", "tight_u64", "struct empty")
"""Types whose size is no multiple of their alignment, or nothing: no elements of an array."""
BIT_TYPES = {
    "_Bool": 1, "char": 8, "signed char": 8, "u8": 8, "short": 16, "unsigned short": 16, "int": 32, "u32": 32,
    "long": 64, "unsigned long": 64, "u64": 64, "enum colour": 32, "volatile u32": 32, "__int128": 128,
}  # fmt: skip
INT128 = frozenset({"__int128", "unsigned __int128"})


@dataclass(frozen=True, slots=True)
class Words:
    """What C offers to a program: its types, and the widths of those of bit-fields."""

    scalars: tuple[str, ...]
    bits: tuple[tuple[str, int], ...]

    @classmethod
    def for_target(cls, pointer_size: int, without: frozenset[str]) -> Words:
        """Those of a target whose `long` is as wide as a pointer."""
        if pointer_size == 4:
            without |= INT128
        scalars = tuple(name for name in SCALARS + UNEVEN if name not in without)
        widths = {name: pointer_size * 8 if "long" in name.split() else width for name, width in BIT_TYPES.items()}
        return cls(scalars, tuple((name, width) for name, width in widths.items() if name not in without))


@dataclass(frozen=True, slots=True)
class Member:
    """One member as it is written; `name` is None for anonymous ones and unnamed bit-fields."""

    name: str | None
    type: str
    declarator: str = "{}"
    dims: tuple[int | None, ...] = ()
    width: int | None = None
    attributes: str = ""
    body: tuple[Member, ...] = ()
    """Members of its type, when it is a struct or union."""
    is_inline: bool = False
    """Whether that type is defined in place; `type` is then `struct` or `union`."""
    type_attributes: str = ""

    def declare(self, indent: str) -> str:
        """The member's line of C."""
        if self.is_inline:
            inner = "".join(member.declare(indent + "\t") for member in self.body)
            spelled = f"{self.type} {{\n{inner}{indent}}} {self.type_attributes}"
        else:
            spelled = self.type
        array = "".join(f"[{'' if count is None else count}]" for count in self.dims)
        name = self.declarator.replace("{}", (self.name or "") + array)
        width = "" if self.width is None else f" : {self.width}"
        return f"{indent}{spelled} {name}{width}{self.attributes};\n"


@dataclass(frozen=True, slots=True, repr=False)
class CStruct:
    """One named struct or union."""

    name: str
    aggregate: str
    members: tuple[Member, ...]
    attributes: str = ""
    pack: int | None = None
    """The argument of `#pragma pack`, if it stands in one."""

    @property
    def tag(self) -> str:
        """As C refers to it."""
        return f"{self.aggregate} {self.name}"

    def __repr__(self) -> str:
        return self.define()

    def _repr_pretty_(self, printer: RepresentationPrinter, cycle: bool) -> None:
        """How hypothesis prints a failing example."""
        printer.text("\n" + self.define())

    def define(self) -> str:
        """The definition, and a variable so that debug information mentions it."""
        inner = "".join(member.declare("\t") for member in self.members)
        text = f"{self.tag} {{\n{inner}}}{self.attributes};\n{self.tag} *use_{self.name};\n"
        if self.pack is not None:
            return f"#pragma pack(push, {self.pack})\n{text}#pragma pack(pop)\n"
        return text


def _all(members: tuple[Member, ...]) -> Iterator[Member]:
    for member in members:
        yield member
        yield from _all(member.body if member.is_inline else ())


def settle(structs: tuple[CStruct, ...]) -> frozenset[str]:
    """The structs on whose layout gcc and clang agree.

    They differ on `aligned` bit-fields under `#pragma pack`, and on those aligned to less than their type: in
    `struct { short a : 13; long b : 43 __attribute__((aligned(4))); char c; }`, c is at 14 for gcc and at 10 for clang.
    """
    apart: set[str] = set()
    for struct in structs:
        members = list(_all(struct.members))
        is_odd = any(_is_placed_differently(member, struct.pack is not None) for member in members)
        if is_odd or any(member.type in apart for member in members):
            apart.add(struct.tag)
    return frozenset(struct.name for struct in structs if struct.tag not in apart)


_SIZES = (("__int128", 16), ("long", 8), ("64", 8), ("huge", 8), ("short", 2), ("16", 2), ("char", 1), ("8", 1), ("_Bool", 1))
"""Sizes of the types of bit-fields, by a part of their names; the others have 4 bytes."""
_ALIGNED = re.compile(r"aligned\((\d+)\)")


def _is_placed_differently(member: Member, is_packed: bool) -> bool:
    aligned = _ALIGNED.search(member.attributes) if member.width is not None else None
    size = next((size for word, size in _SIZES if word in member.type), 4)
    return aligned is not None and (is_packed or int(aligned[1]) < size)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A named field at any depth: its dotted path, how C reaches it, and what can be asked of it."""

    path: str
    expression: str
    is_bitfield: bool
    has_size: bool
    has_storage: bool
    """Whether an object has it at all: not what lies in a flexible or empty array."""


def leaves(members: tuple[Member, ...], path: str = "", expression: str = "", stored: bool = True) -> Iterator[Leaf]:
    """Every named field, an outer one before its members; of arrays the first element."""
    for member in members:
        if member.name is None:
            yield from leaves(member.body, path, expression, stored)
            continue
        here, reached = path + member.name, expression + member.name
        yield Leaf(here, reached, member.width is not None, None not in member.dims, stored)
        kept = stored and not any(not count for count in member.dims)
        yield from leaves(member.body, here + ".", reached + "[0]" * len(member.dims) + ".", kept)


@dataclass(slots=True)
class _Names:
    """Fresh names for the fields of one program."""

    count: int = 0

    def fresh(self) -> str:
        self.count += 1
        return f"f{self.count}"


MEMBER_ATTRIBUTES = st.sampled_from(
    ("",) * 12 + tuple(f" __attribute__(({word}))" for word in ("packed", "aligned(2)", "aligned(8)", "aligned(64)", "packed, aligned(4)"))
)
TYPE_ATTRIBUTES = st.sampled_from(
    ("",) * 6 + tuple(f" __attribute__(({word}))" for word in ("packed", "aligned(4)", "aligned(16)", "aligned(64)", "packed, aligned(8)"))
)
DIMS = st.lists(st.sampled_from((1, 2, 3, 5, 0)), min_size=1, max_size=3).map(tuple)


@st.composite
def _scalar(draw: st.DrawFn, names: _Names, words: Words) -> Member:
    spelled = draw(st.sampled_from(words.scalars))
    if spelled in UNEVEN:
        return Member(names.fresh(), spelled, attributes=draw(MEMBER_ATTRIBUTES))
    dims = draw(st.one_of(st.just(()), st.just(()), DIMS))
    declarator = draw(st.sampled_from(("{}",) * 8 + ("(*{})(int)", "(*{})[3]", "(*{})(int [2][3], char (void), ...)")))
    return Member(names.fresh(), spelled, declarator, dims, None, draw(MEMBER_ATTRIBUTES))


@st.composite
def _bitfield(draw: st.DrawFn, names: _Names, words: Words) -> Member:
    spelled, widest = draw(st.sampled_from(words.bits))
    kind = draw(st.sampled_from(("named",) * 8 + ("unnamed", "zero")))
    if kind == "zero":
        return Member(None, spelled, width=0)
    width = draw(st.integers(1, widest))
    if kind == "unnamed":
        return Member(None, spelled, width=width)
    return Member(names.fresh(), spelled, width=width, attributes=draw(MEMBER_ATTRIBUTES))


@st.composite
def _nest(draw: st.DrawFn, names: _Names, words: Words, depth: int) -> Member:
    aggregate = draw(st.sampled_from(("struct", "union")))
    body = tuple(draw(st.lists(_member(names, words, depth - 1, ()), min_size=1, max_size=4)))
    attributes = draw(TYPE_ATTRIBUTES)
    if any(leaves(body)) and draw(st.booleans()):
        return Member(None, aggregate, body=body, is_inline=True, type_attributes=attributes)
    dims = draw(st.one_of(st.just(()), st.just(()), DIMS))
    return Member(names.fresh(), aggregate, "{}", dims, None, draw(MEMBER_ATTRIBUTES), body, True, attributes)


@st.composite
def _embed(draw: st.DrawFn, names: _Names, earlier: tuple[CStruct, ...]) -> Member:
    of = draw(st.sampled_from(earlier))
    dims = draw(st.one_of(st.just(()), DIMS))
    return Member(names.fresh(), of.tag, "{}", dims, None, draw(MEMBER_ATTRIBUTES), of.members)


def _member(
    names: _Names, words: Words, depth: int, earlier: tuple[CStruct, ...]
) -> st.SearchStrategy[Member]:
    choices = [_scalar(names, words), _bitfield(names, words), _bitfield(names, words)]
    if depth:
        choices.append(_nest(names, words, depth))
    if earlier:
        choices.append(_embed(names, earlier))
    return st.one_of(choices)


@st.composite
def _struct(draw: st.DrawFn, number: int, names: _Names, words: Words, earlier: tuple[CStruct, ...]) -> CStruct:
    aggregate = draw(st.sampled_from(("struct",) * 5 + ("union",)))
    members = draw(st.lists(_member(names, words, 2, earlier), min_size=1, max_size=8))
    if aggregate == "struct" and draw(st.integers(0, 5)) == 0:
        first = Member(names.fresh(), "int")
        members = [first, *members, Member(names.fresh(), draw(st.sampled_from(("char", "u64", "void *"))), dims=(None,))]
    pack = draw(st.sampled_from((None,) * 8 + (1, 2, 4)))
    return CStruct(f"s{number}", aggregate, tuple(members), draw(TYPE_ATTRIBUTES), pack)


@st.composite
def programs(
    draw: st.DrawFn, pointer_size: int = 8, without: frozenset[str] = frozenset()
) -> tuple[CStruct, ...]:
    """Up to a dozen structs, each of which may embed earlier ones without a flexible tail."""
    names, words = _Names(), Words.for_target(pointer_size, without)
    made: tuple[CStruct, ...] = ()
    for number in range(draw(st.integers(1, 12))):
        whole = tuple(s for s in made if not any(None in m.dims for m in s.members))
        made = (*made, draw(_struct(number, names, words, whole)))
    return made


def source(structs: tuple[CStruct, ...]) -> str:
    """The definitions as one C file."""
    return PRELUDE + "\n" + "\n".join(struct.define() for struct in structs)
