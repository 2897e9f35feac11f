"""Facts about the expressions of a function body: their types, what they name, and how likely they hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from layoutlint.model.uses import GLOBAL_POINTER, THREAD_VARIABLE, Spot, struct_key
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.libclang import Cursor, Type
from layoutlint.sources.bodies import syntax
from layoutlint.sources.bodies.directives import Directive
from layoutlint.sources.bodies.trees import Node, skip_layers

BRANCH, _UNLIKELY = 0.5, 0.02
"""How often a condition holds, of which nothing is known, and one that is marked as unlikely."""
_NOT = 10
"""CXUnaryOperator_LNot."""
_MOST_LAYERS = 12
_MOST_ARGUMENTS = 1 << 16
_SHORT = 600
"""Characters of a function that does no more than to return the address of a field, with checks."""
_IS_INTEGER = 1
"""CXEval_Int."""
_IS_PER_CPU = re.compile(r'section\("[^"]*percpu|\b(?:__thread|_Thread_local|thread_local)\b')
_AROUND_FUNCTIONS = (syntax.PAREN, syntax.UNEXPOSED, syntax.CAST, syntax.UNARY, syntax.GENERIC)
_RECORDS = (libclang.STRUCT, libclang.UNION)


class Names(NamedTuple):
    """The names of the declarations of a unit, by the identity of the declaration."""

    fields: dict[int, tuple[str, str]]
    functions: dict[int, tuple[str, bool]]
    variables: dict[int, str]
    own_variables: dict[int, bool]
    """Whether they are variables of functions, and not static."""
    arguments: dict[int, int]
    """How many arguments functions have as parameters."""
    returned: dict[int, tuple[Spot, ...]]
    """The fields whose addresses functions return."""
    file: Callable[[Cursor], tuple[str, int]]
    records: dict[str, Cursor]
    """The structs that were named, by key."""
    volatile: dict[int, bool]
    """Whether fields are declared volatile."""
    constants: dict[str, tuple[int, ...]]
    """The positions of parameters that point to const, of functions of which a table says that they write."""
    directives: tuple[Directive, ...]
    """Those of OpenMP in the source, in the order of the text."""
    tells_pointers: bool
    """Whether what calls get by pointers is recorded, as threads of a program can begin there."""

    @classmethod
    def of_unit(
        cls,
        file: Callable[[Cursor], tuple[str, int]],
        directives: tuple[Directive, ...] = (),
        tells_pointers: bool = False,
    ) -> Names:
        """Return the names of a unit of which nothing is known; `file` returns the place of a declaration."""
        return cls({}, {}, {}, {}, {}, {}, file, {}, {}, {}, directives, tells_pointers)


class Facts:
    """The known facts on the expressions of one body."""

    def __init__(self, lib: Any, names: Names) -> None:
        self._lib, self._names = lib, names
        self._truths: dict[int, bool | None] = {}
        self.callees: dict[int, Cursor] = {}
        """The declarations of functions that are named, by identity."""

    def likelihood(self, condition: Node) -> float:
        """Return how often a condition holds, from __builtin_expect around it."""
        node = condition
        for _ in range(_MOST_LAYERS):
            if node.kind == syntax.CALL and len(node.children) == 3:
                name = libclang.spelling(self._lib, node.cursor)
                if name == "__builtin_expect":
                    return 1 - _UNLIKELY if self.integer(node.children[2]) else _UNLIKELY
            if node.kind == syntax.STATEMENT_EXPRESSION and node.children and node.children[0].children:
                node = node.children[0].children[-1]
            elif node.children and node.kind in (syntax.UNEXPOSED, syntax.PAREN):
                node = node.children[-1]
            elif node.kind == syntax.UNARY and node.children:
                is_not = node.unary_operator == _NOT
                inner = self.likelihood(node.children[0])
                return 1 - inner if is_not else inner
            else:
                break
        return BRANCH

    def integer(self, node: Node) -> int:
        """Return the value of an integer literal in an expression; 0 for others."""
        while node.children and node.kind != syntax.INTEGER:
            node = node.children[-1]
        if node.kind != syntax.INTEGER:
            return 0
        result = self._lib.clang_Cursor_Evaluate(node.cursor)
        if not result:
            return 0
        value: int = self._lib.clang_EvalResult_getAsLongLong(result)
        self._lib.clang_EvalResult_dispose(result)
        return value

    def constant(self, node: Node) -> int | None:
        """Return the value of a constant expression, also with `sizeof`; None for others."""
        result = self._lib.clang_Cursor_Evaluate(node.cursor)
        if not result:
            return None
        is_integer = self._lib.clang_EvalResult_getKind(result) == _IS_INTEGER
        value = int(self._lib.clang_EvalResult_getAsLongLong(result))
        self._lib.clang_EvalResult_dispose(result)
        return value if is_integer else None

    def asks_for_constant(self, conditions: Node) -> bool:
        """Return whether `a && b` holds only if something is constant: it chooses between equal code."""
        while conditions.kind == syntax.BINARY and conditions.binary_operator == syntax.AND:
            conditions = skip_layers(conditions.children[0])
        function = self.function_in(conditions.children[0]) if conditions.kind == syntax.CALL else None
        return function is not None and self.key(function.reference) == "__builtin_constant_p"

    def is_zero(self, node: Node) -> bool:
        """Return whether an expression is the literal 0."""
        while len(node.children) == 1:
            node = node.children[0]
        return node.kind == syntax.INTEGER and self.integer(node) == 0

    def short_conditional(self, node: Node) -> tuple[Node, Node] | None:
        """Return the operands of `a ?: b`; None for others. libclang shows the first one three times."""
        children = node.children
        is_one = len(children) == 4 and children[0].cursor.data[1] == children[1].cursor.data[1]
        return (children[0], children[3]) if is_one else None

    def truth(self, condition: Node) -> bool | None:
        """Return whether a condition holds that only literals decide, as of `IS_ENABLED`; None for others."""
        node = condition
        while len(node.children) == 1 and node.kind in (syntax.PAREN, syntax.UNEXPOSED, syntax.CAST):
            node = node.children[0]
        kind = node.kind
        if kind == syntax.INTEGER:
            return self.integer(node) != 0
        if kind == syntax.UNARY and node.unary_operator == syntax.NOT:
            inner = self.truth(node.children[0])
            return None if inner is None else not inner
        if kind != syntax.BINARY or node.binary_operator not in (syntax.AND, syntax.OR):
            return None
        if id(node) not in self._truths:
            self._truths[id(node)] = self._truth_of_both(node)
        return self._truths[id(node)]

    def _truth_of_both(self, node: Node) -> bool | None:
        """Return whether `a && b` or `a || b` holds; chains of them are asked for at each operator."""
        sides = [self.truth(child) for child in node.children]
        decisive = node.binary_operator == syntax.OR
        return decisive if decisive in sides else None if None in sides else not decisive

    def is_true(self, node: Node) -> bool:
        """Return whether an expression is a literal other than 0."""
        while len(node.children) == 1:
            node = node.children[0]
        return node.kind == syntax.INTEGER and self.integer(node) != 0

    def initial_value(self, variable: Node) -> Node | None:
        """Return the initialiser; the expressions before it are in the declared type (`typeof`)."""
        if not variable.children:
            return None
        initial = self._lib.clang_Cursor_getVarDeclInitializer(variable.cursor)
        last = variable.children[-1]
        return last if initial.data[1] == last.cursor.data[1] else None

    def array_sizes(self, variable: Node, initial: Node | None) -> list[Node]:
        """Return the expressions that a declaration evaluates for the size of an array."""
        if variable.type_kind != syntax.VARIABLE_ARRAY:
            return []
        if self._lib.clang_getCursorType(variable.cursor).kind != syntax.VARIABLE_ARRAY:
            return []
        return [each for each in variable.children if each is not initial and each.kind >= syntax.UNEXPOSED]

    def variable_struct(self, variable: Node) -> str:
        """Return the key of the struct that a variable is, or has elements of; empty for others."""
        is_struct = variable.type_kind == syntax.RECORD or variable.type_kind in syntax.ARRAYS
        return self.struct(self._lib.clang_getCursorType(variable.cursor)) if is_struct else ""

    def named_arguments(self, callee: Node) -> int:
        """Return how many arguments a called function has as parameters; others are behind its `...`."""
        target = self.function_in(callee)
        if target is None:
            return self._parameters(callee)
        identity = target.referenced_identity
        if identity not in self._names.arguments:
            self._names.arguments[identity] = self._parameters(callee)
        return self._names.arguments[identity]

    def note_constants(self, target: Node, key: str) -> None:
        """Record which parameters of a function point to const, by its declaration."""
        if key not in self._names.constants:
            type_ = self._lib.clang_getCanonicalType(self._lib.clang_getCursorType(target.reference))
            number = int(self._lib.clang_getNumArgTypes(type_))
            found: list[int] = []
            for at in range(number):
                pointee = self._lib.clang_getPointeeType(self._lib.clang_getArgType(type_, at))
                found += (at,) if self._lib.clang_isConstQualifiedType(pointee) else ()
            self._names.constants[key] = tuple(found)

    def _parameters(self, callee: Node) -> int:
        type_ = self._lib.clang_getCursorType(callee.cursor)
        pointee = self._lib.clang_getPointeeType(type_)
        type_ = self._lib.clang_getCanonicalType(pointee if pointee.kind else type_)
        is_variadic = self._lib.clang_isFunctionTypeVariadic(type_)
        return int(self._lib.clang_getNumArgTypes(type_)) if is_variadic else _MOST_ARGUMENTS

    def returned_spots(
        self, function: Cursor, read: Callable[[Cursor], tuple[Spot, ...]]
    ) -> tuple[Spot, ...]:
        """Return the fields whose addresses a function of the unit returns; none for a long function."""
        known = self._names.returned
        identity = int(function.data[0])
        if identity not in known:
            known[identity] = ()  # of functions that call one another
            definition = self._lib.clang_getCursorDefinition(function)
            if definition.kind == syntax.FUNCTION and self._length(definition) <= _SHORT:
                known[identity] = read(definition)
        return known[identity]

    def lines(self, cursor: Cursor) -> tuple[int, int]:
        """Return the first and the last line of a declaration."""
        extent = self._lib.clang_getCursorExtent(cursor)
        ends = (self._lib.clang_getRangeStart(extent), self._lib.clang_getRangeEnd(extent))
        first, last = [libclang.Spot(self._lib, each).line for each in ends]
        return first, last

    def _length(self, cursor: Cursor) -> int:
        """Return the characters of a declaration."""
        extent = self._lib.clang_getCursorExtent(cursor)
        ends = (self._lib.clang_getRangeStart(extent), self._lib.clang_getRangeEnd(extent))
        first, last = (libclang.Spot(self._lib, each).offset for each in ends)
        return last - first

    def field(self, node: Node) -> tuple[str, str] | None:
        """Return the struct and name of a named field; an anonymous member is named by neither."""
        return self._names.fields.get(node.referenced_identity) or self.declared_field(node.reference)

    def declared_field(self, field: Cursor) -> tuple[str, str] | None:
        """Return the struct and name of a field by its declaration."""
        key = field.data[0]
        if key not in self._names.fields:
            parent = self._lib.clang_getCursorSemanticParent(field)
            while self._lib.clang_Cursor_isAnonymousRecordDecl(parent):
                parent = self._lib.clang_getCursorSemanticParent(parent)
            name = libclang.spelling(self._lib, field)
            self._names.fields[key] = self._key_of_record(parent), "" if "(" in name else name
        return self._names.fields[key]

    def initialised_fields(self, values: Node) -> list[Cursor] | None:
        """Return the fields that a list of initial values fills in order; None for an array's elements.

        Unnamed bit-fields are left out, and all members of a union but the first.
        """
        type_ = self._lib.clang_getCanonicalType(self._lib.clang_getCursorType(values.cursor))
        if type_.kind != syntax.RECORD:
            return None
        fields = [
            each
            for each in libclang.fields_of(self._lib, type_)
            if libclang.spelling(self._lib, each) or not self._lib.clang_Cursor_isBitField(each)
        ]
        is_union = self._lib.clang_getTypeDeclaration(type_).kind == libclang.UNION
        return fields[:1] if is_union else fields

    def place_in(self, fields: list[Cursor] | None, name: Node) -> int:
        """Return the position of a named field among some; the last for one that is not among them."""
        places = (at for at, each in enumerate(fields or ()) if each.data[0] == name.referenced_identity)
        return next(places, len(fields or ()))

    def lacks_braces(self, field: Cursor, value: Node) -> bool:
        """Return whether a value is that of the first member of a field that is a struct or an array."""
        kinds = [
            int(self._lib.clang_getCanonicalType(self._lib.clang_getCursorType(each)).kind)
            for each in (field, value.cursor)
        ]
        return kinds[0] in (syntax.RECORD, *syntax.ARRAYS) and kinds[0] != kinds[1]

    def struct(self, type_: Type) -> str:
        """Return the key of a struct type, or of that of an array's elements; empty for other types."""
        canonical = self._lib.clang_getCanonicalType(type_)
        while canonical.kind in syntax.ARRAYS:
            canonical = self._lib.clang_getCanonicalType(self._lib.clang_getElementType(canonical))
        is_record = canonical.kind == syntax.RECORD
        return self._key_of_record(self._lib.clang_getTypeDeclaration(canonical)) if is_record else ""

    def _key_of_record(self, declaration: Cursor) -> str:
        """Return the key of a struct; empty for one without a name, whose member names its fields."""
        definition = self._lib.clang_getCursorDefinition(declaration)
        record = definition if definition.kind in _RECORDS else declaration
        name = libclang.spelling(self._lib, record) if record.kind in _RECORDS else ""
        # libclang calls one without a name `struct (unnamed at ...)`.
        if not name or " " in name:
            return ""
        key = struct_key(name, self._names.file(record)[0])
        self._names.records.setdefault(key, record)
        return key

    def is_other_struct(self, pointer: Node, operand: Node) -> bool:
        """Return whether a cast of a pointer makes another struct of what it points to."""
        if not (self.is_pointer(pointer) and self.is_pointer(operand)):
            return False
        struct, other = (self.struct(self._pointee(each.cursor)) for each in (pointer, operand))
        return bool(struct and other) and struct != other

    def _pointee(self, cursor: Cursor) -> Type:
        type_ = self._lib.clang_getCanonicalType(self._lib.clang_getCursorType(cursor))
        pointee: Type = self._lib.clang_getPointeeType(type_)
        return pointee

    def is_per_cpu(self, variable: Cursor) -> bool:
        """Return whether each processor or thread has a variable of its own."""
        declaration = libclang.pretty_print(self._lib, variable).partition(" = ")[0]
        return _IS_PER_CPU.search(declaration) is not None

    def variable(self, node: Node) -> int | None:
        """Return the identity of a variable of the function that an expression is; None for others."""
        while node.kind == syntax.PAREN and node.children:
            node = node.children[0]
        if node.kind != syntax.DECL_REF:
            return None
        kind = node.referenced_kind
        if kind == syntax.PARAMETER:
            return node.referenced_identity
        if kind != syntax.VARIABLE:
            return None
        identity = node.referenced_identity
        is_own = self._names.own_variables.get(identity)
        if is_own is None:
            is_own = self._names.own_variables[identity] = self._is_own(node.reference)
        return identity if is_own else None

    def _is_own(self, variable: Cursor) -> bool:
        """Return whether a variable is one of a function, and not static."""
        parent = self._lib.clang_getCursorSemanticParent(variable)
        is_static = self._lib.clang_Cursor_getStorageClass(variable) == syntax.STATIC
        return bool(parent.kind == syntax.FUNCTION and not is_static)

    def shared_variable(self, node: Node) -> str:
        """Return the name of a variable outside of functions, or a static one, that an expression is.

        It begins with `%` if each thread has its own, with `*` if not. Empty for other expressions.
        """
        identity = node.referenced_identity
        name = self._names.variables.get(identity)
        if name is None:
            name = self._names.variables[identity] = self._name_of(node)
        return name

    def _name_of(self, node: Node) -> str:
        if node.referenced_kind != syntax.VARIABLE or self.variable(node) is not None:
            return ""
        declaration = node.reference
        is_of_thread = self._lib.clang_getCursorTLSKind(declaration) != 0
        return f"{THREAD_VARIABLE if is_of_thread else GLOBAL_POINTER}{self.variable_key(declaration)}"

    def variable_key(self, declaration: Cursor) -> str:
        """Return the name of a variable, of a static one with its file."""
        name = libclang.spelling(self._lib, declaration)
        is_static = self._lib.clang_Cursor_getStorageClass(declaration) == syntax.STATIC
        return f"{name}@{self._names.file(declaration)[0]}" if is_static else name

    def has_cleanup(self, variable: Cursor) -> bool:
        """Return whether a function is called when a variable goes out of scope."""
        return "cleanup(" in libclang.pretty_print(self._lib, variable)

    def function_in(self, node: Node) -> Node | None:
        """Return the reference to a function that an expression is; None for other expressions."""
        while node.children and node.kind in _AROUND_FUNCTIONS:
            inner = self.selection(node) if node.kind == syntax.GENERIC else node.children[-1]
            if inner is None:
                return None
            node = inner
        if node.kind != syntax.DECL_REF:
            return None
        return node if node.referenced_kind == syntax.FUNCTION else None

    def selection(self, generic: Node) -> Node | None:
        """Return the expression that a `_Generic` selects: the first one of its type; None without one.

        The first child is only looked at for its type.
        """
        type_ = self._canonical(generic)
        some = (each for each in generic.children[1:] if each.kind >= syntax.FIRST_EXPRESSION)
        return next((each for each in some if self._lib.clang_equalTypes(self._canonical(each), type_)), None)

    def _canonical(self, node: Node) -> Type:
        type_: Type = self._lib.clang_getCanonicalType(self._lib.clang_getCursorType(node.cursor))
        return type_

    def key(self, declaration: Cursor) -> str:
        """Return the key of a function, and record that it is named."""
        identity = declaration.data[0]
        if identity not in self._names.functions:
            name = libclang.spelling(self._lib, declaration)
            is_static = self._lib.clang_Cursor_getStorageClass(declaration) == syntax.STATIC
            key = f"{name}@{self._names.file(declaration)[0]}" if is_static else name
            self._names.functions[identity] = key, is_static
        key = self._names.functions[identity][0]
        self.callees.setdefault(identity, declaration)
        return key

    def named_key(self, node: Node) -> str:
        """Return the key of the function that an expression names, and record that it is named."""
        identity = node.referenced_identity
        known = self._names.functions.get(identity)
        return self.key(node.reference) if known is None or identity not in self.callees else known[0]

    def is_pointer(self, node: Node) -> bool:
        """Return whether an expression is a pointer."""
        return node.type_kind == syntax.POINTER

    def is_atomic(self, node: Node) -> bool:
        """Return whether an expression is an `_Atomic` object."""
        return node.type_kind == syntax.ATOMIC

    def is_volatile_member(self, node: Node) -> bool:
        """Return whether an expression is a member that is declared volatile."""
        node = skip_layers(node, syntax.VALUE_LAYERS)
        if node.kind != syntax.MEMBER:
            return False
        identity = node.referenced_identity
        if identity not in self._names.volatile:
            declared = self._lib.clang_getCanonicalType(self._lib.clang_getCursorType(node.reference))
            self._names.volatile[identity] = bool(self._lib.clang_isVolatileQualifiedType(declared))
        return self._names.volatile[identity]

    def is_volatile_access(self, node: Node) -> bool:
        """Return whether an expression is `*pointer` to a volatile object, as in `*(volatile int *)&field`.

        A member that is declared volatile can be a flag of a signal handler.
        """
        node = skip_layers(node, syntax.VALUE_LAYERS)
        if not self.is_dereference(node):
            return False
        return bool(self._lib.clang_isVolatileQualifiedType(self._canonical(node)))

    def is_parameter(self, node: Node) -> bool:
        """Return whether an expression names a parameter: one that is declared as an array is a pointer."""
        return node.kind == syntax.DECL_REF and node.referenced_kind == syntax.PARAMETER

    def is_array(self, node: Node) -> bool:
        """Return whether an expression is an array."""
        return node.type_kind in syntax.ARRAYS

    def is_member_array(self, node: Node) -> bool:
        """Return whether an expression is an array that is a member, or decays from one."""
        node = skip_layers(node, syntax.VALUE_LAYERS)
        return node.kind == syntax.MEMBER and self.is_array(node)

    def is_dereference(self, node: Node) -> bool:
        """Return whether an expression is `*pointer`."""
        return node.kind == syntax.UNARY and node.unary_operator == syntax.DEREFERENCE
