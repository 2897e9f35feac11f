"""The containers that embed a struct by value: offsets, paths, counts, and the types between.

The index is built in one pass over the fields, and records which field holds which definition. The paths from
a container down to a struct are counted before they are listed: structs that each embed the next twice double
the number of paths with each level.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from math import prod

from layoutlint.errors import LayoutlintError
from layoutlint.geometry.definitions import ANY, Definitions, Node, element_bits, filter_by_size
from layoutlint.model.ctype import UNTAGGED
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Field, Struct, Unstated

MOST_CONTAINERS = 1 << 18
"""The maximum number of paths into one struct that are listed."""
_WORDS = re.compile(r"(?:(?:const|volatile|restrict|_Atomic) )*(struct |union )?(.*)", re.DOTALL)


class TooManyContainers(LayoutlintError):
    """Raised if a struct is at more places in its containers than can be listed."""

    def __init__(self, name: str, ways: int, worst: str) -> None:
        super().__init__(name, ways, worst)
        self.name, self.ways, self.worst = name, ways, worst

    def __str__(self) -> str:
        number = f"{self.ways:,}" if self.ways < 10**18 else "more than 10^18"
        return (
            f"{self.name} is in {number} places of its containers, most of them in {self.worst}: "
            f"more than the {MOST_CONTAINERS:,} that are listed"
        )


class Array(Record, frozen=True):
    """An array on the path to an embedded struct. Its dimensions count as one."""

    path: str
    """Dotted path from the container."""
    count: int | None
    """Elements over all dimensions; None for a flexible array (`[]`), 0 for an array of length 0 (`[0]`)."""
    bit_stride: int | None
    """Bits from one element to the next; None if the input does not state it."""


class Container(Record, frozen=True):
    """One place at which a struct embeds another by value."""

    struct: Struct
    """The container."""
    path: str
    """Dotted path of the embedded struct from the container, with the first element of arrays. Empty for an
    unnamed member (`-fms-extensions`)."""
    written: str
    """The path with array lengths: `rings[4].lock`."""
    bit_offset: int
    """Offset of the first embedded struct from the start of the container."""
    arrays: tuple[Array, ...]
    """The arrays on the path, outermost first."""
    through: tuple[str, ...]
    """The named structs and unions between the two, outermost first; empty for a direct container."""
    definition: int = 0
    """The number of the container's definition in its index: all places in one container have the same."""

    @property
    def offset(self) -> int:
        """The first byte of the first embedded struct, from the start of the container."""
        return self.bit_offset // 8

    @property
    def count(self) -> int | None:
        """The number of embedded structs in one container; None if a flexible array is on the path."""
        counts = [array.count for array in self.arrays]
        return None if None in counts else prod(count for count in counts if count is not None)


class EmbeddedStruct(Record, frozen=True):
    """One definition of a struct, and its containers."""

    struct: Struct
    containers: tuple[Container, ...]


_FieldsByHolder = dict[Node, list[tuple[Field, Node]]]
"""The fields that lead to one struct, by the types that contain them."""


