"""Where the declarations of variables, and their initial values, take addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from layoutlint.model.flows import (
    Address,
    Convert,
    Defined,
    Fill,
    Flows,
    Move,
    Pass,
    Slot,
    Symbol,
    Term,
    Text,
    Values,
)
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.libclang import Cursor, Type
from layoutlint.sources.bodies import syntax, trees
from layoutlint.sources.bodies.flow_calls import CallWalker
from layoutlint.sources.bodies.flow_types import SCALARS, TEXT
from layoutlint.sources.bodies.initial_values import InitialValues, Placement
from layoutlint.sources.bodies.numbers import Numbers
from layoutlint.sources.bodies.trees import Node
from layoutlint.sources.bodies.union_uses import UnionUses

_SECTION = re.compile(r'section\("(\w+)"\)')
"""Those that linkers give symbols for their ends: others have no C name."""
_CLEANUP = re.compile(r"\bcleanup\((\w+)\)")
_SYMBOL = re.compile(r'(?:\balias\(|\basm\()"([^"]*)"\)')
_BOUNDS = re.compile(r"__(?:start|stop)_(\w+)")
"""The symbols that the linker makes for the ends of a section."""


class DeclarationWalker(CallWalker):
    """Notes what variables get."""

    _values: InitialValues
    _unions: UnionUses
    _loops: int

    @contextmanager
    def collect_apart(self) -> Iterator[Flows]:
        """Collect what is walked meanwhile apart from the rest; only what structs are is for all."""
        around, self.flows = self.flows, Flows(layouts=self.flows.layouts, definitions=self.flows.definitions)
        try:
            yield self.flows
        finally:
            self.flows.layouts, self.flows.definitions = [], []
            self.flows = around

    def pass_over(self, cursor: Cursor) -> None:
        """Note a function that does nothing with the struct, or a variable whose value has nothing of it."""
        if cursor.kind == syntax.FUNCTION:
            self.note_definition(cursor)
        else:
            self._name_object(trees.tree(cursor))

    def note_definition(self, function: Cursor) -> Defined:
        """Note that the body of a function was read; return its place."""
        extent = self._lib.clang_getCursorExtent(function)
        last = libclang.Spot(self._lib, self._lib.clang_getRangeEnd(extent)).line
        defined = Defined(self._facts.key(function), *self._names.file(function), last)
        self.flows.defined.append(defined)
        return defined

    def _receive(self, parameter: Node, number: int) -> None:
        """Note that what other units pass becomes a pointer of a parameter's type."""
        if struct := self._struct_of(parameter) or self._record(self._type(parameter)):
            address = Address(Slot("parameter", self._function, number), 0)
            self.flows.conversions.append(Convert(address, struct, *self._place(parameter)))

    def variable(self, cursor: Cursor) -> None:
        """Walk the initialiser of a variable outside of functions."""
        self._function, self._loops = "", 0
        tree = trees.tree(cursor)
        self._numbers = Numbers(self._lib, self._facts, tree)
        self._name_object(tree)
        self._declare(tree)
        self._unions.visit(tree, self.flows)

    def _name_object(self, variable: Node) -> None:
        """Note the struct type of an object that other units can name, by a symbol or by its section."""
        type_ = self._type(variable)
        struct = self._record(type_) or self._struct_behind(type_)
        is_words = not struct and self._element(type_).kind in SCALARS
        struct = struct or ("scalars" if is_words else "")
        if not struct:
            return
        declaration = libclang.pretty_print(self._lib, variable.cursor).partition(" = ")[0]
        name = libclang.spelling(self._lib, variable.cursor)
        names = [f"section {match[1]}" for match in _SECTION.finditer(declaration)]
        bounds = _BOUNDS.fullmatch(name)
        if bounds is not None:
            names.append(f"section {bounds[1]}")
        elif self._lib.clang_Cursor_getStorageClass(variable.cursor) != syntax.STATIC:
            symbol = _SYMBOL.search(declaration)
            names.append(symbol[1] if symbol is not None else name)
        self.flows.symbols += [Symbol(each, struct, *self._place(variable)) for each in names]

    # -- statements

    def _declare(self, variable: Node) -> None:
        initial = self._facts.initial_value(variable)
        type_ = self._type(variable)
        self._note_cleanup(variable, type_)
        if initial is None:
            return
        slot = self._variable_slot(variable.cursor)
        if initial.kind == syntax.INIT_LIST:
            self._fill(initial, slot)
        else:
            self._move(slot, initial, type_)
        is_words = type_.kind in syntax.ARRAYS and self._element(type_).kind in SCALARS
        if is_words and not self._is_zero_list(initial):
            text = f"`{slot.name.partition(' ')[0]}` has constant bytes"
            self.flows.fills.append(Fill(Address(self._words(slot), 0), text, *self._place(variable)))

    def _words_address(self, node: Node, type_: Type) -> list[Address]:
        """Return the address of a variable, a parameter or a literal that is an array of scalars."""
        if type_.kind not in syntax.ARRAYS or self._element(type_).kind not in SCALARS:
            return []
        if node.kind == syntax.COMPOUND_LITERAL:
            return [self._literal_words(node)]
        declaration = node.reference
        if node.kind == syntax.DECL_REF and declaration.kind == syntax.VARIABLE:
            return [Address(self._words(self._variable_slot(declaration)), 0)]
        return [Address(self._variable_slot(declaration), 0)] if declaration.kind == syntax.PARAMETER else []

    def _literal_words(self, literal: Node) -> Address:
        """Return the address of a literal that is an array of scalars; notes its constant bytes."""
        words = Address(Term("words", f"literal in {self._exact_place(literal)}", 0), 0)
        if not all(map(self._is_zero_list, literal.children)):
            self.flows.fills.append(Fill(words, "a literal has constant bytes", *self._place(literal)))
        return words

    def _note_cleanup(self, variable: Node, type_: Type) -> None:
        """Note the function that gets the address of a variable at the end of its scope."""
        struct = self._record(type_) or f"{self._struct_behind(type_)} *"
        if struct.removesuffix(" *") != self._subject:
            return
        match = _CLEANUP.search(libclang.pretty_print(self._lib, variable.cursor))
        address = Address(Term("struct", struct, 0), 0)
        file = self._place(variable)[0]
        for name in (match[1], f"{match[1]}@{file}") if match is not None else ():
            self.flows.moves.append(Move(Slot("parameter", name, 0), address))

    def _fill(self, node: Node, slot: Slot | None = None) -> list[Address]:
        """Walk a list of initial values; its elements are in a slot if it is for an array."""
        lists: dict[int, tuple[Node, list[Address], list[int]]] = {}  # the nodes keep their identities
        for placed in self._values.placements(node):
            _, addresses, sizes = lists.setdefault(id(placed.braces), (placed.braces, [], []))
            own = slot if placed.field is None else self._field_slot(placed.field)
            addresses += self._move(own, placed.value, self._canonical(placed.type))
            self._note_full_text(placed)
            if self._is_size_type(placed.type) and (number := self._number(placed.value)):
                sizes.append(number)
        for braces, addresses, sizes in lists.values():
            if len(sizes) == 1:  # as `struct iovec` has it
                members = [each for each in addresses if each.term[0] == "member"]
                self.flows.passes += [Pass(each, sizes[0], True, *self._place(braces)) for each in members]
        for run in self._values.take_runs():
            self.flows.values.append(Values(run.first, run.last, *self._place(run.node)))
        return []

    def _note_full_text(self, placed: Placement) -> None:
        """Note a text that fills a member of the searched struct, without its end."""
        size = self._lib.clang_Type_getSizeOf(placed.type)
        text = self._literal_text(placed.value) if placed.field is not None else None
        if text is None or placed.field is None or len(text) < size or placed.value.kind != TEXT:
            return
        field = self._facts.declared_field(placed.field)
        if field is not None and field[0].partition("@")[0] == self._subject:
            address = Address(Term("member", field[1], 0), 0)
            self.flows.texts.append(Text(address, "open", size, *self._place(placed.value)))
