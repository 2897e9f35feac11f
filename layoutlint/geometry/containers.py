"""Who embeds whom by value: the containers of a struct, where it stands in each, how often, through what.

The index is one pass over the fields, and remembers which field holds which definition. The ways from a
container down to a struct are counted before they are written out: structs that hold one another twice double
them with each level.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import prod

from layoutlint.errors import LayoutlintError
from layoutlint.geometry.definitions import ANY, Definitions, Node, element_bits, fitting
from layoutlint.model.structs import Field, Struct, Unstated

MOST_WAYS = 1 << 18
"""Ways into one struct that are written out."""
_WORDS = re.compile(r"(?:(?:const|volatile|restrict|_Atomic) )*(struct |union )?(.*)", re.DOTALL)
_NO_TAG = "{...}"


class TooManyWays(LayoutlintError):
    """A struct that stands in more places of its containers than can be listed."""

    def __init__(self, name: str, ways: int, worst: str) -> None:
        super().__init__(name, ways, worst)
        self.name, self.ways, self.worst = name, ways, worst

    def __str__(self) -> str:
        number = f"{self.ways:,}" if self.ways < 10**18 else "more than 10^18"
        return (
            f"{self.name} stands in {number} places of its containers, most of them in {self.worst}: "
            f"more than the {MOST_WAYS:,} that are listed"
        )


@dataclass(frozen=True, slots=True)
class Array:
    """An array that lies on the way to an embedded struct; its dimensions count as one."""

    path: str
    """Dotted from the container."""
    count: int | None
    """Elements of all dimensions; None for a flexible array (`[]`), 0 for one without length (`[0]`)."""
    bit_stride: int | None
    """From one element to the next; None when the input does not tell."""


@dataclass(frozen=True, slots=True)
class Container:
    """One way in which a struct is embedded in another by value."""

    struct: Struct
    """The container."""
    path: str
    """Of the embedded struct, dotted from the container; of arrays the first element. Empty for an unnamed
    member (`-fms-extensions`)."""
    written: str
    """The path with the lengths of arrays: `rings[4].lock`."""
    bit_offset: int
    """Of the first one, from the start of the container."""
    arrays: tuple[Array, ...]
    """Those on the way, outermost first."""
    through: tuple[str, ...]
    """The structs and unions with a name that lie between, outermost first; none for a direct container."""

    @property
    def offset(self) -> int:
        """The first byte of the first one, from the start of the container."""
        return self.bit_offset // 8

    @property
    def count(self) -> int | None:
        """How many there are in one container; None where a flexible array is on the way."""
        counts = [array.count for array in self.arrays]
        return None if None in counts else prod(count for count in counts if count is not None)


@dataclass(frozen=True, slots=True)
class Embedded:
    """One definition of a struct, and everything that embeds it."""

    struct: Struct
    containers: tuple[Container, ...]


_Below = dict[Node, list[tuple[Field, Node]]]
"""Of all types that lead to one struct, the fields that do."""


class Index:
    """Containers of the structs of one target, built in time linear in their fields."""

    def __init__(self, structs: Iterable[Struct]) -> None:
        self._named: dict[str, list[Node]] = {}
        """By tag, or by the typedef that names what has none."""
        self._typedefs: dict[str, list[Node]] = {}
        self._definitions = Definitions()
        self._count = 0
        self._unscanned: list[tuple[Node, tuple[Field, ...], Struct]] = []
        self._held: dict[tuple[str, int], Node | None] = {}
        """What a field holds, by the spelling and the members of its type."""
        self._unsettled: dict[str, dict[Node, None]] = {}
        """Typedefs of fields that could stand for several structs alike, and so lead to none of them."""
        self._untyped: list[tuple[int, str]] = []
        """Of fields whose type the input lacks the bits up to what is behind, and what to call them."""
        for struct in structs:
            self._define(struct)
        while self._unscanned:
            self._scan(*self._unscanned.pop())

    @property
    def names(self) -> list[str]:
        """Every name that `definitions` knows, sorted."""
        return sorted({*self._named, *self._typedefs})

    def definitions(self, name: str) -> tuple[Struct, ...]:
        """What a tag, or a typedef that stands for a struct, means: every different definition."""
        return tuple(struct for struct, _ in _ordered(self._called(name)))

    def same(self, struct: Struct) -> Struct:
        """The one among the `definitions` that a struct of the input became."""
        node = self._definitions.equal(struct, self._named[struct.name])
        if node is None or node.struct is None:
            raise KeyError(struct.name)
        return node.struct

    def unsettled(self, name: str) -> set[str]:
        """Typedefs that could stand for the struct of a name, or for a container of it, or for another alike.

        No field of such a type is among the containers. A Struct that has it as an alias settles it.
        """
        every: set[Node] = set()
        for node in self._called(name):
            every |= {node, *_below(node, is_direct=False)}
        concerned = {id(nodes): not every.isdisjoint(nodes) for nodes in self._unsettled.values()}
        return {typedef for typedef, nodes in self._unsettled.items() if concerned[id(nodes)]}

    def untyped(self, struct: Struct) -> str | None:
        """A field whose type the input lacks, and which is large enough to hold a struct; None for none."""
        size = struct.bit_size or 0
        return next((name for room, name in self._untyped if room >= size), None)

    def containers(self, name: str, struct: Struct, is_direct: bool = False) -> list[Container]:
        """The containers of one of the `definitions` of a name, by their name and the offset.

        With `is_direct`, without those that hold it only through another struct. Raises TooManyWays.
        """
        node = next(node for node in self._called(name) if node.struct is struct)
        below = _below(node, is_direct)
        _refuse_too_many(node, below)
        found: list[Container] = []
        for container, top in _ordered(below):
            found += sorted(_ways(container, top, node, below), key=lambda way: (way.bit_offset, way.path))
        return found

    def _called(self, name: str) -> list[Node]:
        return list(dict.fromkeys((*self._named.get(name, ()), *self._typedefs.get(name, ()))))

    def _define(self, struct: Struct) -> None:
        """Takes a definition; one that is there already, from another file, adds its files and aliases."""
        same = self._named.setdefault(struct.name, [])
        node = self._definitions.equal(struct, same)
        if node is None:
            node = self._defined(struct, same)
        elif node.struct is not None:
            files = tuple(dict.fromkeys((*node.struct.files, *struct.files)))
            aliases = tuple(sorted({*node.struct.aliases, *struct.aliases}))
            node.struct = replace(node.struct, files=files, aliases=aliases)
        self._definitions.add(struct, node)
        for alias in struct.aliases:
            self._typedefs.setdefault(alias, []).append(node)

    def _defined(self, struct: Struct, same: list[Node]) -> Node:
        self._count += 1
        node = Node(struct, self._count)
        same.append(node)
        # Of what a typedef realigns the struct itself is the container.
        return node if struct.realigned else self._opened(node, struct.fields, struct)

    def _opened(self, node: Node, fields: tuple[Field, ...], of: Struct) -> Node:
        self._unscanned.append((node, fields, of))
        return node

    def _scan(self, node: Node, fields: tuple[Field, ...], of: Struct) -> None:
        """Takes the fields of a definition, or of a type without a name that stands in one."""
        for member in fields:
            if member.aggregate is None:
                if member.bit_size is None and member.type.left.split()[-1:] == ["void"]:
                    after = (one.bit_offset for one in fields if one.bit_offset > member.bit_offset)
                    room = min(after, default=of.bit_size or 0) - member.bit_offset
                    self._untyped.append((room, f"`{member.name}` in {of.aggregate} {of.name}"))
                continue
            key = (member.type.left, id(member.members))
            if key not in self._held:
                self._held[key] = self._resolved(member, of)
            child = self._held[key]
            if child is not None:
                child.parents.append((node, member))
                base = self._realigned(child)
                if base is not None:
                    base.parents.append((node, member))

    def _realigned(self, node: Node) -> Node | None:
        """The struct that a typedef gives an alignment of its own: what holds one holds the other."""
        struct = node.struct
        if struct is None or not struct.realigned:
            return None
        for base in self._named.get(struct.realigned, ()):
            if base.struct is not None and base.struct.fields == struct.fields:
                return base
        return None

    def _resolved(self, member: Field, of: Struct) -> Node | None:
        """The definition that a field holds; None where it cannot be told, or holds nothing."""
        keyword, name = _name(member)
        if name == _NO_TAG:
            # A typedef's struct, where gcc writes an atomic type without the typedef: in DWARF 4, and in 5 if
            # the size aligns it to more. BTF keeps the typedef, and has one struct for all that are alike.
            is_atomic = bool(of.unstated & Unstated.ATOMIC) or "_Atomic" in member.type.left
            is_hidden = bool(member.members) and is_atomic
            named = fitting(self._definitions.identical(member), member) if is_hidden else []
            if len(named) == 1:
                return named[0]
            return self._opened(Node(None), member.members, of) if member.members else None
        nodes = self._definitions.alike((name,) if keyword else (name, ANY), member)
        found = fitting(nodes, member)
        if not keyword and len(found) > 1:
            self._unsettled[name] = nodes
            return None
        if not keyword and member.type.right.count("[") == len(member.dims):  # else a typedef of an array
            self._typedefs.setdefault(name, []).extend(found)
        return found[0] if found else self._implied(name, member, of)

    def _implied(self, name: str, member: Field, of: Struct) -> Node:
        """A definition that only a field tells of, where the input does not give it by itself."""
        size = element_bits(member)
        struct = replace(
            of, name=name, aggregate=member.aggregate or "struct", bit_size=size, align=None,
            fields=member.members, source=None, aliases=(), problem=None,
        )  # fmt: skip
        node = self._defined(struct, self._named.setdefault(name, []))
        self._definitions.add(struct, node)
        return node


def _name(member: Field) -> tuple[bool, str]:
    """Whether the type of a field is spelled with a keyword, and the tag behind it or the typedef."""
    words = _WORDS.fullmatch(member.type.left)
    return (bool(words[1]), words[2]) if words else (False, member.type.left)


def _ordered(nodes: Iterable[Node]) -> list[tuple[Struct, Node]]:
    """The nodes that are definitions, by name; several of a name by where they are."""
    found = [(node.struct, node) for node in nodes if node.struct is not None]
    return sorted(found, key=lambda pair: (*_place(pair[0]), pair[1].number))


def _place(struct: Struct) -> tuple[str, str, int, str]:
    source = struct.source
    return struct.name, source.file if source else "", (source.line or 0) if source else 0, struct.origin


def _below(node: Node, is_direct: bool) -> _Below:
    """Every type that leads down to a struct, itself not among them, with the fields that do."""
    below: _Below = {}
    waiting = [node]
    while waiting:
        child = waiting.pop()
        for parent, member in child.parents:
            if parent not in below:
                below[parent] = []
                if parent.struct is None or not is_direct:
                    waiting.append(parent)
            below[parent].append((member, child))
    return below


def _refuse_too_many(node: Node, below: _Below) -> None:
    """Raises TooManyWays when more ways lead down to a struct than are listed: counts them by addition."""
    above: dict[Node, list[Node]] = {}
    for top, fields in below.items():
        for _, child in fields:
            above.setdefault(child, []).append(top)
    ways = {node: 1, **dict.fromkeys(below, 0)}
    missing = {top: len(fields) for top, fields in below.items()}
    ready = [node]
    while ready:
        child = ready.pop()
        for top in above.get(child, ()):
            ways[top] += ways[child]
            missing[top] -= 1
            if not missing[top]:
                ready.append(top)
    tops = [(ways[top], top.struct.name) for top in below if top.struct is not None]
    total = sum(number for number, _ in tops)
    if total > MOST_WAYS and node.struct is not None:
        raise TooManyWays(node.struct.name, total, max(tops)[1])


@dataclass(frozen=True, slots=True)
class _Way:
    """The way from a container to something in it; the first one, where arrays hold many."""

    bit_offset: int = 0
    path: str = ""
    written: str = ""
    arrays: tuple[Array, ...] = ()
    through: tuple[str, ...] = ()
    """The structs and unions with a name that it leads into."""

    def into(self, member: Field, held: Node) -> _Way:
        """The way on to what a field holds."""
        path, written, arrays, through = self.path, self.written, self.arrays, self.through
        if member.name is not None:
            dot = "." if path else ""
            lengths = "".join(f"[{'' if count is None else count}]" for count in member.dims)
            path, written = f"{path}{dot}{member.name}", f"{written}{dot}{member.name}{lengths}"
        if member.dims:
            arrays = (*arrays, Array(path, _count(member), element_bits(member, held.struct)))
        if held.struct is not None:
            through = (*through, held.struct.name)
        return _Way(self.bit_offset + member.bit_offset, path, written, arrays, through)


def _ways(container: Struct, top: Node, target: Node, below: _Below) -> Iterator[Container]:
    """Every way from a container down to a struct."""
    waiting = [(top, _Way())]
    while waiting:
        node, way = waiting.pop()
        for member, held in below[node]:
            on = way.into(member, held)
            if held is target:
                yield Container(container, on.path, on.written, on.bit_offset, on.arrays, way.through)
            else:
                waiting.append((held, on))


def _count(array: Field) -> int | None:
    """Elements of all dimensions of an array; None for a flexible one."""
    return None if array.dims[0] is None else prod(count or 0 for count in array.dims)