class Index:
    """Containers of the structs of one target, built in time linear in their fields."""

    def __init__(self, structs: Iterable[Struct]) -> None:
        self._nodes_by_name: dict[str, list[Node]] = {}
        """Nodes by tag, or by the typedef of a struct without a tag."""
        self._typedefs: dict[str, list[Node]] = {}
        self._definitions = Definitions()
        self._count = 0
        self._unscanned: list[tuple[Node, tuple[Field, ...], Struct]] = []
        self._nodes_by_type: dict[tuple[str, int], Node | None] = {}
        """The type of a field, by the spelling and the members of the type."""
        self._ambiguous: dict[str, dict[Node, None]] = {}
        """Typedefs that match several equal structs, with these. Fields of such a type are in no container.
        """
        self._fields_without_type: list[tuple[int, str]] = []
        """Fields without a type in the input: bits up to the next field, and a description."""
        self._lookalikes: list[tuple[dict[Node, None], str]] = []
        """Definitions that an unnamed type can be, because the input may omit its name; and its field."""
        self._hidden: dict[str, Node] = {}
        """Structs without a name and local ones. A field has the type of one if both have equal members."""
        self._inner: set[int] = set()
        """The numbers of the members of the unnamed types of fields (`Definitions.number_of`)."""
        for struct in structs:
            self._add_definition(struct)
        while self._unscanned:
            self._scan_fields(*self._unscanned.pop())

    @property
    def names(self) -> list[str]:
        """Every name that `definitions` accepts, sorted."""
        return sorted({*self._nodes_by_name, *self._typedefs} - {*self._hidden})

    def definitions(self, name: str) -> tuple[Struct, ...]:
        """Return every distinct definition with a tag, or with a typedef of a struct."""
        return tuple(struct for struct, _ in _sort_definitions(self._nodes_named(name)))

    def definitions_like(self, patterns: Iterable[str]) -> list[Struct]:
        """Return every distinct definition that a name or fnmatch pattern refers to, sorted by name."""
        wanted = tuple(patterns)
        names = (name for name in self.names if any(fnmatchcase(name, pattern) for pattern in wanted))
        nodes = dict.fromkeys(
            node for name in names for _, node in _sort_definitions(self._nodes_named(name))
        )
        return [node.struct for node in nodes if node.struct is not None]

    def merged_definition(self, struct: Struct) -> Struct:
        """Return the definition into which a struct of the input was merged. Raises KeyError."""
        node = self._definitions.find_equal(struct, self._nodes_by_name[struct.name])
        if node is None or node.struct is None:
            raise KeyError(struct.name)
        return node.struct

    def ambiguous_typedefs(self, name: str) -> set[str]:
        """Return the ambiguous typedefs that may refer to the named struct or for a container of it.

        No field of such a type is in a container. A Struct with the typedef as an alias resolves it.
        """
        reachable: set[Node] = set()
        for node in self._nodes_named(name):
            reachable |= {node, *_find_holders(node, is_direct=False)}
        is_match = {id(nodes): not reachable.isdisjoint(nodes) for nodes in self._ambiguous.values()}
        return {typedef for typedef, nodes in self._ambiguous.items() if is_match[id(nodes)]}

    def field_without_type(self, name: str, struct: Struct) -> str | None:
        """Describe a field that can hold a definition of a name, but whose type the input omits; None for
        none.
        """
        size = struct.bit_size or 0
        field = next((field for room, field in self._fields_without_type if room >= size), None)
        if field is not None or not self._lookalikes:
            return field
        node = next(node for node in self._nodes_named(name) if node.struct is struct)
        holders = {node, *_find_holders(node, is_direct=False)}
        return next((field for nodes, field in self._lookalikes if not holders.isdisjoint(nodes)), None)

    def containers(self, name: str, struct: Struct, is_direct: bool = False) -> list[Container]:
        """Return the containers of one of the `definitions` of a name, sorted by name and offset.

        With `is_direct`, omit containers that embed it only through another struct. Raises TooManyContainers.
        """
        node = next(node for node in self._nodes_named(name) if node.struct is struct)
        fields_by_holder = _find_holders(node, is_direct)
        _refuse_too_many(node, fields_by_holder)
        containers: list[Container] = []
        for container, top in _sort_definitions(fields_by_holder):
            if container.is_hidden and self._is_inner(container):
                continue
            containers += sorted(
                _walk_paths(container, top, node, fields_by_holder),
                key=lambda way: (way.bit_offset, way.path),
            )
        return containers

    def _is_inner(self, struct: Struct) -> bool:
        """Return whether a struct without a name is the type of a field, and so a part of what has that.

        BTF has no places of structs, and its reader leaves these structs out.
        """
        return struct.source is not None and self._definitions.number_of(struct.fields) in self._inner

    def _nodes_named(self, name: str) -> list[Node]:
        return list(dict.fromkeys((*self._nodes_by_name.get(name, ()), *self._typedefs.get(name, ()))))

    def _add_definition(self, struct: Struct) -> None:
        """Add a definition. If another file has an equal one, merge the files and aliases."""
        namesakes = self._nodes_by_name.setdefault(struct.name, [])
        node = self._definitions.find_equal(struct, namesakes)
        if node is None:
            node = self._add_node(struct, namesakes)
        elif node.struct is not None:
            files = tuple(dict.fromkeys((*node.struct.files, *struct.files)))
            aliases = tuple(sorted({*node.struct.aliases, *struct.aliases}))
            node.struct = replace(node.struct, files=files, aliases=aliases)
        self._definitions.add(struct, node)
        if struct.is_hidden:
            self._hidden[struct.name] = node
        for alias in struct.aliases:
            self._typedefs.setdefault(alias, []).append(node)

    def _add_node(self, struct: Struct, namesakes: list[Node]) -> Node:
        self._count += 1
        node = Node(struct, self._count)
        namesakes.append(node)
        # For a typedef with an alignment of its own, the struct itself is the container.
        return node if struct.realigned_from else self._queue_fields(node, struct.fields, struct)

    def _queue_fields(self, node: Node, fields: tuple[Field, ...], holder: Struct) -> Node:
        self._unscanned.append((node, fields, holder))
        return node

    def _scan_fields(self, node: Node, fields: tuple[Field, ...], holder: Struct) -> None:
        """Resolve the types of the fields of a definition, or of an unnamed type in it."""
        for member in fields:
            if member.aggregate is None:
                if member.bit_size is None and member.type.left.split()[-1:] == ["void"]:
                    after = (other.bit_offset for other in fields if other.bit_offset > member.bit_offset)
                    room = min(after, default=holder.bit_size or 0) - member.bit_offset
                    self._fields_without_type.append(
                        (room, f"`{member.name}` in {holder.aggregate} {holder.name}")
                    )
                continue
            key = (member.type.left, id(member.members))
            if key not in self._nodes_by_type:
                self._nodes_by_type[key] = self._resolve_type(member, holder)
            child = self._nodes_by_type[key]
            if child is not None:
                child.parents.append((node, member))
                base = self._find_realigned_base(child)
                if base is not None:
                    base.parents.append((node, member))

    def _find_realigned_base(self, node: Node) -> Node | None:
        """Return the struct of which a typedef changes the alignment: containers of the one contain the
        other.
        """
        struct = node.struct
        if struct is None or not struct.realigned_from:
            return None
        for base in self._nodes_by_name.get(struct.realigned_from, ()):
            if base.struct is not None and base.struct.fields == struct.fields:
                return base
        return None

    def _resolve_type(self, member: Field, holder: Struct) -> Node | None:
        """Return the definition of a field's type; None if it is ambiguous or has no members."""
        keyword, name = _split_type_name(member)
        if name == UNTAGGED:
            if self._hidden:
                self._inner.add(self._definitions.number_of(member.members))
            # gcc omits the typedef of a struct in an atomic type: in DWARF 4, and in 5 if
            # the size raises its alignment. BTF keeps the typedef, and merges equal structs.
            is_atomic = bool(holder.unstated & Unstated.ATOMIC) or "_Atomic" in member.type.left
            is_hidden = bool(member.members) and is_atomic
            identical = filter_by_size(self._definitions.find_identical(member), member) if is_hidden else []
            if len(identical) == 1:
                return identical[0]
            if member.members and holder.unstated & Unstated.ATOMIC_NAME:
                self._note_lookalikes(member, holder)
            return self._queue_fields(Node(None), member.members, holder) if member.members else None
        nodes = self._definitions.find_by_shape((name,) if keyword else (name, ANY), member)
        fitting_nodes = filter_by_size(nodes, member)
        if not keyword and len(fitting_nodes) > 1:
            self._ambiguous[name] = nodes
            return None
        if not keyword and member.type.right.count("[") == len(member.dims):  # else it is an array
            self._typedefs.setdefault(name, []).extend(fitting_nodes)
        return fitting_nodes[0] if fitting_nodes else self._add_implied_definition(name, member, holder)

    def _note_lookalikes(self, member: Field, holder: Struct) -> None:
        """Note the definitions without a tag that the unnamed type of a field can be."""
        nodes = self._definitions.find_by_shape((ANY,), member)
        nodes = {node: None for node in nodes if node.struct and not node.struct.is_tagged}
        if nodes:
            self._lookalikes.append((nodes, f"`{member.name}` in {holder.aggregate} {holder.name}"))

    def _add_implied_definition(self, name: str, member: Field, holder: Struct) -> Node:
        """Add a definition that the input contains only as the type of a field."""
        size = element_bits(member)
        struct = replace(
            holder, name=name, aggregate=member.aggregate or "struct", bit_size=size, align=None,
            fields=member.members, source=None, aliases=(), problem=None,
        )  # fmt: skip
        node = self._add_node(struct, self._nodes_by_name.setdefault(name, []))
        self._definitions.add(struct, node)
        return node


