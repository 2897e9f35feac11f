"""The bytes that expressions of a body denote: fields, of the own objects of its function or of others."""

from __future__ import annotations

from typing import NamedTuple

from layoutlint.model.uses import ELEMENT, VARIABLE, Spot, is_variable
from layoutlint.sources.bodies import syntax
from layoutlint.sources.bodies.facts import Facts
from layoutlint.sources.bodies.trees import Node

MOST_SPOTS = 4
"""The most fields that one expression can denote: in several structs around it, or by its branches."""
_AROUND_LOCKS = (*syntax.LAYERS, syntax.UNARY, syntax.MEMBER, syntax.SUBSCRIPT)


class BytePlace(NamedTuple):
    """The bytes that an expression denotes, as a field of each struct around them."""

    spots: tuple[Spot, ...]
    maker: str = ""
    """The function that returned the object, or the variable or parameter that points to it."""
    is_local: bool = False


NOWHERE = BytePlace(())


def join(path: str, name: str) -> str:
    """Return the path of a member."""
    return f"{path}.{name}" if path else name


def union(first: BytePlace, second: BytePlace) -> BytePlace:
    """Return what an expression denotes that can be either of two."""
    spots = tuple(dict.fromkeys((*first.spots, *second.spots)))[:MOST_SPOTS]
    maker = first.maker or second.maker
    if first.maker != second.maker and (is_variable(first.maker) or is_variable(second.maker)):
        functions = (each.maker for each in (first, second) if not is_variable(each.maker))
        maker = "".join(functions)
    return BytePlace(spots, maker, first.is_local and second.is_local)


def element(place: BytePlace) -> BytePlace:
    """Return an element of what a place is: a pointer to the first does not point to it."""
    if not is_variable(place.maker) or place.maker.endswith(ELEMENT):
        return place
    return place._replace(maker=f"{place.maker}{ELEMENT}" if place.maker[0] == VARIABLE else "")


def lock_place(argument: Node, place: BytePlace, facts: Facts) -> BytePlace:
    """Return a lock that is an argument: a field of the outermost struct, an element, or a variable."""
    node, index = argument, None
    while node.children and node.kind in _AROUND_LOCKS and index is None:
        if node.kind == syntax.SUBSCRIPT:
            index = facts.constant(node.children[-1])
        node = node.children[0]
    if not place.spots and place.maker[:1] != VARIABLE:
        return NOWHERE
    named = [spot for spot in place.spots if isinstance(spot.root, str)]
    spot = (named or place.spots)[-1] if place.spots else Spot("", place.maker[1:].removesuffix(ELEMENT))
    return BytePlace((spot if index is None else spot._replace(path=f"{spot.path}[{index}]"),))
