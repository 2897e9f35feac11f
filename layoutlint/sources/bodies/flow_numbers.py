"""The numbers that the flows of addresses add, compare and pass."""

from __future__ import annotations

from collections.abc import Sequence

from layoutlint.model.flows import Address, Placed, Slot, Term
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.libclang import Cursor, Type
from layoutlint.sources.bodies import syntax
from layoutlint.sources.bodies.flow_types import INTEGERS, FlowTypes
from layoutlint.sources.bodies.numbers import Numbers
from layoutlint.sources.bodies.trees import Node, skip_layers

_LITERAL = (syntax.PAREN, syntax.UNEXPOSED, syntax.UNARY, syntax.BINARY, syntax.INTEGER, syntax.CAST)
_CONSTANT = 7
"""CXCursor_EnumConstantDecl."""
_PAGE = 4096


class FlowNumbers(FlowTypes):
    """The numbers in a function."""

    _numbers: Numbers
    offset_slots: set[Slot]
    """The slots for integers that have offsets of members so far."""

    def _number(self, node: Node) -> int | None:
        """Return the value of a constant, also with `sizeof`, or of a variable that keeps one; else None."""
        return self._numbers.constant(node)

    def _literal(self, node: Node) -> list[Address]:
        """Return a number that the text states, as what an offset can be compared with."""
        value = self._number(node)
        return [Address(Term("number", "", 0), value)] if value and self._is_literal(node) else []

    def _note_size_compared(self, comparison: Node) -> None:
        """Note that the size of the searched struct is compared with a number that the text states."""
        for one, other in (comparison.children, comparison.children[::-1]):
            if self._is_own_size(one) and not self._has_size(other) and self._literal(other):
                subject = Address(Term("struct", self._subject, 0), 0)
                self.flows.placed.append(Placed(subject, "size", 0, *self._place(comparison)))

    def _is_own_size(self, node: Node) -> bool:
        """Return whether an expression is the `sizeof` of the searched struct, or of an object of it."""
        node = skip_layers(node)
        operands: list[Type] = []

        def take(child: Cursor, _: Cursor) -> int:
            operands.append(self._canonical(self._lib.clang_getCursorType(child)))
            return libclang.CONTINUE

        if node.kind == syntax.SIZEOF:
            libclang.visit(self._lib, node.cursor, take)
        own = [each for each in operands if self._facts.struct(each).partition("@")[0] == self._subject]
        return len(operands) == len(own) == 1 and self._number(node) == self._lib.clang_Type_getSizeOf(own[0])

    def _is_literal(self, node: Node) -> bool:
        """Return whether a number is made of numbers, constants of enumerations, and sizes."""
        if node.kind == syntax.SIZEOF:
            return True
        if node.kind == syntax.DECL_REF:
            return bool(node.referenced_kind == _CONSTANT)
        if node.kind not in _LITERAL or (node.kind != syntax.INTEGER and not node.children):
            return False
        return all(map(self._is_literal, node.children))

    def _is_by_name(self, number: Node) -> bool:
        """Return whether a number is the offset of a member by its name, which is right in each order.

        A number in a table is one.
        """
        number = inner = self._numbers.resolve(number)
        while inner.kind in syntax.LAYERS and inner.children:
            inner = inner.children[-1]
        if inner.kind == syntax.CONDITIONAL:
            return all(map(self._is_by_name, inner.children[1:]))
        is_constant = self._number(number) is not None and not self._is_literal(number)
        return inner.kind == syntax.MEMBER or is_constant or self._number_slot(inner) in self.offset_slots

    def _number_slot(self, node: Node) -> Slot | None:
        """Return the variable, parameter, field, array or result that a number is in; None for others."""
        node = skip_layers(node)
        if node.kind == syntax.SUBSCRIPT and len(node.children) == 2:
            return self._number_slot(self._base_and_index(node)[0])
        if node.kind == syntax.MEMBER:
            return self._field_slot(node.reference)
        if node.kind == syntax.CALL and node.children:
            target = self._facts.function_in(node.children[0])
            return None if target is None else Slot("result", self._facts.key(target.reference), 0)
        is_variable = node.referenced_kind in (syntax.VARIABLE, syntax.PARAMETER)
        return self._variable_slot(node.reference) if node.kind == syntax.DECL_REF and is_variable else None

    def _offsets_in(self, terms: list[Address]) -> list[Address]:
        """Return the offsets of members among some addresses, and what can be one."""
        return [
            each
            for each in terms
            if (each.term in self.offset_slots if isinstance(each.term, Slot) else each.term.kind == "offset")
        ]

    def _step(self, node: Node, number: Node, is_negative: bool) -> int | None:
        """Return by how many bytes an addition moves an address; None if it is not known."""
        value = self._number(number)
        return None if value is None else value * self._size_behind(node) * (-1 if is_negative else 1)

    def _increment(self, node: Node) -> int:
        """Return by how many bytes `++` or `--` moves an address."""
        size = self._size_behind(node)
        return -size if node.unary_operator in syntax.DECREMENTS else size

    def _size_behind(self, node: Node) -> int:
        """Return the bytes that adding 1 to a pointer means, or to a number."""
        type_ = self._type(node)
        if type_.kind != syntax.POINTER:
            return 1
        size: int = self._lib.clang_Type_getSizeOf(self._lib.clang_getPointeeType(type_))
        return max(1, size)

    def _member_of_offset(self, number: Node) -> str | None:
        """Return the member of the searched struct whose offset a number is, by its name; None for others."""
        return self._first_own_name(self._steps_of_offset(number))

    def _is_in_container(self, number: Node) -> bool:
        """Return whether the offset of a member is from the start of a struct around the searched one."""
        named = [each for each in self._steps_of_offset(number) if (self._facts.field(each) or ("", ""))[1]]
        return self._first_own_name(named[:1]) is None

    def _steps_of_offset(self, number: Node) -> list[Node]:
        """Return the members that an offset is made of, the outermost first; none for other numbers."""
        inner = self._numbers.resolve(number)
        while inner.kind in syntax.LAYERS and len(inner.children) == 1:
            if inner.children[0].kind == syntax.MEMBER_NAME:
                break
            inner = inner.children[0]
        steps = [each for each in inner.children if each.kind == syntax.MEMBER_NAME]
        if inner.kind == syntax.UNEXPOSED and steps and inner.children[0].kind == syntax.MEMBER_NAME:
            return steps
        is_address = inner.kind == syntax.UNARY and inner.unary_operator == syntax.ADDRESS_OF
        return self._steps_from_null(inner) if is_address else []

    def _is_by_offset(self, dereference: Node) -> bool:
        """Return whether an expression is `*(long *)((char *)p + n)`: what `n` gets decides on it."""
        node = dereference.children[0]
        is_cast = False
        while node.kind in syntax.LAYERS and len(node.children) == 1:
            is_cast = is_cast or node.kind == syntax.CAST
            node = node.children[0]
        is_sum = node.kind == syntax.BINARY and len(node.children) == 2
        return is_cast and is_sum and self._is_bytes(node) and not self._is_bytes(dereference.children[0])

    def _first_own_name(self, steps: Sequence[Node]) -> str | None:
        """Return the first member of the searched struct among some; structs without a name are passed."""
        for step in steps:
            field = self._facts.field(step)
            if field is not None and field[0].partition("@")[0] == self._subject and field[1]:
                return field[1]
        return None

    def _steps_from_null(self, address: Node) -> list[Node]:
        """Return the members in `&((struct ring *)0)->head`, the outermost first; none in other addresses."""
        steps: list[Node] = []
        node = address.children[0] if address.children else address
        while node.children and node.kind in (syntax.MEMBER, syntax.SUBSCRIPT, syntax.PAREN):
            if node.kind == syntax.MEMBER:
                steps.insert(0, node)
            node = node.children[0]
        while node.kind in syntax.LAYERS and node.children:
            node = node.children[-1]
        return steps if node.kind == syntax.INTEGER and self._facts.is_zero(node) else []

    def _is_hardware(self, node: Node) -> bool:
        """Return whether a number is an address, and not a mark as `(void *)-1`."""
        value = self._number(node) if self._type(node).kind in INTEGERS else None
        return value is not None and _PAGE <= value < 1 << 63

    def _is_zero_list(self, node: Node) -> bool:
        """Return whether a list gives nothing but 0."""
        if node.kind == syntax.INIT_LIST:
            return all(map(self._is_zero_list, node.children))
        return self._facts.is_zero(node)

    def _is_behind_pointer(self, *nodes: Node) -> bool:
        """Return whether all expressions are scalars behind pointers."""
        for node in nodes:
            node = skip_layers(node)
            if node.kind != syntax.SUBSCRIPT and not self._facts.is_dereference(node):
                return False
        return True
