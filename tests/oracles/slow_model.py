"""A slow model of an object in memory: every bit of every field is laid out, and one looks where it is.

It knows nothing of `layoutlint.geometry.layout` and `layoutlint.geometry.placement`: it walks the fields as the input gives them and
enumerates, for each base, which bytes are on which line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Struct


@dataclass(frozen=True)
class Node:
    """A field, or an element of an array, with the bits that it has."""

    path: str
    bits: range
    children: tuple[Node, ...]
    goes_on: bool = False
    """A flexible array: what is known of it is the byte at which it begins."""

    @property
    def bytes(self) -> frozenset[int]:
        if self.goes_on:
            return frozenset({self.bits.start // 8})
        return frozenset(bit // 8 for bit in self.bits)

    def all(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.all()


def nodes(struct: Struct) -> tuple[Node, ...]:
    """The fields of a struct by their names in C."""
    return tuple(_nodes(struct.fields, "", 0, struct.aggregate == "union", True))


def _nodes(fields: tuple[Field, ...], prefix: str, start: int, is_union: bool, is_end: bool) -> Iterator[Node]:
    for member in fields:
        ends_here = is_end and (is_union or member is fields[-1])
        at = start + member.bit_offset
        if member.name is None:
            yield from _nodes(member.members, prefix, at, member.aggregate == "union", ends_here)
            continue
        path = prefix + member.name
        if member.dims in ((None,), (0,)):
            yield Node(path, range(at, at), (), ends_here)
        else:
            yield Node(path, range(at, at + member.bit_size), tuple(_inner_nodes(member, path, at)))


def _inner_nodes(member: Field, path: str, at: int) -> Iterator[Node]:
    if not member.dims:
        yield from _nodes(member.members, f"{path}.", at, member.aggregate == "union", True)
        return
    count, *rest = member.dims
    size = member.bit_size // count
    element = replace(member, bit_size=size, dims=tuple(rest))
    for index in range(count):
        spelled = f"{path}[{index}]"
        yield Node(spelled, range(at + index * size, at + (index + 1) * size),
                   tuple(_inner_nodes(element, spelled, at + index * size)))  # fmt: skip


def nodes_by_path(struct: Struct) -> dict[str, Node]:
    """Every field and element at every depth by its path."""
    return {node.path: node for top in nodes(struct) for node in top.all()}


def lines(node: Node, base: int, line_size: int) -> frozenset[int]:
    """The lines on which the field has a byte."""
    return frozenset((base + byte) // line_size for byte in node.bytes)


def other_nodes(tops: tuple[Node, ...], chosen: set[str]) -> Iterator[Node]:
    """The largest fields and elements that have no part in the chosen ones."""
    for node in tops:
        if node.path in chosen:
            continue
        if any(below.path in chosen for below in node.all()):
            yield from other_nodes(node.children, chosen)
        else:
            yield node


def bases(align: int, line_size: int) -> list[int]:
    """Where objects start on a line, when one follows the other in steps of their alignment."""
    return sorted({at % line_size for at in range(0, line_size * align, align)})


def parts_of_one_another(a: str, b: str) -> bool:
    return a == b or a.startswith((b + ".", b + "[")) or b.startswith((a + ".", a + "["))
