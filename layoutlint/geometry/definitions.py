"""The definition of a field's type, found by the identity of its members or, across files, by their shape."""

from __future__ import annotations

from itertools import islice
from math import prod

from layoutlint.model.record import Record, field
from layoutlint.model.structs import Aggregate, Field, Struct

ANY = ""
"""Stands for any name."""


class Node(Record, eq=False):
    """A definition or an unnamed type, and the fields that embed it."""

    struct: Struct | None
    """None for an unnamed type, which is part of its container."""
    number: int = 0
    """Number of the definition, in the order of the input."""
    parents: list[tuple[Node, Field]] = field(default_factory=list)


_Table = dict[tuple[str, Aggregate | None, int], dict[Node, None]]


class Definitions:
    """Definitions by names and fields."""

    def __init__(self) -> None:
        self._complete: list[tuple[Struct, Node]] = []  # keeps identities unique
        self._by_identity: _Table = {}
        """Nodes by name (or ANY), aggregate, and identity of the fields."""
        self._by_shape: _Table = {}
        """Nodes by name (or ANY), aggregate, and shape of the fields; filled on first use."""
        self._by_content: dict[str, dict[tuple[object, ...], Node]] = {}
        """For names with several definitions, the nodes by content."""
        self._shapes = FieldShapes()

    def find_equal(self, struct: Struct, namesakes: list[Node]) -> Node | None:
        """Return the definition in `namesakes` with equal content, ignoring its files; None for none."""
        if not namesakes:
            return None
        by_content = self._by_content.get(struct.name)
        if by_content is None:
            by_content = {self._content(node.struct): node for node in namesakes if node.struct is not None}
            self._by_content[struct.name] = by_content
        return by_content.get(self._content(struct))

    def number_of(self, fields: tuple[Field, ...]) -> int:
        """Return the number of a tuple of fields, the same for equal ones. It must outlive this object."""
        return self._shapes.number_of(fields)

    def _content(self, struct: Struct) -> tuple[object, ...]:
        return struct.aggregate, struct.bit_size, self._shapes.number_of(struct.fields)

    def add(self, struct: Struct, node: Node) -> None:
        """Add a definition with its node: the result of `find_equal`, or a new one."""
        if struct.name in self._by_content:
            self._by_content[struct.name].setdefault(self._content(struct), node)
        if struct.bit_size is not None:
            self._complete.append((struct, node))
            self._enter(self._by_identity, struct, node, id(struct.fields))
            if self._by_shape:
                self._enter(self._by_shape, struct, node, self._shapes.number_of(struct.fields))

    def find_by_shape(self, names: tuple[str, ...], member: Field) -> dict[Node, None]:
        """Return the definitions with the members of a field and the first matching name."""
        nodes = self._look_up(self._by_identity, names, member, id(member.members))
        if not nodes:
            if not self._by_shape:
                for struct, node in self._complete:
                    self._enter(self._by_shape, struct, node, self._shapes.number_of(struct.fields))
            nodes = self._look_up(self._by_shape, names, member, self._shapes.number_of(member.members))
        return nodes

    def find_identical(self, member: Field) -> dict[Node, None]:
        """Return the definitions that share the members of a field by identity, under any name."""
        return self._by_identity.get((ANY, member.aggregate, id(member.members)), {})

    @staticmethod
    def _look_up(table: _Table, names: tuple[str, ...], member: Field, fields: int) -> dict[Node, None]:
        matches = (table.get((name, member.aggregate, fields)) for name in names)
        return next((nodes for nodes in matches if nodes), {})

    @staticmethod
    def _enter(table: _Table, struct: Struct, node: Node, fields: int) -> None:
        # A typedef with an alignment of its own matches only by its name; a struct without a name never.
        if struct.is_hidden:
            return
        any_name = () if struct.realigned_from else (ANY,)
        for name in (*any_name, struct.name, *struct.aliases):
            table.setdefault((name, struct.aggregate, fields), {})[node] = None


class FieldShapes:
    """Numbers for tuples of fields: equal tuples have equal numbers. Each tuple is compared once."""

    def __init__(self) -> None:
        self._by_identity: dict[int, int] = {}
        self._numbers: dict[tuple[object, ...], int] = {}

    def number_of(self, fields: tuple[Field, ...]) -> int:
        """Return the number of a tuple of fields. The tuple must outlive this object."""
        number = self._by_identity.get(id(fields))
        if number is None:
            key = tuple(
                (f.name, f.type, f.bit_offset, f.bit_size, f.dims, f.source, self.number_of(f.members))
                for f in fields
            )
            number = self._numbers.setdefault(key, len(self._numbers))
            self._by_identity[id(fields)] = number
        return number


def filter_by_size(nodes: dict[Node, None], member: Field) -> list[Node]:
    """Return up to two definitions with the size of a field's type; a single definition always matches."""
    if len(nodes) < 2:
        return list(nodes)
    size = element_bits(member)
    return list(islice((node for node in nodes if node.struct and size in (None, node.struct.bit_size)), 2))


def element_bits(member: Field, struct: Struct | None = None) -> int | None:
    """Return the size of a field's type in bits, for arrays of one element; None if it is not stated."""
    if member.bit_size is not None and all(member.dims):
        return member.bit_size // prod(filter(None, member.dims))
    return struct.bit_size if struct is not None else None
