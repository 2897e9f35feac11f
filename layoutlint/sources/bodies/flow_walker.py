"""Where the addresses of structs and of their members go in a function body, by its syntax tree.

Pointers to structs, members and scalars, `void *`, and integers that hold an address are followed through
variables, parameters, results and fields. The place that a value is kept in is a `Slot`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from layoutlint.model.flows import (
    Access,
    Address,
    Call,
    Comparison,
    Convert,
    Count,
    Fill,
    Move,
    Placed,
    Slot,
    Step,
    Store,
    Term,
)
from layoutlint.readers.clang.libclang import Cursor, Type
from layoutlint.sources.bodies import syntax
from layoutlint.sources.bodies.facts import Names
from layoutlint.sources.bodies.flow_declarations import DeclarationWalker
from layoutlint.sources.bodies.flow_types import INTEGERS, SCALARS, TEXT
from layoutlint.sources.bodies.initial_values import InitialValues
from layoutlint.sources.bodies.numbers import Numbers
from layoutlint.sources.bodies.trees import Node, skip_layers
from layoutlint.sources.bodies.union_uses import UnionUses

_DEEPEST = 200
# enum CX_BinaryOperatorKind
_REMAINDER, _ADD, _AND, _XOR, _OR, _ADD_ASSIGN, _SUBTRACT_ASSIGN = 5, 6, 17, 18, 19, 26, 27
_ORDERS, _EQUALITIES, _LOGICAL = range(11, 15), (15, 16), (20, 21)
_TURNED = (12, 13)
"""`a > b` is `b < a`, and `a <= b` is `b >= a`."""
_MINUS, _LOGICAL_NOT = 8, 10
"""CXUnaryOperator_Minus and CXUnaryOperator_LNot."""
_LOOPS = (syntax.FOR, syntax.WHILE, syntax.DO)
_PAGE = 4096
"""The most values of the low bits of an address that a program can mean."""


class FlowWalker(DeclarationWalker):
    """Collects what happens to addresses in the functions of a unit."""

    def __init__(self, lib: Any, names: Names, subject: str, word: int) -> None:
        """`word` is the size of a pointer in bytes."""
        super().__init__(lib, names, subject, word)
        self._values = InitialValues(lib, self._facts, subject)
        self._unions = UnionUses(lib, self._facts, names, subject)
        self._truths: set[int] = set()
        """The calls of which only whether the result is 0 counts."""
        self._is_copied = self._is_computed = False
        self._is_hint = False
        """Whether what is walked only tells the compiler which code to take."""
        self._loops = 0
        """How many loops are around what is walked."""
        self.offset_slots = set()
        self.first_offset_slots: frozenset[Slot] = frozenset()
        """Those that were known before."""
        self._depth = 0
        self.is_cut = False
        """Whether something is nested too deeply to be walked."""
        self._asm: dict[int, str] | None = None

    def function(self, cursor: Cursor, tree: Node, names_subject: bool) -> None:
        """Walk the body of a function; if it `names_subject`, it may use unions around the struct."""
        self._cursor, self._asm = cursor, None
        self._truths.clear()  # other nodes can have the identities of those that are gone
        self._function = self._facts.key(cursor)
        self._parameters = {}
        self._numbers = Numbers(self._lib, self._facts, tree)
        self._loops = self._numbers.has_jumps
        for node in tree.children:
            if node.kind == syntax.PARAMETER:
                self._receive(node, len(self._parameters))
                self._parameters[node.identity] = len(self._parameters)
            elif node.kind == syntax.COMPOUND:
                self._body = node
                self._walk(node)
                self._unions.visit(node, self.flows) if names_subject else None

    def _walk(self, node: Node) -> None:
        self._depth += 1
        if self._depth <= _DEEPEST:
            self._walk_node(node)
        else:
            self.is_cut = True
        self._depth -= 1

    def _walk_node(self, node: Node) -> None:
        if node.kind == syntax.DECLARATION:
            for child in node.children:
                if child.kind == syntax.VARIABLE:
                    self._declare(child)
            return
        if node.kind == syntax.RETURN and node.children:
            slot, type_ = Slot("result", self._function, 0), self._type(node.children[0])
            self._move(slot, node.children[0], type_)
            if self._function == "main":
                given = [Address(each.term, 0) for each in self._offsets_in(self._value(node.children[0]))]
                self.flows.calls += [Call("exit", each, *self._place(node)) for each in given]
            if struct := self._struct_behind(type_) or self._record(type_):
                self.flows.moves.append(Move(slot, Address(Term("struct", struct, 0), 0)))
            return
        self._value(node)

    def _move(self, slot: Slot | None, value: Node, type_: Type) -> list[Address]:
        """Note what a slot of a type gets; the value is walked. Returns the addresses that it can be."""
        terms = self._value(value)
        if slot is None:
            return terms
        if (function := self._facts.function_in(value)) is not None:
            self._store_function(slot, function)
        if (not self._struct_behind(type_) and self._keeps_address(type_)) or slot.is_union:
            self.flows.moves += [Move(slot, term) for term in terms]
        if type_.kind in INTEGERS:
            self._keep_offsets(slot, terms)
            self._note_number(slot, value, terms)
        return terms

    # -- values

    def _value(self, node: Node) -> list[Address]:
        """Walk an expression; return the addresses that it can be."""
        self._depth += 1
        try:
            if self._depth <= _DEEPEST:
                return self._walk_value(node)
            self.is_cut = True
            return []
        finally:
            self._depth -= 1

    def _walk_value(self, node: Node) -> list[Address]:
        walk, least = _VALUES.get(node.kind, (FlowWalker._others, 0))
        return walk(self, node) if len(node.children) >= least else []

    def _others(self, node: Node) -> list[Address]:
        while node.kind == syntax.IF and node.children and node.children[-1].kind == syntax.IF:
            self._branch(node, node.children[:-1])
            node = node.children[-1]  # `else if` is no deeper than `if`
        if node.kind == syntax.ASM:
            self._assembly(node)
        elif node.kind in (syntax.IF, syntax.FOR, syntax.WHILE, syntax.DO):
            self._branch(node, node.children)
        else:
            for child in node.children:
                self._walk(child)
        return []

    def _branch(self, node: Node, children: list[Node]) -> None:
        """Walk a loop or the parts of an `if`, with the bounds that its condition states."""
        for child in children:
            self._note_truth(child)
        for child in children[:-1] if node.kind in _LOOPS else ():
            self._note_end_of_loop(child)
        if node.kind == syntax.IF:
            self._walk(children[0])
            around = self._numbers.enter(node)
            for child in children[1:2]:
                self._walk(child)
            self._numbers.leave(around, False)
            children = children[2:]
        around = self._numbers.enter(node) if node.kind in _LOOPS else {}
        self._loops += node.kind in _LOOPS
        for child in children:
            self._walk(child)
        if node.kind in _LOOPS:
            self._loops -= 1
            self._numbers.leave(around, True)

    def _layer(self, node: Node) -> list[Address]:
        if node.kind == syntax.UNEXPOSED:
            if (member := self._member_of_offset(node)) is not None:
                offset = [Address(Term("offset", member, 0), 0)]
                if self._type(node).kind not in INTEGERS and self._type(node).kind in SCALARS:
                    self._note_computed(node, offset)
                return offset
            if (operands := self._facts.short_conditional(node)) is not None:
                return [each for operand in operands for each in self._value(operand)]
            if len(node.children) > 1 and self._is_atomic(node):
                return self._atomic(node)
            if len(node.children) == 1 and self._is_argument(node):
                return self._rest_argument(node)
        for child in node.children[:-1]:
            self._value(child)
        return self._convert(node, node.children[-1])

    def _text(self, _: Node) -> list[Address]:
        return [Address(Term("words", "", 0), 0)]

    def _note_end_of_loop(self, condition: Node) -> None:
        """Note that a loop goes on until a byte behind a pointer has some value: the end of a text."""
        condition = skip_layers(condition)
        if condition.kind == syntax.BINARY:
            is_logical = condition.binary_operator in _LOGICAL
            numbers = [self._number(child) for child in condition.children]
            for child in condition.children if is_logical or numbers != [None, None] else ():
                self._note_end_of_loop(child)
        elif self._is_behind_pointer(condition) and self._is_byte(condition):
            self._note_text(condition, [self._base_address(condition)], "read", 0)

    def _base_address(self, element: Node) -> list[Address]:
        """Return the addresses of the array or in the pointer that an element is taken from."""
        inner = self._base_and_index(element)[0] if element.kind == syntax.SUBSCRIPT else element.children[0]
        return self._array_address(inner)

    def _conditional(self, node: Node) -> list[Address]:
        around, self._is_hint = self._is_hint, self._is_hint or self._is_same_for_both(node)
        self._note_truth(node.children[0])
        self._note_computed(node, self._value(node.children[0]))
        self._is_hint = around
        return [each for child in node.children[1:] for each in self._value(child)]

    def _statements(self, node: Node) -> list[Address]:
        """Walk a statement expression; its value is that of its last statement."""
        statements = node.children[0].children
        for child in statements[:-1]:
            self._walk(child)
        return self._value(statements[-1]) if statements else []

    def _name(self, node: Node) -> list[Address]:
        declaration = node.reference
        if declaration.kind not in (syntax.VARIABLE, syntax.PARAMETER):
            return []
        type_ = self._type(node)
        return self._pointer_terms(type_, self._variable_slot(declaration))

    def _pointer_terms(self, type_: Type, slot: Slot) -> list[Address]:
        """Return the addresses in a variable or a field of a type."""
        if struct := self._struct_behind(type_):
            return [Address(Term("struct", struct, 0), 0)]
        is_kept = self._keeps_address(type_) or slot in self.offset_slots
        return [Address(slot, 0)] if is_kept else []

    def _member(self, node: Node) -> list[Address]:
        for child in node.children:
            self._value(child)
        slot, type_ = self._field_slot(node.reference), self._type(node)
        if slot is None:
            return []
        terms = self._pointer_terms(type_, slot)
        return self._as_scalars(terms) if slot.is_union and self._is_of_scalars(type_) else terms

    def _address_of(self, node: Node) -> list[Address]:
        """Return the address of an lvalue: of an object, and of the member of the struct that it is in."""
        while node.kind == syntax.PAREN and node.children:
            node = node.children[0]
        type_ = self._type(node)
        own = self._record(type_)
        terms = [Address(Term("struct", own, 0), 0)] if own else []
        if struct := self._struct_behind(self._element(type_)):
            terms = [Address(Term("struct", f"{struct} *", 0), 0)]
        if node.kind == TEXT:
            return [Address(Term("words", "", 0), 0)]
        if node.kind in (syntax.DECL_REF, syntax.MEMBER) and self._keeps_address(type_):
            slot = self._slot(node)
            terms += [] if slot is None else [Address(slot.address, 0)]
        if node.kind == syntax.SUBSCRIPT and len(node.children) == 2:
            base, index = self._base_and_index(node)
            number = self._number(index)
            size = self._lib.clang_Type_getSizeOf(type_)
            inner = self._array_address(base)
            self._value(index)
            shifted = [each.shift(None if number is None else number * size) for each in inner]
            self._make(node, shifted)
            return [*terms, *(each for each in shifted if each.term.kind != "struct" or not own)]
        if node.kind == syntax.MEMBER:
            self._value(node.children[0]) if node.children else None
            field = self._facts.field(node)
            is_words = type_.kind in syntax.ARRAYS and self._element(type_).kind in SCALARS
            if field is not None and field[0].partition("@")[0] == self._subject and field[1]:
                terms.append(Address(Term("member", field[1], 0), 0))
            elif field is not None and is_words:
                terms.append(Address(Term("words", f"{field[0]}.{field[1]}", 0), 0))
        elif self._facts.is_dereference(node):
            return [*terms, *(each for each in self._value(node.children[0]) if each.term.kind != "struct")]
        else:
            self._value(node)
            terms += self._words_address(node, type_)
        return terms

    def _make(self, node: Node, addresses: list[Address]) -> None:
        """Note addresses that a number leads to, whether or not they are used."""
        self.flows.accesses += [
            Access(each, 0, *self._place(node), True) for each in addresses if each.offset is not None
        ]

    def _array_address(self, node: Node) -> list[Address]:
        """Return the addresses of an array, or in a pointer."""
        inner = node
        while inner.kind in (syntax.PAREN, syntax.UNEXPOSED) and len(inner.children) == 1:
            if inner.kind == syntax.UNEXPOSED and self._is_argument(inner):
                return self._value(node)
            inner = inner.children[0]
        return self._address_of(inner) if self._facts.is_array(inner) else self._value(node)

    def _subscript(self, node: Node) -> list[Address]:
        base, index = self._base_and_index(node)
        number = self._numbers.largest(index)
        self._value(index)
        type_ = self._type(node)
        size = self._lib.clang_Type_getSizeOf(type_)
        step = None if number is None else number * size
        addresses = self._array_address(base)
        limit = self._numbers.limit(index) if number is None else None
        if limit is not None:
            parameter = self._variable_slot(limit.reference)
            self.flows.counts += [Count(each, parameter, size) for each in addresses]
        elif number is None and (given := self._numbers.parameter(index)) is not None:
            parameter = self._variable_slot(given.reference)
            self.flows.counts += [Count(each, parameter, size, True) for each in addresses]
        self._access(node, [each.shift(step) for each in addresses], type_)
        if self._is_computed and step is not None and self._number(index) is None:
            self._access(node, [each.shift(None) for each in addresses], type_)
        slot = self._element_slot(base)
        return [] if slot is None else self._pointer_terms(type_, slot)

    def _access(self, node: Node, addresses: list[Address], type_: Type) -> None:
        if type_.kind not in SCALARS and type_.kind != syntax.POINTER:
            return
        size = self._lib.clang_Type_getSizeOf(type_)
        file, line = self._place(node)
        self.flows.accesses += [
            Access(each, size, file, line, self._is_copied, self._is_computed) for each in addresses
        ]

    def _unary(self, node: Node) -> list[Address]:
        operator = node.unary_operator
        if operator == syntax.ADDRESS_OF:
            if (member := self._member_of_offset(node)) is not None:
                return [Address(Term("offset", member, 0), 0)]
            return self._address_of(node.children[0])
        if operator == _LOGICAL_NOT:
            self._note_truth(node.children[0])
        inner = self._value(node.children[0])
        if operator == syntax.DEREFERENCE:
            around, self._is_copied = self._is_copied, self._is_copied or self._is_by_offset(node)
            self._access(node, inner, self._type(node))
            self._access_in_loop(node)
            self._is_copied = around
            return self._dereference(inner, self._type(node))
        if operator in syntax.INCREMENTS:
            slot = self._slot(node.children[0])
            step = None if slot is None or self._loops else self._increment(node)
            if slot is not None and self._keeps_address(self._type(node)):
                self.flows.moves.append(Move(slot, Address(slot, step), not self._loops))
            return [each.shift(None) for each in inner] if step is None else inner  # before and after it
        return [each.shift(None) for each in self._offsets_in(inner)] if operator == _MINUS else []

    def _access_in_loop(self, node: Node) -> None:
        """Note the last scalar that `*p++` takes in a loop that counts down."""
        moved = node.children[0]
        moved = skip_layers(moved)
        turns, limit = self._numbers.turns()
        if moved.kind != syntax.UNARY or moved.unary_operator not in syntax.INCREMENTS:
            return
        slot = self._slot(moved.children[0]) if turns is not None or limit is not None else None
        if slot is None:
            return
        size = self._lib.clang_Type_getSizeOf(self._type(node))
        if turns is not None:
            last = max(0, turns - 1) + (moved.unary_operator in syntax.PREFIXES)
            step = -size if moved.unary_operator in syntax.DECREMENTS else size
            self._access(node, [Address(slot, last * step)], self._type(node))
        elif limit is not None:
            self.flows.counts.append(Count(Address(slot, 0), self._variable_slot(limit.reference), size))

    def _dereference(self, addresses: list[Address], type_: Type) -> list[Address]:
        """Return the addresses behind pointers to pointers."""
        if not self._keeps_address(type_):
            return []
        slots = (
            each.term.behind if isinstance(each.term, Slot) else each.term.slot
            for each in addresses
            if each.offset == 0
        )
        return [Address(slot, 0) for slot in slots if slot is not None]

    def _binary(self, node: Node) -> list[Address]:
        operator = node.binary_operator
        left, right = node.children
        if operator == syntax.ASSIGN:
            return self._assign(left, right)
        if operator == syntax.COMMA:
            self._value(left)
            return self._value(right)
        if operator in _EQUALITIES:
            self._note_size_compared(node)
        if operator in _LOGICAL or (operator in _EQUALITIES and self._facts.is_zero(right)):
            self._note_truth(left)
            self._note_truth(right)
        if operator not in (_ADD, syntax.SUBTRACT):
            sides = self._array_address(left), self._array_address(right)
            if operator in _ORDERS or operator in _EQUALITIES:
                sides = sides[0] or self._literal(left), sides[1] or self._literal(right)
                sides = sides[::-1] if operator in _TURNED else sides
                self._compare(node, *sides, "equality" if operator in _EQUALITIES else "bound")
                return []
            self._note_computed(node, [*sides[0], *sides[1]])
            return self._bits(node, sides, self._number(right), operator)
        return self._sum(node, left, right, operator)

    def _bits(
        self, node: Node, sides: tuple[list[Address], list[Address]], number: int | None, operator: int
    ) -> list[Address]:
        """Return the addresses that an operation on bits marks; note the low bits of others."""
        values = 0 if number is None else number + (operator == _AND)
        if operator in (_REMAINDER, _AND) and 1 < values <= _PAGE:
            placed = [Placed(each, "bits", values, *self._place(node)) for each in sides[0]]
            self.flows.placed += placed
            return []
        if operator not in (_AND, _XOR, _OR):
            return []
        step = (number or 0) if operator == _OR else 0
        addresses = [each.shift(step) for side in sides for each in side if each.term[0] != "offset"]
        return [self._mask(each) for each in addresses] if operator == _AND else addresses

    def _mask(self, address: Address) -> Address:
        """Return an address without marks in its low bits."""
        if isinstance(address.term, Slot):
            masked = address.term.masked
            self.flows.moves.append(Move(masked, address))
            return Address(masked, 0)
        is_struct = address.term.kind == "struct"
        return address._replace(term=address.term._replace(number=1)) if is_struct else address

    def _sum(self, node: Node, left: Node, right: Node, operator: int) -> list[Address]:
        """Walk a sum or a difference; return the addresses that it can be."""
        if self._type(left).kind in INTEGERS and self._type(right).kind == syntax.POINTER:
            left, right = right, left
        addresses, others = self._array_address(left), self._array_address(right)
        member = self._member_of_offset(right)
        if operator == syntax.SUBTRACT and member is not None and self._is_in_container(right):
            return []
        if operator == syntax.SUBTRACT and member is not None:
            reached = Address(Term("member", member, 0), 0)
            place = self._place(node)
            members = [each for each in addresses if each.term[0] == "member" and each.term[1] != member]
            self.flows.comparisons += [Comparison(each, reached, "sum", *place) for each in members]
            return [Address(Term("struct", self._subject, 0), 0)] if addresses else []
        if operator == syntax.SUBTRACT and others:
            self._compare(node, addresses, others, "order")
            return []
        offsets = self._offsets_in(addresses)
        if member is not None and operator == _ADD and len(offsets) == len(addresses):
            return [*(each.shift(None) for each in offsets), Address(Term("offset", member, 0), None)]
        if member is not None and operator == _ADD:
            reached = Address(Term("member", member, 0), 0)
            sums = [Comparison(each, reached, "sum", *self._place(node)) for each in addresses]
            self.flows.comparisons += [] if self._is_in_container(right) else sums
            return [reached] if any(each.offset == 0 for each in addresses) else []
        step = self._step(node, right, operator == syntax.SUBTRACT)
        slot = None if self._is_literal(self._numbers.resolve(right)) else self._number_slot(right)
        if slot is not None and not self._struct_of(node):
            self.flows.steps += [Step(each, slot, *self._place(node)) for each in addresses]
        if self._is_by_name(right):
            return []
        shifted = [each.shift(step) for each in addresses]
        self._make(node, shifted)
        if step and self._is_bytes(node) and not self._has_size(right):
            self._make(node, [each.shift(-1) for each in shifted])  # the size of the struct as a number
        return shifted

    def _assign(self, left: Node, right: Node) -> list[Address]:
        """Walk an assignment; return the addresses in what it assigns to."""
        around, self._is_copied = self._is_copied, True
        slot = self._slot(left)
        self._is_copied = self._is_behind_pointer(left, right)
        terms: list[Address] = []
        if slot is None:
            terms = self._value(right)
        else:
            self._move(slot, right, self._type(left))
        self._is_copied = True
        if terms and left.kind == syntax.UNARY and left.children:
            targets, place = self._value(left.children[0]), self._place(left)
            self.flows.stores += [Store(target, each, *place) for target in targets for each in terms]
        self._is_computed = not terms and self._number(right) != 0 and not self._is_behind_pointer(right)
        addresses = self._value(left)
        if self._number(right) == 0 and self._is_behind_pointer(left):
            self._note_end(left)
        elif self._is_computed:
            self._note_element(left)
        self._is_copied, self._is_computed = around, False
        return addresses

    def _note_end(self, element: Node) -> None:
        """Note that a text gets its end in an element of an array, or behind a pointer."""
        self._note_text(element, [self._base_address(skip_layers(element))], "closed", 0)

    def _note_element(self, left: Node) -> None:
        """Note that an element of a text gets a value that is not its end."""
        left = skip_layers(left)
        if left.kind != syntax.SUBSCRIPT or not self._is_byte(left):
            return
        index = self._base_and_index(left)[1]
        last = self._numbers.largest(index)
        if self._number(index) is None:
            self._note_text(left, [self._base_address(left)], "open", _PAGE if last is None else last + 1)

    def _compound(self, node: Node) -> list[Address]:
        left, right = node.children
        terms = self._value(right)
        slot = self._slot(left)
        operator = node.binary_operator
        if slot is not None and self._is_bytes(left):
            self._count_bytes(right, [Address(slot, 0)], True)
        if slot is not None and self._type(left).kind in INTEGERS:
            self._keep_offsets(slot, terms)
        if not self._keeps_address(self._type(left)) or self._is_by_name(right):
            return []
        is_step = operator in (_ADD_ASSIGN, _SUBTRACT_ASSIGN)
        step = self._step(left, right, operator == _SUBTRACT_ASSIGN) if is_step else None
        if slot is not None:
            self.flows.moves.append(Move(slot, Address(slot, step), not self._loops))
        elif self._facts.is_dereference(left):
            place = self._place(left)
            for target in self._value(left.children[0]):
                behind = self._dereference([target], self._type(left))
                self.flows.stores += [Store(target, each.shift(step), *place) for each in behind]
        return []

    def _slot(self, node: Node) -> Slot | None:
        """Return the slot that an lvalue is; None for others."""
        while node.kind == syntax.PAREN and node.children:
            node = node.children[0]
        declaration = node.reference
        if node.kind == syntax.DECL_REF and declaration.kind in (syntax.VARIABLE, syntax.PARAMETER):
            return self._variable_slot(declaration)
        if node.kind == syntax.MEMBER:
            return self._field_slot(declaration)
        if node.kind == syntax.SUBSCRIPT and len(node.children) == 2:
            self._value(node)
            return self._element_slot(self._base_and_index(node)[0])
        self._value(node)
        return None

    def _element_slot(self, base: Node) -> Slot | None:
        """Return the slot of all elements of an array, or behind a pointer; None for others."""
        base = self._callee(base)
        return self._slot(base) if base.kind in (syntax.DECL_REF, syntax.MEMBER) else None

    def _convert(self, node: Node, inner: Node) -> list[Address]:
        """Return the addresses in a conversion; a pointer to another struct is noted."""
        if node.kind != syntax.CAST and self._facts.is_array(inner):
            return self._address_of(inner)
        addresses = self._array_address(inner) if self._facts.is_array(inner) else self._value(inner)
        struct, old = self._struct_of(node), self._struct_of(inner)
        if (function := self._facts.function_in(inner)) is not None:
            self._convert_function(node, function)
        if not struct:
            self._convert_pointer(node, addresses)
            if self._is_untyped(self._type(inner)) and self._is_of_scalars(self._type(node)):
                return self._as_scalars(addresses)
        if struct and not old and self._is_hardware(inner):
            text = "a constant address is that of hardware"
            self.flows.fills.append(Fill(Address(Term("struct", struct, 0), 0), text, *self._place(node)))
        if not struct or struct == old:
            return addresses
        self.flows.conversions += [Convert(each, struct, *self._place(node)) for each in addresses]
        return [Address(Term("struct", struct, 0), 0)]

    def _convert_pointer(self, node: Node, addresses: list[Address]) -> None:
        """Note that a pointer to a pointer to a struct becomes one to a pointer to bytes or words."""
        type_ = self._type(node)
        inner = self._pointee(type_) if type_.kind == syntax.POINTER else type_
        if inner.kind == syntax.POINTER and self._pointee(inner).kind in SCALARS:
            words = self._lib.clang_Type_getSizeOf(self._pointee(inner))
            for each in addresses:
                if each.term.kind == "struct" and each.term.name.endswith(" *"):
                    behind = Address(Term("struct", each.term.name.removesuffix(" *"), 0), None)
                    self.flows.accesses.append(Access(behind, words, *self._place(node)))


_VALUES: dict[int, tuple[Callable[[FlowWalker, Node], list[Address]], int]] = {
    syntax.PAREN: (FlowWalker._layer, 1),
    syntax.UNEXPOSED: (FlowWalker._layer, 1),
    syntax.CAST: (FlowWalker._layer, 1),
    TEXT: (FlowWalker._text, 0),
    syntax.BINARY: (FlowWalker._binary, 2),
    syntax.COMPOUND_ASSIGNMENT: (FlowWalker._compound, 2),
    syntax.UNARY: (FlowWalker._unary, 1),
    syntax.SUBSCRIPT: (FlowWalker._subscript, 2),
    syntax.CALL: (FlowWalker._call, 1),
    syntax.CONDITIONAL: (FlowWalker._conditional, 1),
    syntax.STATEMENT_EXPRESSION: (FlowWalker._statements, 1),
    syntax.INIT_LIST: (FlowWalker._fill, 1),
    syntax.MEMBER: (FlowWalker._member, 0),
    syntax.DECL_REF: (FlowWalker._name, 0),
}
"""How an expression is walked, and the least number of its children."""