def _split_type_name(member: Field) -> tuple[bool, str]:
    """Return whether a field's type is spelled with a keyword, and its tag or typedef."""
    words = _WORDS.fullmatch(member.type.left)
    return (bool(words[1]), words[2]) if words else (False, member.type.left)


def _sort_definitions(nodes: Iterable[Node]) -> list[tuple[Struct, Node]]:
    """Return the nodes of definitions sorted by name, then by source position."""
    definitions = [(node.struct, node) for node in nodes if node.struct is not None]
    return sorted(definitions, key=lambda pair: (*_sort_key(pair[0]), pair[1].number))


def _sort_key(struct: Struct) -> tuple[str, str, int, str]:
    source = struct.source
    return struct.name, source.file if source else "", (source.line or 0) if source else 0, struct.origin


def _find_holders(node: Node, is_direct: bool) -> _FieldsByHolder:
    """Return the types that contain a node at any depth, each with the fields that lead to it."""
    fields_by_holder: _FieldsByHolder = {}
    waiting = [node]
    while waiting:
        child = waiting.pop()
        for parent, member in child.parents:
            if parent not in fields_by_holder:
                fields_by_holder[parent] = []
                if parent.struct is None or not is_direct:
                    waiting.append(parent)
            fields_by_holder[parent].append((member, child))
    return fields_by_holder


