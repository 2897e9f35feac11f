"""The numbers in a function body: constants, variables that keep one, and the largest index of a loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from layoutlint.sources.bodies import syntax
from layoutlint.sources.bodies.facts import Facts
from layoutlint.sources.bodies.trees import Node, skip_layers

# enum CX_BinaryOperatorKind
_ADD = 6
_LESS, _GREATER, _LESS_EQUAL, _GREATER_EQUAL, _NOT_EQUAL, _LOGICAL_AND = 11, 12, 13, 14, 16, 20
_TURNED = {_LESS: _GREATER, _GREATER: _LESS, _LESS_EQUAL: _GREATER_EQUAL, _GREATER_EQUAL: _LESS_EQUAL}
_DECREMENTS = (2, 4)
"""CXUnaryOperator_PostDec and CXUnaryOperator_PreDec."""
_LOOPS = (syntax.FOR, syntax.WHILE, syntax.DO)
_MOST = 1 << 31


class Numbers:
    """The numbers in one function."""

    def __init__(self, lib: Any, facts: Facts, body: Node) -> None:
        self._lib, self._facts = lib, facts
        self._initial: dict[int, int] = {}
        self._nodes: dict[int, Node] = {}
        """The expressions of the first values."""
        self._changed: set[int] = set()
        self._largest: dict[int, int] = {}
        """The largest values that loops give to their variables."""
        self._limits: dict[int, Node] = {}
        """The parameters that variables of loops stay below."""
        self._limits_around: list[dict[int, Node]] = []
        self._turns: list[tuple[int | None, Node | None]] = []
        """For the loops around: how often they turn if they count down, or the parameter that says so."""
        self.has_jumps = False
        """Whether the function has a `goto`, so that all of it can be a loop."""
        self._scan(body)

    def _scan(self, body: Node) -> None:
        """Note the first values of variables, and which variables change."""
        waiting = [body]
        while waiting:
            node = waiting.pop()
            waiting += node.children
            self.has_jumps = self.has_jumps or node.kind == syntax.GOTO
            if node.kind == syntax.VARIABLE:
                initial = self._facts.initial_value(node)
                value = None if initial is None else self._facts.constant(initial)
                if value is not None and initial is not None:
                    self._initial.setdefault(int(node.identity), value)
                    self._nodes.setdefault(int(node.identity), initial)
            elif (changed := self._changed_operand(node)) is not None:
                self._changed.add(self._variable(changed) or 0)

    def _changed_operand(self, node: Node) -> Node | None:
        """Return the operand that an expression changes, or whose address it takes."""
        if node.kind == syntax.COMPOUND_ASSIGNMENT and node.children:
            return node.children[0]
        if node.kind == syntax.BINARY and self._operator(node) == syntax.ASSIGN:
            return node.children[0] if node.children else None
        if node.kind == syntax.UNARY and node.children:
            operator = node.unary_operator
            is_changed = operator in syntax.INCREMENTS or operator == syntax.ADDRESS_OF
            return node.children[0] if is_changed else None
        return None

    def _operator(self, node: Node) -> int:
        return int(node.binary_operator)

    def _variable(self, node: Node) -> int | None:
        """Return the identity of the variable that an expression is; None for others."""
        node = skip_layers(node)
        if node.kind != syntax.DECL_REF:
            return None
        declaration = node.reference
        is_variable = declaration.kind in (syntax.VARIABLE, syntax.PARAMETER)
        return int(declaration.data[0]) if is_variable else None

    def resolve(self, node: Node) -> Node:
        """Return the first value of a variable that keeps it; other expressions as they are."""
        variable = self._variable(node)
        if variable is None or variable in self._changed:
            return node
        return self._nodes.get(variable, node)

    def constant(self, node: Node) -> int | None:
        """Return the value of a constant, or of a variable that keeps its first value; None for others."""
        return self._facts.constant(self.resolve(node))

    def largest(self, node: Node) -> int | None:
        """Return the largest value of an index in the loops around it; None if they do not bound it."""
        if (value := self.constant(node)) is not None:
            return value
        variable = self._variable(node)
        if variable is not None:
            return self._largest.get(variable)
        node = skip_layers(node)
        if node.kind != syntax.BINARY or self._operator(node) not in (_ADD, syntax.SUBTRACT):
            return None
        left, right = (self.largest(child) for child in node.children)
        if left is None or right is None or (self.constant(node.children[1]) is None):
            return None
        return left + right if self._operator(node) == _ADD else left - right

    def limit(self, node: Node) -> Node | None:
        """Return the parameter that an index stays below in the loops around it; None without one."""
        variable = self._variable(node)
        return None if variable is None else self._limits.get(variable)

    def parameter(self, node: Node) -> Node | None:
        """Return the parameter that an expression is, if it keeps its value; None for others."""
        node = skip_layers(node)
        is_parameter = node.kind == syntax.DECL_REF and node.referenced_kind == syntax.PARAMETER
        return node if is_parameter and self._variable(node) not in self._changed else None

    # -- loops

    def turns(self) -> tuple[int | None, Node | None]:
        """Return how often the loop around turns if it counts down, or the parameter that says so."""
        return self._turns[-1] if self._turns else (None, None)

    def _count(self, condition: Node, first: dict[int, int]) -> tuple[int | None, Node | None]:
        """Return how often a loop turns while `n--`, `n` or `n > 0` holds, or the parameter that `n` is."""
        condition = skip_layers(condition)
        if condition.kind == syntax.BINARY and self._operator(condition) in (_GREATER, _NOT_EQUAL):
            condition = condition.children[0] if self.constant(condition.children[1]) == 0 else condition
        if self._is_decrement(condition):
            condition = condition.children[0]
        condition = skip_layers(condition)
        variable = self._variable(condition)
        if variable is None or condition.type_kind not in syntax.INTEGER_TYPES:
            return None, None
        is_parameter = condition.referenced_kind == syntax.PARAMETER
        return first.get(variable), condition if is_parameter and variable not in first else None

    def enter(self, statement: Node) -> dict[int, int]:
        """Note the bounds in a loop or behind a condition; return those around it for `leave`."""
        around = dict(self._largest)
        self._limits_around.append(dict(self._limits))
        is_loop = statement.kind in (syntax.FOR, syntax.WHILE)
        first = self._first_values(statement) if is_loop else {}
        for condition in statement.children[:-1] if is_loop else statement.children[:1]:
            for variable, bound in self._bounds(condition, {**self._initial, **first}):
                known = self._largest.get(variable, _MOST)
                if is_loop or variable in self._largest:
                    self._largest[variable] = min(known, bound)
            self._note_limit(condition, is_loop)
        if statement.kind in _LOOPS:
            self._turns.append(self._turns_of(statement, {**self._initial, **first}))
        return around

    def _turns_of(self, loop: Node, first: dict[int, int]) -> tuple[int | None, Node | None]:
        conditions = loop.children[1:] if loop.kind == syntax.DO else loop.children[:-1]
        counts = [self._count(each, first) for each in conditions]
        return next((each for each in counts if each != (None, None)), (None, None))

    def _note_limit(self, condition: Node, is_loop: bool) -> None:
        """Note the parameter below which a condition keeps a variable; any other one ends what is known."""
        condition = skip_layers(condition)
        if condition.kind != syntax.BINARY or len(condition.children) != 2:
            return
        left, right = condition.children
        variable, limit = self._variable(left), self._variable(right)
        if variable is not None and not is_loop:
            self._limits.pop(variable, None)
        elif variable is not None and limit is not None and limit not in self._changed:
            right = skip_layers(right)
            if right.referenced_kind == syntax.PARAMETER and self._operator(condition) == _LESS:
                self._limits[variable] = right

    def leave(self, around: dict[int, int], is_loop: bool) -> None:
        """Go back to the bounds around a loop or a condition."""
        if is_loop:
            self._turns.pop()
        self._largest = around
        self._limits = self._limits_around.pop()

    def _first_values(self, loop: Node) -> dict[int, int]:
        """Return the numbers that the head of a loop gives to variables."""
        values: dict[int, int] = {}
        for child in loop.children[:1]:
            if child.kind == syntax.BINARY and self._operator(child) == syntax.ASSIGN:
                variable, value = self._variable(child.children[0]), self._facts.constant(child.children[1])
                if variable is not None and value is not None:
                    values[variable] = value
        return values

    def _bounds(self, condition: Node, first: dict[int, int]) -> Iterator[tuple[int, int]]:
        """Yield the variables that a condition bounds, and their largest values where it holds."""
        condition = skip_layers(condition)
        if condition.kind != syntax.BINARY or len(condition.children) != 2:
            return
        operator = self._operator(condition)
        if operator == _LOGICAL_AND:
            bounds = [list(self._bounds(child, first)) for child in condition.children]
            if all(bounds):  # another condition can end the loop sooner
                yield from (each for own in bounds for each in own)
            return
        left, right = condition.children
        limit = self.constant(right)
        if limit is None and (limit := self.constant(left)) is not None:
            left, operator = right, _TURNED.get(operator, operator)
        if limit is None:
            return
        is_decrement = self._is_decrement(left)
        variable = self._variable(left.children[0] if is_decrement else left)
        if variable is None:
            return
        if operator in (_LESS, _NOT_EQUAL) and not is_decrement:
            yield variable, limit - 1
        elif operator == _LESS_EQUAL and not is_decrement:
            yield variable, limit
        elif operator in (_GREATER, _GREATER_EQUAL, _NOT_EQUAL) and variable in first:
            yield variable, first[variable] - is_decrement

    def _is_decrement(self, node: Node) -> bool:
        return node.unary_operator in _DECREMENTS
