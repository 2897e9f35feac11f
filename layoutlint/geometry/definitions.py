"""Which definition a field holds: told by the identity of its members, or, across files, by their shape."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from math import prod

from layoutlint.model.structs import Aggregate, Field, Struct

ANY = ""
"""Stands for every name."""


@dataclass(slots=True, eq=False)
class Node:
    """A definition, or a type without a name, and what holds it by value."""

    struct: Struct | None
    """None for a type without a name, which is a part of what it stands in."""
    number: int = 0
    """Of the definition, in the order of the input."""
    parents: list[tuple[Node, Field]] = field(default_factory=list)


_Table = dict[tuple[str, Aggregate | None, int], dict[Node, None]]


class Definitions:
    """Definitions by their names and fields."""

    def __init__(self) -> None:
        self._known: list[tuple[Struct, Node]] = []  # kept, and so identities keep their meaning
        self._same: _Table = {}
        """By a name, or ANY, what it is, and the identity of the fields."""
        self._alike: _Table = {}
        """Likewise by the shape of the fields; filled when it is first needed."""
        self._distinct: dict[str, dict[tuple[object, ...], Node]] = {}
        """Of names that come more than once, the definitions by what tells them apart."""
        self._shapes = Shapes()

    def equal(self, struct: Struct, same: list[Node]) -> Node | None:
        """The one among the definitions of its name that is the same, apart from the files that have it."""
        if not same:
            return None
        known = self._distinct.get(struct.name)
        if known is None:
            known = {self._marks(node.struct): node for node in same if node.struct is not None}
            self._distinct[struct.name] = known
        return known.get(self._marks(struct))

    def _marks(self, struct: Struct) -> tuple[object, ...]:
        return struct.aggregate, struct.bit_size, self._shapes.of(struct.fields)

    def add(self, struct: Struct, node: Node) -> None:
        """Takes a definition: the node that `equal` gave for it, or a new one."""
        if struct.name in self._distinct:
            self._distinct[struct.name].setdefault(self._marks(struct), node)
        if struct.bit_size is not None:
            self._known.append((struct, node))
            self._enter(self._same, struct, node, id(struct.fields))
            if self._alike:
                self._enter(self._alike, struct, node, self._shapes.of(struct.fields))

    def alike(self, names: tuple[str, ...], member: Field) -> dict[Node, None]:
        """The definitions of the first of some names that have the members which a field has."""
        nodes = self._found(self._same, names, member, id(member.members))
        if not nodes:
            if not self._alike:
                for struct, node in self._known:
                    self._enter(self._alike, struct, node, self._shapes.of(struct.fields))
            nodes = self._found(self._alike, names, member, self._shapes.of(member.members))
        return nodes

    def identical(self, member: Field) -> dict[Node, None]:
        """The definitions whose very fields a field has, whatever its type is called."""
        return self._same.get((ANY, member.aggregate, id(member.members)), {})

    @staticmethod
    def _found(table: _Table, names: tuple[str, ...], member: Field, fields: int) -> dict[Node, None]:
        found = (table.get((name, member.aggregate, fields)) for name in names)
        return next((nodes for nodes in found if nodes), {})

    @staticmethod
    def _enter(table: _Table, struct: Struct, node: Node, fields: int) -> None:
        # What a typedef realigns is the same struct, and stands for itself only where it is named.
        others = () if struct.realigned else (ANY,)
        for name in (*others, struct.name, *struct.aliases):
            table.setdefault((name, struct.aggregate, fields), {})[node] = None


class Shapes:
    """Numbers for tuples of fields, the same for equal ones; each tuple is looked at once."""

    def __init__(self) -> None:
        self._by_identity: dict[int, int] = {}
        self._numbers: dict[tuple[object, ...], int] = {}

    def of(self, fields: tuple[Field, ...]) -> int:
        """The number of some fields, which must outlive this."""
        number = self._by_identity.get(id(fields))
        if number is None:
            key = tuple(
                (f.name, f.type, f.bit_offset, f.bit_size, f.dims, f.source, self.of(f.members))
                for f in fields
            )
            number = self._numbers.setdefault(key, len(self._numbers))
            self._by_identity[id(fields)] = number
        return number


def fitting(nodes: dict[Node, None], member: Field) -> list[Node]:
    """Which of several definitions are as large as a field says, no more than two; a single one fits."""
    if len(nodes) < 2:
        return list(nodes)
    size = element_bits(member)
    return list(islice((node for node in nodes if node.struct and size in (None, node.struct.bit_size)), 2))


def element_bits(member: Field, held: Struct | None = None) -> int | None:
    """The size of a field's type, of arrays that of an element; None when neither it nor its type tells."""
    if member.bit_size is not None and all(member.dims):
        return member.bit_size // prod(count or 1 for count in member.dims)
    return held.bit_size if held is not None else None
