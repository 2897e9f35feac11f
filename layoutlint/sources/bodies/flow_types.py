"""The types of expressions, as far as the flows of addresses need them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from layoutlint.model.flows import STATIC, Address, Flows, Layout, Move, Slot, Term
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.libclang import Cursor, Type
from layoutlint.sources.bodies import syntax
from layoutlint.sources.bodies.facts import Facts, Names
from layoutlint.sources.bodies.trees import Node, skip_layers

INTEGERS = syntax.INTEGER_TYPES
SCALARS = (*range(3, 24), 100, 106, 113, syntax.ATOMIC)
"""CXType_Bool to CXType_LongDouble, CXType_Complex, CXType_Enum, CXType_Vector."""
TEXT = 109
"""CXCursor_StringLiteral."""
FUNCTION_TYPES = (110, 111)
"""CXType_FunctionNoProto and CXType_FunctionProto."""
_DEEPEST_STRUCT = 6
_NAMES = (syntax.DECL_REF, syntax.MEMBER, syntax.MEMBER_NAME)
_OPERATORS = (syntax.BINARY, syntax.UNARY, syntax.COMPOUND_ASSIGNMENT)
_TYPED = (syntax.CAST, syntax.VARIABLE, syntax.PARAMETER, syntax.COMPOUND_LITERAL, syntax.SIZEOF)
"""The kinds of nodes with children whose types are not those of what they name."""


class FlowTypes:
    """The types in the functions of a unit."""

    def __init__(self, lib: Any, names: Names, subject: str, word: int) -> None:
        """`word` is the size of a pointer in bytes."""
        self._lib, self._names, self._subject, self._word = lib, names, subject, word
        self._facts = Facts(lib, names)
        self._function = ""
        self._parameters: dict[int, int] = {}
        self._layouts: set[str] = set()
        self._identities: dict[int, int] = {}
        self._declared: dict[tuple[str, int], set[int]] = {}
        """The identities of the variables and fields that slots are, by name and number."""
        self._pointers: dict[str, Slot] = {}
        """The slots with pointers to functions, by the name of these."""
        self._functions: dict[str, set[int]] = {}
        """The identities of functions by their keys, as far as they are noted."""
        self._callees: dict[int, Cursor] = {}
        self._noted = 0
        """How many of the named functions are noted."""
        self._types: dict[int, Type] = {}
        """Types by identity: libclang is asked once for each, and what follows from one is known by it."""
        self._pointees: dict[int, Type] = {}
        self._elements: dict[int, Type] = {}
        self._records: dict[int, str] = {}
        self._structs_behind: dict[int, str] = {}
        self._keeping: dict[int, bool] = {}
        self._spellings: dict[int, str] = {}
        self._leading: dict[int, bool] = {}
        """Which records have the searched struct in them, by identity."""
        self._leading_types: dict[int, bool] = {}
        """Which types lead to it, by identity."""
        self._variable_slots: dict[int, Slot] = {}
        self._field_slots: dict[int, Slot | None] = {}
        self._with_body: dict[int, bool] = {}
        """What is known of variables, fields and functions by the identities of their declarations."""
        self._parameter_lists: dict[int, list[Type]] = {}
        """The types of the parameters of functions, by the identities of their types."""
        self.flows = Flows()

    @property
    def subject(self) -> str:
        """The name of the searched struct."""
        return self._subject

    def identity(self, declaration: Cursor) -> int:
        """Return what tells a declaration from others, the same for all that declare one thing."""
        own = int(declaration.data[0] or 0)
        if own not in self._identities:
            first = self._lib.clang_getCanonicalCursor(declaration)
            self._identities[own] = int(first.data[0] or 0)
        return self._identities[own]

    def declarations(self, place: Slot | Term) -> set[int]:
        """Return the identities of the variables, fields and functions that a slot, or bytes, belong to."""
        if place.kind not in ("parameter", "result"):
            return self._declared.get((place.name, place.number), set())
        if place.name in self._pointers:
            return self.declarations(self._pointers[place.name])
        return self._functions.get(place.name.removeprefix("*"), set())

    def spelling(self, declaration: Cursor) -> str:
        """Return the name of a declaration in the text."""
        return libclang.spelling(self._lib, declaration)

    def note_slot(self, declaration: Cursor) -> None:
        """Note which slot a variable or a field is."""
        if declaration.kind == syntax.VARIABLE:
            self._variable_slot(declaration)
        elif declaration.kind == libclang.FIELD:
            self._field_slot(declaration)

    def note_functions(self) -> None:
        """Note the declarations of the functions that are named so far."""
        callees = self._facts.callees
        for declaration in islice(callees.values(), self._noted, None):
            identity = self.identity(declaration)
            self._functions.setdefault(self._facts.key(declaration), set()).add(identity)
            self._callees[identity] = declaration
        self._noted = len(callees)

    def definition(self, identity: int) -> Cursor | None:
        """Return the definition of a function that is named somewhere; None if the unit has none."""
        declaration = self._callees.get(identity)
        if declaration is None:
            return None
        definition: Cursor = self._lib.clang_getCursorDefinition(declaration)
        return definition if definition.kind == syntax.FUNCTION else None

    def function_key(self, function: Cursor) -> str:
        """Return the key of a function, and record it."""
        return self._facts.key(function)

    def digest(self, tree: Node) -> int:
        """Return what tells a function's body from another one; of assembly, only where it is."""
        parts: list[object] = []
        waiting = [tree]
        while waiting:
            node = waiting.pop()
            parts.append(node.kind)
            waiting += node.children
            if node.kind in _NAMES:
                parts.append(self.spelling(node.reference))
            elif node.kind in _OPERATORS:
                parts.append((node.binary_operator, node.unary_operator))
            elif not node.children or node.kind in _TYPED:
                type_ = self._lib.clang_getCursorType(node.cursor)
                spelled = libclang.text(self._lib, self._lib.clang_getTypeSpelling(type_))
                place = self._place(node) if node.kind == syntax.ASM else None
                parts += (spelled, self._facts.constant(node), place)
        return hash(tuple(parts))

    def fields_in(self, values: Node) -> set[int]:
        """Return the fields that a list of values can be for, by identity."""
        fields: set[int] = set()
        waiting = [self._type(values)]
        while waiting:
            record = self._element(waiting.pop())
            for part in libclang.fields_of(self._lib, record) if record.kind == syntax.RECORD else ():
                if (identity := self.identity(part)) not in fields:
                    fields.add(identity)
                    waiting.append(self._lib.clang_getCursorType(part))
        return fields

    def leads_to_subject(self, declaration: Cursor) -> bool:
        """Return whether the type of something has the searched struct in it, or leads to it by pointers.

        Also those of a function's parameters and result, lists of arguments, which have no types, and a
        member of such a struct.
        """
        if declaration.kind == libclang.FIELD:
            around = self._lib.clang_getCursorSemanticParent(declaration)
            if self._is_leading(self._lib.clang_getCursorType(around)):
                return True
        type_ = self._lib.clang_getCursorType(declaration)
        identity = int(type_.data[0] or 0)
        known = self._leading_types.get(identity)
        if known is None:
            spelled = libclang.text(self._lib, self._lib.clang_getTypeSpelling(type_))
            known = self._leading_types[identity] = self._is_leading(type_) or "va_list" in spelled
        return known

    def _is_leading(self, type_: Type) -> bool:
        inner = self._element(type_)
        while inner.kind == syntax.POINTER:
            inner = self._pointee(inner)
        if inner.kind in FUNCTION_TYPES:
            every = [self._lib.clang_getResultType(inner)]
            count = self._lib.clang_getNumArgTypes(inner)
            every += (self._lib.clang_getArgType(inner, at) for at in range(count))
            return any(map(self._is_leading, every))
        return inner.kind == syntax.RECORD and self._has_subject(inner)

    def _has_subject(self, record: Type) -> bool:
        """Return whether a struct or a union is the searched one, or has it in it; each is looked at once."""
        identity = int(self._lib.clang_getTypeDeclaration(record).data[0] or 0)
        if identity not in self._leading:
            self._leading[identity] = False  # in code with errors a struct can be in itself
            is_own = self._facts.struct(record).partition("@")[0] == self._subject
            types = (self._lib.clang_getCursorType(part) for part in libclang.fields_of(self._lib, record))
            records = (each for each in map(self._element, types) if each.kind == syntax.RECORD)
            self._leading[identity] = is_own or any(map(self._has_subject, records))
        return self._leading[identity]

    def _type(self, node: Node) -> Type:
        identity = node.type_identity
        type_ = self._types.get(identity)
        if type_ is None:
            type_ = self._lib.clang_getCanonicalType(self._lib.clang_getCursorType(node.cursor))
            self._types[identity] = type_
        return type_

    def _base_and_index(self, node: Node) -> tuple[Node, Node]:
        """Return the pointer and the number of `p[i]`, which can be written `i[p]`."""
        first, second = node.children
        is_turned = self._type(first).kind in INTEGERS
        return (second, first) if is_turned else (first, second)

    def _pointee(self, type_: Type) -> Type:
        identity = type_.data[0]
        known = self._pointees.get(identity)
        if known is None:
            inner = self._lib.clang_getPointeeType(type_) if type_.kind == syntax.POINTER else type_
            known = self._pointees[identity] = self._element(inner)
        return known

    def _element(self, type_: Type) -> Type:
        """Return the type of the elements of an array, at any depth; other types as they are."""
        identity = type_.data[0]
        known = self._elements.get(identity)
        if known is None:
            known = self._lib.clang_getCanonicalType(type_)
            while known.kind in syntax.ARRAYS:
                known = self._lib.clang_getCanonicalType(self._lib.clang_getElementType(known))
            self._elements[identity] = known
        return known

    def _canonical(self, type_: Type) -> Type:
        canonical: Type = self._lib.clang_getCanonicalType(type_)
        return canonical

    def _record(self, type_: Type) -> str:
        """Return the name of a struct type, or its place if it has none; empty for others."""
        identity = type_.data[0]
        known = self._records.get(identity)
        if known is None:
            known = self._records[identity] = self._name_record(type_)
        return known

    def _name_record(self, type_: Type) -> str:
        if name := self._facts.struct(type_).partition("@")[0]:
            self._note_layout(name, self._element(type_))
            return name
        inner = self._element(type_)
        if inner.kind != syntax.RECORD:
            return ""
        declaration = self._lib.clang_getTypeDeclaration(inner)
        if declaration.kind != libclang.STRUCT:
            return ""
        file, line = self._names.file(declaration)
        return f"struct at {file}:{line}"

    def _note_layout(self, name: str, record: Type) -> None:
        """Note the size of a struct, and where it embeds the searched one."""
        if name not in self._layouts:
            self._layouts.add(name)
            size = self._lib.clang_Type_getSizeOf(record)
            places = tuple(self._places_of_subject(record, 0, _DEEPEST_STRUCT))
            if name == self._subject:
                places = ()
                self._note_definition_of(record, size)
            self.flows.layouts.append(Layout(name, size, places, self._has_array(record)))

    def _note_definition_of(self, record: Type, size: int) -> None:
        """Note the size and the offsets of the searched struct, if the unit defines it."""
        fields = libclang.fields_of(self._lib, record)
        offsets = (max(self._lib.clang_Cursor_getOffsetOfField(each), 0) for each in fields)
        if size >= 0:
            self.flows.definitions.append((8 * size, *offsets))

    def _has_array(self, record: Type) -> bool:
        """Return whether a member of a struct is an array of structs."""
        parts = libclang.fields_of(self._lib, record)
        types = [self._canonical(self._lib.clang_getCursorType(part)) for part in parts]
        arrays = (type_ for type_ in types if type_.kind in syntax.ARRAYS)
        return any(self._element(type_).kind == syntax.RECORD for type_ in arrays)

    def _places_of_subject(self, record: Type, start: int, depth: int) -> Iterator[int]:
        """Yield the offsets in bytes at which a struct embeds the searched one; of an array, the first."""
        if self._facts.struct(record).partition("@")[0] == self._subject:
            yield start
            return
        for part in libclang.fields_of(self._lib, record) if depth else ():
            type_ = self._element(self._lib.clang_getCursorType(part))
            if type_.kind == syntax.RECORD and self._has_subject(type_):
                offset = max(self._lib.clang_Cursor_getOffsetOfField(part), 0) // 8
                yield from self._places_of_subject(type_, start + offset, depth - 1)

    def _struct_of(self, node: Node) -> str:
        """Return the struct that a pointer expression points to; empty for other expressions."""
        return self._struct_behind(self._type(node))

    def _struct_behind(self, type_: Type) -> str:
        """Return the struct that a type points to, with a star for each pointer between; empty for others."""
        if type_.kind != syntax.POINTER:
            return ""
        identity = type_.data[0]
        known = self._structs_behind.get(identity)
        if known is None:
            inner, stars = self._pointee(type_), ""
            while inner.kind == syntax.POINTER:
                inner, stars = self._pointee(inner), f"{stars} *"
            record = self._record(inner)
            known = self._structs_behind[identity] = f"{record}{stars}" if record else ""
        return known

    def _keeps_address(self, type_: Type) -> bool:
        """Return whether a value of a type is followed.

        These are `void *`, pointers to scalars and to such pointers, and wide integers.
        """
        if type_.kind != syntax.POINTER and type_.kind not in INTEGERS:
            return False
        identity = type_.data[0]
        known = self._keeping.get(identity)
        if known is None:
            known = self._keeping[identity] = self._can_keep_address(type_)
        return known

    def _can_keep_address(self, type_: Type) -> bool:
        if type_.kind != syntax.POINTER:
            return bool(self._lib.clang_Type_getSizeOf(type_) == self._word)
        pointee = self._pointee(type_)
        if pointee.kind == syntax.POINTER:
            pointee = self._pointee(pointee)
        return bool(pointee.kind == syntax.VOID or pointee.kind in SCALARS)

    def _spell(self, type_: Type) -> str:
        """Return a type as the text has it."""
        identity = type_.data[0]
        known = self._spellings.get(identity)
        if known is None:
            known = libclang.text(self._lib, self._lib.clang_getTypeSpelling(type_))
            self._spellings[identity] = known
        return known

    def _is_untyped(self, type_: Type) -> bool:
        """Return whether a type is `void *`."""
        return bool(type_.kind == syntax.POINTER and self._pointee(type_).kind == syntax.VOID)

    def _as_scalars(self, addresses: list[Address]) -> list[Address]:
        """Return addresses of no type as those of scalars, or as numbers."""
        terms = [each.term.scalars if isinstance(each.term, Slot) else each.term for each in addresses]
        for each, term in zip(addresses, terms, strict=True):
            if isinstance(term, Slot):
                self.flows.moves.append(Move(term, Address(each.term, 0)))
        return [Address(term, each.offset) for each, term in zip(addresses, terms, strict=True)]

    def _is_of_scalars(self, type_: Type) -> bool:
        """Return whether a type is a number, or a pointer to scalars or to pointers to them."""
        is_pointer = type_.kind == syntax.POINTER and self._keeps_address(type_)
        return type_.kind in INTEGERS or (is_pointer and not self._is_untyped(type_))

    def _parameter_types(self, callee: Node) -> list[Type]:
        """Return the types of the parameters of a function, as they are declared."""
        type_ = self._lib.clang_getCursorType(callee.cursor)
        identity = type_.data[0]
        known = self._parameter_lists.get(identity)
        if known is None:
            if self._canonical(type_).kind == syntax.POINTER:
                type_ = self._lib.clang_getPointeeType(self._canonical(type_))
            count = max(0, self._lib.clang_getNumArgTypes(type_))
            known = [self._lib.clang_getArgType(type_, number) for number in range(count)]
            self._parameter_lists[identity] = known
        return known

    def _variable_slot(self, declaration: Cursor) -> Slot:
        identity = declaration.data[0]
        number = self._parameters.get(identity)
        if number is not None:
            return Slot("parameter", self._function, number)
        slot = self._variable_slots.get(identity)
        if slot is None:
            slot = self._variable_slots[identity] = self._find_variable_slot(declaration)
        return slot

    def _find_variable_slot(self, declaration: Cursor) -> Slot:
        is_inside = self._lib.clang_getCursorSemanticParent(declaration).kind == syntax.FUNCTION
        is_static = self._lib.clang_Cursor_getStorageClass(declaration) == syntax.STATIC
        slot = Slot("variable", libclang.spelling(self._lib, declaration), 0)
        if is_inside or is_static:  # others are one variable for all units, whichever declaration is named
            file, line = self._names.file(declaration)
            place = f"{file} {STATIC}" if is_static else file
            slot = Slot("variable", f"{slot.name} {place}", line)
        return self._declare_slot(slot, declaration)

    def _declare_slot(self, slot: Slot, declaration: Cursor) -> Slot:
        """Note which declaration a slot is that of."""
        self._declared.setdefault((slot.name, slot.number), set()).add(self.identity(declaration))
        return slot

    def _field_slot(self, declaration: Cursor) -> Slot | None:
        """Return the slot that a field is in all objects; None for others. A union has one for all fields."""
        identity = declaration.data[0]
        if identity not in self._field_slots:
            self._field_slots[identity] = self._find_field_slot(declaration)
        return self._field_slots[identity]

    def _find_field_slot(self, declaration: Cursor) -> Slot | None:
        field = self._facts.declared_field(declaration)
        if field is None or not field[1]:
            return None
        parent = self._lib.clang_getCursorSemanticParent(declaration)
        if parent.kind == libclang.UNION or not field[0]:
            file, line = self._names.file(parent)
            name = "" if parent.kind == libclang.UNION else field[1]
            return self._declare_slot(Slot("field", f"{file}:{line}.{name}", 0), declaration)
        return self._declare_slot(Slot("field", f"{field[0]}.{field[1]}", 0), declaration)

    def _words(self, slot: Slot) -> Term:
        return Term("words", slot.name, slot.number)

    def _place(self, node: Node) -> tuple[str, int]:
        return self._names.file(node.cursor)

    def _callee(self, node: Node) -> Node:
        """Return what a call goes through, without layers and stars."""
        while node.kind in (syntax.PAREN, syntax.UNEXPOSED, syntax.UNARY) and node.children:
            node = node.children[-1]
        return node

    def _has_body(self, target: Node) -> bool:
        """Return whether the unit has the body of a function, or the compiler knows it."""
        identity = target.referenced_identity
        known = self._with_body.get(identity)
        if known is None:
            declaration = target.reference
            definition = self._lib.clang_getCursorDefinition(declaration)
            name = libclang.spelling(self._lib, declaration)
            known = definition.kind == syntax.FUNCTION or name.startswith("__builtin_")
            self._with_body[identity] = known
        return known

    def _text_size(self, node: Node) -> int:
        """Return the bytes of a text with its end; 0 for other expressions."""
        node = skip_layers(node)
        return self._lib.clang_Type_getSizeOf(self._type(node)) if node.kind == TEXT else 0

    def _is_bytes(self, node: Node) -> bool:
        """Return whether a pointer points to bytes."""
        type_ = self._type(node)
        is_pointer = type_.kind == syntax.POINTER
        pointee = self._lib.clang_getPointeeType(type_)
        return is_pointer and int(self._lib.clang_Type_getSizeOf(pointee)) == 1

    def _is_byte(self, node: Node) -> bool:
        return int(self._lib.clang_Type_getSizeOf(self._type(node))) == 1

    def _has_size(self, node: Node) -> bool:
        return node.kind == syntax.SIZEOF or any(map(self._has_size, node.children))
