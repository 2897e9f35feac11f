"""Types that no compiler would write, as whole BTF and DWARF: every shape of graph, and those that grow without bounds.

Damage reaches what decodes types only now and then, because most of it breaks the file; here the file is whole.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tests.readers.dwarf.dwarf_file import elf, uleb

_NAMES: Final = ("", "ring", "wide", "entry_t", "pair", "head", "tail", "word", "slots", "next", "hot", "cold", "tag", "slot")
_KINDS: Final = ("struct", "struct", "struct", "union", "typedef", "typedef", "const", "volatile", "pointer", "array", "array", "base", "enum", "forward", "function")
_SIZES: Final = (0, 0, 1, 2, 4, 8, 16, 24, 64, 256, 4096, 1 << 20, 1 << 29, 1 << 31, (1 << 32) - 1)
_COUNTS: Final = (0, 1, 2, 3, 10, 1000, 1 << 16, 1 << 20, 1 << 31, (1 << 32) - 1)


@dataclass(slots=True)
class Member:
    name: str
    type: int
    bit_offset: int
    bits: int = 0


@dataclass(slots=True)
class Node:
    """One type; `type` and those of the members are numbers of nodes, or -1 for void."""

    kind: str
    name: str = ""
    type: int = -1
    size: int = 0
    count: int = 0
    members: list[Member] = field(default_factory=list)


Graph = list[Node]


def any_graph(rng: random.Random) -> Graph:
    """Types that refer to any other in any order."""
    count = rng.choice((2, 5, 10, 30, 60))

    def other(number: int) -> int:
        return rng.choice((rng.randrange(count), rng.randrange(count), max(number - 1, 0), number, -1, count - 1))

    graph = []
    for number in range(count):
        kind = rng.choice(_KINDS) if number else "struct"
        node = Node(kind, rng.choice(_NAMES) if number else "ring", other(number), rng.choice(_SIZES), rng.choice(_COUNTS))
        if kind in ("struct", "union", "function", "enum"):
            node.members = [Member(rng.choice(_NAMES), other(number), rng.choice((0, 0, 1, 8, 32, 64, 100, 1 << 20)), rng.choice((0, 0, 0, 1, 7, 33, 255)))
                            for _ in range(rng.choice((0, 1, 2, 3, 8)))]  # fmt: skip
        graph.append(node)
    return graph


def doubling_graph(rng: random.Random) -> Graph:
    """Each struct holds the one below twice or more: as many fields at all depths as there are atoms."""
    depth, width, atom = rng.choice((5, 12, 19, 20, 21, 30, 60, 98, 101)), rng.choice((2, 2, 3, 10)), rng.choice((0, 1, 4))
    named = rng.random() < 0.7
    size, graph = atom, [Node("base", "int", size=atom) if atom else Node("struct")]
    for level in range(depth):
        step, size = size, size * width
        members = [Member(f"m{n}" if named else "", level, n * step * 8 & 0xFFFFFF) for n in range(width)]
        graph.append(Node(rng.choice(("struct", "struct", "union")), f"s{level}" if named else "", size=size & 0xFFFFFFFF, members=members))
    graph[-1].name = "ring"
    return graph


def circular_graph(rng: random.Random) -> Graph:
    """A chain of one kind or several that ends where it began, or in itself."""
    length = rng.choice((1, 1, 2, 3, 10, 99, 100, 101, 1000))
    kinds = rng.choice((("typedef",), ("const", "volatile"), ("array",), ("pointer",), ("struct",), ("function",), _KINDS[3:]))
    graph = [Node("struct", "ring", size=8, members=[Member("head", 1, 0), Member("tail", rng.randrange(1, length + 1), 64)])]
    for number in range(1, length + 1):
        behind = number + 1 if number < length else rng.choice((1, number, 0, rng.randrange(length + 1)))
        graph.append(Node(rng.choice(kinds), rng.choice(("", "entry_t", "t")), behind, 8, 1, [Member("m", behind, 0)]))
    return graph


def deep(rng: random.Random) -> Graph:
    """A long chain that ends."""
    length = rng.choice((50, 99, 100, 101, 500, 1000, 3000))
    kinds = rng.choice((("typedef",), ("const", "volatile"), ("array",), ("pointer",), ("struct",), ("function",), ("typedef", "array", "const")))
    graph = [Node("struct", "ring", size=8, members=[Member("head", 1, 0)])]
    graph += [Node(rng.choice(kinds), rng.choice(("", "t")), number + 1, 8, rng.choice((0, 1, 2)), [Member("m", number + 1, 0)]) for number in range(1, length)]
    return [*graph, Node("base", "int", size=8)]


def wide(rng: random.Random) -> Graph:
    """Many members, or many structs, with names that are long: a name takes its bytes once, and is referred to often."""
    many, long = rng.choice((10, 300, 3000, 8000)), rng.choice((1, 100, 5000, 60_000))
    name = "head" if rng.random() < 0.3 else "n" * long
    atom = Node("base", rng.choice(("int", name)), size=1)
    if rng.random() < 0.5:
        members = [Member(name, 0, number * 8) for number in range(many)]
        return [atom, Node("struct", "ring", size=many, members=members), Node("array", "", 1, count=rng.choice(_COUNTS)),
                Node("struct", "wide", size=1 << 31, members=[Member("hot", 2, 0)])]  # fmt: skip
    structs = [Node("struct", name if rng.random() < 0.5 else "ring", size=number & 0xFF | 1, members=[Member(name, 0, 0)]) for number in range(many)]
    return [atom, *structs]


def array_graph(rng: random.Random) -> Graph:
    """Arrays of arrays, whose lengths multiply beyond every number."""
    depth = rng.choice((1, 2, 5, 30, 99, 101))
    graph = [Node("base", "int", size=rng.choice((0, 1, 4, 8)))]
    graph += [Node("array", "", number, count=rng.choice(_COUNTS)) for number in range(depth)]
    return [*graph, Node("struct", "ring", size=rng.choice(_SIZES), members=[Member("head", 0, 0), Member("tail", depth, 64)])]


SHAPES: Final[tuple[tuple[Callable[[random.Random], Graph], int], ...]] = (
    (any_graph, 60), (doubling_graph, 10), (circular_graph, 12), (deep, 6), (wide, 2), (array_graph, 10),
)  # fmt: skip


class _Strings:
    def __init__(self) -> None:
        self.bytes = bytearray(b"\0")
        self._at = {"": 0}

    def add(self, name: str) -> int:
        if name not in self._at:
            self._at[name] = len(self.bytes)
            self.bytes += name.encode() + b"\0"
        return self._at[name]


_BTF_KINDS: Final = {"struct": 4, "union": 5, "typedef": 8, "const": 10, "volatile": 9, "pointer": 2, "array": 3, "base": 1, "enum": 6, "forward": 7, "function": 13}  # fmt: skip


def as_btf(graph: Graph) -> bytes:
    """The graph as a raw blob, little-endian; members that are bit-fields make it one with kind_flag."""
    strings, out = _Strings(), bytearray()
    for node in graph:
        kind = _BTF_KINDS[node.kind]
        refers = kind in (2, 8, 9, 10, 13)
        words: list[int] = []
        flag = kind in (4, 5) and any(member.bits for member in node.members)
        for member in node.members if kind in (4, 5, 6, 13) else ():
            name = strings.add(member.name)
            place = (member.bit_offset & 0xFFFFFF | member.bits << 24) if flag else member.bit_offset
            words += {6: (name, member.bit_offset), 13: (name, member.type + 1)}.get(kind, (name, member.type + 1, place))
        if kind == 3:
            words = [node.type + 1, 0, node.count]
        elif kind == 1:
            words = [min(node.size, 16) * 8]
        count = len(node.members) if kind in (4, 5, 6, 13) else 0
        value = node.type + 1 if refers else 0 if kind in (3, 7) else node.size
        name = 0 if kind in (2, 3, 9, 10, 13) else strings.add(node.name)
        out += struct.pack(f"<{3 + len(words)}I", name, flag << 31 | kind << 24 | count & 0xFFFF, value, *(word & 0xFFFFFFFF for word in words))
    header = struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(out), len(out), len(strings.bytes))
    return header + bytes(out) + bytes(strings.bytes)


_DWARF_TAGS: Final = {"struct": 0x13, "union": 0x17, "typedef": 0x16, "const": 0x26, "volatile": 0x35, "pointer": 0x0F, "array": 0x01, "base": 0x24, "enum": 0x04, "forward": 0x13, "function": 0x15}  # fmt: skip
_NAME, _SIZE, _TYPE, _OFFSET, _COUNT, _BITS, _BIT_OFFSET, _ENCODING, _DECLARATION, _LANGUAGE, _VALUE = 0x03, 0x0B, 0x49, 0x38, 0x37, 0x0D, 0x6B, 0x3E, 0x3C, 0x13, 0x1C
_STRP, _DATA4, _REF4, _UDATA, _DATA1, _PRESENT = 0x0E, 0x06, 0x13, 0x0F, 0x0B, 0x19


class _Unit:
    """Entries with references to nodes that are filled in when all stand."""

    def __init__(self) -> None:
        self.strings = _Strings()
        self.abbreviations: dict[tuple[object, ...], int] = {}
        self.body = bytearray()
        self.references: list[tuple[int, int]] = []

    def entry(self, tag: int, has_children: bool, *attributes: tuple[int, int, int | str]) -> None:
        """Attributes are number, form and value; a reference's value is the number of a node."""
        shape = (tag, has_children, *((number, form) for number, form, _ in attributes))
        code = self.abbreviations.setdefault(shape, len(self.abbreviations) + 1)
        self.body += uleb(code)
        for _, form, value in attributes:
            if isinstance(value, str):
                self.body += struct.pack("<I", self.strings.add(value))
            elif form == _REF4:
                self.references.append((len(self.body), value))
                self.body += bytes(4)
            elif form == _UDATA:
                self.body += uleb(value)
            elif form == _DATA4:
                self.body += struct.pack("<I", value & 0xFFFFFFFF)
            elif form == _DATA1:
                self.body.append(value & 0xFF)

    def table(self) -> bytes:
        out = bytearray()
        for (tag, has_children, *pairs), code in self.abbreviations.items():
            out += uleb(code) + uleb(tag) + bytes((bool(has_children),))  # type: ignore[arg-type]
            out += b"".join(uleb(number) + uleb(form) for number, form in pairs) + b"\0\0"  # type: ignore[misc]
        return bytes(out) + b"\0"


