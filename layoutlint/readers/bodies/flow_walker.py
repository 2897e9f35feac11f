"""Where the addresses of structs and of their members go in a function body, by its syntax tree.

Pointers to structs, members and scalars, `void *`, and integers that hold an address are followed through
variables, parameters, results and fields. The place that a value is kept in is a `Slot`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from layoutlint.model.flows import Access, Address, Convert, Flows, Move, Pass, Slot, Term
from layoutlint.readers.bodies import syntax
from layoutlint.readers.bodies.facts import Facts, Names
from layoutlint.readers.bodies.syntax import Node
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.libclang import Cursor, Type

_DEEPEST = 200
# enum CX_BinaryOperatorKind
_ADD, _ADD_ASSIGN, _SUBTRACT_ASSIGN = 6, 26, 27
_INTEGERS = range(3, 21)
"""CXType_Bool to CXType_Int128."""
_SCALARS = range(3, 24)
"""CXType_Bool to CXType_LongDouble."""
_LITERAL = (syntax.PAREN, syntax.UNEXPOSED, syntax.UNARY, syntax.BINARY, syntax.INTEGER, syntax.CAST)
_IS_INTEGER = 1
"""CXEval_Int."""
_CONSTANT = 7
"""CXCursor_EnumConstantDecl."""


class FlowWalker:
    """Collects what happens to addresses in the functions of a unit."""

    def __init__(self, lib: Any, names: Names, subject: str, word: int) -> None:
        """`word` is the size of a pointer in bytes."""
        self._lib, self._names, self._subject, self._word = lib, names, subject, word
        self._facts = Facts(lib, names)
        self._function = ""
        self._parameters: dict[int, int] = {}
        self._depth = 0
        self.is_cut = False
        """Whether something is nested too deeply to be walked."""
        self.flows = Flows()

    def function(self, cursor: Cursor) -> None:
        """Walk the body of a function definition."""
        self._function = self._facts.key(cursor)
        self._parameters = {}
        for node in syntax.tree(self._lib, cursor).children:
            if node.kind == syntax.PARAMETER:
                self._parameters[node.cursor.data[0]] = len(self._parameters)
            elif node.kind == syntax.COMPOUND:
                self._walk(node)

    def variable(self, cursor: Cursor) -> None:
        """Walk the initialiser of a variable outside of functions."""
        self._function = ""
        self._declare(syntax.tree(self._lib, cursor))

    # -- types

    def _type(self, node: Node) -> Type:
        type_: Type = self._lib.clang_getCanonicalType(self._lib.clang_getCursorType(node.cursor))
        return type_

    def _pointee(self, type_: Type) -> Type:
        inner = type_
        if type_.kind == syntax.POINTER:
            inner = self._lib.clang_getPointeeType(type_)
        while (inner := self._lib.clang_getCanonicalType(inner)).kind in syntax.ARRAYS:
            inner = self._lib.clang_getElementType(inner)
        return inner

    def _record(self, type_: Type) -> str:
        """Return the name of a struct type; empty for others."""
        return self._facts.struct(type_).partition("@")[0]

    def _struct_of(self, node: Node) -> str:
        """Return the struct that a pointer expression points to; empty for other expressions."""
        type_ = self._type(node)
        return self._record(self._pointee(type_)) if type_.kind == syntax.POINTER else ""

    def _keeps_address(self, type_: Type) -> bool:
        """Return whether a value of a type is followed: `void *`, a pointer to scalars, a wide integer."""
        if type_.kind == syntax.POINTER:
            pointee = self._pointee(type_)
            return pointee.kind == syntax.VOID or pointee.kind in _SCALARS
        return type_.kind in _INTEGERS and self._lib.clang_Type_getSizeOf(type_) == self._word

    # -- statements

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
            slot = Slot("result", self._function, 0)
            self._move(slot, node.children[0], self._type(node.children[0]))
            return
        self._value(node)

    def _declare(self, variable: Node) -> None:
        initial = self._facts.initial_value(variable)
        if initial is not None:
            self._move(self._variable_slot(variable.cursor), initial, self._type(variable))

    def _variable_slot(self, declaration: Cursor) -> Slot:
        if declaration.kind == syntax.PARAMETER and declaration.data[0] in self._parameters:
            return Slot("parameter", self._function, self._parameters[declaration.data[0]])
        is_inside = self._lib.clang_getCursorSemanticParent(declaration).kind == syntax.FUNCTION
        is_static = self._lib.clang_Cursor_getStorageClass(declaration) == syntax.STATIC
        if not is_inside and not is_static:  # one variable for all units, whichever declaration is named
            return Slot("variable", libclang.spelling(self._lib, declaration), 0)
        file, line = self._names.file(declaration)
        return Slot("variable", f"{libclang.spelling(self._lib, declaration)} {file}", line)

    def _place(self, node: Node) -> tuple[str, int]:
        return self._names.file(node.cursor)

    def _move(self, slot: Slot | None, value: Node, type_: Type) -> None:
        """Note what a slot of a type gets; the value is walked."""
        terms = self._value(value)
        if slot is None:
            return
        if (function := self._facts.function_in(value)) is not None:
            self._store_function(slot, function)
        struct = self._record(self._pointee(type_)) if type_.kind == syntax.POINTER else ""
        if not struct and self._keeps_address(type_):
            self.flows.moves += [Move(slot, term) for term in terms]

    def _store_function(self, slot: Slot, function: Node) -> None:
        """Note that a function gets what is passed through a slot."""
        key = self._facts.key(self._lib.clang_getCursorReferenced(function.cursor))
        for number, type_ in enumerate(self._parameter_types(function)):
            if self._keeps_address(self._canonical(type_)):
                given = Slot("parameter", self._pointer_name(slot), number)
                self.flows.moves.append(Move(Slot("parameter", key, number), Address(given, 0)))

    def _pointer_name(self, slot: Slot) -> str:
        """Return the name of the functions that a slot has the address of."""
        return f"*{slot.kind} {slot.name} {slot.number}"

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
            for child in node.children[:-1]:
                self._walk(child)
            node = node.children[-1]  # `else if` is no deeper than `if`
        for child in node.children:
            self._walk(child)
        return []

    def _fill(self, node: Node) -> list[Address]:
        """Walk a list of initial values: `.field = address`."""
        for child in node.children:
            first = child.children[0] if child.children else None
            if child.kind != syntax.UNEXPOSED or first is None or first.kind != syntax.MEMBER_NAME:
                self._walk(child)
                continue
            field = self._facts.field(self._lib.clang_getCursorReferenced(first.cursor))
            value = child.children[-1]
            slot = Slot("field", f"{field[0]}.{field[1]}", 0) if field is not None else None
            self._move(slot, value, self._canonical(self._lib.clang_getCursorType(first.cursor)))
        return []

    def _layer(self, node: Node) -> list[Address]:
        for child in node.children[:-1]:
            self._value(child)
        return self._convert(node, node.children[-1])

    def _conditional(self, node: Node) -> list[Address]:
        self._value(node.children[0])
        return [each for child in node.children[1:] for each in self._value(child)]

    def _statements(self, node: Node) -> list[Address]:
        """Walk a statement expression; its value is that of its last statement."""
        statements = node.children[0].children
        for child in statements[:-1]:
            self._walk(child)
        return self._value(statements[-1]) if statements else []

    def _name(self, node: Node) -> list[Address]:
        declaration = self._lib.clang_getCursorReferenced(node.cursor)
        if declaration.kind not in (syntax.VARIABLE, syntax.PARAMETER):
            return []
        type_ = self._type(node)
        return self._pointer_terms(type_, self._variable_slot(declaration))

    def _pointer_terms(self, type_: Type, slot: Slot) -> list[Address]:
        """Return the addresses in a variable or a field of a type."""
        struct = self._record(self._pointee(type_)) if type_.kind == syntax.POINTER else ""
        if struct:
            return [Address(Term("struct", struct, 0), 0)]
        return [Address(slot, 0)] if self._keeps_address(type_) else []

    def _member(self, node: Node) -> list[Address]:
        for child in node.children:
            self._value(child)
        field = self._facts.field(self._lib.clang_getCursorReferenced(node.cursor))
        if field is None or not field[1]:
            return []
        return self._pointer_terms(self._type(node), Slot("field", f"{field[0]}.{field[1]}", 0))

    def _address_of(self, node: Node) -> list[Address]:
        """Return the address of an lvalue: of an object, and of the member of the struct that it is in."""
        while node.kind == syntax.PAREN and node.children:
            node = node.children[0]
        own = self._record(self._type(node))
        terms = [Address(Term("struct", own, 0), 0)] if own else []
        if node.kind == syntax.SUBSCRIPT and len(node.children) == 2:
            base, index = self._base_and_index(node)
            number = self._number(index)
            size = self._lib.clang_Type_getSizeOf(self._type(node))
            inner = self._array_address(base)
            self._value(index)
            shifted = (each.shift(None if number is None else number * size) for each in inner)
            return [*terms, *(each for each in shifted if each.term.kind != "struct" or not own)]
        if node.kind == syntax.MEMBER:
            self._value(node.children[0]) if node.children else None
            field = self._facts.field(self._lib.clang_getCursorReferenced(node.cursor))
            if field is not None and field[0].partition("@")[0] == self._subject and field[1]:
                terms.append(Address(Term("member", field[1], 0), 0))
        elif self._facts.is_dereference(node):
            return [*terms, *(each for each in self._value(node.children[0]) if each.term.kind != "struct")]
        else:
            self._value(node)
        return terms

    def _array_address(self, node: Node) -> list[Address]:
        """Return the addresses of an array, or in a pointer."""
        inner = node
        while inner.kind in (syntax.PAREN, syntax.UNEXPOSED) and len(inner.children) == 1:
            inner = inner.children[0]
        return self._address_of(inner) if self._facts.is_array(inner.cursor) else self._value(node)

    def _base_and_index(self, node: Node) -> tuple[Node, Node]:
        """Return the pointer and the number of `p[i]`, which can be written `i[p]`."""
        first, second = node.children
        is_turned = self._type(first).kind in _INTEGERS
        return (second, first) if is_turned else (first, second)

    def _subscript(self, node: Node) -> list[Address]:
        base, index = self._base_and_index(node)
        number = self._number(index)
        self._value(index)
        type_ = self._type(node)
        step = None if number is None else number * self._lib.clang_Type_getSizeOf(type_)
        self._access(node, [each.shift(step) for each in self._array_address(base)], type_)
        slot = self._element_slot(base)
        return [] if slot is None else self._pointer_terms(type_, slot)

    def _access(self, node: Node, addresses: list[Address], type_: Type) -> None:
        if type_.kind not in _SCALARS and type_.kind != syntax.POINTER:
            return
        size = self._lib.clang_Type_getSizeOf(type_)
        self.flows.accesses += [Access(each, size, *self._place(node)) for each in addresses]

    def _unary(self, node: Node) -> list[Address]:
        operator = self._lib.clang_getCursorUnaryOperatorKind(node.cursor)
        if operator == syntax.ADDRESS_OF:
            return self._address_of(node.children[0])
        inner = self._value(node.children[0])
        if operator == syntax.DEREFERENCE:
            self._access(node, inner, self._type(node))
            return []
        if operator in syntax.INCREMENTS:
            return [each.shift(None) for each in inner]
        return []

    def _binary(self, node: Node) -> list[Address]:
        operator = self._lib.clang_getCursorBinaryOperatorKind(node.cursor)
        left, right = node.children
        if operator == syntax.ASSIGN:
            self._move(self._slot(left), right, self._type(left))
            return self._value(left)
        if operator == syntax.COMMA:
            self._value(left)
            return self._value(right)
        if operator not in (_ADD, syntax.SUBTRACT):
            self._value(left)
            self._value(right)
            return []
        if self._type(left).kind in _INTEGERS and self._type(right).kind == syntax.POINTER:
            left, right = right, left
        addresses = self._array_address(left)
        self._value(right)
        step = self._step(node, right, operator == syntax.SUBTRACT)
        return [] if self._is_by_name(right) else [each.shift(step) for each in addresses]

    def _is_by_name(self, number: Node) -> bool:
        """Return whether a number is the offset of a member by its name, which is right in each order.

        A number in a table is one.
        """
        inner = number
        while inner.kind in (syntax.PAREN, syntax.UNEXPOSED, syntax.CAST) and inner.children:
            inner = inner.children[-1]
        is_constant = self._number(number) is not None and not self._is_literal(number)
        return inner.kind == syntax.MEMBER or is_constant

    def _step(self, node: Node, number: Node, is_negative: bool) -> int | None:
        """Return by how many bytes an addition moves an address; None if it is not known."""
        value = self._number(number)
        type_ = self._type(node)
        size = 1
        if type_.kind == syntax.POINTER:
            size = max(1, self._lib.clang_Type_getSizeOf(self._lib.clang_getPointeeType(type_)))
        return None if value is None else value * size * (-1 if is_negative else 1)

    def _compound(self, node: Node) -> list[Address]:
        left, right = node.children
        self._value(right)
        slot = self._slot(left)
        operator = self._lib.clang_getCursorBinaryOperatorKind(node.cursor)
        if slot is not None and self._keeps_address(self._type(left)) and not self._is_by_name(right):
            is_step = operator in (_ADD_ASSIGN, _SUBTRACT_ASSIGN)
            step = self._step(left, right, operator == _SUBTRACT_ASSIGN) if is_step else None
            self.flows.moves.append(Move(slot, Address(slot, step)))
        return []

    def _slot(self, node: Node) -> Slot | None:
        """Return the slot that an lvalue is; None for others."""
        while node.kind == syntax.PAREN and node.children:
            node = node.children[0]
        declaration = self._lib.clang_getCursorReferenced(node.cursor)
        if node.kind == syntax.DECL_REF and declaration.kind in (syntax.VARIABLE, syntax.PARAMETER):
            return self._variable_slot(declaration)
        if node.kind == syntax.MEMBER and (field := self._facts.field(declaration)) is not None and field[1]:
            return Slot("field", f"{field[0]}.{field[1]}", 0)
        if node.kind == syntax.SUBSCRIPT and len(node.children) == 2:
            self._value(node)
            return self._element_slot(self._base_and_index(node)[0])
        self._value(node)
        return None

    def _element_slot(self, base: Node) -> Slot | None:
        """Return the slot of all elements of an array, or behind a pointer; None for others."""
        base = self._callee(base)
        return self._slot(base) if base.kind in (syntax.DECL_REF, syntax.MEMBER) else None

    def _is_literal(self, node: Node) -> bool:
        """Return whether a number is made of numbers, constants of enumerations, and sizes."""
        if node.kind == syntax.SIZEOF:
            return True
        if node.kind == syntax.DECL_REF:
            return bool(self._lib.clang_getCursorReferenced(node.cursor).kind == _CONSTANT)
        if node.kind not in _LITERAL or (node.kind != syntax.INTEGER and not node.children):
            return False
        return all(map(self._is_literal, node.children))

    def _number(self, node: Node) -> int | None:
        """Return the value of a constant expression, also with `sizeof`; None for others."""
        result = self._lib.clang_Cursor_Evaluate(node.cursor)
        if not result:
            return None
        is_integer = self._lib.clang_EvalResult_getKind(result) == _IS_INTEGER
        value = int(self._lib.clang_EvalResult_getAsLongLong(result))
        self._lib.clang_EvalResult_dispose(result)
        return value if is_integer else None

    def _convert(self, node: Node, inner: Node) -> list[Address]:
        """Return the addresses in a conversion; a pointer to another struct is noted."""
        if node.kind != syntax.CAST and self._facts.is_array(inner.cursor):
            return self._address_of(inner)
        addresses = self._array_address(inner) if self._facts.is_array(inner.cursor) else self._value(inner)
        struct, old = self._struct_of(node), self._struct_of(inner)
        if not struct or struct == old:
            return addresses
        self.flows.conversions += [Convert(each, struct, *self._place(node)) for each in addresses]
        return [Address(Term("struct", struct, 0), 0)]

    # -- calls

    def _call(self, node: Node) -> list[Address]:
        callee, *arguments = node.children
        target = self._facts.function_in(callee)
        if target is None:
            slot = self._slot(self._callee(callee))
            name = "" if slot is None else self._pointer_name(slot)
        else:
            name = self._facts.key(self._lib.clang_getCursorReferenced(target.cursor))
        types = list(self._parameter_types(callee if target is None else target))
        values = [self._array_address(argument) for argument in arguments]
        for position, (addresses, argument) in enumerate(zip(values, arguments, strict=True)):
            type_ = self._canonical(types[position]) if position < len(types) else self._type(argument)
            slot = Slot("parameter", name, position)
            if name and (function := self._facts.function_in(argument)) is not None:
                self._store_function(slot, function)
            if self._keeps_address(type_):
                self.flows.moves += [Move(slot, each) for each in addresses if name]
                if self._pointee(type_).kind == syntax.VOID:
                    rest = arguments[position + 1 :], types[position + 1 :]
                    self._note_size(node, name, addresses, *rest)
        self._pass_to_functions(arguments, values, types)
        if name.endswith(("memcpy", "memmove")):
            self._note_copy(node, values)
        if target is None and not self._struct_of(node):
            return []
        return self._pointer_terms(self._type(node), Slot("result", name, 0))

    def _callee(self, node: Node) -> Node:
        """Return what a call goes through, without layers and stars."""
        while node.kind in (syntax.PAREN, syntax.UNEXPOSED, syntax.UNARY) and node.children:
            node = node.children[-1]
        return node

    def _note_size(
        self, node: Node, name: str, addresses: list[Address], arguments: list[Node], types: list[Type]
    ) -> None:
        """Note the size that follows an address of no type, if it is a constant."""
        if not arguments or not types or self._canonical(types[0]).kind not in _INTEGERS:
            return
        number = self._number(arguments[0])
        if name.endswith(("fread", "fwrite")) and number is not None and len(arguments) > 1:
            number *= self._number(arguments[1]) or 1
        if number is not None and not self._is_by_name(arguments[0]):
            is_size = libclang.text(self._lib, self._lib.clang_getTypeSpelling(types[0])) == "size_t"
            self.flows.passes += [Pass(each, number, is_size, *self._place(node)) for each in addresses]

    def _pass_to_functions(
        self, arguments: list[Node], values: list[list[Address]], types: list[Type]
    ) -> None:
        """Note that a function which is an argument gets the one address of no type that is another one."""
        pointers = [self._facts.function_in(argument) for argument in arguments]
        given = [
            addresses
            for addresses, type_ in zip(values, types, strict=False)
            if addresses
            and self._canonical(type_).kind == syntax.POINTER
            and self._pointee(self._canonical(type_)).kind == syntax.VOID
        ]
        for pointer in filter(None, pointers) if len(given) == 1 else ():
            own = list(self._parameter_types(pointer))
            if len(own) == 1 and self._keeps_address(self._canonical(own[0])):
                key = self._facts.key(self._lib.clang_getCursorReferenced(pointer.cursor))
                self.flows.moves += [Move(Slot("parameter", key, 0), each) for each in given[0]]

    def _note_copy(self, node: Node, values: list[list[Address]]) -> None:
        """Note a copy between two structs as a conversion of the source."""
        if len(values) < 2:
            return
        for target in values[0]:
            if target.term.kind == "struct":
                place = self._place(node)
                self.flows.conversions += [Convert(each, target.term.name, *place) for each in values[1]]

    def _canonical(self, type_: Type) -> Type:
        canonical: Type = self._lib.clang_getCanonicalType(type_)
        return canonical

    def _parameter_types(self, callee: Node) -> Iterator[Type]:
        """Yield the types of the parameters of a function, as they are declared."""
        type_ = self._lib.clang_getCursorType(callee.cursor)
        if self._canonical(type_).kind == syntax.POINTER:
            type_ = self._lib.clang_getPointeeType(self._canonical(type_))
        for number in range(max(0, self._lib.clang_getNumArgTypes(type_))):
            yield self._lib.clang_getArgType(type_, number)


_VALUES: dict[int, tuple[Callable[[FlowWalker, Node], list[Address]], int]] = {
    syntax.PAREN: (FlowWalker._layer, 1),
    syntax.UNEXPOSED: (FlowWalker._layer, 1),
    syntax.CAST: (FlowWalker._layer, 1),
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
