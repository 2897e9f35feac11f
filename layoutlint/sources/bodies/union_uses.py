"""Which members of unions that embed a struct are read, written, or have their address taken."""

from __future__ import annotations

from typing import Any, Literal

from layoutlint.model.flows import Flows, UnionUse
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.libclang import Cursor
from layoutlint.sources.bodies import syntax
from layoutlint.sources.bodies.facts import Facts, Names
from layoutlint.sources.bodies.trees import Node

Mode = Literal["read", "write", "address"]
_DEEPEST = 6


class UnionUses:
    """Collects the uses of members in the functions of a unit."""

    def __init__(self, lib: Any, facts: Facts, names: Names, subject: str) -> None:
        self._lib, self._facts, self._names, self._subject = lib, facts, names, subject
        self._flows = Flows()
        self._embeds: dict[int, bool] = {}
        self._behind: dict[int, str] = {}
        """The places of unions that pointers lead to, by the identity of their types."""
        self._noted: set[int] = set()
        """The unions whose members are noted."""

    def visit(self, node: Node, flows: Flows) -> None:
        """Note the uses in an expression or a statement among some flows."""
        self._flows = flows
        waiting: list[tuple[Node, Mode]] = [(node, "read")]
        while waiting:
            each, mode = waiting.pop()
            waiting += self._parts_with_modes(each, mode)

    def _parts_with_modes(self, node: Node, mode: Mode) -> list[tuple[Node, Mode]]:
        """Return the parts of an expression with what is done to them; notes the use of its own member."""
        children = node.children
        if node.kind == syntax.MEMBER_NAME and mode == "write":
            self._note(node, "write")
        if node.kind == syntax.MEMBER:
            self._note(node, mode)
            return [(each, self._mode_of_base(each, mode)) for each in children]
        if node.kind == syntax.SUBSCRIPT and len(children) == 2:
            return [(children[0], self._mode_of_base(children[0], mode)), (children[1], "read")]
        if node.kind == syntax.BINARY and len(children) == 2 and node.binary_operator == syntax.ASSIGN:
            return [(children[0], "write"), (children[1], "read")]
        if node.kind == syntax.UNARY and node.unary_operator == syntax.ADDRESS_OF:
            return [(each, "address") for each in children]
        if node.kind == syntax.INIT_LIST:
            self._note_first(node)
            return [(each, "write" if self._is_designated(each) else "read") for each in children]
        if node.kind in syntax.LAYERS and len(children) == 1:
            self._note_conversion(node, children[0])
            is_decay = self._is_array(children[0]) and not self._is_array(node)
            return [(children[0], "address" if is_decay and mode == "read" else mode)]
        # A value with a designator writes what this names: `.raw = { 1, 2 }`.
        own = mode if mode == "write" else "read"
        return [(each, own if each.kind == syntax.MEMBER_NAME else "read") for each in children]

    def _note_conversion(self, node: Node, inner: Node) -> None:
        """Note that the address of a union becomes another pointer or a number, or the other way round."""
        unions = [self._union_behind(each) for each in (node, inner)]
        if unions[0] == unions[1]:
            return
        for place in filter(None, unions):
            self._flows.unions.append(UnionUse(place, "", True, "whole", *self._names.file(node.cursor)))

    def _union_behind(self, node: Node) -> str:
        """Return the place of the union around the struct that a pointer leads to; empty for another type."""
        if node.type_kind != syntax.POINTER:
            return ""
        identity = node.type_identity
        if identity not in self._behind:
            self._behind[identity] = self._find_union(node)
        return self._behind[identity]

    def _find_union(self, node: Node) -> str:
        type_ = self._lib.clang_getCanonicalType(self._lib.clang_getCursorType(node.cursor))
        inner = self._lib.clang_getCanonicalType(self._lib.clang_getPointeeType(type_))
        if inner.kind != syntax.RECORD:
            return ""
        union = self._lib.clang_getTypeDeclaration(inner)
        if union.kind != libclang.UNION or not self._is_around_subject(union):
            return ""
        return ":".join(map(str, self._names.file(union)))

    def _mode_of_base(self, base: Node, mode: Mode) -> Mode:
        """Return what is done to the object whose member or element is used; a pointer to it is read."""
        while base.kind in syntax.LAYERS and len(base.children) == 1:
            if self._is_array(base.children[0]):
                return mode
            base = base.children[0]
        return "read" if base.type_kind == syntax.POINTER else mode

    def _is_array(self, node: Node) -> bool:
        return node.type_kind in syntax.ARRAYS

    def _is_designated(self, value: Node) -> bool:
        return any(each.kind == syntax.MEMBER_NAME for each in value.children)

    def _note_first(self, values: Node) -> None:
        """Note that an initialiser of a union without a designator is for its first member."""
        type_ = self._lib.clang_getCanonicalType(self._lib.clang_getCursorType(values.cursor))
        if type_.kind != syntax.RECORD or any(map(self._is_designated, values.children)):
            return
        if self._lib.clang_getTypeDeclaration(type_).kind == libclang.UNION:
            for part in list(libclang.fields_of(self._lib, type_))[:1]:
                self._note_field(part, "write", values)

    def _note(self, node: Node, mode: Mode) -> None:
        self._note_field(node.reference, mode, node)

    def _note_field(self, field: Cursor, mode: Mode, at: Node) -> None:
        parent = self._lib.clang_getCursorSemanticParent(field)
        if parent.kind != libclang.UNION or not self._is_around_subject(parent):
            return
        place = ":".join(map(str, self._names.file(parent)))
        self._note_members(parent, place)
        is_subject = self._has_subject(self._lib.clang_getCursorType(field), _DEEPEST)
        name = libclang.spelling(self._lib, field)
        self._flows.unions.append(UnionUse(place, name, is_subject, mode, *self._names.file(at.cursor)))

    def _note_members(self, union: Cursor, place: str) -> None:
        """Note once which members a union has."""
        if int(union.data[0] or 0) in self._noted:
            return
        self._noted.add(int(union.data[0] or 0))
        for part in libclang.fields_of(self._lib, self._lib.clang_getCursorType(union)):
            name = libclang.spelling(self._lib, part)
            is_subject = self._has_subject(self._lib.clang_getCursorType(part), _DEEPEST)
            self._flows.unions.append(UnionUse(place, name, is_subject, "beside", *self._names.file(part)))

    def _is_around_subject(self, union: Cursor) -> bool:
        key = int(union.data[0] or 0)
        if key not in self._embeds:
            self._embeds[key] = self._has_subject(self._lib.clang_getCursorType(union), _DEEPEST)
        return self._embeds[key]

    def _has_subject(self, type_: Any, depth: int) -> bool:
        """Return whether a type has the searched struct in it by value."""
        element = self._lib.clang_getCanonicalType(type_)
        while element.kind in syntax.ARRAYS:
            element = self._lib.clang_getCanonicalType(self._lib.clang_getElementType(element))
        if element.kind != syntax.RECORD or not depth:
            return False
        if self._facts.struct(element).partition("@")[0] == self._subject:
            return True
        parts = libclang.fields_of(self._lib, element)
        return any(self._has_subject(self._lib.clang_getCursorType(part), depth - 1) for part in parts)
