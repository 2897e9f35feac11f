"""What the pointers of a body point to, as far as its text shows it: objects of threads, and functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from layoutlint.model.uses import (
    ELEMENT,
    FUNCTION,
    GLOBAL_POINTER,
    LOCAL,
    PARAMETER,
    VARIABLE,
    Argument,
    Spot,
)
from layoutlint.sources.bodies import syntax
from layoutlint.sources.bodies.facts import Facts
from layoutlint.sources.bodies.trees import Node, skip_layers

_DEEPEST = 8
"""The most assignments and layers through which a pointer is followed."""
_UNKNOWN = ""
_FOLLOWED = (syntax.UNARY, syntax.DECL_REF, syntax.MEMBER, syntax.SUBSCRIPT, syntax.BINARY)


class _Value(NamedTuple):
    """What a variable of a function has been given last, in the order of the text."""

    node: Node | None
    """None for a place that moves."""
    loops: tuple[int, ...]
    """The loops around."""
    number: int


class Pointers:
    """The variables of a body, and what they have."""

    def __init__(self, facts: Facts, parameters: Mapping[int, int]) -> None:
        self._facts, self._parameters = facts, parameters
        self._values: dict[int, _Value] = {}
        self._loops: tuple[int, ...] = ()
        self._begun = 0

    def enter_loop(self) -> None:
        """Begin the text of a loop."""
        self._begun += 1
        self._loops = (*self._loops, self._begun)

    def leave_loop(self) -> None:
        """End it."""
        self._loops = self._loops[:-1]

    def assign(self, variable: int, value: Node | None) -> None:
        """Give a variable a value; None for one that is not followed."""
        self._values[variable] = _Value(value, self._loops, len(self._values))

    def argument(self, position: int, node: Node) -> Argument | None:
        """Return what is known of a pointer that a call gets; None for nothing."""
        if skip_layers(node).kind not in _FOLLOWED:
            return None
        name = self._object(node, _DEEPEST)
        is_value = not name or name[0] == GLOBAL_POINTER
        source = self.source(node) if is_value else None
        return Argument(position, name, source) if name or source is not None else None

    def parameter(self, node: Node) -> int | None:
        """Return the position of the parameter whose value an expression is; None for others."""
        node = skip_layers(node)
        variable = self._facts.variable(node) if node.kind == syntax.DECL_REF else None
        if variable is None or variable in self._values:
            return None
        return self._parameters.get(variable)

    def source(self, node: Node, depth: int = _DEEPEST) -> Spot | None:
        """Return the field, or the variable outside of functions, whose value an expression is."""
        node = skip_layers(node)
        while node.kind == syntax.UNARY and node.unary_operator == syntax.DEREFERENCE:
            node = skip_layers(node.children[0])
        if node.kind == syntax.SUBSCRIPT and node.children:
            return self.source(node.children[0], depth)
        if node.kind == syntax.MEMBER:
            field = self._facts.field(node)
            return Spot(*field) if field is not None and all(field) else None
        if node.kind != syntax.DECL_REF or node.referenced_kind == syntax.FUNCTION:
            return None
        variable = self._facts.variable(node)
        if variable is None:
            return Spot("", self._facts.shared_variable(node)[1:])
        value = self._values.get(variable)
        is_known = value is not None and value.node is not None and depth
        return self.source(value.node, depth - 1) if is_known and value is not None and value.node else None

    def _object(self, node: Node, depth: int) -> str:
        """Return what a pointer points to, as `Argument.object`."""
        target = self._facts.function_in(node)
        if target is not None:
            return f"{FUNCTION}{self._facts.named_key(target)}"
        node = skip_layers(node)
        if not depth:
            return _UNKNOWN
        if node.kind == syntax.UNARY and node.unary_operator == syntax.ADDRESS_OF:
            return self._place(node.children[0], depth - 1)
        if self._facts.is_array(node):
            return self._place(node, depth)
        if node.kind == syntax.DECL_REF:
            return self._value_of(node, depth - 1)
        if node.kind == syntax.SUBSCRIPT or node.kind == syntax.MEMBER:
            place = self._place(node, depth - 1)
            return place and f"{GLOBAL_POINTER}{place}"
        if node.kind == syntax.BINARY and len(node.children) == 2:
            return self._element_of(self._object(node.children[0], depth - 1), node.children[1])
        return _UNKNOWN

    def _value_of(self, node: Node, depth: int) -> str:
        """Return what a pointer that is a variable points to."""
        variable = self._facts.variable(node)
        if variable is None:
            return self._facts.shared_variable(node)
        value = self._values.get(variable)
        if value is None:
            position = self._parameters.get(variable)
            return _UNKNOWN if position is None else f"{PARAMETER}{position}"
        name = _UNKNOWN if value.node is None else self._object(value.node, depth)
        name = name or f"{LOCAL}{value.number}"
        return self._of_round(name, value.loops)

    def _of_round(self, name: str, loops: tuple[int, ...]) -> str:
        """Return the name of an object that is made in some loops: each round has another one."""
        is_new = bool(loops) and self._loops[: len(loops)] == loops and name[:1] == LOCAL
        return f"{name}{ELEMENT}" if is_new and not name.endswith(ELEMENT) else name

    def _place(self, node: Node, depth: int) -> str:
        """Return what an lvalue is, as what a pointer to it points to."""
        node = skip_layers(node)
        if not depth:
            return _UNKNOWN
        if node.kind == syntax.DECL_REF:
            variable = self._facts.variable(node)
            if variable is None:
                return self._facts.shared_variable(node).replace(GLOBAL_POINTER, VARIABLE, 1)
            return f"{LOCAL}{variable_number(self._values, variable)}"
        if node.kind == syntax.UNARY and node.unary_operator == syntax.DEREFERENCE:
            return self._object(node.children[0], depth - 1)
        if not node.children:
            return _UNKNOWN
        base = node.children[0]
        is_pointer = self._facts.is_pointer(base)
        around = self._object(base, depth - 1) if is_pointer else self._place(base, depth - 1)
        if node.kind == syntax.SUBSCRIPT and len(node.children) == 2:
            return self._element_of(around, node.children[1])
        if node.kind == syntax.MEMBER and around:
            field = self._facts.field(node)
            name = f".{field[1]}" if field is not None and field[1] else ""
            return f"{around.removesuffix(ELEMENT)}{name}{ELEMENT if around.endswith(ELEMENT) else ''}"
        return _UNKNOWN

    def _element_of(self, name: str, steps: Node) -> str:
        """Return an element behind what a pointer points to."""
        if not name or name.endswith(ELEMENT):
            return name
        number = self._facts.constant(steps)
        return f"{name}{ELEMENT}" if number is None else f"{name}+{number}" if number else name


def variable_number(values: dict[int, _Value], variable: int) -> int:
    """Return a number for a variable that is an object itself."""
    if variable not in values:
        values[variable] = _Value(None, (), len(values))
    return values[variable].number