def as_dwarf(graph: Graph) -> bytes:
    """The graph as an ELF file with one unit of DWARF 4."""
    unit, header = _Unit(), 11
    unit.entry(0x11, True, (_LANGUAGE, _DATA1, 0x0C))
    starts = []
    for node in graph:
        starts.append(header + len(unit.body))
        _write(unit, node)
    unit.body.append(0)
    for at, number in unit.references:
        target = starts[number] if 0 <= number < len(starts) else 0
        unit.body[at : at + 4] = struct.pack("<I", target)
    content = struct.pack("<IHIB", len(unit.body) + header - 4, 4, 0, 8) + bytes(unit.body)
    return elf({".debug_info": content, ".debug_abbrev": unit.table(), ".debug_str": bytes(unit.strings.bytes)})


def _write(unit: _Unit, node: Node) -> None:
    tag = _DWARF_TAGS[node.kind]
    attributes: list[tuple[int, int, int | str]] = []
    if node.name and node.kind not in ("const", "volatile", "pointer", "array", "function"):
        attributes.append((_NAME, _STRP, node.name))
    if node.kind == "forward":
        attributes.append((_DECLARATION, _PRESENT, 0))
    elif node.kind in ("struct", "union", "enum", "base", "pointer"):
        attributes.append((_SIZE, _DATA4, 8 if node.kind == "pointer" else node.size))
    if node.kind == "base":
        attributes.append((_ENCODING, _DATA1, 5))
    elif node.kind not in ("struct", "union", "enum", "forward") and node.type >= 0:
        attributes.append((_TYPE, _REF4, node.type))
    has_children = node.kind == "array" or (bool(node.members) and node.kind in ("struct", "union", "enum", "function"))
    unit.entry(tag, has_children, *attributes)
    if node.kind == "array":
        unit.entry(0x21, False, *([(_COUNT, _DATA4, node.count)] if node.count else []))
    elif has_children:
        for member in node.members:
            _write_member(unit, node, member)
    if has_children:
        unit.body.append(0)