def _refuse_too_many(node: Node, fields_by_holder: _FieldsByHolder) -> None:
    """Raise TooManyContainers if more paths lead to a struct than are listed; count paths by addition."""
    holders: dict[Node, list[Node]] = {}
    for top, fields in fields_by_holder.items():
        for _, child in fields:
            holders.setdefault(child, []).append(top)
    ways = {node: 1, **dict.fromkeys(fields_by_holder, 0)}
    pending = {top: len(fields) for top, fields in fields_by_holder.items()}
    ready = [node]
    while ready:
        child = ready.pop()
        for top in holders.get(child, ()):
            ways[top] += ways[child]
            pending[top] -= 1
            if not pending[top]:
                ready.append(top)
    tops = [(ways[top], top.struct.name) for top in fields_by_holder if top.struct is not None]
    total = sum(number for number, _ in tops)
    if total > MOST_CONTAINERS and node.struct is not None:
        raise TooManyContainers(node.struct.name, total, max(tops)[1])


class _Way(Record, frozen=True):
    """A path from a container to something in it; with arrays, to the first element."""

    bit_offset: int = 0
    path: str = ""
    written: str = ""
    arrays: tuple[Array, ...] = ()
    through: tuple[str, ...] = ()
    """The named structs and unions on the path."""

    def extend(self, member: Field, child: Node) -> _Way:
        """Return the path extended by a field."""
        path, written, arrays, through = self.path, self.written, self.arrays, self.through
        if member.name is not None:
            dot = "." if path else ""
            lengths = "".join(f"[{'' if count is None else count}]" for count in member.dims)
            path, written = f"{path}{dot}{member.name}", f"{written}{dot}{member.name}{lengths}"
        if member.dims:
            arrays = (*arrays, Array(path, _count_elements(member), element_bits(member, child.struct)))
        if child.struct is not None:
            through = (*through, child.struct.name)
        return _Way(self.bit_offset + member.bit_offset, path, written, arrays, through)


def _walk_paths(
    container: Struct, top: Node, target: Node, fields_by_holder: _FieldsByHolder
) -> Iterator[Container]:
    """Yield every path from a container down to a struct."""
    waiting = [(top, _Way())]
    while waiting:
        node, way = waiting.pop()
        for member, child in fields_by_holder[node]:
            extended = way.extend(member, child)
            if child is target:
                yield Container(
                    container,
                    extended.path,
                    extended.written,
                    extended.bit_offset,
                    extended.arrays,
                    way.through,
                    top.number,
                )
            else:
                waiting.append((child, extended))


def _count_elements(array: Field) -> int | None:
    """Return the elements over all dimensions of an array; None for a flexible array."""
    return None if array.dims[0] is None else prod(count or 0 for count in array.dims)