def _write_member(unit: _Unit, node: Node, member: Member) -> None:
    name: list[tuple[int, int, int | str]] = [(_NAME, _STRP, member.name)] if member.name else []
    of: list[tuple[int, int, int | str]] = [(_TYPE, _REF4, member.type)] if member.type >= 0 else []
    if node.kind == "enum":
        unit.entry(0x28, False, *name, (_VALUE, _UDATA, member.bit_offset))
    elif node.kind == "function":
        unit.entry(0x05, False, *of)
    elif member.bits:
        unit.entry(0x0D, False, *name, *of, (_BITS, _UDATA, member.bits), (_BIT_OFFSET, _UDATA, member.bit_offset))
    elif node.kind == "union" and member.bit_offset == 0:
        unit.entry(0x0D, False, *name, *of)
    else:
        unit.entry(0x0D, False, *name, *of, (_OFFSET, _UDATA, member.bit_offset // 8))


def make_graph(rng: random.Random, what: str) -> tuple[str, bytes]:
    """A graph as BTF or DWARF, and what its shape is."""
    shapes, weights = zip(*SHAPES, strict=True)
    shape = rng.choices(shapes, weights)[0]
    return f"graph, {shape.__name__}", (as_btf if what == "btf" else as_dwarf)(shape(rng))
